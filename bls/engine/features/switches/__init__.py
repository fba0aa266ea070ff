"""Jobs that wait for few switches."""
