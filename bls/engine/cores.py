"""The columns of allocated cores and of free cores over time."""

from traces.kernels.signatures import Ints
from traces.kernels.state import State, column


class Pool(State, dim="pool"):
    """Cores of jobs, as intervals, job by job."""

    lo: Ints = column()  # first core
    hi: Ints = column()  # one past the last core


class Offer(State):
    """Cores that are free at an instant, or offered to an allocator."""

    words: Ints = column("offered_words")  # a set of cores (``bls.availability.free_cores``)
    hosts: Ints = column("offered_hosts")  # their number on each host, if needed
    # Amounts left: resource r of R of host h at ``h * R + r``, power of each domain, GPUs, then licences
    amounts: Ints = column("amounts")


class OtherAmounts(State, dim="other_amounts"):
    """Amounts that a job takes besides those of its units."""

    index: Ints = column()  # index into ``Offer.amounts``
    amount: Ints = column()  # quantity


class Slices(State, dim="slices"):
    """The number of free cores over time (``bls.engine.profile``)."""

    first: int = 0  # first slice in use
    end: int = 0  # one past the last slice in use
    ns: Ints = column(used=("first", "end"))  # begin of the slice
    free: Ints = column(used=("first", "end"))  # free cores in it


class CoreProfile(State):
    """Time slices with their free cores, and the changes between them (``bls.engine.features.core_plan.core_profile``)."""

    n_slices: int = 1  # slices in use
    n_changes: int = 0  # changes in use
    n_ever: int = 0  # entries of changes ever used
    spare: int = -1  # first unused one of these, -1 none; ``after`` links the others
    ns: Ints = column("core_slices", used=("n_slices",))  # begin of the slice
    free: Ints = column("core_slices", used=("n_slices",))  # free cores in it
    # First change at its begin, -1 none
    first: Ints = column("core_slices", fill=-1, used=("n_slices",))
    lo: Ints = column("changes", used=("n_ever",))  # first core, or index into ``amounts``
    hi: Ints = column("changes", used=("n_ever",))  # one past the last core; or AMOUNT
    # 1: cores are given back, -1: taken; or the increase of the amount
    amount: Ints = column("changes", used=("n_ever",))
    after: Ints = column("changes", fill=-1, used=("n_ever",))  # next change at the same begin, -1 none
    now: Offer = column()  # free in the first slice
