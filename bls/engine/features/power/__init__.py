"""Power limits of the machine and of its parts: jobs that wait, jobs that are slowed, hosts that are stopped."""
