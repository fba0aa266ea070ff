"""Drained hosts."""
