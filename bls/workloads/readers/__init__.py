"""Readers of workload files, one format per file."""
