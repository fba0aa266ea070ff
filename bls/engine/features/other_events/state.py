"""The columns of cancellations, windows, dependent arrivals and wake-ups."""

from traces.algorithms.event_heap import Heap
from traces.kernels.signatures import Ints
from traces.kernels.state import State, column


class OtherEvents(State):
    """Progress of events besides ends and plain arrivals."""

    next_cancel: int = 0  # place in ``cancels``
    next_boundary: int = 0  # place in ``BatchState.boundaries``
    cancels: Ints  # cancelled rows, by (instant, row)
    # jobs that arrive after the end of another, and wake-ups (``WAKE_UP_KEY`` + row)
    arriving: Heap = column("arriving")
