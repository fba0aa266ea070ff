"""The columns of molded jobs."""

from traces.kernels.signatures import Ints
from traces.kernels.state import State, column


class Molded(State, dim="rows"):
    """Requests of jobs that started with another width, by row; else 0."""

    cores: Ints = column()  # requested cores
    estimate_ns: Ints = column()  # requested estimate
    walltime_ns: Ints = column()  # requested walltime
