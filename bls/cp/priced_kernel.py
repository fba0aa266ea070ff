"""Serial schedule generation where energy has a price: job by job, each where it costs least, as far as it is looked.

A job may start as early as what was placed before allows, or be held back to an instant from which on waiting costs more than
cheaper energy saves; from each of these it starts as early as it can, and the cheapest of these starts is taken, the first of
equals.
"""

from __future__ import annotations

from bls.cp.serial_kernel import Room, first_slice, not_before, start
from traces.compiled import State, compiled
from traces.kernels.signatures import Ints


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
    """Place all jobs in the room's order; returns how many no empty machine could hold, at which it ends: 0 or 1."""
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
