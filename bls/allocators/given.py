"""The very cores that the job asks for, when all of them are free (two-level paper, section 4.2)."""

from __future__ import annotations

from typing import Any

from bls.allocators.contract import Allocator, allocator_kernel

__all__ = ["GIVEN"]


@allocator_kernel
def _place(
    free_lo: Any, free_hi: Any, n_free: int, n_cores: int, wanted_lo: Any, wanted_hi: Any, out_lo: Any, out_hi: Any
) -> int:
    i = 0
    for k in range(wanted_lo.size):
        while i < n_free and free_hi[i] <= wanted_lo[k]:
            i += 1
        if i == n_free or wanted_lo[k] < free_lo[i] or wanted_hi[k] > free_hi[i]:
            return 0
        out_lo[k] = wanted_lo[k]
        out_hi[k] = wanted_hi[k]
    return int(wanted_lo.size)


GIVEN = Allocator("given", _place)
