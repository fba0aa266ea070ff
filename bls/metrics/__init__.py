"""Metrics of a schedule."""
