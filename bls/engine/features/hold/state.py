"""The columns of holds."""

from traces.kernels.signatures import Ints
from traces.kernels.state import State, column


class HoldState(State, dim="rows"):
    """The latest hold of each job by a policy, by row."""

    since_ns: Ints = column(fill=-1)  # begin; -1: never held
    until_ns: Ints = column(fill=-1)  # release; -1: not yet
