"""Slurm's multifactor priority: its settings, its association tree, fair share."""
