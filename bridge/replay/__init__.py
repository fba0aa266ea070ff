"""Replay: an unmodified slurmctld decides at the batch level, under a clock of ours (docs/reference/replay.md)."""
