"""The log of commands to running jobs."""
