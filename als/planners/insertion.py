"""Insertion-based scheduling: a task is placed where it ends earliest, which may be idle time (a *slot*) between planned tasks.
A task of length 0 may be at a slot's edge, but not between two tasks without a gap."""

import math
from typing import Final, NamedTuple

from als.planners.contract import PlanningProblem
from als.planners.estimates import ARRIVAL_FLOATS, ARRIVAL_INTS, Arrivals, find_arrivals, new_arrivals
from traces.compiled import Array, compiled

# Each task adds at most one slot between tasks. A core's slots are contiguous, with room for 4 at first; when it is full, they
# move to a piece of twice the size. So all pieces together have room for at most 4 times as many slots as there are tasks.
_FIRST_ROOM: Final = 4

_SLOT_FLOATS: Final = 2  # numbers of work space per core for :class:`Slots`
_SLOT_INTS: Final = 3

#: Numbers of work space for slots and arrivals, besides one int.
FLOATS_PER_TASK: Final = 8
FLOATS_PER_CORE: Final = _SLOT_FLOATS + ARRIVAL_FLOATS
INTS_PER_CORE: Final = _SLOT_INTS + ARRIVAL_INTS

# An upper bound of the rounding error of a sum of two instants, over the larger one.
_ROUNDING: Final = 1e-15


class Slots(NamedTuple):
    """The slots of all cores."""

    # float64 arrays (at least 4·N,): begin and end of the slots between tasks, s; contiguous for each core, in time order
    opens: Array
    closes: Array
    last_end: Array  # float64 array (P,): end of the last task of each core: where its last slot begins, s
    widest: Array  # float64 array (P,): length of each core's longest slot between tasks, s; 0 if there is none
    # int64 arrays (P,): where each core's slots begin, their number, and the room for them
    first: Array
    held: Array
    room: Array
    top: Array  # int64 array (1,): begin of the next piece


@compiled(inner=True)
def begin_insertion(problem: PlanningProblem, end: Array, floats: Array, ints: Array) -> tuple[Arrivals, Slots, Array]:
    """Return the arrivals before the first task, the slots of cores that are idle from 0 on, and the rest of ``floats``.

    They take ``FLOATS_PER_TASK``·N + ``FLOATS_PER_CORE``·P and 1 + ``INTS_PER_CORE``·P numbers of work space.
    """
    p, half = len(problem.speed), FLOATS_PER_TASK // 2 * len(end)
    opens, closes, per_core = floats[:half], floats[half : 2 * half], floats[2 * half :]
    for place in range(_SLOT_FLOATS * p):
        per_core[place] = 0.0
    for place in range(1 + _SLOT_INTS * p):
        ints[place] = 0
    first, held, room = ints[1 : 1 + p], ints[1 + p : 1 + 2 * p], ints[1 + 2 * p : 1 + 3 * p]
    slots = Slots(opens, closes, per_core[:p], per_core[p : 2 * p], first, held, room, ints[:1])
    arrivals = new_arrivals(problem, end, per_core[_SLOT_FLOATS * p :], ints[1 + _SLOT_INTS * p :])
    return arrivals, slots, per_core[FLOATS_PER_CORE * p :]


@compiled(inner=True)
def earliest_slot(
    slots: Slots, core: int, ready: float, length: float, later: float, limit: float
) -> tuple[float, int]:
    """Return the earliest begin of a task on a core, and the slot, in O(log n) steps for n slots, and one for each that is too
    short. The last slot, after all tasks, has the number of slots between tasks.

    The task can begin from ``ready`` on. The search stops where begin + length + ``later`` is not below the ``limit``: the
    result is then not better than the caller's best."""
    count, last_end = slots.held[core], slots.last_end[core]
    at_end = max(ready, last_end)
    # A length above the widest slot by less than the rounding error may still fit: the sum below decides.
    if ready >= last_end or count == 0 or length > slots.widest[core] + last_end * _ROUNDING:
        return at_end, count
    opens, closes, first = slots.opens, slots.closes, slots.first[core]
    low, high = first, first + count
    while low < high:
        middle = (low + high) >> 1
        if closes[middle] < ready + length:
            low = middle + 1
        else:
            high = middle
    for place in range(low, first + count):
        begin = max(ready, opens[place])
        if begin + length <= closes[place]:
            return begin, place - first
        if begin + length + later >= limit:
            break
    return at_end, count


@compiled(inner=True)
def _add(slots: Slots, core: int, slot: int, opens: float, closes: float) -> None:
    count = slots.held[core]
    if count == slots.room[core]:
        room = max(_FIRST_ROOM, 2 * count)
        old, new = slots.first[core], slots.top[0]
        for place in range(count):
            slots.opens[new + place] = slots.opens[old + place]
            slots.closes[new + place] = slots.closes[old + place]
        slots.first[core] = new
        slots.room[core] = room
        slots.top[0] = new + room
    at = slots.first[core] + slot
    for place in range(slots.first[core] + count, at, -1):
        slots.opens[place] = slots.opens[place - 1]
        slots.closes[place] = slots.closes[place - 1]
    slots.opens[at] = opens
    slots.closes[at] = closes
    slots.held[core] = count + 1


@compiled(inner=True)
def take_slot(slots: Slots, core: int, slot: int, begin: float, end: float) -> None:
    """Place a task in the slot that :func:`earliest_slot` has found."""
    if slot == slots.held[core]:
        last_end = slots.last_end[core]
        if begin > last_end:
            _add(slots, core, slot, last_end, begin)
            slots.widest[core] = max(slots.widest[core], begin - last_end)
        slots.last_end[core] = end
        return
    at = slots.first[core] + slot
    opens, closes = slots.opens[at], slots.closes[at]
    if begin > opens and closes > end:
        slots.closes[at] = begin
        _add(slots, core, slot + 1, end, closes)
    elif begin > opens:
        slots.closes[at] = begin
    elif closes > end:
        slots.opens[at] = end
    else:
        last = slots.first[core] + slots.held[core] - 1
        for place in range(at, last):
            slots.opens[place] = slots.opens[place + 1]
            slots.closes[place] = slots.closes[place + 1]
        slots.held[core] -= 1
    if closes - opens >= slots.widest[core]:
        widest = 0.0
        for place in range(slots.first[core], slots.first[core] + slots.held[core]):
            widest = max(widest, slots.closes[place] - slots.opens[place])
        slots.widest[core] = widest


@compiled(inner=True)
def insert_task(arrivals: Arrivals, slots: Slots, task: int, gflop: float, speed: Array, later: Array) -> float:
    """Plan a task where its end plus ``later`` is earliest; among equals, on the lowest core. Returns its begin, s. ``speed``,
    float64 array (P,): GFLOP/s of each core; at least one is above 0. ``later``, float64 array (P,): time added to the end on
    each core before ends are compared, s, >= 0."""
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
