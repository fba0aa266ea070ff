"""The simulated machine: hosts and their resources, partitions, switches; and the files that describe it."""
