"""Hosts that fail or are in maintenance."""
