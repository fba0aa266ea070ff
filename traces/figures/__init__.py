"""Figures: what a run looked like, and how runs compare. Each module draws one kind, from plain columns.
The ``title`` that each takes is written above it.

matplotlib is imported by ``traces.figures.drawing.canvas`` alone, and that by the modules that draw: whoever needs no figure
imports none of them.
"""
