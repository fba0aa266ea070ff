"""Slurm's cycle: its main scheduler, its backfilling, and its choice of nodes, as release 22.05 has them."""
