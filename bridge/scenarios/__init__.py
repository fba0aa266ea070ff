"""What is to be simulated: a workload, a machine, and the options of both levels, checked."""
