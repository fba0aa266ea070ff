"""Serial schedule generation: job by job in a given order, each starts as early as what was placed before allows.

There are three kinds of rooms: the pool, in which only sums over all nodes count; nodes, each of which holds whole units;
and boxes, in which a unit also lies on neighbouring positions of each resource. In the latter two nodes are tried by
number, and positions from the lowest.
"""

from typing import Final

from traces.compiled import State, compiled
from traces.kernels.signatures import Ints, Ints2

POOL: Final = 0
NODES: Final = 1
BOXES: Final = 2


class Room(State):
    """What a serial schedule is made in; k jobs of u units in all, of c kinds of resources, on n nodes."""

    room: int  # ``POOL``, ``NODES`` or ``BOXES``
    # int64 (n, c), (c,)
    capacity: Ints2
    total: Ints
    # int64 (k,): of jobs; where the units of each begin among all
    duration_s: Ints
    units: Ints
    first_unit: Ints
    per_unit: Ints2  # int64 (k, c)
    release_s: Ints  # int64 (k,): when each may start at the earliest, s after t
    order: Ints  # int64 (k,): in which they are placed
    n_slices: Ints  # int64 (1,)
    slice_s: Ints  # int64: when the slices of the pool's profile begin, s after t; the last one lasts for ever
    used: Ints2  # int64 (slices, c): what is held of all nodes in each
    n_boxes: Ints  # int64 (1,)
    head: Ints2  # int64 (n, c): the last box of each node and kind, -1 if it has none
    # int64: of boxes: the next one of its node and kind, -1 after the last; when it is held, and which positions, or how many
    before: Ints
    begin_s: Ints
    stop_s: Ints
    low: Ints
    size: Ints
    spot: Ints2  # int64 (c, units of the widest job): where on a node units may begin, for the kernel
    start_s: Ints  # int64 (k,): what is found: starts,
    # int64 (u,), (u, c): and of every unit where it is
    unit_node: Ints
    unit_low: Ints2


@compiled(inner=True)
def _clash(room: Room, job: int, first: int, stop: int) -> int:
    """The last slice that meets [begin of slice ``first``, stop) in which the pool has too little; -1 if none has."""
    found = -1
    k = first
    while k < room.n_slices[0] and room.slice_s[k] < stop:
        for kind in range(room.total.size):
            if room.used[k, kind] + room.units[job] * room.per_unit[job, kind] > room.total[kind]:
                found = k
        k += 1
    return found


@compiled(inner=True)
def _most_used(room: Room, node: int, kind: int, begin: int, stop: int, enough: int) -> int:
    """What is held at most at an instant of [begin, stop), of a node's resource; or a number from there to ``enough``."""
    in_all = 0
    box = room.head[node, kind]
    while box >= 0:
        if room.begin_s[box] < stop and room.stop_s[box] > begin:
            in_all += room.size[box]
        box = room.before[box]
    if in_all <= enough:  # as if all were held together
        return in_all
    most = 0
    at = room.head[node, kind]
    instant = begin  # and then when each box begins
    while True:
        held = 0
        box = room.head[node, kind]
        while box >= 0:
            if room.begin_s[box] <= instant and room.stop_s[box] > instant:
                held += room.size[box]
            box = room.before[box]
        most = max(most, held)
        while at >= 0 and not begin < room.begin_s[at] < stop:
            at = room.before[at]
        if at < 0:
            return most
        instant = room.begin_s[at]
        at = room.before[at]


@compiled(inner=True)
def _spots(room: Room, node: int, kind: int, begin: int, stop: int, length: int, wanted: int) -> int:
    """Put the lowest positions of runs of a length that are free in [begin, stop) into ``spot``; returns how many. There are
    up to ``wanted``; none lies on another."""
    capacity = room.capacity[node, kind]
    held = 0
    box = room.head[node, kind]
    while box >= 0:
        if room.begin_s[box] <= begin and room.stop_s[box] > begin:
            held += room.size[box]
        box = room.before[box]
    if capacity - held < length:
        return 0
    found = 0
    position = 0
    while found < wanted and position + length <= capacity:
        # Wherever from here to the end of a box that is in the way a run began, it would be in the way.
        after = 0
        box = room.head[node, kind]
        while box >= 0:
            if (
                room.low[box] < position + length
                and room.low[box] + room.size[box] > position
                and room.begin_s[box] < stop
                and room.stop_s[box] > begin
            ):
                after = max(after, room.low[box] + room.size[box])
            box = room.before[box]
        if after > 0:
            position = after
        else:
            room.spot[kind, found] = position
            found += 1
            position += length
    return found


@compiled(inner=True)
def _units_on(room: Room, job: int, node: int, begin: int, stop: int, wanted: int) -> int:
    """How many units, up to ``wanted``, a node can hold all through [begin, stop)."""
    for kind in range(room.total.size):
        asked = room.per_unit[job, kind]
        if asked > 0:
            wanted = min(wanted, room.capacity[node, kind] // asked)
    for kind in range(room.total.size):
        asked = room.per_unit[job, kind]
        if asked > 0 and wanted > 0:
            if room.room == NODES:
                capacity = room.capacity[node, kind]
                used = _most_used(room, node, kind, begin, stop, capacity - wanted * asked)
                wanted = min(wanted, (capacity - used) // asked)
            else:
                wanted = _spots(room, node, kind, begin, stop, asked, wanted)
    return wanted


@compiled(inner=True)
def _place(room: Room, job: int, begin: int, stop: int) -> bool:
    """Find nodes, and positions, for all units of a job, without taking them; returns whether there are some."""
    unit = room.first_unit[job]
    left = room.units[job]
    for node in range(room.capacity.shape[0]):
        count = _units_on(room, job, node, begin, stop, left)
        for k in range(count):
            room.unit_node[unit] = node
            for kind in range(room.total.size):
                asked = room.room == BOXES and room.per_unit[job, kind] > 0
                room.unit_low[unit, kind] = room.spot[kind, k] if asked else 0
            unit += 1
        left -= count
        if left == 0:
            return True
    return False


@compiled(inner=True)
def _take(room: Room, job: int, begin: int, stop: int) -> None:
    """Hold what was found for a job: a box for each run of its units that are neighbours."""
    first = room.first_unit[job]
    after = first + room.units[job]
    for kind in range(room.total.size):
        asked = room.per_unit[job, kind]
        unit = first
        while asked > 0 and unit < after:
            node = room.unit_node[unit]
            low = room.unit_low[unit, kind]
            size = asked
            unit += 1
            while (
                unit < after
                and room.unit_node[unit] == node
                and (room.room == NODES or room.unit_low[unit, kind] == low + size)
            ):
                size += asked
                unit += 1
            box = room.n_boxes[0]
            room.n_boxes[0] = box + 1
            room.begin_s[box] = begin
            room.stop_s[box] = stop
            room.low[box] = low
            room.size[box] = size
            room.before[box] = room.head[node, kind]
            room.head[node, kind] = box


@compiled(inner=True)
def _split(room: Room, at: int, instant: int) -> None:
    """Let the pool's profile have a slice that begins at an instant within slice ``at``."""
    for k in range(room.n_slices[0], at + 1, -1):
        room.slice_s[k] = room.slice_s[k - 1]
        for kind in range(room.total.size):
            room.used[k, kind] = room.used[k - 1, kind]
    room.slice_s[at + 1] = instant
    for kind in range(room.total.size):
        room.used[at + 1, kind] = room.used[at, kind]
    room.n_slices[0] += 1


@compiled(inner=True)
def _hold(room: Room, job: int, first: int, stop: int) -> None:
    """Let the pool's profile have a job from the begin of slice ``first`` up to ``stop``."""
    last = first
    while last < room.n_slices[0] and room.slice_s[last] < stop:
        last += 1
    if last == room.n_slices[0] or room.slice_s[last] != stop:
        _split(room, last - 1, stop)
    for k in range(first, last):
        for kind in range(room.total.size):
            room.used[k, kind] += room.units[job] * room.per_unit[job, kind]


@compiled(inner=True)
def not_before(room: Room, place: int, first_s: Ints) -> int:
    """When the job at a place of the order can start at the earliest: not before one that was placed and asks for no more.
    That one could not start before ``first_s``, unless it came later than this one, and since then there is less room."""
    job = room.order[place]
    found = 0
    for k in range(place):
        other = room.order[k]
        if (
            first_s[other] > found
            and room.release_s[other] <= room.release_s[job]
            and room.duration_s[other] <= room.duration_s[job]
            and room.units[other] <= room.units[job]
        ):
            kind = 0
            while kind < room.total.size and room.per_unit[other, kind] <= room.per_unit[job, kind]:
                kind += 1
            if kind == room.total.size:
                found = first_s[other]
    return found


@compiled(inner=True)
def first_slice(room: Room, job: int, earliest: int) -> int:
    """The slice in which a job can start first, no earlier than an instant, with its places found; -1 if in none."""
    k = 0  # the slice in which that is
    while k + 1 < room.n_slices[0] and room.slice_s[k + 1] <= earliest:
        k += 1
    while k < room.n_slices[0]:
        begin = max(room.slice_s[k], earliest)
        stop = begin + room.duration_s[job]
        clash = _clash(room, job, k, stop)
        if clash >= 0:
            k = clash + 1
        elif room.room == POOL or _place(room, job, begin, stop):
            return k
        else:
            k += 1
    return -1


@compiled(inner=True)
def start(room: Room, job: int, k: int, begin: int) -> None:
    """Have a job start within slice ``k``, in the places that were found."""
    stop = begin + room.duration_s[job]
    room.start_s[job] = begin
    if room.room != POOL:
        _take(room, job, begin, stop)
    if begin > room.slice_s[k]:
        _split(room, k, begin)
        k += 1
    _hold(room, job, k, stop)


@compiled()
def generate(room: Room) -> int:
    """Place all jobs in the room's order; returns how many no empty machine could hold, at which it ends: 0 or 1."""
    for place in range(room.order.size):
        job = room.order[place]
        earliest = max(not_before(room, place, room.start_s), room.release_s[job])
        k = first_slice(room, job, earliest)
        if k < 0:
            return 1
        start(room, job, k, max(room.slice_s[k], earliest))
    return 0


class PricedCosts(State):
    """What starts of k jobs cost."""

    piece_first: Ints  # int64 (k + 1,): where each job's pieces begin
    # int64 (pieces,): from which start on, what it costs there, and more by the second
    at_s: Ints
    value: Ints
    slope: Ints
    back_first: Ints  # int64 (k + 1,): where the instants begin to which each job may be held back
    back_s: Ints  # int64 (instants,): ascending for each
    latest_s: Ints  # int64 (k,): no later start is looked at, unless there is none before
    first_s: Ints  # int64 (k,): for the kernel: where a job could have started first as it was placed


@compiled(inner=True)
def _cost(costs: PricedCosts, job: int, start_s: int) -> int:
    k = costs.piece_first[job]
    while k + 1 < costs.piece_first[job + 1] and costs.at_s[k + 1] <= start_s:
        k += 1
    return int(costs.value[k] + costs.slope[k] * (start_s - costs.at_s[k]))


@compiled()
def generate_priced(room: Room, costs: PricedCosts) -> int:
    """As :func:`generate` where energy has a price: each job where it costs least, as far as it is searched.

    A job may start as early as the jobs placed before it allow, or be held back to an instant from which on waiting costs more
    than cheaper energy saves; from each of these it starts as early as it can, and the cheapest of these starts is taken, the
    first of equals.
    """
    for place in range(room.order.size):
        job = room.order[place]
        earliest = max(not_before(room, place, costs.first_s), room.release_s[job])
        k = first_slice(room, job, earliest)
        if k < 0:
            return 1
        begin = max(room.slice_s[k], earliest)
        costs.first_s[job] = begin
        best = begin
        least = _cost(costs, job, begin)
        looked = begin
        for at in range(costs.back_first[job], costs.back_first[job + 1]):
            back = costs.back_s[at]
            if back > looked and back <= costs.latest_s[job]:
                k = first_slice(room, job, back)
                looked = max(room.slice_s[k], back)
                cost = _cost(costs, job, looked)
                if looked <= costs.latest_s[job] and cost < least:
                    best = looked
                    least = cost
        k = first_slice(room, job, best)  # in its places again
        start(room, job, k, best)
    return 0
