"""Other programs as the batch level: start, connect, report events, and ask for decisions."""
