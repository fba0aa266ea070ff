"""Techniques whose chunks depend only on counts and on values known beforehand, one per file."""
