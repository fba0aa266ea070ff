"""The allocators, one a file.

To add one: a file here, a line in :data:`ALLOCATORS`. Outside packages add theirs under the entry-point group
``twolevel.allocators``; a single run can take one from a file, ``my.py:MY``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final
from weakref import WeakSet

from bls.allocators.by_load import BEST_FIT, WORST_FIT
from bls.allocators.contiguous import CONTIGUOUS
from bls.allocators.contract import PLACE, Allocator, PlacementRequest, allocator_kernel
from bls.allocators.first_fit import FIRST_FIT, LOWEST
from bls.allocators.given import GIVEN
from bls.allocators.random import RANDOM
from bls.allocators.topology import TOPOLOGY
from bls.allocators.whole_host import WHOLE_HOST
from bls.options import ALLOCATOR
from traces.base.errors import PluginError, at
from traces.base.plugins import resolve
from traces.compiled import as_value

__all__ = [
    "ALLOCATORS",
    "PLACE",
    "Allocator",
    "PlacementRequest",
    "allocator",
    "allocator_kernel",
    "placing",
    "with_parameters",
]

ALLOCATORS: dict[str, Allocator] = {
    "first-fit": FIRST_FIT,
    "lowest": LOWEST,
    "best-fit": BEST_FIT,
    "worst-fit": WORST_FIT,
    "contiguous": CONTIGUOUS,
    "whole-host": WHOLE_HOST,
    "random": RANDOM,
    "topology": TOPOLOGY,
    "given": GIVEN,
}


def allocator(name: str, *, where: str = "") -> Allocator:
    """The allocator of this name: one of :data:`ALLOCATORS`, an installed package's, or ``FILE.py:NAME``.

    Raises
    ------
    InputError
        If there is none; the message lists the known ones, nearest first.
    """
    where = at(where or str(ALLOCATOR), name)
    return resolve("allocator", name, ALLOCATORS, "twolevel.allocators", Allocator, where)


def with_parameters(allocator: Allocator, **known: int) -> Allocator:
    """The allocator with the numbers that it asks for, as ``seed``; itself if it asks for none. Raises PluginError if it asks
    for one that is not known."""
    for name in allocator.asks:
        if name not in known:
            raise PluginError(f"allocator {allocator.name}: asks for {name!r}; known: {', '.join(known) or 'nothing'}")
    return replace(allocator, parameters=tuple(known[name] for name in allocator.asks)) if allocator.asks else allocator


#: Rules of users that were tried in this process.
_TRIED: Final[WeakSet[Any]] = WeakSet()


def placing(allocator: Allocator) -> Callable[..., int]:
    """An allocator's rule, as a value that a kernel takes as an argument. Raises PluginError if it is not compiled as
    it must be, or a first trial shows that a rule which is not ours is at fault."""
    if not getattr(allocator.place, "is_ours", False) and allocator.place not in _TRIED:
        from bls.allocators.trial import try_out  # which rules of ours do not need

        try_out(allocator)
        _TRIED.add(allocator.place)
    return as_value(allocator.place, PLACE)
