"""Slurm's cycle as in release 22.05: its main scheduler, its backfilling, and its choice of nodes."""
