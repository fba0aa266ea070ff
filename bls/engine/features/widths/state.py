"""The columns of changing widths."""

from traces.kernels.signatures import Ints
from traces.kernels.state import State, column


class Resizing(State, dim="resizing"):
    """Work space for changes of width."""

    place: Ints = column()  # by core: place in the report of its job
    job: Ints = column()  # rows in order
    least: Ints = column()  # smallest width
    most: Ints = column()  # largest width
