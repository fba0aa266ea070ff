"""Invariants of every run."""
