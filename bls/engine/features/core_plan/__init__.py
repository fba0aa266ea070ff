"""The plan by single cores: its profile, and places in it."""
