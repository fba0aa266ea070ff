"""What a workload looks like, in figures."""
