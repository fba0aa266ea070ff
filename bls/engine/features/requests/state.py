"""The columns of requests for cores."""

from traces.kernels.signatures import Ints
from traces.kernels.state import State, column


class RequestedWidths(State, dim="rows"):
    """Requests of running jobs for cores, or widths that a policy sets, by row."""

    width: Ints = column()  # latest requested width, 0: unchanged
    n_made: Ints = column()  # 1 + the place of its latest request among all of the job
    first: Ints = column()  # first of its future requests in the table
    count: Ints = column()  # number of these


class WidthRequests(State, dim="width_requests"):
    """Future requests of running jobs for cores."""

    job: Ints = column()  # row; -1: withdrawn
    at_ns: Ints = column()  # instant
    cores: Ints = column()  # requested width
    place: Ints = column()  # place among all requests of the job


class RequestState(State):
    """Requests of running jobs for cores, and widths that a policy sets."""

    n_future: int = 0  # columns of ``future`` in use
    future: WidthRequests = column(used=("n_future",))  # future requests for cores
    of_row: RequestedWidths = column("requested_widths")  # of rows: requests of the jobs
