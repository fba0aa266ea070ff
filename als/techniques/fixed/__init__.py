"""Techniques whose chunks are decided by counts and by what is known beforehand, one a file."""
