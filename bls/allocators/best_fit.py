"""Best fit: the busiest host first, so that the others stay free for wide jobs.

A host's usable cores are those that it offers, rounded down to a multiple of ``unit_cores``. Hosts that have any are taken
by how many they have, fewest first, equals by number. Each gives its lowest offered cores, as many as are usable or still
missing. The job can be placed if the usable cores of all hosts are ``n_cores`` or more.

AccaSim calls this order of hosts "best fit" (hosts sorted by what they have left, ascending).
"""

from __future__ import annotations

from typing import Any

from bls.allocators.contract import Allocator, allocator_kernel
from bls.allocators.hosts import take_by_amount

__all__ = ["BEST_FIT"]


@allocator_kernel
def _place(
    number: int,
    n_cores: int,
    unit_cores: int,
    limit: int,
    words: Any,
    starts: Any,
    host_first: Any,
    host_free: Any,
    switch_lo: Any,
    switch_hi: Any,
    wanted_lo: Any,
    wanted_hi: Any,
    parameters: Any,
    out_lo: Any,
    out_hi: Any,
) -> int:
    return take_by_amount(words, starts, host_first, host_free, False, unit_cores, n_cores, out_lo, out_hi)


BEST_FIT = Allocator("best-fit", _place, countable=True, by_hosts=True)
