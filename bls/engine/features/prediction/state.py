"""The columns of predictions."""

from traces.kernels.signatures import Ints, Ints2
from traces.kernels.state import State, column


class PredictionState(State):
    """Run times of ended jobs, from which estimates are predicted."""

    shortest_ns: int = 0  # shortest prediction, unless the job requests less
    n_rows: int = 0  # rows that have their estimates
    group: Ints2  # (levels, n): groups that predict a job, the closest first; -1: none
    least: Ints  # (levels,): ended jobs that a group needs for a prediction
    runs: Ints2 = column("groups", "history")  # ended jobs of a group, then run times; number k is at 1 + k mod m
