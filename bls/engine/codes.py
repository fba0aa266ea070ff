"""The codes in the state of the batch engine: enumerations, whose members are integers in kernels (``bls.engine.state``)."""

from enum import IntEnum, IntFlag


class QueueOrder(IntEnum):
    """In which order jobs wait: ranks that never change, scores of each pass; or who decides in Python; or nobody starts."""

    STATIC = 0
    SCORED = 1
    DECIDED = 2
    REJECTED = 3


class Cut(IntEnum):
    """How the end of a job came about."""

    BY_ITSELF = 0
    BY_OTHERS = 1  # by what its stop_state says
    FOR_GOOD = 2  # likewise, and it is not tried again, whatever the reason


class Release(IntEnum):
    """How running jobs release cores."""

    NO_RELEASES = 0
    BY_CORE = 1
    BY_HOST = 2
    BY_DRAIN = 3  # what jobs have of hosts that are drained counts with the hosts


class Resize(IntEnum):
    """When the widths of running jobs change."""

    NO_RESIZE = 0
    EXPAND = 1  # when nobody waits
    SHRINK = 2  # when the head lacks cores
    EXPAND_SHRINK = 3
    EQUAL = 4  # so that all have as many as they can
    EVOLVE = 5  # as jobs wish
    AS_DECIDED = 6  # as a policy decides


class Hints(IntEnum):
    """Who says for which of their cores running jobs are told that others wait."""

    NO_HINTS = 0
    OF_HEAD = 1  # the head of the queue waits
    BY_POLICY = 2


class Directs(IntFlag):
    """What is done to running jobs."""

    SCALES = 1  # a policy scales the speeds of cores
    CUTS = 2  # a policy ends jobs
    SLOWS = 4  # a limit to power scales speeds


class PowerRule(IntEnum):
    """What a limit to power does."""

    UNPOWERED = 0
    HOLD = 1  # jobs start at full speed, or not
    FIXED = 2  # they start in the state that their submit has set
    LEVELS = 3  # at one level for all that may be slowed


class SlowOrder(IntEnum):
    """The order in which running jobs are slowed."""

    TOGETHER = 0  # all at once, at one level
    FEWEST = 1  # first the job that saves the most power
    LEAST_SENSITIVE = 2  # first the job that saves the most power per lost speed of its cores


class HostState(IntEnum):
    """Where hosts are that may be stopped, or fall asleep."""

    UP = 0
    OUT = 1  # idle, and not in service
    SHUTTING = 2
    OFF = 3
    BOOTING = 4


class Telling(IntEnum):
    """What a running job is told."""

    ASKED_FOR = -1  # to give up a core
    GIVEN = 1  # a core
    SCALED = 2  # the speed of a core, or of all
    ENDED_BY = 3  # that it is ended
    HINTED = 4  # that others wait for some of its cores


class PlacementRefusal(IntEnum):
    """Why a job cannot have the cores that a policy named, and what refused_at and refused_of are."""

    HELD_BACK = 1  # by a limit of its partition
    TAKEN = 2  # a core that is not free
    OUTSIDE = 3  # a core that its partition has not
    IN_WINDOW = 4  # a window that it would meet, and a core of it
    OUT_OF_WINDOW = 5  # its own window, and a core outside it, -1 where it is the time that does not fit
    BROKEN_UNIT = 6  # a host, and how many of its cores are named
    SHARED_HOST = 7  # a host that is named in part, where hosts are not shared; and how many of its cores are named
    NO_RESOURCE = 8  # a host, and a resource of which it has too little left
    NO_LICENCE = 9  # a licence of which there are too few left
    TOO_FEW = 10  # how many cores its units can use of those that are named
    TOO_MANY = 11  # a host that it does not need, where hosts are not shared
    SWITCHES = 12  # how many leaf switches the cores are on
    NO_POWER = 13  # in domain refused_where, what the job would draw beyond idle cores, and how much is left, mW
