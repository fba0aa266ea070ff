"""A dispatcher in a run: it passes the data of the view to ``bls.cp`` and returns jobs to start, their cores and reasons."""

import time
from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar

import numpy as np

from bls.constraints.gpu_requests import GpuRequests
from bls.cp.dispatch import DispatchPlan, PlannedStart, dispatch
from bls.cp.instance import Instance, Prices
from bls.cp.scheduling import cp_model
from bls.machine.platform import Platform
from bls.policies.planning.planner import PlanningPolicy
from bls.seen.columns import RunningColumns, WaitingColumns
from bls.seen.jobs import SeenJob
from bls.seen.machine import take_lowest
from bls.view import View
from traces.base.time import NS_PER_S
from traces.compiled import Array
from traces.intervals import intervals_of
from traces.records.gpus import WHOLE_GPU

_NAMED = 8  #: number of overtaken jobs that are named for a start

#: Longer fractions are rounded to this denominator when they are stored, since Python neither writes nor reads integers of more
#: than 4,300 digits.
_BITS, _DENOMINATOR = 14_000, 2**64


class PlannedRun:
    """The dispatcher of one run. Raises InputError if OR-Tools is needed but not installed."""

    unaware_of: ClassVar = PlanningPolicy.unaware_of
    decision_columns: ClassVar = {
        "status": str, "source": str, "z": Fraction, "list_z": Fraction, "bound": Fraction, "list_order": str,
        "modelled": int, "unplaced": int, "variables": int, "solves": int, "list_ns": int, "build_ns": int, "solve_ns": int,
    }  # fmt: skip

    def __init__(self, parameters: PlanningPolicy) -> None:
        if parameters.has_solver:
            cp_model()
        self.name, self.parameters, self.needs_signals = parameters.name, parameters, parameters.needs_signals
        self._queue = parameters.queue
        self._capacity: Array | None = None  # int64 (hosts, 1 + R): cores and other resources of each
        self._last_s: dict[int, int] = {}  # starts in the previous plan, by row, s since time 0
        self._passes = self._fallbacks = self._stopped = 0
        self._woken_ns = -1  # the instant of the last requested wake-up

    def decide(self, view: View) -> Iterator[tuple[SeenJob, list[int], str]]:
        """The jobs that the plan of this instant starts now, each with its cores and the source of the plan."""
        if self._capacity is None:
            platform = view.platform
            columns = [np.diff(platform.first_core), *np.asarray(platform.host_resources, np.int64).T]
            self._capacity = np.stack(columns, axis=1).astype(np.int64)
        waiting = view.waiting_columns
        if not len(waiting) or not view.free_cores:
            return
        weighs_energy = self.parameters.weighs_energy
        prices = self._prices(view) if weighs_energy else None
        instance = _instance(view, self._capacity, waiting, view.running_columns, prices)
        found = self.plan(instance)
        if self.parameters.warm and found.schedule is not None and found.place is not None:
            starts_s = found.schedule.start_s + view.now_ns // NS_PER_S
            self._last_s = dict(zip(instance.queue.row[found.place].tolist(), starts_s.tolist(), strict=True))
        self._note(view, found)
        if found.status == "nothing":
            return
        self._queue = self.parameters.next_queue(found.modelled, solved=found.is_solved)
        self._passes += 1
        self._fallbacks += found.source == "fallback"
        self._stopped += not found.is_repeatable
        if weighs_energy:
            self._wake(view, found)
        if not found.starts:
            return
        past, gpus = _gone_past(found, waiting), _FreeGpus(view, waiting)
        is_free, first = view.is_free.copy(), view.platform.first_core.tolist()
        for start in found.starts:
            if not gpus.take(start):
                continue  # in total enough is left of the GPUs of a host, but not of single ones: the job waits
            each = int(waiting.unit_cores[start.place])
            cores = take_lowest(is_free, first, {node: units * each for node, units in start.units_on.items()})
            because = ", ".join(filter(None, (found.source, past.get(start.place))))
            yield waiting.jobs[start.place], cores, because

    def _prices(self, view: View) -> Prices:
        signals = view.signals
        assert signals is not None, "a run without them is refused before it begins"
        none = [0] * len(signals.instant_ns)
        price, carbon = (
            np.array(signals.values.get(name, none) if weight else none, np.int64)
            for name, weight in (("price_per_kwh", self.parameters.energy), ("g_co2e_per_kwh", self.parameters.carbon))
        )
        ahead_s = int(self.parameters.ahead_h * 3600)
        return Prices.at(view.now_ns, signals.instant_ns, price, carbon, ahead_s=ahead_s)

    def _wake(self, view: View, found: DispatchPlan) -> None:
        """Request a pass at the next planned start, at which no other event may occur. A start at a change of prices is at the
        exact instant of the change, not at the next whole second."""
        assert found.schedule is not None
        later = found.schedule.start_s[found.schedule.start_s > 0]
        if not len(later):
            return
        now_ns = view.now_ns
        instant_ns = now_ns + int(later.min()) * NS_PER_S
        assert view.signals is not None
        changes = view.signals.instant_ns
        change_ns = int(changes[np.searchsorted(changes, instant_ns, side="right") - 1])
        if change_ns > max(now_ns, instant_ns - NS_PER_S):
            instant_ns = change_ns
        if not now_ns < self._woken_ns <= instant_ns:  # otherwise an earlier pass plans again
            view.wake_at(instant_ns)
            self._woken_ns = instant_ns

    def plan(self, instance: Instance) -> DispatchPlan:
        """Plan an instance. A subclass may keep instances here."""
        last_s = None
        if self._last_s:
            last_s = np.array([self._last_s.get(row, -1) for row in instance.queue.row.tolist()], np.int64)
        clock = time.perf_counter_ns
        return dispatch(instance, self.name, self.parameters, queue=self._queue, last_s=last_s, clock_ns=clock)

    def totals(self) -> dict[str, int | bool]:
        """Numbers of passes that were planned, planned by the list, and stopped by the clock; whether the run is repeatable."""
        found = {"planned_passes": self._passes, "fallback_passes": self._fallbacks, "stopped_passes": self._stopped}
        return found | {"repeatable": self._stopped == 0}

    @staticmethod
    def _note(view: View, found: DispatchPlan) -> None:
        values = {"z": _kept(found.value), "list_z": _kept(found.list_value), "bound": _kept(found.bound)}
        same = ("status", "modelled", "variables", "solves", "list_ns", "build_ns", "solve_ns")
        view.note(
            **{name: getattr(found, name) for name in same},
            **values,
            source=found.source if found.status != "nothing" else None,
            list_order=found.list_order or None,
            unplaced=len(found.unplaced),
        )


def _kept(value: Fraction | None) -> Fraction | None:
    if value is None or max(value.numerator.bit_length(), value.denominator.bit_length()) <= _BITS:
        return value
    return Fraction(round(value * _DENOMINATOR), _DENOMINATOR)


def _gone_past(found: DispatchPlan, waiting: WaitingColumns) -> dict[int, str]:
    """The waiting jobs of higher priority that each start overtakes, as text, by the start's place in the queue."""
    assert found.place is not None
    starting = {start.place for start in found.starts}
    passed: list[int] = []
    words: dict[int, str] = {}
    for place in found.place.tolist():
        if place not in starting:
            passed.append(place)
        elif passed:
            named = " ".join(str(int(waiting.job_id[other])) for other in passed[:_NAMED])
            more = f" and {len(passed) - _NAMED} more" if len(passed) > _NAMED else ""
            words[place] = f"went past {named}{more}"
    return words


class _FreeGpus:
    """Thousandths that are left of each GPU. Starting jobs take the lowest GPUs, as in the engine."""

    def __init__(self, view: View, waiting: WaitingColumns) -> None:
        self._asked, self._first = waiting.gpu_requests, view.platform.first_gpu.tolist()
        self._left = [] if self._asked is None else view.free_gpus.tolist()

    def take(self, start: PlannedStart) -> bool:
        """Take the GPUs of a job; return False, and take none, if they do not suffice."""
        if self._asked is None:
            return True
        each, milli = _gpus_of_unit(self._asked)[start.place].item(), self._asked.milli[start.place].item()
        left = list(self._left)
        for node, units in start.units_on.items():
            parts = each * units
            for gpu in range(self._first[node], self._first[node + 1]):
                taken = min(parts, left[gpu] // milli)
                left[gpu] -= taken * milli
                parts -= taken
            if parts:
                return False
        self._left = left
        return True


def _gpus_of_unit(asked: GpuRequests) -> Array:
    # GPUs per host are those of a job of one unit; others are refused.
    return asked.per_unit + asked.per_host


class _GpuColumns:
    """GPUs as resources of the models: equal parts of them, whole GPUs if no job requests a share; and for each request that
    these do not describe – of some kinds, or of a share that leaves a part of a GPU unused – the number of GPUs or shares that
    an empty host has for it."""

    def __init__(self, platform: Platform, *columns: WaitingColumns | RunningColumns) -> None:
        count, kind = np.diff(platform.first_gpu), platform.gpu_kind_of_host
        every, asked = (1 << len(platform.gpu_kinds)) - 1, [jobs.gpu_requests for jobs in columns]
        rows = [np.stack([one.kinds, one.milli, _gpus_of_unit(one)], axis=1) for one in asked if one is not None]
        found = np.concatenate(rows) if rows else np.zeros((0, 3), np.int64)
        special = (found[:, 2] > 0) & ((found[:, 0] != every) | (WHOLE_GPU % np.maximum(found[:, 1], 1) > 0))
        self._classes = np.unique(found[special, :2], axis=0).tolist()
        shares = [count * (kinds >> kind & 1) * (WHOLE_GPU // milli) for kinds, milli in self._classes]
        self.names = ("gpus", *(f"gpus {kinds} {milli}" for kinds, milli in self._classes)) if len(found) else ()
        self._piece = np.gcd.reduce([WHOLE_GPU, *found[found[:, 2] > 0, 1]])
        self.of_hosts = np.stack([count * WHOLE_GPU // self._piece, *shares], axis=1)[:, : len(self.names)]

    def per_unit(self, jobs: WaitingColumns | RunningColumns) -> Array:
        """Requests per unit: int64 (n, resources)."""
        asked = jobs.gpu_requests
        if asked is None or not self.names:
            return np.zeros((len(jobs), len(self.names)), np.int64)
        each = _gpus_of_unit(asked)
        classes = [each * ((asked.kinds == kinds) & (asked.milli == milli)) for kinds, milli in self._classes]
        return np.stack([each * asked.milli // self._piece, *classes], axis=1)


def _instance(
    view: View, capacity: Array, waiting: WaitingColumns, running: RunningColumns, prices: Prices | None
) -> Instance:
    # The instance of this instant for the models; the longest running jobs are lowest on the axis of a node.
    gpus = _GpuColumns(view.platform, waiting, running)
    capacity = np.concatenate([capacity, gpus.of_hosts], axis=1)
    if view.down:
        capacity[view.down] = 0
    order = np.argsort(-running.expected_end_ns, kind="stable")
    count = np.diff(running.host_first)[order]
    at = intervals_of(running.host_first[:-1][order], count)
    return Instance.at(
        view.now_ns,
        resources=("cores", *view.platform.resource_names, *gpus.names),
        capacity=capacity,
        expected_end_ns=running.expected_end_ns[order],
        held_per_unit=_per_unit(running, gpus)[order],
        places=(np.repeat(np.arange(len(order)), count), running.host[at], running.host_units[at]),
        row=waiting.rows,
        submit_ns=waiting.submit_ns,
        estimate_ns=waiting.estimate_ns,
        units=waiting.units,
        per_unit=_per_unit(waiting, gpus),
        user=waiting.user,
        draw_mw=None if prices is None else waiting.more_mw,
        prices=prices,
    )


def _per_unit(columns: WaitingColumns | RunningColumns, gpus: _GpuColumns) -> Array:
    return np.concatenate([columns.unit_cores[:, np.newaxis], columns.resources, gpus.per_unit(columns)], axis=1)
