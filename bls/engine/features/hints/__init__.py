"""Hints to running jobs: the cores that the queue waits for."""
