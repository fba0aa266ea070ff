"""The data of a page's timeline: the tables of a run as packed columns, which ``tools/page/src/timeline`` draws."""

from traces.timeline.packing import timeline_text
from traces.timeline.tables import TimelineTables, folder_tables

__all__ = ["TimelineTables", "folder_tables", "timeline_text"]
