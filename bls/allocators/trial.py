"""A first few requests for an allocator that is not ours, before it is trusted with real ones."""

from __future__ import annotations

from typing import Final

import numpy as np

from bls.allocators.contract import PLACE, Allocator, PlacementRequest
from bls.availability.free_cores import free_give, new_free
from traces.trials import Fences, rule_answers, try_rule

#: The first core of each of three hosts, and the number of cores; of those, which are taken; and how many jobs ask for.
_HOST_FIRST: Final = (0, 4, 44, 76)
_TAKEN: Final = (2, 6)
_ASKED: Final = (1, 5, 40, 76)

_OUT: Final = ("out_lo", "out_hi")


def try_out(allocator: Allocator) -> None:
    """Ask for one core, a few, more than a host has, and more than there are, on three hosts. Raises PluginError if it
    raises, writes outside the columns for its answer, is killed, or is not made by ``allocator_kernel``."""
    who = f"allocator {allocator.name}"
    try_rule(who, allocator.place, PLACE, "it with allocator_kernel", lambda: _ask(who, allocator))


def _ask(who: str, allocator: Allocator) -> None:
    n_cores = _HOST_FIRST[-1]
    words, starts = new_free(n_cores)
    words[:] = 0
    free_give(words, starts, 0, _TAKEN[0])
    free_give(words, starts, _TAKEN[1], n_cores)
    offered = np.ones(n_cores, np.int64)
    offered[slice(*_TAKEN)] = 0
    host_free = np.add.reduceat(offered, _HOST_FIRST[:-1])
    none = np.zeros(0, np.int64)
    for asked in _ASKED:
        fences = Fences(
            who,
            words=words,
            starts=starts,
            host_first=np.array(_HOST_FIRST),
            host_free=host_free if allocator.by_hosts else none,
            switch_lo=none,
            switch_hi=none,
            switch_level=none,
            switch_hosts=none,
            wanted_lo=none,
            wanted_hi=none,
            parameters=np.array(allocator.parameters, np.int64),
            out_lo=np.zeros(2 * asked, np.int64),
            out_hi=np.zeros(2 * asked, np.int64),
        )
        with rule_answers(who):
            allocator.place(PlacementRequest(1, asked, 1, 0, **fences.arrays))
        fences.check(*_OUT)
