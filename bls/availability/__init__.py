"""Free cores, now and later: sets of cores, and step functions of time."""
