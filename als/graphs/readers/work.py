"""The attributes of tasks and edges in formats whose attributes are free, DOT and GraphML: their names and units."""

from __future__ import annotations

from collections.abc import Mapping

from als.graphs.readers.contract import GraphRows

#: Names of a task's work, and how many GFLOP each unit is. ``size`` is what SimGrid calls it.
_WORK = {"flops": 1e9, "gflop": 1.0, "size": 1e9}
_DATA = ("bytes", "size")


def _only(rows: GraphRows, place: str, known: tuple[str, ...], given: Mapping[str, str]) -> str | None:
    found = [name for name in known if name in given]
    if len(found) > 1:
        raise rows.error(place, f"has {' and '.join(found)}; allowed: one of them")
    return found[0] if found else None


def task_gflop(rows: GraphRows, place: str, attributes: Mapping[str, str]) -> float:
    """A task's work in GFLOP, from ``flops`` or ``size`` in FLOP or ``gflop`` in GFLOP. Raises InputError if there is
    none, or more than one, or it is no amount."""
    name = _only(rows, place, tuple(_WORK), attributes)
    if name is None:
        raise rows.error(place, "has no flops; allowed: flops or size (FLOP), or gflop (GFLOP)")
    return rows.amount(place, name, attributes[name]) / _WORK[name]


def edge_bytes(rows: GraphRows, place: str, attributes: Mapping[str, str]) -> float:
    """An edge's bytes, from ``bytes`` or ``size``; 0 where it has none. Raises InputError if it has both, or it is no
    amount."""
    name = _only(rows, place, _DATA, attributes)
    return 0.0 if name is None else rows.amount(place, name, attributes[name])
