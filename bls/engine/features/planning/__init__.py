"""Scheduling passes: reservations, individual cores, scores, decisions in Python and their cost, widths at the start."""
