"""Limits of partitions and of their users."""
