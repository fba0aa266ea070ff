"""The columns of slowed jobs."""

from traces.kernels.signatures import Ints
from traces.kernels.state import State, column


class Slowing(State, dim="slowing"):
    """Work space for slowing running jobs, one entry per job."""

    job: Ints = column()  # row
    state: Ints = column()  # new power state
    saves: Ints = column()  # saving in its slowest state, mW
    loses: Ints = column()  # loss of speed there
    heap: Ints = column()  # entries
