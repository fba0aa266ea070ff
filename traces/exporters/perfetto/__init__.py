"""Perfetto's protobuf, for ui.perfetto.dev and its trace processor."""

from traces.exporters.perfetto.writer import FILE, write_perfetto

__all__ = ["FILE", "write_perfetto"]
