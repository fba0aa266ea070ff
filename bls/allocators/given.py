"""The very cores that the job asks for, when all of them are free (two-level paper, section 4.2).

A job that asks for none cannot be placed; nor can one of units of more than one core whose cores are no multiple of
``unit_cores`` on some host.
"""

from __future__ import annotations

from typing import Any

from bls.allocators.contract import Allocator, allocator_kernel
from bls.availability.free_cores import free_all
from traces.compiled import Array, compiled

__all__ = ["GIVEN"]


@compiled(inner=True)
def _whole_units(host_first: Array, wanted_lo: Array, wanted_hi: Array, unit_cores: int) -> bool:
    """Whether each host's share of the intervals is a multiple of unit_cores."""
    k = 0
    for host in range(host_first.size - 1):
        share = 0
        while k < wanted_lo.size and wanted_lo[k] < host_first[host + 1]:
            share += min(wanted_hi[k], host_first[host + 1]) - max(wanted_lo[k], host_first[host])
            if wanted_hi[k] > host_first[host + 1]:
                break
            k += 1
        if share % unit_cores != 0:
            return False
    return True


@allocator_kernel
def _place(
    number: int, n_cores: int, unit_cores: int, limit: int, words: Any, starts: Any, host_first: Any, host_free: Any,
    switch_lo: Any, switch_hi: Any, wanted_lo: Any, wanted_hi: Any, parameters: Any, out_lo: Any, out_hi: Any,
) -> int:  # fmt: skip
    """The rule; see the module."""
    for k in range(wanted_lo.size):
        if not free_all(words, wanted_lo[k], wanted_hi[k]):
            return 0
        out_lo[k] = wanted_lo[k]
        out_hi[k] = wanted_hi[k]
    if unit_cores > 1 and not _whole_units(host_first, wanted_lo, wanted_hi, unit_cores):
        return 0
    return int(wanted_lo.size)


GIVEN = Allocator("given", _place)
