"""Limits to the power of the machine and of its parts: who may start, and whose speed or hosts it costs."""
