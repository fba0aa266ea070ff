"""Replay: an unmodified slurmctld decides at the batch level, with a simulated clock (docs/reference/replay.md)."""
