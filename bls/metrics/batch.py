"""Batch metrics of a schedule, defined in docs/reference/metrics.md.

A job has q = submit (or the later instant from which it may join the queue), s = start, f = end, p = f - s and n =
requested cores; h is the number of cores that it held, M that of the machine. For a requeued job, s and p are those of its
last attempt. :class:`bls.metrics.schedule.Schedule` selects the rows that count. The span is [min
submit, max f] over the started rows; its length is the makespan.

Means, medians and percentiles are over jobs; percentiles are interpolated linearly (the default of numpy and pandas). A
value that does not exist (a mean of no jobs) is None. Sums are exact integers, rounded once; nothing is rounded before it
is averaged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np

from bls.metrics import exact as ex
from bls.metrics.exact import exact_mean, exact_product_sum, exact_quantiles
from bls.metrics.occupancy import free_blocks, lasting_ns, occupancy
from bls.metrics.schedule import NO_DOWNTIME, Allocations, Downtime, Schedule
from traces.base.time import NS_PER_S
from traces.compiled import Array
from traces.ledger import STATES, WHY

_NS_PER_HOUR = 3600 * NS_PER_S
BOUND_NS = 10 * NS_PER_S  #: τ of the bounded slowdown (Feitelson et al.; 10 s is usual)
UNFAIRNESS: Final = ("mean_unfairness_ns", "max_unfairness_ns", "unfair_share")  #: metrics of fair start times


def batch_metrics(submit_ns: Array, start_ns: Array, end_ns: Array, cores: Array, n_cores: int) -> dict[str, Any]:
    """The metrics that every run reports.

    Parameters
    ----------
    submit_ns, start_ns, end_ns, cores : int64 (n,)
        Columns of the jobs; start and end are -1 for a job that never started.
    n_cores : int
        M.

    Returns
    -------
    dict
        Times in ns: integers where exact, float64 for means. A mean slowdown is None if every job has p = 0. Without a job that
        started, means and maxima are None, and metrics over the span are 0.
    """
    return main_metrics(Schedule(submit_ns=submit_ns, start_ns=start_ns, end_ns=end_ns, cores=cores, n_cores=n_cores))


def main_metrics(schedule: Schedule) -> dict[str, Any]:
    """The metrics of :func:`batch_metrics` from a schedule, by the rules of :func:`schedule_metrics`; no sweep over time."""
    return _main([schedule], schedule.n_cores, BOUND_NS)


def schedule_metrics(
    schedule: Schedule, *, allocations: Allocations | None = None, host_first: Array | None = None,
    downtime: Downtime = NO_DOWNTIME, bound_ns: int = BOUND_NS,
) -> dict[str, Any]:  # fmt: skip
    """All metrics of the module's table; first those of :func:`batch_metrics`.

    Parameters
    ----------
    schedule : Schedule
    allocations : Allocations, optional
        Allocations of the schedule's rows; without them fragmentation is None.
    host_first : int64 (H + 1,), optional
        First core of each host; needed for fragmentation if there is downtime.
    downtime : Downtime
        Outages and maintenance of hosts.
    bound_ns : int
        τ.

    Raises
    ------
    ValueError
        If a core is held twice at one instant or while its host is down, or ``host_first`` is missing.
    """
    over_time = OverTime(schedule.n_cores, host_first)
    over_time.add(schedule, *schedule.span_ns, allocations, downtime)
    return streamed_metrics([schedule], over_time, downtime, bound_ns)


def streamed_metrics(
    parts: Iterable[Schedule], over_time: OverTime, downtime: Downtime = NO_DOWNTIME, bound_ns: int = BOUND_NS
) -> dict[str, Any]:
    """The same metrics of a schedule that is never in memory as a whole; only ``mean_fragmentation`` may differ in the last
    bits. ``parts``: its rows in order, in parts that are read several times. ``over_time``: its sums over [first submit,
    last end) of the rows that started."""
    n_cores = over_time.n_cores
    return (
        _main(parts, n_cores, bound_ns)
        | _jobs_in_detail(parts, bound_ns)
        | _machine_in_detail(parts, n_cores, downtime)
        | over_time.metrics(*_span_ns(parts))
        | _counts(parts)
    )


def utilisation_within(schedule: Schedule, begin_ns: int, end_ns: int, downtime: Downtime = NO_DOWNTIME) -> float:
    """Σ h·(time held within [begin, end)) / (M · (end - begin) less downtime), as in RM-Replay; 0 without capacity."""
    return _utilisation([schedule], schedule.n_cores, begin_ns, end_ns, downtime)


def started_and_finished(schedule: Schedule, begin_ns: int, end_ns: int) -> int:
    """The number of jobs that started and ended within [begin, end]: RM-Replay's throughput."""
    inside = (schedule.start_ns >= begin_ns) & (schedule.end_ns <= end_ns)
    return int(np.count_nonzero(schedule.ran & inside))


def _ratio(above: int, below: int) -> float:
    return above / below if below else 0.0


#: Values of each job, as functions of a schedule (its measured rows) and τ.
_COLUMNS: Final[Mapping[str, Callable[[Schedule, int], Array]]] = {
    "wait_ns": lambda part, _: part.times[1] - part.times[0],
    "response_ns": lambda part, _: part.times[2] - part.times[0],
    "wait_since_eligible_ns": lambda part, _: part.times[1] - part.eligible_ns[part.measured],
    "slowdown": lambda part, _: slowdown(*part.times, known=True),
    "bounded_slowdown": lambda part, bound_ns: bounded_slowdown(*part.times, bound_ns),
    "per_processor_slowdown": lambda part, bound_ns: per_processor_slowdown(
        *part.times, part.cores[part.measured], bound_ns
    ),
}

_PERCENT: Final = {"median": 50, "p95": 95, "p99": 99}


def _figures(parts: Iterable[Schedule], bound_ns: int, name: str, *figures: str) -> dict[str, Any]:
    """Figures (mean, max, median, p95, p99) of a column, which is joined from the parts and dropped afterwards."""
    of = _COLUMNS[name]
    whole = bytearray()  # grows in place
    for part in parts:
        column = of(part, bound_ns)
        if isinstance(parts, list):  # there is only one part
            break
        whole += column.tobytes()
    else:
        column = np.frombuffer(whole, column.dtype)
    is_exact, some = column.dtype.kind == "i", len(column) > 0
    found: dict[str, Any] = {
        "mean": exact_mean(column) if is_exact else column.mean().item() if some else None,
        "max": column.max().item() if some else None,
    }
    if percents := [figure for figure in figures if figure in _PERCENT]:
        # These reorder the column, and the mean of floats depends on its order.
        quantiles = exact_quantiles(column, *(_PERCENT[figure] for figure in percents), in_place=True)
        found |= zip(percents, quantiles, strict=True)
    return {f"{figure}_{name}": found[figure] for figure in figures}


def _span_ns(parts: Iterable[Schedule]) -> tuple[int, int]:
    spans = [part.span_ns for part in parts if part.of_counted(part.started).any()]
    return (min(begin for begin, _ in spans), max(until for _, until in spans)) if spans else (0, 0)


def _held(schedule: Schedule, begin_ns: int, end_ns: int) -> int:
    # Core-nanoseconds held within the span.
    held = schedule.held
    start, end = (np.clip(column, begin_ns, end_ns) for column in (held.start_ns, held.end_ns))
    return exact_product_sum(held.cores, end - start)


def _down(begin_ns: int, end_ns: int, downtime: Downtime) -> int:
    down = downtime.within(begin_ns, end_ns)
    return exact_product_sum(down.cores, down.up_ns - down.down_ns)


def _utilisation(
    parts: Iterable[Schedule], n_cores: int, begin_ns: int, end_ns: int, downtime: Downtime = NO_DOWNTIME
) -> float:
    held = sum(_held(part, begin_ns, end_ns) for part in parts)
    return _ratio(held, n_cores * (end_ns - begin_ns) - _down(begin_ns, end_ns, downtime))


def _main(parts: Iterable[Schedule], n_cores: int, bound_ns: int) -> dict[str, Any]:
    begin, until = _span_ns(parts)
    jobs = sum(int(np.count_nonzero(part.ran)) for part in parts)
    return {
        "jobs": jobs,
        "makespan_ns": until - begin,
        **_figures(parts, bound_ns, "wait_ns", "mean", "max"),
        **_figures(parts, bound_ns, "response_ns", "mean", "max"),
        **_figures(parts, bound_ns, "slowdown", "mean", "max"),
        **_figures(parts, bound_ns, "bounded_slowdown", "mean", "max"),
        "utilisation": _utilisation(parts, n_cores, begin, until),
        "utilisation_span_ns": [begin, until],
        "throughput_jobs_per_s": _ratio(jobs * NS_PER_S, until - begin),
    }


def _jobs_in_detail(parts: Iterable[Schedule], bound_ns: int) -> dict[str, Any]:
    def weighted_ns(*names: str) -> int:
        # Σ n·p·…, the sums of AWRT and AWWT; without further factors the sum of their weights.
        def one(part: Schedule) -> int:
            _, start, end = part.times
            columns = (_COLUMNS[name](part, bound_ns) for name in names)
            return exact_product_sum(part.cores[part.measured], end - start, *columns)

        return sum(map(one, parts))

    work = weighted_ns()
    specific = [specific_response_sums(*part.times, part.cores[part.measured]) for part in parts]
    above, below = (sum(sums) for sums in zip(*specific, strict=True))
    return {
        "measured_jobs": sum(int(np.count_nonzero(part.measured)) for part in parts),
        **_figures(parts, bound_ns, "wait_ns", "median", "p95", "p99"),
        **_figures(parts, bound_ns, "wait_since_eligible_ns", "mean", "max"),
        **_figures(parts, bound_ns, "response_ns", "median", "p95", "p99"),
        **_figures(parts, bound_ns, "slowdown", "median"),
        **_figures(parts, bound_ns, "bounded_slowdown", "median", "p95", "p99"),
        **_figures(parts, bound_ns, "per_processor_slowdown", "mean", "median", "max"),
        "awrt_ns": weighted_ns("response_ns") / work if work else None,
        "awwt_ns": weighted_ns("wait_ns") / work if work else None,
        "psf_ns": 3 * above / (4 * below) if below else None,
    }


def _machine_in_detail(parts: Iterable[Schedule], n_cores: int, downtime: Downtime) -> dict[str, Any]:
    begin, until = _span_ns(parts)
    first = (part.start_ns[part.of_counted(part.started)] for part in parts)
    first_start = min((int(starts.min()) for starts in first if len(starts)), default=until)
    done = STATES.index("completed")
    completed = sum(int(np.count_nonzero(part.of_counted(part.started) & (part.state == done))) for part in parts)
    return {
        "makespan_rm_replay_ns": until - first_start,
        "utilisation_of_up_capacity": _utilisation(parts, n_cores, begin, until, downtime),
        "down_core_hours": _down(begin, until, downtime) / _NS_PER_HOUR,
        "completed_throughput_jobs_per_s": _ratio(completed * NS_PER_S, until - begin),
    }


class OverTime:
    """Sums over time: the queue, idle cores, and blocks of free cores, over consecutive spans.
    ``n_cores``: M. ``host_first``, int64 (H + 1,): first core of each host; needed for fragmentation if there is downtime."""

    def __init__(self, n_cores: int, host_first: Array | None = None) -> None:
        self.n_cores, self._host_first = n_cores, host_first
        self._fits = self._fits_with_room = self._queue = self._queued_cores = 0
        self._longest = self._most_cores = 0
        self._fragmentation = self._weight = 0.0

    def add(
        self, schedule: Schedule, begin_ns: int, end_ns: int, allocations: Allocations | None,
        downtime: Downtime = NO_DOWNTIME,
    ) -> None:  # fmt: skip
        """Add a span [begin, end) and all rows that wait or run within it. Raises ValueError if a core is held twice at
        one instant or while its host is down, or ``host_first`` is missing."""
        steps = occupancy(schedule, downtime, (begin_ns, end_ns))
        lasting = lasting_ns(steps.instant_ns, begin_ns, end_ns)
        seen, length, queued = lasting > 0, steps.queue_length, steps.queued_cores
        idle = np.maximum(0, self.n_cores - steps.busy_cores - steps.down_cores)
        fits = (length > 0) & (steps.smallest_waiting <= idle)
        fits_with_room = (length > 0) & (steps.smallest_waiting < idle)
        self._fits += exact_product_sum(idle[fits], lasting[fits])
        self._fits_with_room += exact_product_sum(idle[fits_with_room], lasting[fits_with_room])
        self._queue += exact_product_sum(length, lasting)
        self._queued_cores += exact_product_sum(queued, lasting)
        self._longest = max(self._longest, int(length[seen].max(initial=0)))
        self._most_cores = max(self._most_cores, int(queued[seen].max(initial=0)))
        if allocations is not None:
            self._add_blocks(schedule, begin_ns, end_ns, allocations, downtime)

    def join(self, later: OverTime) -> None:
        """Add everything that ``later``, of the same machine, has summed up."""
        for name in ("_fits", "_fits_with_room", "_queue", "_queued_cores", "_fragmentation", "_weight"):
            setattr(self, name, getattr(self, name) + getattr(later, name))
        self._longest = max(self._longest, later._longest)
        self._most_cores = max(self._most_cores, later._most_cores)

    def _add_blocks(
        self, schedule: Schedule, begin_ns: int, end_ns: int, allocations: Allocations, downtime: Downtime
    ) -> None:  # fmt: skip
        host_first = self._host_first
        if host_first is None:
            if len(downtime.host):
                raise ValueError("host_first is needed: which cores are those of the hosts that were down?")
            host_first = np.array((0, self.n_cores))
        blocks = free_blocks(schedule, allocations, host_first, downtime, (begin_ns, end_ns))
        lasting = lasting_ns(blocks.instant_ns, begin_ns, end_ns)
        some = (blocks.cores > 0) & (lasting > 0)
        # The same formula as numpy's average.
        self._fragmentation += float(np.multiply(blocks.fragmentation[some], lasting[some]).sum())
        self._weight += float(lasting[some].sum(dtype=np.float64))

    def metrics(self, begin_ns: int, end_ns: int) -> dict[str, Any]:
        """The metrics; [begin, end) is the whole added time."""
        span_ns = end_ns - begin_ns
        return {
            "loss_of_capacity": _ratio(self._fits, self.n_cores * span_ns),
            "loss_of_capacity_cobalt": _ratio(self._fits_with_room, self.n_cores * span_ns),
            "mean_queue_length": _ratio(self._queue, span_ns),
            "max_queue_length": self._longest,
            "mean_queued_cores": _ratio(self._queued_cores, span_ns),
            "max_queued_cores": self._most_cores,
            "mean_fragmentation": self._fragmentation / self._weight if self._weight else None,
        }


def _counts(parts: Iterable[Schedule]) -> dict[str, Any]:
    states, whys, core_ns = np.zeros(len(STATES), np.int64), np.zeros(len(WHY), np.int64), [0] * len(STATES)
    for part in parts:
        counted = slice(None) if part.counted is None else part.counted
        states += np.bincount(part.state[counted], minlength=len(STATES))
        whys += np.bincount(part.why[counted], minlength=len(WHY))
        holds = part.held
        for number in range(len(STATES)):
            rows = part.of_counted(part.state == number)[holds.row]
            core_ns[number] += exact_product_sum(holds.cores[rows], holds.end_ns[rows] - holds.start_ns[rows])
    held = dict(zip(STATES, core_ns, strict=True))
    del held["rejected"]  # it never held anything
    held["lost"] = held["failed"] + held["requeued"]
    return (
        {f"state_{name}": int(count) for name, count in zip(STATES, states, strict=True)}
        | {f"why_{name}": int(count) for name, count in zip(WHY, whys, strict=True)}
        | {f"{name}_core_hours": ns / _NS_PER_HOUR for name, ns in held.items()}
    )


def slowdown(submit_ns: Array, start_ns: Array, end_ns: Array, *, known: bool = False) -> Array:
    """(f - q) / p of each job, float64. If p = 0 it is NaN; with ``known`` such rows are omitted."""
    run = (end_ns - start_ns).astype(np.float64)
    run[run == 0] = np.nan
    found = (end_ns - submit_ns) / run
    return np.asarray(found[run > 0] if known else found)


def bounded_slowdown(submit_ns: Array, start_ns: Array, end_ns: Array, bound_ns: int = BOUND_NS) -> Array:
    """max(1, (f - q) / max(p, τ)) of each job, float64."""
    return np.asarray(np.maximum(1.0, (end_ns - submit_ns) / np.maximum(end_ns - start_ns, bound_ns)))


def per_processor_slowdown(
    submit_ns: Array, start_ns: Array, end_ns: Array, cores: Array, bound_ns: int = BOUND_NS
) -> Array:
    """max(1, (f - q) / (n · max(p, τ))) of each job, float64."""
    run = np.maximum(end_ns - start_ns, bound_ns).astype(np.float64)
    return np.asarray(np.maximum(1.0, (end_ns - submit_ns) / (cores * run)))


def specific_response_sums(submit_ns: Array, start_ns: Array, end_ns: Array, cores: Array) -> tuple[int, int]:
    """Σ n·(F⁴ - W⁴) and Σ n·(F³ - W³) with F = f - q and W = s - q, exactly: PSF is 3/4 of their ratio. PSF is the
    priority-weighted specific response time of RAPS."""
    above = below = 0
    for response_ns, wait_ns, n in ex.blocks(end_ns - submit_ns, start_ns - submit_ns, cores):
        response, wait = ex.limbs(response_ns), ex.limbs(wait_ns)
        area = ex.limbs_product(ex.limbs(n), ex.limbs(response_ns - wait_ns))
        squares = ex.limbs_sum(ex.limbs_product(response, response), ex.limbs_product(wait, wait))
        above += ex.limbs_total(ex.limbs_product(ex.limbs_product(area, ex.limbs_sum(response, wait)), squares))
        below += ex.limbs_total(ex.limbs_product(area, ex.limbs_sum(squares, ex.limbs_product(response, wait))))
    return above, below


def unfairness(schedule: Schedule, fst_ns: Array) -> dict[str, Any]:
    """Measure how late jobs started relative to their fair start times (Sabin, Kochhar, Sadayappan, ICPP 2004).

    ``fst_ns``, int64 (n,): the fair start time of each row, its start without all jobs that arrived later; -1 for a row that
    has none and is left out. Returns the mean and the maximum of max(0, s - FST) over the measured rows, and the fraction of
    them with s > FST, under the names of :data:`UNFAIRNESS`; None without any row.
    """
    counted = schedule.measured & (fst_ns >= 0)
    late = np.maximum(0, schedule.start_ns[counted] - fst_ns[counted])
    some = len(late) > 0
    values = exact_mean(late), int(late.max()) if some else None, np.count_nonzero(late) / len(late) if some else None
    return dict(zip(UNFAIRNESS, values, strict=True))
