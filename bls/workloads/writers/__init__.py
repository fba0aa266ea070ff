"""The writers of workload files."""
