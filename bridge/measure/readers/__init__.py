"""Readers of what other tools have measured, one module per format; ``formats`` is their table."""
