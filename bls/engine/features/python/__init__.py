"""Policies that decide in Python."""
