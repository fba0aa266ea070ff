"""Description of a simulation: a workload, a machine, and the options of both levels, checked."""
