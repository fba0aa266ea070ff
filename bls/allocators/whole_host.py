"""Whole hosts (exclusive): no host is shared.

Hosts all of whose cores are offered are taken by number until together they have ``n_cores`` cores; the job holds all the
cores of all of them, the last one's too. A host counts for its cores, or for as many as its other resources allow,
rounded down to a multiple of ``unit_cores``; one that counts for none is passed over.
"""

from __future__ import annotations

from typing import Any

from bls.allocators.contract import Allocator, allocator_kernel
from bls.allocators.hosts import usable
from bls.availability.free_cores import free_all

__all__ = ["WHOLE_HOST"]


@allocator_kernel
def _place(
    number: int, n_cores: int, unit_cores: int, limit: int, words: Any, starts: Any, host_first: Any, host_free: Any,
    switch_lo: Any, switch_hi: Any, wanted_lo: Any, wanted_hi: Any, parameters: Any, out_lo: Any, out_hi: Any,
) -> int:  # fmt: skip
    """The rule; see the module."""
    n_out = 0
    missing = n_cores
    for host in range(host_first.size - 1):
        lo = host_first[host]
        hi = host_first[host + 1]
        counts = usable(min(host_free[host], hi - lo), unit_cores)
        if counts == 0 or not free_all(words, lo, hi):
            continue
        if n_out > 0 and out_hi[n_out - 1] == lo:
            out_hi[n_out - 1] = hi
        else:
            out_lo[n_out] = lo
            out_hi[n_out] = hi
            n_out += 1
        missing -= counts
        if missing <= 0:
            return n_out
    return 0


WHOLE_HOST = Allocator("whole-host", _place, by_hosts=True, whole_hosts=True)
