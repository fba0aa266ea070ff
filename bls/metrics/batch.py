"""Batch metrics of a schedule.

A job has q = submit, s = start, f = end, p = f - s (its simulated run time) and n = cores asked for; h are the cores that it
held, M those of the machine. Its numbers are those of its final row, if it was requeued: s and p of its last attempt, q of its
submit. Which rows count where is the table of ``bls.metrics.schedule.Schedule``: *measured* rows leave out attempts that were
requeued, rows that never started and preset jobs; *started* rows leave out only those that never started. How a job
ended (killed, cancelled, failed) does not matter.

The span of every metric that has one is [min q, max f] over started rows: its length is the makespan.

==============================  ====================================================================================
jobs                            number of jobs that ran (final rows)
makespan_ns                     max f - min q (two-level paper: max FT - min AT), started rows
makespan_batsim_ns              max f - min q: Batsim's is the same
makespan_rm_replay_ns           max f - min s (RM-Replay), started rows
wait                            s - q, measured rows (RM-Replay calls this "response time")
wait since eligible             s - instant at which the job's row joined the queue, measured rows
response                        f - q (turnaround), measured rows
slowdown                        (f - q) / p, measured rows; those with p = 0 have none and are left out
bounded slowdown                max(1, (f - q) / max(p, τ)), τ = 10 s, measured rows; its mean is AVEbsld. No job is
                                trimmed (pyss drops the first 1 % and those that end after the last submit)
per-processor slowdown          max(1, (f - q) / (n · max(p, τ))), measured rows
awrt_ns, awwt_ns                Σ n·p·(f - q) / Σ n·p and Σ n·p·(s - q) / Σ n·p, measured rows
psf_ns                          3 Σ n(F⁴ - W⁴) / (4 Σ n(F³ - W³)), F = f - q, W = s - q, measured rows
utilisation                     Σ h·p / (M · makespan), started rows; a fraction
utilisation_of_up_capacity      the same over M · makespan less the core-time of hosts that were down
throughput_jobs_per_s           jobs / makespan; completed_throughput_jobs_per_s: only those that completed
loss_of_capacity                Σ Δt · idle over the intervals between events in which a waiting job asks for ≤ idle
                                cores, / (M · makespan); idle = neither held nor down
loss_of_capacity_cobalt         the same with <, as Cobalt's qsim has it: an exact fit is no loss
mean_fragmentation              1 - Σ f²/(Σ f)² over the blocks f of consecutive free cores, averaged over the time of
                                the span in which some core is free
queue                           length: eligible and not yet started; queued cores: what these ask for; mean over the
                                time of the span, and maximum
state_*, why_*                  rows by how they ended and by why they started; all rows
*_core_hours                    Σ h·p of the started rows of that state; lost: failed + requeued
unfairness                      max(0, s - fair start time), measured rows
==============================  ====================================================================================

Means, medians and percentiles are over jobs, percentiles linear between neighbours (as numpy's and pandas' default). What
has no value (a mean of no jobs) is None. Sums are exact integers, rounded once; nothing is rounded before it is averaged.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bls.metrics.exact import exact_mean, exact_product_sum, exact_quantile, exact_quantiles
from bls.metrics.jobs import (
    BOUND_NS,
    bounded_slowdown,
    per_processor_slowdown,
    slowdown,
    specific_response_ns,
    unfairness,
    weighted_ns,
)
from bls.metrics.occupancy import free_blocks, lasting_ns, occupancy
from bls.metrics.schedule import NO_DOWNTIME, STATES, WHY, Allocations, Downtime, Schedule
from traces.base.time import NS_PER_S
from traces.compiled import Array

__all__ = [
    "BOUND_NS",
    "batch_metrics",
    "bounded_slowdown",
    "per_processor_slowdown",
    "schedule_metrics",
    "slowdown",
    "unfairness",
    "utilisation_within",
    "started_and_finished",
]

_NS_PER_HOUR = 3600 * NS_PER_S


def batch_metrics(submit_ns: Array, start_ns: Array, end_ns: Array, cores: Array, n_cores: int) -> dict[str, Any]:
    """The metrics that every run reports.

    Parameters
    ----------
    submit_ns, start_ns, end_ns, cores : int64 (n,)
        Jobs; start and end are -1 for one that never started.
    n_cores : int
        M.

    Returns
    -------
    dict
        Times in ns: integers where exact, float64 for means. A mean slowdown is None if every job has p = 0. Without a
        job that started, means and maxima are None, and what is over the span is 0.
    """
    return _main(
        Schedule.of(submit_ns=submit_ns, start_ns=start_ns, end_ns=end_ns, cores=cores, n_cores=n_cores), BOUND_NS
    )


def schedule_metrics(
    schedule: Schedule,
    *,
    allocations: Allocations | None = None,
    host_first: Array | None = None,
    downtime: Downtime = NO_DOWNTIME,
    fst_ns: Array | None = None,
    bound_ns: int = BOUND_NS,
) -> dict[str, Any]:
    """All metrics of the module's table.

    Parameters
    ----------
    schedule : Schedule
    allocations : Allocations, optional
        Of its rows; without them there is no fragmentation (None).
    host_first : int64 (H + 1,), optional
        First core of each host; needed for fragmentation if there is downtime.
    downtime : Downtime
        Outages and maintenance of hosts.
    fst_ns : int64 (n,), optional
        Fair start time of each row, -1 where it has none; without it there is no unfairness (None).
    bound_ns : int
        τ.

    Returns
    -------
    dict
        As of :func:`batch_metrics`, whose names come first.

    Raises
    ------
    ValueError
        If a core is held twice at one instant or while its host is down, or ``host_first`` is missing.
    """
    return (
        _main(schedule, bound_ns)
        | _jobs_in_detail(schedule, bound_ns)
        | _machine_in_detail(schedule, downtime)
        | _over_time(schedule, downtime)
        | {"mean_fragmentation": _mean_fragmentation(schedule, allocations, host_first, downtime)}
        | _counts(schedule)
        | _unfairness(schedule, fst_ns)
    )


def utilisation_within(schedule: Schedule, begin_ns: int, end_ns: int, downtime: Downtime = NO_DOWNTIME) -> float:
    """Σ h·(time held within [begin, end)) / (M · (end - begin) less downtime), as RM-Replay has it; 0 of no capacity."""
    return _ratio(_held(schedule, begin_ns, end_ns), _capacity(schedule, begin_ns, end_ns, downtime))


def started_and_finished(schedule: Schedule, begin_ns: int, end_ns: int) -> int:
    """How many jobs started and ended within [begin, end]: RM-Replay's throughput."""
    inside = (schedule.start_ns >= begin_ns) & (schedule.end_ns <= end_ns)
    return int(np.count_nonzero(schedule.ran & inside))


def _ratio(above: int, below: int) -> float:
    return above / below if below else 0.0


def _largest(values: Array) -> Any:
    return values.max().item() if len(values) else None


def _mean(values: Array) -> float | None:
    return float(values.mean()) if len(values) else None


def _held(schedule: Schedule, begin_ns: int, end_ns: int) -> int:
    # Core-nanoseconds held within the span.
    started = schedule.started
    start, end = (np.clip(column[started], begin_ns, end_ns) for column in (schedule.start_ns, schedule.end_ns))
    return exact_product_sum(schedule.held_cores[started], end - start)


def _down(begin_ns: int, end_ns: int, downtime: Downtime) -> int:
    down = downtime.within(begin_ns, end_ns)
    return exact_product_sum(down.cores, down.up_ns - down.down_ns)


def _capacity(schedule: Schedule, begin_ns: int, end_ns: int, downtime: Downtime = NO_DOWNTIME) -> int:
    return schedule.n_cores * (end_ns - begin_ns) - _down(begin_ns, end_ns, downtime)


def _times(schedule: Schedule) -> tuple[Array, Array, Array]:
    # Submit, start and end of the measured rows.
    measured = schedule.measured
    return schedule.submit_ns[measured], schedule.start_ns[measured], schedule.end_ns[measured]


def _slowdowns(schedule: Schedule) -> Array:
    # Of the measured rows that have one.
    found = slowdown(*_times(schedule))
    return found[~np.isnan(found)]


def _main(schedule: Schedule, bound_ns: int) -> dict[str, Any]:
    submit, start, end = _times(schedule)
    slow, bounded = _slowdowns(schedule), bounded_slowdown(submit, start, end, bound_ns)
    begin, until = schedule.span_ns
    jobs = int(np.count_nonzero(schedule.ran))
    return {
        "jobs": jobs,
        "makespan_ns": until - begin,
        "mean_wait_ns": exact_mean(start - submit),
        "max_wait_ns": _largest(start - submit),
        "mean_response_ns": exact_mean(end - submit),
        "max_response_ns": _largest(end - submit),
        "mean_slowdown": _mean(slow),
        "max_slowdown": _largest(slow),
        "mean_bounded_slowdown": _mean(bounded),
        "max_bounded_slowdown": _largest(bounded),
        "utilisation": _ratio(_held(schedule, begin, until), _capacity(schedule, begin, until)),
        "utilisation_span_ns": [begin, until],
        "throughput_jobs_per_s": _ratio(jobs * NS_PER_S, until - begin),
    }


def _jobs_in_detail(schedule: Schedule, bound_ns: int) -> dict[str, Any]:
    submit, start, end = _times(schedule)
    measured = schedule.measured
    cores, wait, response = schedule.cores[measured], start - submit, end - submit
    bounded = bounded_slowdown(submit, start, end, bound_ns)
    per_processor = per_processor_slowdown(submit, start, end, cores, bound_ns)
    since_eligible = start - schedule.eligible_ns[measured]
    waits, responses, bounds = (exact_quantiles(values, 50, 95, 99) for values in (wait, response, bounded))
    return {
        "measured_jobs": len(submit),
        "median_wait_ns": waits[0],
        "p95_wait_ns": waits[1],
        "p99_wait_ns": waits[2],
        "mean_wait_since_eligible_ns": exact_mean(since_eligible),
        "max_wait_since_eligible_ns": _largest(since_eligible),
        "median_response_ns": responses[0],
        "p95_response_ns": responses[1],
        "p99_response_ns": responses[2],
        "median_slowdown": exact_quantile(_slowdowns(schedule), 50),
        "median_bounded_slowdown": bounds[0],
        "p95_bounded_slowdown": bounds[1],
        "p99_bounded_slowdown": bounds[2],
        "mean_per_processor_slowdown": _mean(per_processor),
        "median_per_processor_slowdown": exact_quantile(per_processor, 50),
        "max_per_processor_slowdown": _largest(per_processor),
        "awrt_ns": weighted_ns(response, end - start, cores),
        "awwt_ns": weighted_ns(wait, end - start, cores),
        "psf_ns": specific_response_ns(submit, start, end, cores),
    }


def _machine_in_detail(schedule: Schedule, downtime: Downtime) -> dict[str, Any]:
    begin, until = schedule.span_ns
    first_start = int(schedule.start_ns[schedule.started].min()) if schedule.started.any() else until
    completed = int(np.count_nonzero(schedule.started & (schedule.state == STATES.index("completed"))))
    return {
        "makespan_batsim_ns": until - begin,
        "makespan_rm_replay_ns": until - first_start,
        "utilisation_of_up_capacity": utilisation_within(schedule, begin, until, downtime),
        "down_core_hours": _down(begin, until, downtime) / _NS_PER_HOUR,
        "completed_throughput_jobs_per_s": _ratio(completed * NS_PER_S, until - begin),
    }


def _over_time(schedule: Schedule, downtime: Downtime) -> dict[str, Any]:
    begin, until = schedule.span_ns
    steps = occupancy(schedule, downtime)
    lasting = lasting_ns(steps.instant_ns, begin, until)
    seen = lasting > 0
    idle = np.maximum(0, schedule.n_cores - steps.busy_cores - steps.down_cores)
    waits = steps.queue_length > 0
    fits = waits & (steps.smallest_waiting <= idle)
    fits_with_room = waits & (steps.smallest_waiting < idle)
    capacity = _capacity(schedule, begin, until)
    length, queued = steps.queue_length, steps.queued_cores
    return {
        "loss_of_capacity": _ratio(exact_product_sum(idle[fits], lasting[fits]), capacity),
        "loss_of_capacity_cobalt": _ratio(exact_product_sum(idle[fits_with_room], lasting[fits_with_room]), capacity),
        "mean_queue_length": _ratio(exact_product_sum(length, lasting), until - begin),
        "max_queue_length": int(length[seen].max(initial=0)),
        "mean_queued_cores": _ratio(exact_product_sum(queued, lasting), until - begin),
        "max_queued_cores": int(queued[seen].max(initial=0)),
    }


def _mean_fragmentation(
    schedule: Schedule, allocations: Allocations | None, host_first: Array | None, downtime: Downtime
) -> float | None:
    if allocations is None:
        return None
    if host_first is None:
        if len(downtime.host):
            raise ValueError("host_first is needed: which cores are those of the hosts that were down?")
        host_first = np.array((0, schedule.n_cores))
    blocks = free_blocks(schedule, allocations, host_first, downtime)
    lasting = lasting_ns(blocks.instant_ns, *schedule.span_ns)
    some = (blocks.cores > 0) & (lasting > 0)
    if not some.any():
        return None
    return float(np.average(blocks.fragmentation[some], weights=lasting[some]))


def _counts(schedule: Schedule) -> dict[str, Any]:
    held: dict[str, int] = {}
    for number, name in enumerate(STATES):
        if name == "rejected":
            continue  # it never held anything
        rows = schedule.started & (schedule.state == number)
        held[name] = exact_product_sum(schedule.held_cores[rows], schedule.end_ns[rows] - schedule.start_ns[rows])
    held["lost"] = held["failed"] + held["requeued"]
    return (
        {f"state_{name}": int(np.count_nonzero(schedule.state == number)) for number, name in enumerate(STATES)}
        | {f"why_{name}": int(np.count_nonzero(schedule.why == number)) for number, name in enumerate(WHY)}
        | {f"{name}_core_hours": core_ns / _NS_PER_HOUR for name, core_ns in held.items()}
    )


def _unfairness(schedule: Schedule, fst_ns: Array | None) -> dict[str, Any]:
    measured = schedule.measured
    fair = np.full(int(measured.sum()), -1, np.int64) if fst_ns is None else fst_ns[measured]
    return unfairness(schedule.start_ns[measured], fair)
