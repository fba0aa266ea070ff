"""The columns of running jobs: commands, releases and requests."""

from bls.engine.codes import RunningCommand
from traces.base.scale import WHOLE
from traces.kernels.signatures import Ints
from traces.kernels.state import State, column
from traces.lifecycle import Ending


class CommandLog(State, dim="commands"):
    """The command log: commands to running jobs."""

    job: Ints = column()  # row
    at_ns: Ints = column()  # instant
    core: Ints = column()  # -1: all cores, or the end of the job; HINTED: the row that waits, -1 none any more
    what: Ints = column(codes=RunningCommand)  # command
    value: Ints = column()  # scale, or state of an ended job; HINTED: number of cores waited for
    wanted: Ints = column()  # HINTED: number of these cores that the job holds


class Directed(State, dim="directed"):
    """Decisions of a policy about running jobs, by job; hints first (``core`` wanted, ``value`` the waiting row or -1)."""

    job: Ints = column()  # row
    what: Ints = column(codes=RunningCommand)  # command
    core: Ints = column()  # -1: all
    value: Ints = column()  # scale or state


class Scaling(State, dim="rows"):
    """Jobs whose speeds are scaled or that a policy ends, by row; scales in parts per billion."""

    scale: Ints = column(fill=WHOLE)  # latest scale of all cores
    apart: Ints = column()  # 1: some cores have another scale
    cut_at: Ints = column()  # 1 + the instant at which the policy ends the job; 0 never
    cut_state: Ints = column(codes=Ending)  # its state then
    # Replayed jobs:
    left_ns: Ints = column()  # remaining run time at scale 1
    left_parts: Ints = column()  # parts per billion of a ns to add to left_ns
    left_since: Ints = column()  # 1 + the instant of left_ns
    runs_until_ns: Ints = column()  # resulting end; 0: as recorded
    power_state: Ints = column()  # its state, if power is limited


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


class Releases(State, dim="releases"):
    """Cores that running jobs have released."""

    job: Ints = column()  # row
    core: Ints = column()  # core number
    at_ns: Ints = column()  # instant


class Resizing(State, dim="resizing"):
    """Work space for changes of width."""

    place: Ints = column()  # by core: place in the report of its job
    job: Ints = column()  # rows in order
    least: Ints = column()  # smallest width
    most: Ints = column()  # largest width


class CoreScale(State, dim="scaled"):
    """Scales of single cores."""

    row: Ints = column()  # 1 + the row of the job that the scale belongs to
    scale: Ints = column()  # parts per billion
