"""Jobs that run from the start."""
