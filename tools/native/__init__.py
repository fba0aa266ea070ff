"""Loops and tasks in C that ``python -m tools.native`` measures and predicts."""
