"""The kinds of events of running jobs that features record, and the delay of starts."""

from typing import Final

from bls.engine.features.directions.records import ScaleRecords
from bls.engine.features.hints.records import HintRecords
from bls.engine.features.releases.records import ReleaseRecords
from bls.engine.features.sleep.records import BOOTS
from bls.engine.features.widths.records import WidthRecords
from traces.records.events import JobEvents, StartDelay

#: The kinds, in the order of traces, and of events at one instant in stories.
EVENTS: Final[tuple[type[JobEvents], ...]] = (HintRecords, WidthRecords, ScaleRecords, ReleaseRecords)

START_DELAY: Final[StartDelay] = BOOTS  #: why a job that has its cores may start later
