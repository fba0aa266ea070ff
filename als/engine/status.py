"""Why the application engine stopped, and how an application ended."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["ApplicationStatus"]


class ApplicationStatus(IntEnum):
    """What the engine's kernels return, and keep in ``counters[STATUS]``; those from ``ANSWER_OUT_OF_RANGE`` on are faults."""

    #: It can go on: everything before the limit has been simulated.
    SUSPENDED = 0
    #: The last task has ended.
    FINISHED = 1
    #: A stop has cut it short.
    STOPPED = 2
    #: Of one part, within the engine: all its tasks have been handed out, and have ended.
    PART_DONE = 3
    #: Of one part, within the engine: the rule is to be prepared, or to be chosen, before the next request.
    CHOOSE = 4
    #: A technique's answer was not in 0 … remaining.
    ANSWER_OUT_OF_RANGE = 5
    #: A technique that chooses its tasks chose some that were assigned, or are not of the loop.
    PLACE_TAKEN = 6
    #: A technique sent every core away while tasks were left.
    TASKS_LEFT = 7
    #: A planner gave a task no core that is there, or no start.
    BAD_PLAN = 8
    #: The cores' sequences of a planner, or of a mapped graph, wait for each other.
    STUCK = 9
    #: An end at ``traces.base.time.MAX_NS``, where durations saturate, or beyond.
    OVERFLOW = 10
    #: No core is there, and none will come.
    ALL_LOST = 11
    #: Cores come and go too quickly for any task.
    HOPELESS = 12


# The same as kernels take them: plain numbers.
(
    SUSPENDED, FINISHED, STOPPED, PART_DONE, CHOOSE, ANSWER_OUT_OF_RANGE, PLACE_TAKEN, TASKS_LEFT, BAD_PLAN, STUCK, OVERFLOW,
    ALL_LOST, HOPELESS,
) = map(int, ApplicationStatus)  # fmt: skip
