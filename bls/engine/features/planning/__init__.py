"""Scheduling passes: reservations, individual cores, scores, decisions in Python, widths at the start."""
