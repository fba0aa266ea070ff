"""The readers of workload files, a format a file."""
