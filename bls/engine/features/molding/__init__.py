"""Jobs that may start with another width than requested."""
