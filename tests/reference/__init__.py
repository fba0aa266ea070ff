"""A slow second opinion: the two-level simulation as it is defined, in plain Python.

Nothing here imports the project, is compiled or is clever: lists are searched from end to end, sets of cores are sets,
and every task is looked at by itself. The project's engines must agree with it to the nanosecond.
"""
