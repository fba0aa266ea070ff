"""The codes of the application engine: enumerations, whose members are integers in kernels."""

from enum import IntEnum


class PhaseKind(IntEnum):
    """Kind of a phase."""

    LOOP = 0
    SERIAL = 1
    GRAPH = 2


class WhyWanted(IntEnum):
    """Reason why a core is wanted."""

    FOR_ANOTHER = 1  # another job waits for it
    TO_LEAVE = 2  # it will leave the job


class Taken(IntEnum):
    """State of a task."""

    FREE = 0
    TAKEN = 1
    PUT_BACK = 2


class Mode(IntEnum):
    """Assignment of a graph's tasks to cores."""

    BY_TECHNIQUE = 0  # a technique assigns waiting tasks to requesting cores
    PLANNED = 1  # a planner gives each core a sequence of tasks
    ON_HOSTS = 2  # tasks are mapped to hosts, whose cores take them in order
    ON_CORES = 3  # tasks are mapped to cores; then as PLANNED


class RoundOpen(IntEnum):
    """Whether a rule's answer 0 is overruled in a round."""

    CLOSED = 0  # no: all cores asked or waited at its begin, and the rule will assign the rest
    OPEN = 1  # yes, by a share, unless the rule chooses its tasks
    LEFT_OVER = 2  # yes: the present cores share the rest


class Does(IntEnum):
    """Activity of a core of a graph."""

    IDLES = 0  # waits for tasks
    ASKS = 1  # its request is on the way
    EXPECTS = 2  # the answer is on the way
    LACKS = 3  # waits for data of its task
    COMPUTES = 4
    ABSENT = 5
    AWAY = 6  # waits for the next round
    DONE = 7  # no more tasks


class CoreEvent(IntEnum):
    """Kinds of a core's events, in their order at one instant."""

    ENDS = 0
    ANSWERED = 1
    REQUESTS = 2


class ApplicationStatus(IntEnum):
    """Result of the engine's kernels, kept in the state; from ``ANSWER_OUT_OF_RANGE`` on they are faults."""

    SUSPENDED = 0  #: Everything before the limit has been simulated.
    FINISHED = 1  #: The last task has ended.
    STOPPED = 2  #: A stop has cut it short.
    LOST = 3  #: It has ended with work left: all cores are lost for good, or come and go too quickly for any task.
    PART_DONE = 4  #: Internal: all tasks of a part have ended.
    CHOOSE = 5  #: Internal: the rule must be prepared or chosen before the next request.
    ANSWER_OUT_OF_RANGE = 6  #: A technique's answer was not in 0 … remaining.
    PLACE_TAKEN = 7  #: A technique chose tasks that were assigned, or are outside the loop.
    TASKS_LEFT = 8  #: A technique sent every core away while tasks were left.
    BAD_PLAN = 9  #: A planner gave a task no present core, or no start.
    STUCK = 10  #: The cores' sequences of a planner or of a mapped graph wait for each other.
    OVERFLOW = 11  #: An end at or after ``traces.base.time.MAX_NS``, where durations saturate.
    ALL_LOST = 12  #: It must run to its end without any core, and some cores may come back.


# The same as plain numbers: a kernel that returns a member or a number would have no type.
(
    SUSPENDED, FINISHED, STOPPED, LOST, PART_DONE, CHOOSE, ANSWER_OUT_OF_RANGE, PLACE_TAKEN, TASKS_LEFT, BAD_PLAN, STUCK,
    OVERFLOW, ALL_LOST,
) = map(int, ApplicationStatus)  # fmt: skip
