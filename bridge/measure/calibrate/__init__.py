"""Calibration: those parameters of a loop that cannot be looked up, fitted to measurements at several schedules."""
