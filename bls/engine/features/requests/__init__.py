"""Requests of running jobs for more or fewer cores."""
