"""Figures of one application: its chunks, its tasks, its graph."""
