"""Replay: an unmodified slurmctld decides at the batch level, under a clock of ours (docs/how-to/replay.md)."""
