"""The columns of decisions of the scheduler."""

from traces.kernels.signatures import Ints
from traces.kernels.state import State, column


class Decisions(State, dim="decisions"):
    """A row for each scheduling pass."""

    at_ns: Ints = column()  # instant of the pass
    waiting: Ints = column()  # jobs in the queue at its begin
    started: Ints = column()  # jobs that it started
    wall_ns: Ints = column()  # its wall time
    unplaced: Ints = column()  # jobs that a policy chose, and that did not fit


class DecisionState(State):
    """Records of passes, and the time that they take."""

    n_passes: int = 0  # records of passes in use
    cost_ns: int = -1  # simulated time of a pass; -1: as measured
    busy_until_ns: int = 0  # the scheduler decides until then
    passes: Decisions = column(saved=False)  # records of passes, if they are kept
