"""The kinds of events of running jobs that features record, and the delay of starts."""

from typing import Final

from bls.engine.features.order import RECORDS, declared
from bls.engine.features.sleep.records import BOOTS
from traces.records.events import JobEvents, StartDelay

EVENTS: Final[tuple[type[JobEvents], ...]] = tuple(declared(where, "records") for where in RECORDS)

START_DELAY: Final[StartDelay] = BOOTS  #: why a job that has its cores may start later
