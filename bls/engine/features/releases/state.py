"""The columns of releases."""

from traces.kernels.signatures import Ints
from traces.kernels.state import State, column


class Releases(State, dim="releases"):
    """Cores that running jobs have released."""

    job: Ints = column()  # row
    core: Ints = column()  # core number
    at_ns: Ints = column()  # instant
