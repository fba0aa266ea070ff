"""Ends that applications promise."""
