"""Pack intervals onto the fewest lanes: a colouring of their interval graph."""

import numpy as np

from traces.algorithms.event_heap import key_pop, key_push
from traces.compiled import Array, compiled
from traces.kernels.signatures import Ints


@compiled()
def _pack(begin: Ints, end: Ints, by_begin: Ints, by_end: Ints, lane: Ints, free: Ints) -> int:
    """Write each interval's ``lane`` (initially -1) and return the number of lanes; ``free`` is work space of the same size."""
    n_lanes = n_free = ended = 0
    for interval in by_begin:
        # An empty interval that begins at this instant may not have a lane yet; then the remaining intervals have none either.
        while lane[by_end[ended]] >= 0 and end[by_end[ended]] <= begin[interval]:
            n_free = key_push(free, 0, n_free, lane[by_end[ended]])
            ended += 1
        if n_free > 0:
            lane[interval] = free[0]
            n_free = key_pop(free, 0, n_free)
        else:
            lane[interval] = n_lanes
            n_lanes += 1
    return n_lanes


def pack_lanes_of_places(place: Array, begin: Array, end: Array, n_places: int) -> tuple[Array, Array]:
    """Give intervals at several places lanes as :func:`pack_lanes`, separately for each place.

    - ``place``: int64 (n,), from 0 to ``n_places - 1``.
    - ``begin``, ``end``: int64 (n,), as there.

    Returns:
    - ``lane``: int64 (n,), of the place, from 0.
    - ``count``: int64 (n_places,), number of lanes of each place; 1 without intervals.
    """
    # All places at once: with ranks of instants instead of these, and one place after the other.
    instants, rank = np.unique(np.concatenate([begin, end]), return_inverse=True)
    rank = rank.reshape(2, -1) + place * len(instants)
    lane, _ = pack_lanes(rank[0], rank[1])
    count = np.ones(n_places, np.int64)
    np.maximum.at(count, place, lane + 1)
    return lane, count


def pack_lanes(begin: Array, end: Array) -> tuple[Array, Array]:
    """Give each interval the lowest lane that is free when it begins, so that intervals on a lane do not overlap.

    This needs the fewest lanes: when a lane is added, each existing lane holds an interval that began no later and ends later.

    - ``begin``, ``end``: int64 (n,), intervals, ``begin <= end``; one may begin where another ends.

    Returns:
    - ``lane``: int64 (n,), from 0, without gaps.
    - ``order``: int64 (n,), the intervals by lane, then by time.
    """
    by_begin, by_end = np.lexsort((end, begin)), np.lexsort((begin, end))
    lane = np.full(len(begin), -1, np.int64)
    begin, end = np.ascontiguousarray(begin, np.int64), np.ascontiguousarray(end, np.int64)
    _pack(begin, end, by_begin, by_end, lane, lane.copy())
    return lane, by_begin[np.argsort(lane[by_begin], kind="stable")]
