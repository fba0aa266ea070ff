"""Declarations of records, and the base of the kinds of events of running jobs."""
