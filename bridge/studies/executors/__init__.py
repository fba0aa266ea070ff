"""Executors, which run the cells of a study: in this process, in others on this machine, or on a cluster."""
