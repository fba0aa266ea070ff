"""The application engine's work on a task graph."""
