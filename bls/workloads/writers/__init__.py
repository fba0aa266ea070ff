"""Writers of workload files."""
