"""The columns of running jobs: what they are told, and what they say of their cores."""

from bls.engine.codes import Telling
from traces.base.scale import WHOLE
from traces.kernels.signatures import Ints
from traces.kernels.state import State, column
from traces.lifecycle import Ending


class Told(State, dim="told"):
    """What running jobs were told, and when."""

    job: Ints = column()  # its row
    at_ns: Ints = column()  # when it was told
    core: Ints = column()  # -1: all cores, or the end of the job; with HINTED the row that waits, -1 nobody any more
    what: Ints = column(codes=Telling)  # what it was told
    value: Ints = column()  # the scale, the state of a job that is ended; with HINTED for how many cores it waits
    wanted: Ints = column()  # with HINTED, how many of them are the job's own


class Directed(State, dim="directed"):
    """What a policy has decided about running jobs in the pass under way, job by job.

    First what it hints: ``core`` is one that is wanted, -1 none, ``value`` the row that waits, -1 none.
    """

    job: Ints = column()  # its row
    what: Ints = column(codes=Telling)  # what it is told
    core: Ints = column()  # -1: all
    value: Ints = column()  # the scale, or the state


class Scaling(State, dim="rows"):
    """Of rows of jobs, where speeds are scaled or jobs are ended; scales in parts per billion."""

    scale: Ints = column(fill=WHOLE)  # of all cores, told last
    apart: Ints = column()  # 1 where some have been told another one since
    cut_at: Ints = column()  # 1 + the instant at which the job is ended for its policy; 0 never
    cut_state: Ints = column(codes=Ending)  # the state that it has then
    # Of those that are only replayed:
    left_ns: Ints = column()  # what was left to run at scale 1
    left_parts: Ints = column()  # and parts per billion of a ns
    left_since: Ints = column()  # 1 + the instant of that
    runs_until_ns: Ints = column()  # when it ends by that; 0 as recorded
    power_state: Ints = column()  # its state, where power is limited


class Wishing(State, dim="rows"):
    """Of rows of jobs, where they wish for cores, or a policy says how wide they are."""

    wish: Ints = column()  # how many cores it wished for last, or its policy wants it to have; 0: as many as it has
    wished: Ints = column()  # 1 + the place of its latest wish, of all that it is told to make from its start on
    first: Ints = column()  # where in the table of wishes those are that it is still to make
    count: Ints = column()  # how many these are


class Wishes(State, dim="wishes"):
    """Wishes of running jobs for cores that are still to come."""

    job: Ints = column()  # its row; -1 of one that was taken back
    at_ns: Ints = column()  # when it wishes
    cores: Ints = column()  # for how many cores
    place: Ints = column()  # among all wishes that the job is told to make


class Releases(State, dim="releases"):
    """Cores that running jobs have released."""

    job: Ints = column()  # its row
    core: Ints = column()  # the core
    at_ns: Ints = column()  # when it was released


class Resizing(State, dim="resizing"):
    """Work space, where widths change."""

    place: Ints = column()  # of each core, where it is in what is told of it
    job: Ints = column()  # the row of a job, in order
    least: Ints = column()  # its narrowest width
    most: Ints = column()  # its widest width


class CoreScale(State, dim="scaled"):
    """Of each core whose job has scales of its own for some."""

    row: Ints = column()  # 1 + the row of the job that it is of
    scale: Ints = column()  # parts per billion
