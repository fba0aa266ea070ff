"""Contiguous: the lowest run of ``n_cores`` consecutive free cores.

The run begins at the lowest core from which so many consecutive cores are all offered. Cores are consecutive by number:
a run may go on from the last core of a host to the first of the next. With units of more than one core, a run counts only
if it gives a multiple of ``unit_cores`` on each host. A job for which enough cores are free, but not in one run, waits.
"""

from __future__ import annotations

from typing import Any

from bls.allocators.contract import Allocator, allocator_kernel
from bls.availability.free_cores import free_run, free_stop
from traces.compiled import Array, compiled

__all__ = ["CONTIGUOUS"]


@compiled(inner=True)
def _whole_units(host_first: Array, core: int, stop: int, n_cores: int, unit_cores: int) -> int:
    """The lowest begin >= core of a run of n_cores cores up to `stop` that gives each host whole units; -1 if none does."""
    host = 0
    while core + n_cores <= stop:
        while host_first[host + 1] <= core:
            host += 1
        end = host_first[host + 1]
        if core + n_cores <= end:
            return core
        core += (end - core) % unit_cores
        if core == end:
            continue
        if core + n_cores > stop:
            return -1
        # What is on the last host is whole units if all before it is.
        split = host + 1
        while host_first[split + 1] < core + n_cores and (host_first[split + 1] - end) % unit_cores == 0:
            split += 1
        if host_first[split + 1] >= core + n_cores:
            return core
        core = end
    return -1


@allocator_kernel
def _place(
    number: int, n_cores: int, unit_cores: int, limit: int, words: Any, starts: Any, host_first: Any, host_free: Any,
    switch_lo: Any, switch_hi: Any, wanted_lo: Any, wanted_hi: Any, parameters: Any, out_lo: Any, out_hi: Any,
) -> int:  # fmt: skip
    """The rule; see the module."""
    core = free_run(words, starts, 0, n_cores)
    while core >= 0 and unit_cores > 1:
        stop = free_stop(words, core, host_first[host_first.size - 1])
        begin = _whole_units(host_first, core, stop, n_cores, unit_cores)
        if begin >= 0:
            core = begin
            break
        core = free_run(words, starts, stop, n_cores)
    if core < 0:
        return 0
    out_lo[0] = core
    out_hi[0] = core + n_cores
    return 1


CONTIGUOUS = Allocator("contiguous", _place)
