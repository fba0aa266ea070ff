"""Why the application engine stopped, and how an application ended."""

from __future__ import annotations

from enum import IntEnum


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
