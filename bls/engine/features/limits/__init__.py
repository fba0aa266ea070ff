"""Power limits, and jobs that wait for power."""
