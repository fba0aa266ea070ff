"""The columns of cores: who has which, and how many, or which, are free when."""

from traces.kernels.signatures import Ints
from traces.kernels.state import State, column


class Pool(State, dim="pool"):
    """Cores of jobs, as intervals, job by job."""

    lo: Ints = column()  # the first core
    hi: Ints = column()  # one past the last core


class Offer(State):
    """Cores that are free at an instant, or offered to an allocator."""

    words: Ints = column("offered_words")  # which these are (``bls.availability.free_cores``)
    hosts: Ints = column("offered_hosts")  # how many of each host, where that is asked for
    # What else is left: resource r of R of host h at ``h * R + r``, power of the machine and its parts, then the licences
    amounts: Ints = column("amounts")


class Slices(State, dim="slices"):
    """How many cores are free over time (``bls.availability.count_profile``)."""

    first: int = 0  # slices in use: first … end - 1
    end: int = 0  # likewise
    ns: Ints = column(used=("first", "end"))  # begin of the slice
    free: Ints = column(used=("first", "end"))  # how many cores are free in it


class CoreProfile(State):
    """Slices of time with their free cores, and the changes between them (``bls.engine.features.planning.core_profile``)."""

    n_slices: int = 1  # slices in use, from 0
    n_changes: int = 0  # changes in use
    n_ever: int = 0  # changes that have ever been in use, from 0
    spare: int = -1  # one of them that is not, -1 none; those after it follow by ``after``
    ns: Ints = column("core_slices", used=("n_slices",))  # begin of the slice
    free: Ints = column("core_slices", used=("n_slices",))  # how many cores are free in it
    # One of the changes at its begin, -1 none; none in the first slice
    first: Ints = column("core_slices", fill=-1, used=("n_slices",))
    # The first core that is given back or taken; or which of ``amounts`` changes
    lo: Ints = column("changes", used=("n_ever",))
    hi: Ints = column("changes", used=("n_ever",))  # one past the last core; or AMOUNT
    # 1 where cores are given back, -1 where they are taken; or what becomes more
    amount: Ints = column("changes", used=("n_ever",))
    after: Ints = column("changes", fill=-1, used=("n_ever",))  # another change at the same begin, -1 none
    now: Offer = column()  # what is free in the first slice
