"""The generators of task graphs, one a file."""
