"""Figures of runs and of comparisons of runs. Each module draws one kind, from plain columns; ``title`` is written above it.

Only ``traces.figures.drawing.canvas`` imports matplotlib, and only modules that draw import that.
"""
