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
    """Widths of jobs: their bounds, and cores that running jobs were given or asked for."""

    least: Ints  # by row of the first attempt: fewest cores, 0: fixed width; empty if no job may have another width
    most: Ints  # by row of the first attempt: most cores
    # Of rows:
    asked_of: Ints = column("job_widths")  # cores that the job was asked for and still holds
    given_first: Ints = column("job_widths")  # first interval of its cores at the start, if changed since
    given_count: Ints = column("job_widths")  # number of these intervals
    needs_no_more: Ints = column("job_widths")  # 1 after it has released a core unasked
    # Of rows, requests of jobs that started with another width; else 0:
    was_cores: Ints = column("molding")  # requested cores
    was_estimate_ns: Ints = column("molding")  # requested estimate
    was_walltime_ns: Ints = column("molding")  # requested walltime
    # Of cores:
    given_at: Ints = column("resizing")  # of each held core: 1 + place of the command that gave it; 0: at the start
    asked: Ints = column("resizing")  # of each held core: 1 if its release was requested
    work: Resizing = column(saved=False)  # work space
