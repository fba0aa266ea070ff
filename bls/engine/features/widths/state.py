"""The columns of changing widths."""

from traces.kernels.signatures import Ints
from traces.kernels.state import State, column


class Resizing(State, dim="resizing"):
    """Work space for changes of width."""

    place: Ints = column()  # by core: place in the report of its job
    job: Ints = column()  # rows in order
    least: Ints = column()  # smallest width
    most: Ints = column()  # largest width


class WidthState(State):
    """Cores that running jobs were given or asked for."""

    given_at: Ints = column("resizing")  # of each held core: 1 + place of the command that gave it; 0: at the start
    asked: Ints = column("resizing")  # of each held core: 1 if its release was requested
    work: Resizing = column(saved=False)  # work space
