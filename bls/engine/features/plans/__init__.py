"""Reservations of several jobs."""
