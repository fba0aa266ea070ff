"""Figures: what a run looked like, and how runs compare. Each module draws one kind, from plain columns, into
a file.

matplotlib is imported by ``traces.figures.drawing.canvas`` alone, when the first figure is drawn.
"""
