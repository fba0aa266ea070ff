"""The columns of commands that scale the speeds of jobs, or end them."""

from bls.engine.codes import RunningCommand
from traces.base.scale import WHOLE
from traces.kernels.signatures import Ints
from traces.kernels.state import State, column
from traces.lifecycle import Ending


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


class CoreScale(State, dim="scaled"):
    """Scales of single cores."""

    row: Ints = column()  # 1 + the row of the job that the scale belongs to
    scale: Ints = column()  # parts per billion


class DirectionState(State):
    """Commands of a policy to running jobs, and their effects."""

    n_decided: int = 0  # columns of ``decided`` in use
    decided: Directed = column(used=("n_decided",))  # a policy's decisions about running jobs
    scaling: Scaling = column("scaling")  # of rows: scales of speeds, and ends set by a policy
    core_scale: CoreScale = column()  # scales of single cores
