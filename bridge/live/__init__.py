"""A run that is under way, as it shows itself."""
