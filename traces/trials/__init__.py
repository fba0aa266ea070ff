"""A first call of a compiled rule that is not ours, before it is trusted with real arrays."""
