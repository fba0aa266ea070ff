"""Running jobs whose width changes."""
