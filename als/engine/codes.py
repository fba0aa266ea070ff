"""The codes of the application engine: enumerations, whose members are integers in kernels."""

from enum import IntEnum


class PhaseKind(IntEnum):
    """What a phase is."""

    LOOP = 0
    SERIAL = 1
    GRAPH = 2


class WhyWanted(IntEnum):
    """Why a core is wanted."""

    FOR_ANOTHER = 1  # another job waits for it
    TO_LEAVE = 2


class Taken(IntEnum):
    """Who has a task."""

    FREE = 0
    TAKEN = 1
    PUT_BACK = 2


class Mode(IntEnum):
    """How the tasks of a graph come to cores."""

    BY_TECHNIQUE = 0  # cores ask, a technique says how many of the waiting tasks they get
    PLANNED = 1  # every task has its core, and every core a sequence
    ON_HOSTS = 2  # every task has its host, whose cores take them in order
    ON_CORES = 3  # every task has its core by itself; from then on as PLANNED


class RoundOpen(IntEnum):
    """Whether a rule's 0 is overruled in a round."""

    CLOSED = 0  # everybody was asking, or waiting, as it began: what a rule keeps back it will give to somebody
    OPEN = 1  # who is told 0 gets a share, unless the rule chooses its tasks: then they are promised
    LEFT_OVER = 2  # nobody comes for what is left: it is shared out among those who are there


class Does(IntEnum):
    """What a core of a graph does."""

    IDLES = 0  # it waits for tasks
    ASKS = 1  # its request is under way
    HEARS = 2  # an answer is under way
    LACKS = 3  # it waits for its task's data
    COMPUTES = 4
    ABSENT = 5
    AWAY = 6  # it waits for the next round
    DONE = 7  # it was told that there is nothing more


class CoreEvent(IntEnum):
    """Kinds of a core's events, in the order in which those of one instant are handled."""

    ENDS = 0
    TOLD = 1
    REQUESTS = 2


class ApplicationStatus(IntEnum):
    """What the engine's kernels return, and keep in the state; those from ``ANSWER_OUT_OF_RANGE`` on are faults."""

    SUSPENDED = 0  #: It can go on: everything before the limit has been simulated.
    FINISHED = 1  #: The last task has ended.
    STOPPED = 2  #: A stop has cut it short.
    LOST = 3  #: It has ended with work left: all its cores are lost for good, or come and go too quickly for any task.
    PART_DONE = 4  #: Of one part, within the engine: all its tasks have been handed out, and have ended.
    CHOOSE = 5  #: Of one part, within the engine: the rule is to be prepared, or to be chosen, before the next request.
    ANSWER_OUT_OF_RANGE = 6  #: A technique's answer was not in 0 … remaining.
    PLACE_TAKEN = 7  #: A technique that chooses its tasks chose some that were assigned, or are not of the loop.
    TASKS_LEFT = 8  #: A technique sent every core away while tasks were left.
    BAD_PLAN = 9  #: A planner gave a task no core that is there, or no start.
    STUCK = 10  #: The cores' sequences of a planner, or of a mapped graph, wait for each other.
    OVERFLOW = 11  #: An end at ``traces.base.time.MAX_NS``, where durations saturate, or beyond.
    ALL_LOST = 12  #: It is to run to its end, no core is there, and some were never said to be lost for good.


# The same for kernels, as plain numbers: one that returns a member or a number has no type.
(
    SUSPENDED, FINISHED, STOPPED, LOST, PART_DONE, CHOOSE, ANSWER_OUT_OF_RANGE, PLACE_TAKEN, TASKS_LEFT, BAD_PLAN, STUCK,
    OVERFLOW, ALL_LOST,
) = map(int, ApplicationStatus)  # fmt: skip
