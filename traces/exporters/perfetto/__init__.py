"""Perfetto's protobuf, for ui.perfetto.dev and its trace processor."""
