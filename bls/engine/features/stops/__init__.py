"""Hosts that a power limit stops."""
