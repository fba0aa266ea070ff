"""Running jobs that are slowed under a power limit."""
