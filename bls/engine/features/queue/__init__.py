"""Waiting jobs: predictions, presets, dependencies, cancellations, windows, wake-ups."""
