"""Two runs of one workload, job by job."""
