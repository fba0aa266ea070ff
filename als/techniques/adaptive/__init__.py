"""Techniques that learn from what they measure as a loop runs, one a file."""
