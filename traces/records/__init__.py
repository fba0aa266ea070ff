"""Kinds of events of running jobs, one file each: their columns, tables, checks, what traces show, and sentences of stories."""

from typing import Final

from traces.records.events import JobEvents
from traces.records.hints import HintRecords
from traces.records.releases import ReleaseRecords
from traces.records.scales import ScaleRecords
from traces.records.widths import WidthRecords

#: The kinds, in the order in which traces show them, and stories tell what happens at one instant.
EVENTS: Final[tuple[type[JobEvents], ...]] = (HintRecords, WidthRecords, ScaleRecords, ReleaseRecords)
