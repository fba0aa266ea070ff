"""Kinds of events of running jobs, one file each: their columns, tables, checks, descriptions in traces, and story
sentences."""

from typing import Final

from traces.records.events import JobEvents
from traces.records.hints import HintRecords
from traces.records.releases import ReleaseRecords
from traces.records.scales import ScaleRecords
from traces.records.widths import WidthRecords

#: The kinds, in the order of traces, and of events at one instant in stories.
EVENTS: Final[tuple[type[JobEvents], ...]] = (HintRecords, WidthRecords, ScaleRecords, ReleaseRecords)
