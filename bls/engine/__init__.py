"""The batch engine: what happens to jobs, event by event, and the state that it happens in."""
