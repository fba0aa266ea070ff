"""The lowest-numbered free cores, wherever they are (first fit over cores)."""

from __future__ import annotations

from typing import Any

from bls.allocators.contract import Allocator, allocator_kernel

__all__ = ["LOWEST"]


@allocator_kernel
def _place(
    free_lo: Any, free_hi: Any, n_free: int, n_cores: int, wanted_lo: Any, wanted_hi: Any, out_lo: Any, out_hi: Any
) -> int:
    left = n_cores
    for i in range(n_free):
        size = free_hi[i] - free_lo[i]
        out_lo[i] = free_lo[i]
        out_hi[i] = free_lo[i] + min(size, left)
        left -= min(size, left)
        if left == 0:
            return i + 1
    return 0


LOWEST = Allocator("lowest", _place)
