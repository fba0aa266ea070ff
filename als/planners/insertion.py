"""Insertion-based scheduling: a task goes where it ends earliest, also into idle time between tasks planned before it."""

from __future__ import annotations

import math
from typing import Final

from als.planners.estimates import ARRIVAL_FLOATS, ARRIVAL_INTS, Arrivals, find_arrivals
from als.planners.slots import SLOT_FLOATS_PER_CORE, SLOT_INTS_PER_CORE, Slots, earliest_slot, take_slot
from traces.compiled import Array, compiled

#: Numbers of work space that slots and arrivals have for each core.
INSERTION_FLOATS_PER_CORE: Final = SLOT_FLOATS_PER_CORE + ARRIVAL_FLOATS
INSERTION_INTS_PER_CORE: Final = SLOT_INTS_PER_CORE + ARRIVAL_INTS


@compiled(inner=True)
def insert_task(arrivals: Arrivals, slots: Slots, task: int, gflop: float, speed: Array, later: Array) -> float:
    """Plan a task where its end, and what comes after it, are earliest; of equals, on the lowest core. Returns its begin, s.
    ``speed``, float64 array (P,): GFLOP/s of each core; at least one is above 0. ``later``, float64 array (P,): what is to be
    added to the end on each core before ends are compared, s, >= 0."""
    find_arrivals(arrivals, task)
    best, best_begin, best_core, best_slot = math.inf, 0.0, -1, 0
    length, length_at = 0.0, 0.0
    for core in range(len(speed)):
        if not speed[core] > 0.0:
            continue
        if speed[core] != length_at:
            length, length_at = gflop / speed[core], speed[core]
        ready, after = arrivals.at[core], later[core]
        if best_core >= 0 and ready + length + after >= best:
            continue
        begin, slot = earliest_slot(slots, core, ready, length, after, best)
        if best_core < 0 or begin + length + after < best:
            best, best_begin, best_core, best_slot = begin + length + after, begin, core, slot
    end = best_begin + gflop / speed[best_core]
    arrivals.problem.core[task] = best_core
    arrivals.end[task] = end
    take_slot(slots, best_core, best_slot, best_begin, end)
    return best_begin
