"""One dispatch at an instant t: the machine, running jobs with their remaining times, waiting jobs, and prices of energy.

All times are whole seconds counted from t, as the models need them. The remaining time of a running job and the duration of a
waiting job are rounded up and are at least 1 s; the time that a job has waited is rounded down. The cost of a job is the price
× its power above idle cores, integrated from start to end: as a function of its start, piecewise linear.

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

#: Parts per unit of a weighted price per kWh, so that it is an integer: prices are millionths per kWh, weights are
#: millionths, and a kg is 1000 g.
_PARTS: Final = 10**15
_MWS_PER_KWH: Final = 3_600_000_000  #: mW × s per kWh


@dataclass(frozen=True)
class Prices(Columns):
    """Prices that hold from certain instants on, s after t."""

    from_s: Array  # int64 (p,): ascending, beginning with 0; the last price holds for ever
    price: Array  # int64 (p,): millionths of the currency per kWh; may be negative
    carbon: Array  # int64 (p,): millionths of a g CO2e per kWh

    @classmethod
    def at(cls, now_ns: int, instant_ns: Array, price: Array, carbon: Array, *, ahead_s: int) -> Prices:
        """Prices known at an instant ``now_ns``: the present one, and changes within ``ahead_s``, in whole seconds, rounded up;
        the price at that instant is assumed to hold for ever. ``instant_ns``: ascending, the first at t or earlier."""
        from_s = np.maximum(0, -((now_ns - np.asarray(instant_ns, np.int64)) // NS_PER_S))
        # Of several changes in one second the last one counts.
        kept = np.append(from_s[1:] != from_s[:-1], True) & (from_s <= ahead_s)
        columns = (own(column[kept], np.int64) for column in (from_s, np.asarray(price), np.asarray(carbon)))
        return cls(*columns)

    def weighed(self, energy: int, carbon: int) -> Weighed:
        """Contribution of a kWh to Z. Weights are millionths, per unit of the currency and per kg CO2e."""
        pairs = zip(self.price.tolist(), self.carbon.tolist(), strict=True)
        values = [1000 * energy * price + carbon * g for price, g in pairs]
        at = [0, *(k for k in range(1, len(values)) if values[k] != values[k - 1])]
        return Weighed([int(self.from_s[k]) for k in at], [values[k] for k in at])


class Piecewise(NamedTuple):
    """A continuous, piecewise linear function of a start s ≥ 0, with value 0 at 0."""

    at_s: list[int]  # beginnings of the pieces, ascending from 0; the last piece has no end
    value: list[int]  # at these beginnings
    slope: list[int]  # per second

    @classmethod
    def of(cls, at_s: Sequence[int], slope: Sequence[int]) -> Piecewise:
        """Make the function from its slopes; neighbouring pieces with equal slopes are merged."""
        kept = [0, *(k for k in range(1, len(at_s)) if slope[k] != slope[k - 1])]
        at, slopes, value = [at_s[k] for k in kept], [slope[k] for k in kept], [0]
        for k in range(1, len(at)):
            value.append(value[-1] + slopes[k - 1] * (at[k] - at[k - 1]))
        return cls(at, value, slopes)

    def __call__(self, start_s: int) -> int:
        """The value at a start."""
        k = bisect_right(self.at_s, start_s) - 1
        return self.value[k] + self.slope[k] * (start_s - self.at_s[k])

    @property
    def minima_s(self) -> list[int]:
        """Local minima, ascending: instants to which a job may be held back."""
        return [self.at_s[k] for k in range(1, len(self.at_s)) if self.slope[k - 1] < 0 <= self.slope[k]]

    def upto(self, last_s: int) -> Piecewise:
        """The same function without pieces that begin after ``last_s``."""
        n = bisect_right(self.at_s, last_s)
        return Piecewise(self.at_s[:n], self.value[:n], self.slope[:n])

    def extremes(self, last_s: int) -> tuple[int, int]:
        """The smallest and the largest value from 0 to ``last_s``."""
        values = [*self.upto(last_s).value, self(last_s)]
        return min(values), max(values)


class Weighed(NamedTuple):
    """Contribution of energy to Z, over time."""

    from_s: list[int]  # instants of changes, from 0
    value: list[int]  # per mW s, in parts ``1 / UNIT``

    def until(self, end_s: int) -> int:
        """The integral from t to ``end_s``, per mW."""
        total = 0
        for k, (begin, value) in enumerate(zip(self.from_s, self.value, strict=True)):
            if begin >= end_s:
                break
            stop = min(end_s, self.from_s[k + 1]) if k + 1 < len(self.from_s) else end_s
            total += value * (stop - begin)
        return total

    def changes(self, duration_s: int) -> tuple[list[int], list[int]]:
        """Starts at which the cost of a job of a given duration changes its slope; and the slopes, per mW and second."""
        later = {begin - duration_s for begin in self.from_s if begin > duration_s}
        at = sorted(later.union(self.from_s))
        return at, [self._of(begin + duration_s) - self._of(begin) for begin in at]

    def _of(self, instant_s: int) -> int:
        return self.value[bisect_right(self.from_s, instant_s) - 1]

    @property
    def spread(self) -> int:
        """The highest value minus the lowest."""
        return max(self.value) - min(self.value)


UNIT: Final = _PARTS * _MWS_PER_KWH  #: parts of the values of :class:`Weighed`


FAULT: Final = "constraint programming: the policy's instance: "  #: beginning of messages about a faulty instance
_MOST: Final = 2.0**60  #: largest sum of a kind of resource over all nodes; keeps sums within int64


def up_s(duration_ns: Array) -> Array:
    """Durations in whole seconds, rounded up, at least 1 s: int64 of the same shape."""
    seconds = -(np.asarray(duration_ns, np.int64) // -NS_PER_S)
    return np.maximum(1, seconds)


@dataclass(frozen=True)
class RunningUnits(Columns):
    """Running jobs: m jobs that hold p places. In the model of positions the jobs of each node lie next to each other from its
    lowest position, in this order; with the longest first, its free positions are always in one piece."""

    left_s: Array  # int64 (m,): max(1, start + expected duration - t)
    per_unit: Array  # int64 (m, resources): held by one unit of the job on its node
    # int64 (p,): ``place_units`` units of job ``place_job`` are on node ``place_node``; by job, ascending
    place_job: Array
    place_node: Array
    place_units: Array

    @classmethod
    def none(cls, n_resources: int) -> RunningUnits:
        """No running jobs."""
        empty = np.zeros(0, np.int64)
        return cls(empty.copy(), np.zeros((0, n_resources), np.int64), empty.copy(), empty.copy(), empty.copy())


@dataclass(frozen=True)
class Queue(Columns):
    """Waiting jobs: n of them."""

    row: Array  # int64 (n,): the caller's name of the job; the last tie-break
    waited_s: Array  # int64 (n,): t - q, rounded down, at least 0
    duration_s: Array  # int64 (n,): the expected duration d, rounded up, at least 1
    units: Array  # int64 (n,): number of equal units of the job (rn); each is on one node
    per_unit: Array  # int64 (n, resources): request of one unit on its node (req / rn)
    # int64 (n,): the job's user, for goals in which users count alike
    user: Array | None = None
    # int64 (n,): total power of the job above idle cores, mW, for goals in which energy counts
    draw_mw: Array | None = None

    def __len__(self) -> int:
        return len(self.row)

    @cached_property
    def area(self) -> Array:
        """Total request of a job, summed over the kinds of resources: float64 (n,), exact below 2**53."""
        return np.asarray(self.units * self.per_unit.sum(axis=1, dtype=np.float64))


@dataclass(frozen=True)
class Instance(Columns):
    """A dispatch. Raises PluginError, which blames the policy that made the instance, if the shapes of columns do not match, a
    number is out of range, or the running jobs hold more than the capacity."""

    resources: tuple[str, ...]  # names of the kinds of resources
    capacity: Array  # int64 (nodes, resources): resources of every node; 0 for a node that is down
    running: RunningUnits
    queue: Queue
    prices: Prices | None = None  # cost and emissions of energy, if they count

    def __post_init__(self) -> None:
        super().__post_init__()
        n_nodes, kinds, running, queue = len(self.capacity), len(self.resources), self.running, self.queue
        m, n, p = len(running.left_s), len(queue.row), len(running.place_job)
        # name, column, shape, smallest value, and largest value + 1
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
        """The dispatch at instant ``now_ns``. ``expected_end_ns`` (m,), ``held_per_unit`` (m, resources) and the three columns
        ``places`` describe running jobs; ``row``, ``submit_ns``, ``estimate_ns``, ``units``, ``user`` and ``draw_mw`` (n,) and
        ``per_unit`` (n, resources) waiting jobs."""
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
        """Free resources at t: int64 (nodes, resources)."""
        running, free = self.running, self.capacity.copy()
        held = running.per_unit[running.place_job] * running.place_units[:, np.newaxis]
        np.subtract.at(free, running.place_node, held)
        return free


def _fault(name: str, value: object, allowed: str) -> PluginError:
    return PluginError(f"{FAULT}{name}: {value}; allowed: {allowed}")
