"""Techniques that learn from measurements while a loop runs, one per file."""
