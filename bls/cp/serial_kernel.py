"""Serial schedule generation: jobs are placed in a given order, each at the earliest start that the placed jobs allow.

There are three kinds of rooms. In the pool only sums over all nodes count. In a room of nodes each node holds whole units. In a
room of boxes a unit also occupies neighbouring positions of each resource. Nodes are tried by number, and positions from the
lowest.
"""

from traces.compiled import State, compiled
from traces.kernels.signatures import Ints, Ints2

POOL, NODES, BOXES = range(3)


class Room(State):
    """State of a serial schedule: k jobs with u units in total, c kinds of resources, n nodes."""

    room: int  # ``POOL``, ``NODES`` or ``BOXES``
    # int64 (n, c), (c,)
    capacity: Ints2
    total: Ints
    # int64 (k,): of jobs; index of the first unit of each
    duration_s: Ints
    units: Ints
    first_unit: Ints
    per_unit: Ints2  # int64 (k, c)
    release_s: Ints  # int64 (k,): earliest start of each job, s after t
    order: Ints  # int64 (k,): order in which jobs are placed
    n_slices: Ints  # int64 (1,)
    slice_s: Ints  # int64: beginnings of the slices of the pool's profile, s after t; the last slice has no end
    used: Ints2  # int64 (slices, c): amounts held on all nodes in each slice
    n_boxes: Ints  # int64 (1,)
    head: Ints2  # int64 (n, c): the last box of each node and kind, -1 if it has none
    # int64, by box: the next box of its node and kind, -1 after the last; begin and end; first position and number of them
    before: Ints
    begin_s: Ints
    stop_s: Ints
    low: Ints
    size: Ints
    spot: Ints2  # int64 (c, units of the widest job): for the kernel: positions at which units may begin on a node
    start_s: Ints  # int64 (k,): result: starts
    # int64 (u,), (u, c): result: node and positions of every unit
    unit_node: Ints
    unit_low: Ints2


@compiled(inner=True)
def _clash(room: Room, job: int, first: int, stop: int) -> int:
    """The last slice within [begin of slice ``first``, stop) in which the pool has too little left; -1 if there is none."""
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
    """The largest amount held within [begin, stop) of a node's resource; or an upper bound of it that is at most ``enough``."""
    in_all = 0
    box = room.head[node, kind]
    while box >= 0:
        if room.begin_s[box] < stop and room.stop_s[box] > begin:
            in_all += room.size[box]
        box = room.before[box]
    if in_all <= enough:  # even if all were held at the same time
        return in_all
    most = 0
    at = room.head[node, kind]
    instant = begin  # then the beginning of each box
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
    """Put the lowest positions of up to ``wanted`` runs of ``length`` that are free in [begin, stop) into
    ``spot``; count them."""
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
        # A run that begins anywhere before the end of a box in its way would overlap the box.
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
    """Number of units, up to ``wanted``, that fit a node during all of [begin, stop)."""
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
    """Find nodes and positions for all units of a job, without taking them; returns whether they exist."""
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
    """Hold the places that were found for a job: one box for each run of neighbouring units."""
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
    """Begin a new slice of the pool's profile at an instant within slice ``at``."""
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
    """Add a job to the pool's profile, from the begin of slice ``first`` up to ``stop``."""
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
    """A lower bound of the start of the job at a place of the order. A placed job that requests no more could not start before
    its ``first_s``; unless it was released later than this job, nor can this one, since there is less room now."""
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
    """The first slice in which a job can start, not before ``earliest``, with its places found; -1 if there is none."""
    k = 0  # the slice of ``earliest``
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
    """Start a job within slice ``k``, in the places that were found."""
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
    """Place all jobs in the room's order; returns 1, and stops, if a job does not fit the empty machine, else 0."""
    for place in range(room.order.size):
        job = room.order[place]
        earliest = max(not_before(room, place, room.start_s), room.release_s[job])
        k = first_slice(room, job, earliest)
        if k < 0:
            return 1
        start(room, job, k, max(room.slice_s[k], earliest))
    return 0


class PricedCosts(State):
    """Costs of starts of k jobs."""

    piece_first: Ints  # int64 (k + 1,): index of the first piece of each job
    # int64 (pieces,): first start of the piece, cost there, and further cost per second
    at_s: Ints
    value: Ints
    slope: Ints
    back_first: Ints  # int64 (k + 1,): index of the first instant to which each job may be held back
    back_s: Ints  # int64 (instants,): ascending for each job
    latest_s: Ints  # int64 (k,): later starts are not considered, unless there is no earlier one
    first_s: Ints  # int64 (k,): for the kernel: earliest possible start of a job when it was placed


@compiled(inner=True)
def _cost(costs: PricedCosts, job: int, start_s: int) -> int:
    k = costs.piece_first[job]
    while k + 1 < costs.piece_first[job + 1] and costs.at_s[k + 1] <= start_s:
        k += 1
    return int(costs.value[k] + costs.slope[k] * (start_s - costs.at_s[k]))


@compiled()
def generate_priced(room: Room, costs: PricedCosts) -> int:
    """:func:`generate` with prices of energy. A job may start as early as the placed jobs allow, or be held back to an instant
    from which waiting costs more than cheaper energy saves. From each of these instants it starts as early as possible. The
    cheapest of these starts is taken, the first of equals."""
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
        tried = begin
        for at in range(costs.back_first[job], costs.back_first[job + 1]):
            back = costs.back_s[at]
            if back > tried and back <= costs.latest_s[job]:
                k = first_slice(room, job, back)
                tried = max(room.slice_s[k], back)
                cost = _cost(costs, job, tried)
                if tried <= costs.latest_s[job] and cost < least:
                    best = tried
                    least = cost
        k = first_slice(room, job, best)  # in its places again
        start(room, job, k, best)
    return 0
