"""What does the cells of a study: this process, others on this machine, a cluster."""
