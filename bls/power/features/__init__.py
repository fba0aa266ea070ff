"""Features computed from the power of a run, each in its folder."""
