"""The allocators, one per file.

To add an allocator, write a file here, and add a line to :data:`ALLOCATORS`. Outside packages use the entry-point group
``twolevel.allocators``; a single run can use one from a file, ``my.py:MY``.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any, Final
from weakref import WeakSet

import numpy as np

from bls.allocators.contract import PLACE, Allocator, HostAmounts, PlacementRequest, allocator_kernel
from bls.availability.free_cores import free_give, new_free
from bls.options import ALLOCATOR
from traces.base import plugins
from traces.base.errors import InputError, PluginError, at
from traces.base.plugins import Registry, resolve, split_parameters
from traces.compiled import as_value
from traces.trials import Fences, rule_answers, try_rule

__all__ = [
    "ALLOCATORS", "PLACE", "Allocator", "HostAmounts", "PlacementRequest", "allocator", "allocator_kernel", "placing",
    "with_parameters",
]  # fmt: skip

ALLOCATORS = Registry[Allocator](
    {
        "first-fit": "bls.allocators.first_fit:FIRST_FIT",
        "lowest": "bls.allocators.first_fit:LOWEST",
        "best-fit": "bls.allocators.by_load:BEST_FIT",
        "worst-fit": "bls.allocators.by_load:WORST_FIT",
        "contiguous": "bls.allocators.contiguous:CONTIGUOUS",
        "whole-host": "bls.allocators.whole_host:WHOLE_HOST",
        "random": "bls.allocators.random:RANDOM",
        "topology": "bls.allocators.topology:TOPOLOGY",
        "pack-gpus": "bls.allocators.by_units:PACK_GPUS",
        "spread": "bls.allocators.by_units:SPREAD",
        "tightest": "bls.allocators.by_units:TIGHTEST",
        "fgd": "bls.allocators.by_units:FGD",
        "given": "bls.allocators.given:GIVEN",
    }
)


def allocator(name: str, *, where: str = "") -> Allocator:
    """The allocator of this name: one of :data:`ALLOCATORS`, an installed package's, or ``FILE.py:NAME``, each optionally with
    ``:key=value,key=value``.

    Raises
    ------
    InputError
        If there is none (the message lists the known ones, nearest first), or its parameters are invalid.
    """
    where = at(where or str(ALLOCATOR), name)
    plain, text = split_parameters(name)
    found = resolve("allocator", plain, ALLOCATORS, "twolevel.allocators", Allocator, where)
    if not text:
        return found
    if found.options is None:
        raise InputError(f"{where}: allocator {found.name} has no parameters")
    with plugins.at_its_place(where):
        made: Allocator = plugins.with_parameters(found.options, text, where, "allocator").allocator()
    return made


def with_parameters(allocator: Allocator, **known: int) -> Allocator:
    """The allocator with the numbers that it requests, as ``seed``. Raises PluginError if it requests an unknown one."""
    for name in allocator.asks:
        if name not in known:
            raise PluginError(f"allocator {allocator.name}: requests {name!r}; known: {', '.join(known) or 'nothing'}")
    return replace(allocator, parameters=tuple(known[name] for name in allocator.asks)) if allocator.asks else allocator


_TRIED: Final[WeakSet[Any]] = WeakSet()  #: users' functions that were tested in this process


def placing(allocator: Allocator) -> Callable[..., int]:
    """An allocator's function as a value that can be passed to a kernel. Raises PluginError if it is not compiled by
    :func:`allocator_kernel`, or if the test of a user's function fails."""
    if not getattr(allocator.place, "is_ours", False) and allocator.place not in _TRIED:
        who = f"allocator {allocator.name}"
        try_rule(who, allocator.place, PLACE, "it with allocator_kernel", lambda: _ask(who, allocator))
        _TRIED.add(allocator.place)
    return as_value(allocator.place, PLACE)


#: The test: first cores of three hosts and the number of cores; the taken cores; and the numbers of requested cores.
_HOST_FIRST: Final = (0, 4, 44, 76)
_TAKEN: Final = (2, 6)
_ASKED: Final = (1, 5, 40, 76)

_OUT: Final = ("out_lo", "out_hi")

#: For allocators with ``by_units``: GPUs of a unit and of a host, and thousandths of each, that jobs request.
_GPUS: Final = ((0, 0, 1000), (1, 0, 500), (2, 0, 1000), (0, 2, 1000))


def _more(units: int, per_unit: int, per_host: int, milli: int) -> dict[str, Any]:
    """The columns of ``HostAmounts``: units need 1 of a resource, and the hosts have 2, 8 and no GPUs of two kinds."""
    columns: dict[str, Any] = {"amounts": (4, 60, 20), "needs": (1,), "most": (60,), "gpu_first": (0, 2, 10, 10)}
    columns |= {"gpu_kind": (0, 1, 0), "gpu_left": 5 * (1000, 500), "out_gpu": (per_unit * units + per_host * 2) * (0,)}
    columns |= {"classes": ((3, 1, per_unit, per_host, milli, 3, 1),), "memo": 7 * ((3 + 1 + 8) * (-1,),)}
    return {name: np.array(values, np.int64) for name, values in columns.items()}


def _ask(who: str, allocator: Allocator) -> None:
    """Request one core, a few, more than a host has, and more than exist, on three hosts, with GPUs if the allocator chooses
    them. Raises PluginError if the function fails, or writes outside the columns for its answer."""
    n_cores = _HOST_FIRST[-1]
    words, starts = new_free(n_cores)
    words[:] = 0
    free_give(words, starts, 0, _TAKEN[0])
    free_give(words, starts, _TAKEN[1], n_cores)
    offered = np.ones(n_cores, np.int64)
    offered[slice(*_TAKEN)] = 0
    none = np.zeros(0, np.int64)
    host_free = np.add.reduceat(offered, _HOST_FIRST[:-1]) if allocator.by_hosts else none
    arrays = {"words": words, "starts": starts, "host_first": np.array(_HOST_FIRST), "host_free": host_free}
    arrays |= dict.fromkeys(("switch_lo", "switch_hi", "switch_level", "switch_hosts", "wanted_lo", "wanted_hi"), none)
    arrays["parameters"] = np.array(allocator.parameters, np.int64)
    for asked, (per_unit, per_host, milli) in product(_ASKED, _GPUS if allocator.by_units else _GPUS[:1]):
        more = _more(asked, per_unit, per_host, milli) if allocator.by_units else {}
        fences = Fences(who, **arrays, **more, **{name: np.zeros(2 * asked, np.int64) for name in _OUT})
        given = dict(fences.arrays)
        of_hosts = {name: given.pop(name) for name in more}
        amounts = HostAmounts.none(gpus=per_unit, gpus_per_host=per_host, gpu_milli=milli, gpu_kinds=3, **of_hosts)
        with rule_answers(who):
            allocator.place(PlacementRequest(1, asked, 1, 0, **given, more=amounts))
        fences.check(*_OUT, *more.keys() & {"out_gpu", "memo"})
