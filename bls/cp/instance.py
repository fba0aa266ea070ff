"""One dispatch at an instant t: the machine, running jobs and how much longer they last, waiting jobs, and prices of energy.

All times are whole seconds, counted from t, as the models need them: the rest of a running job and the duration of a
waiting one are rounded up, and are at least 1 s; the time that a job has waited is rounded down. So nothing is planned onto
a core before the second in which it is expected to be free.

A job that draws power beyond idle cores costs the price × this power, integrated from its start to its end. As a function
of its start s that is linear except where the price changes at s or at the end, so it is exact in pieces.

Source: Galleguillos, Kiziltan and Soto, "A Constraint Programming-based Job Dispatcher for Modern HPC Systems and
Applications", arXiv:2009.10348 (2020), sections 2.1 and 2.2.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from traces.base.columns import Columns
from traces.base.errors import PluginError
from traces.base.time import NS_PER_S
from traces.compiled import Array, own

#: Prices are whole millionths for a kWh, weights whole millionths, and a kg is a thousand g: so many parts of a weighed
#: price per kWh are whole.
_PARTS: Final = 10**15

#: mW × s of a kWh.
_MWS_PER_KWH: Final = 3_600_000_000


@dataclass(frozen=True)
class Prices(Columns):
    """What holds from instants on, s after t."""

    from_s: Array  # int64 (p,): ascending; the first is 0, and the last holds for ever
    price: Array  # int64 (p,): millionths of the currency for a kWh, which may be below 0
    carbon: Array  # int64 (p,): millionths of a g CO2e for a kWh

    @classmethod
    def at(cls, now_ns: int, instant_ns: Array, price: Array, carbon: Array, *, ahead_s: int) -> Prices:
        """What is known at an instant: what holds, and what changes within ``ahead_s``, in whole seconds, rounded up.

        - ``now_ns``: t
        - ``instant_ns``, ``price``, ``carbon``, int64 (n,): ascending, the first at t or before
        - ``ahead_s``: what comes later is not known: the price that holds then is thought to hold for ever
        """
        from_s = np.maximum(0, -((now_ns - np.asarray(instant_ns, np.int64)) // NS_PER_S))
        # Of those that round to one second the last one holds.
        kept = np.append(from_s[1:] != from_s[:-1], True) & (from_s <= ahead_s)
        columns = (own(column[kept], np.int64) for column in (from_s, np.asarray(price), np.asarray(carbon)))
        return cls(*columns)

    def weighed(self, energy: int, carbon: int) -> Weighed:
        """What a kWh costs in Z, with weights in millionths: of a unit of the currency, and of a kg CO2e."""
        values = [
            1000 * energy * price + carbon * g
            for price, g in zip(self.price.tolist(), self.carbon.tolist(), strict=True)
        ]
        at = [0, *(k for k in range(1, len(values)) if values[k] != values[k - 1])]
        return Weighed([int(self.from_s[k]) for k in at], [values[k] for k in at])


class Piecewise(NamedTuple):
    """A continuous function of a start s from 0 on, 0 at 0, and linear in pieces."""

    at_s: list[int]  # where its pieces begin, ascending from 0; the last one goes on for ever
    value: list[int]  # there
    slope: list[int]  # for a second

    @classmethod
    def of(cls, at_s: Sequence[int], slope: Sequence[int]) -> Piecewise:
        """Of its slopes; pieces of the same slope become one."""
        kept = [0, *(k for k in range(1, len(at_s)) if slope[k] != slope[k - 1])]
        at, slopes, value = [at_s[k] for k in kept], [slope[k] for k in kept], [0]
        for k in range(1, len(at)):
            value.append(value[-1] + slopes[k - 1] * (at[k] - at[k - 1]))
        return cls(at, value, slopes)

    def __call__(self, start_s: int) -> int:
        """Its value at a start."""
        k = bisect_right(self.at_s, start_s) - 1
        return self.value[k] + self.slope[k] * (start_s - self.at_s[k])

    @property
    def minima_s(self) -> list[int]:
        """Where it has been falling and falls no more, ascending: there a job may be held back to."""
        return [self.at_s[k] for k in range(1, len(self.at_s)) if self.slope[k - 1] < 0 <= self.slope[k]]

    def upto(self, last_s: int) -> Piecewise:
        """The same without pieces that begin behind ``last_s``."""
        n = bisect_right(self.at_s, last_s)
        return Piecewise(self.at_s[:n], self.value[:n], self.slope[:n])

    def extremes(self, last_s: int) -> tuple[int, int]:
        """The least and the largest value from 0 to ``last_s``."""
        values = [*self.upto(last_s).value, self(last_s)]
        return min(values), max(values)


class Weighed(NamedTuple):
    """What a kWh costs in Z."""

    from_s: list[int]  # where it changes, from 0
    value: list[int]  # in parts of ``1 / UNIT`` for a mW s

    def until(self, end_s: int) -> int:
        """The integral from t to ``end_s``, for a mW."""
        total = 0
        for k, (begin, value) in enumerate(zip(self.from_s, self.value, strict=True)):
            if begin >= end_s:
                break
            stop = min(end_s, self.from_s[k + 1]) if k + 1 < len(self.from_s) else end_s
            total += value * (stop - begin)
        return total

    def changes(self, duration_s: int) -> tuple[list[int], list[int]]:
        """Where, for a job of a duration, what it costs changes otherwise than before; and by how much for a mW and a second of
        its start."""
        later = {begin - duration_s for begin in self.from_s if begin > duration_s}
        at = sorted(later.union(self.from_s))
        return at, [self._of(begin + duration_s) - self._of(begin) for begin in at]

    def _of(self, instant_s: int) -> int:
        return self.value[bisect_right(self.from_s, instant_s) - 1]

    @property
    def spread(self) -> int:
        """The dearest less the cheapest."""
        return max(self.value) - min(self.value)


#: What :class:`Weighed` counts in.
UNIT: Final = _PARTS * _MWS_PER_KWH


#: How a message of what is wrong with an instance begins.
FAULT: Final = "constraint programming: the policy's instance: "

#: What all nodes together may have of a kind of resource, so that sums of it are int64.
_MOST: Final = 2.0**60


def up_s(duration_ns: Array) -> Array:
    """Durations in whole seconds, rounded up, at least 1 s: int64 of the same shape."""
    seconds = -(np.asarray(duration_ns, np.int64) // -NS_PER_S)
    return np.maximum(1, seconds)


@dataclass(frozen=True)
class RunningUnits(Columns):
    """Who runs: m jobs that hold places on nodes, p in all.

    In the model of positions each node's jobs lie side by side from its lowest position, in this order; who gives
    the longest first has what is free in one piece at any time.
    """

    left_s: Array  # int64 (m,): max(1, start + expected duration - t)
    per_unit: Array  # int64 (m, resources): what one unit of the job holds of its node
    # int64 (p,): ``place_units`` units of job ``place_job`` are on node ``place_node``; by job, ascending
    place_job: Array
    place_node: Array
    place_units: Array

    @classmethod
    def none(cls, n_resources: int) -> RunningUnits:
        """Nobody."""
        empty = np.zeros(0, np.int64)
        return cls(empty.copy(), np.zeros((0, n_resources), np.int64), empty.copy(), empty.copy(), empty.copy())


@dataclass(frozen=True)
class Queue(Columns):
    """Who waits: n jobs."""

    row: Array  # int64 (n,): what the caller knows the job by; the last tie-break
    waited_s: Array  # int64 (n,): t - q, rounded down, at least 0
    duration_s: Array  # int64 (n,): the expected duration d, rounded up, at least 1
    units: Array  # int64 (n,): into how many equal units the job is split (rn); each is on one node
    per_unit: Array  # int64 (n, resources): what one unit asks for of its node (req / rn)
    # int64 (n,): whose job it is, where users are to count alike; those of equal numbers are one user's
    user: Array | None = None
    # int64 (n,): what the job draws in all beyond idle cores, mW, where energy is to count
    draw_mw: Array | None = None

    def __len__(self) -> int:
        return len(self.row)

    @cached_property
    def area(self) -> Array:
        """What a job asks for in all, summed over the kinds of resources: float64 (n,), exact below 2**53."""
        return np.asarray(self.units * self.per_unit.sum(axis=1, dtype=np.float64))


@dataclass(frozen=True)
class Instance(Columns):
    """A dispatch. Raises PluginError if columns do not belong together, a number is out of its range, or the running jobs hold
    more than there is: the policy that made it is to blame."""

    resources: tuple[str, ...]  # names of the kinds of resources
    capacity: Array  # int64 (nodes, resources): what every node has; 0 of all for one that is down
    running: RunningUnits
    queue: Queue
    prices: Prices | None = None  # what energy costs and emits, where that is to count

    def __post_init__(self) -> None:
        super().__post_init__()
        n_nodes, kinds, running, queue = len(self.capacity), len(self.resources), self.running, self.queue
        m, n, p = len(running.left_s), len(queue.row), len(running.place_job)
        # name, column, shape, least value, and what is beyond the largest
        columns: tuple[tuple[str, Array | None, tuple[int, ...], int | None, int | None], ...] = (
            ("capacity", self.capacity, (n_nodes, kinds), 0, None),
            ("running: left_s", running.left_s, (m,), 1, None),
            ("running: per_unit", running.per_unit, (m, kinds), 0, None),
            ("running: place_job", running.place_job, (p,), 0, m),
            ("running: place_node", running.place_node, (p,), 0, n_nodes),
            ("running: place_units", running.place_units, (p,), 1, None),
            ("queue: waited_s", queue.waited_s, (n,), 0, None),
            ("queue: duration_s", queue.duration_s, (n,), 1, None),
            ("queue: units", queue.units, (n,), 1, None),
            ("queue: per_unit", queue.per_unit, (n, kinds), 0, None),
            ("queue: user", queue.user, (n,), None, None),
            ("queue: draw_mw", queue.draw_mw, (n,), 0, None),
        )
        for name, column, shape, least, stop in columns:
            if column is None:
                continue
            if column.shape != shape or column.dtype != np.int64:
                raise _fault(name, f"{column.dtype} of shape {column.shape}", f"int64 of shape {shape}")
            low, high = (int(column.min()), int(column.max())) if column.size else (0, 0)
            if column.size and least is not None and (low < least or (stop is not None and high >= stop)):
                allowed = f"{least} or more" if stop is None else f"{least} to {stop - 1}"
                raise _fault(name, low if low < least else high, allowed)
        in_all = self.capacity.sum(axis=0, dtype=np.float64)
        if (in_all > _MOST).any():
            kind = int(in_all.argmax())
            raise _fault(f"capacity: {self.resources[kind]} of all nodes", f"{in_all[kind]:.6g}", f"0 to {_MOST:.6g}")
        if n and not int(queue.per_unit.max(axis=1).min()):
            raise _fault("queue: per_unit", 0, "1 or more of some resource")
        if (self.free < 0).any():
            node, kind = np.argwhere(self.free < 0)[0].tolist()
            held = int(self.capacity[node, kind] - self.free[node, kind])
            where = f"running: {self.resources[kind]} held on node {node}"
            raise _fault(where, held, f"0 to {int(self.capacity[node, kind])}")

    @classmethod
    def at(
        cls,
        now_ns: int,
        *,
        resources: tuple[str, ...],
        capacity: Array,
        expected_end_ns: Array,
        held_per_unit: Array,
        places: tuple[Array, Array, Array],
        row: Array,
        submit_ns: Array,
        estimate_ns: Array,
        units: Array,
        per_unit: Array,
        user: Array | None = None,
        draw_mw: Array | None = None,
        prices: Prices | None = None,
    ) -> Instance:
        """The dispatch at an instant t in nanoseconds; see the module for how times are rounded.

        ``expected_end_ns``, ``held_per_unit`` and the three columns ``places`` are of running jobs: (m,), (m, resources), and
        where they are; ``row``, ``submit_ns``, ``estimate_ns``, ``units``, ``per_unit``, ``user`` and ``draw_mw`` of waiting
        ones: (n,), and (n, resources). ``resources``, ``capacity`` and ``prices`` are as the attributes.
        """
        whole = [own(column, np.int64) for column in places]
        left_s = up_s(np.asarray(expected_end_ns, np.int64) - now_ns)
        running = RunningUnits(left_s, own(held_per_unit, np.int64), whole[0], whole[1], whole[2])
        waited_s = np.maximum(0, (now_ns - np.asarray(submit_ns, np.int64)) // NS_PER_S)
        asked = own(units, np.int64), own(per_unit, np.int64)
        whose = None if user is None else own(user, np.int64)
        draws = None if draw_mw is None else own(draw_mw, np.int64)
        queue = Queue(own(row, np.int64), waited_s, up_s(estimate_ns), *asked, whose, draws)
        return cls(resources, own(capacity, np.int64), running, queue, prices)

    @cached_property
    def free(self) -> Array:
        """What is free at t: int64 (nodes, resources)."""
        running, free = self.running, self.capacity.copy()
        held = running.per_unit[running.place_job] * running.place_units[:, np.newaxis]
        np.subtract.at(free, running.place_node, held)
        return free


def _fault(name: str, value: object, allowed: str) -> PluginError:
    return PluginError(f"{FAULT}{name}: {value}; allowed: {allowed}")
