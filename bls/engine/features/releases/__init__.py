"""Cores that running jobs release before their end."""
