"""The codes in the state of the batch engine: enumerations, whose members are integers in kernels (``bls.engine.state``)."""

from enum import IntEnum, IntFlag

NEVER = 2**63 - 1  #: the instant that never comes: the end of intervals without an end


class QueueOrder(IntEnum):
    """Order of the queue."""

    STATIC = 0  # fixed ranks
    SCORED = 1  # scores of each pass
    DECIDED = 2  # a Python policy decides
    REJECTED = 3  # no job starts


class Cut(IntEnum):
    """Cause of a job's end."""

    BY_ITSELF = 0
    BY_OTHERS = 1  # cut, for the reason in stop_state
    FOR_GOOD = 2  # the same, without another attempt


class Release(IntEnum):
    """Unit of released cores."""

    NO_RELEASES = 0
    BY_CORE = 1
    BY_HOST = 2
    BY_DRAIN = 3  # cores of drained hosts that jobs hold count with the hosts


class Resize(IntEnum):
    """When the widths of running jobs change."""

    NO_RESIZE = 0
    EXPAND = 1  # when the queue is empty
    SHRINK = 2  # when the head lacks cores
    EXPAND_SHRINK = 3
    EQUAL = 4  # equal widths, as far as possible
    EVOLVE = 5  # at the request of jobs
    AS_DECIDED = 6  # by decision of a policy


class Hints(IntEnum):
    """Source of hints, which name cores of a running job that another job waits for."""

    NO_HINTS = 0
    OF_HEAD = 1  # the head of the queue
    BY_POLICY = 2


class Directs(IntFlag):
    """Commands other than widths and hints."""

    SCALES = 1  # a policy scales core speeds
    CUTS = 2  # a policy ends jobs
    SLOWS = 4  # a power limit scales core speeds


class PowerRule(IntEnum):
    """Effect of a power limit."""

    UNPOWERED = 0
    HOLD = 1  # jobs start at full speed or wait
    FIXED = 2  # jobs start in the power state of their submission
    LEVELS = 3  # one level for all jobs that may be slowed


class SlowOrder(IntEnum):
    """The order in which running jobs are slowed."""

    TOGETHER = 0  # all at once, at one level
    FEWEST = 1  # first the job that saves the most power
    LEAST_SENSITIVE = 2  # first the job that saves the most power per lost speed of its cores


class HostState(IntEnum):
    """States of hosts that may not stay up."""

    UP = 0
    OUT = 1  # idle and out of service
    SHUTTING = 2
    OFF = 3
    BOOTING = 4


class RunningCommand(IntEnum):
    """Commands to a running job."""

    ASKED_FOR = -1  # give up a core
    GIVEN = 1  # use a further core
    SCALED = 2  # change the speed of one core or all
    ENDED_BY = 3  # end
    HINTED = 4  # another job waits for some of its cores


class PlacementRefusal(IntEnum):
    """Reason why a job cannot have the cores that a policy named; then the values of refused_at and refused_of."""

    HELD_BACK = 1  # a limit of the partition
    TAKEN = 2  # a core is not free: the core
    OUTSIDE = 3  # a core is outside the partition: the core
    IN_WINDOW = 4  # the job would overlap a window: the window, one of its cores
    OUT_OF_WINDOW = 5  # the job leaves its own window: the window, a core outside it (-1: its end)
    BROKEN_UNIT = 6  # a unit is split: the host, its named cores
    SHARED_HOST = 7  # part of an exclusive host: the host, its named cores
    NO_RESOURCE = 8  # too little of a resource: the host, the resource
    NO_LICENCE = 9  # too few licences: the licence
    TOO_FEW = 10  # too few usable cores: their number
    TOO_MANY = 11  # an exclusive host that is not needed: the host
    SWITCHES = 12  # too many leaf switches: their number
    NO_POWER = 13  # too little power in domain refused_where: power above idle, power left (mW)
    NO_PARTS = 14  # too few GPUs: the host, the units for which they suffice
