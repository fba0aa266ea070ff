"""The columns of holds."""

from traces.kernels.signatures import Ints
from traces.kernels.state import State, column


class HoldState(State, dim="rows"):
    """Of rows of jobs, where a policy may hold them: the latest hold of each."""

    since_ns: Ints = column(fill=-1)  # when it began; -1: the job was never held
    until_ns: Ints = column(fill=-1)  # when it was released; -1: it is not yet
