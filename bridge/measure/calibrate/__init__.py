"""Calibration: what the model of a loop has and nobody can look up, fitted to measurements at several schedules."""
