"""Figures of two runs, side by side."""
