"""The columns of dependencies."""

from traces.kernels.signatures import Ints
from traces.kernels.state import State, column


class DependencyState(State):
    """Jobs that wait for other jobs."""

    first: Ints  # (rows + 1,): on row r depend the rows ``row[first[r]:first[r + 1]]``
    row: Ints  # dependent rows
    think_ns: Ints  # by row of the first attempt: time from the end of the last of its preceding jobs to its arrival
    unmet: Ints = column("children")  # preceding jobs that each row still waits for; empty if none has several
