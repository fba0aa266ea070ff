"""Cancellations, windows, dependent arrivals and wake-ups."""
