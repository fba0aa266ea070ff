"""The column of lost cores."""

from traces.kernels.signatures import Ints
from traces.kernels.state import State, column


class Losses(State, dim="rows"):
    """The loss of cores that ended each job, by row."""

    last: Ints = column()  # 1 + the core lost last; -1 if its width changed; 0: none
