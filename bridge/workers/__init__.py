"""Application processes: how they are started, connected, assigned jobs, and replaced when they die."""
