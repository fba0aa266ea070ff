"""One run: from a scenario to its result, and the folder that holds it."""
