"""Calibration: what the model of a loop has and cannot be looked up, fitted to measurements at several schedules."""
