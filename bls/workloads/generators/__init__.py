"""Generated workloads: similar to a given log, or by a published model."""
