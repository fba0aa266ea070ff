"""Which cores are free, now and later: sets of cores, and step functions of time."""
