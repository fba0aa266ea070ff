"""Monitoring of a run that is under way."""
