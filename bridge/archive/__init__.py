"""Logs from the Parallel Workloads Archive."""
