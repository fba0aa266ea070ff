"""Figures: what a run looked like, and how runs compare. Each module draws one kind, from plain columns.

matplotlib is imported by ``traces.figures.drawing.canvas`` alone, and that by the modules that draw: whoever needs no figure
imports none of them.
"""
