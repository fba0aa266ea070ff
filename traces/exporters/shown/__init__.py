"""The contents of traces, independent of their format."""
