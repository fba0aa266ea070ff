"""Readers of other tools' measurements, one module per format; ``formats`` is their table."""
