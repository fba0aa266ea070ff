"""The comparison report of a replay and its repeats: ``twolevel replay --report`` (docs/reference/replay.md)."""
