"""What a workload looks like: the figures that ``twolevel workload info`` prints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bls.analysis.description_text import as_text
from bls.analysis.periods import Period, periods
from bls.analysis.statistics import (
    ColumnSpread,
    Estimates,
    Members,
    Percentiles,
    SubmitClocks,
    Users,
    arrivals,
    estimates,
    members,
    percentiles,
    spread,
    users,
    work_core_s,
)
from bls.estimates.coverage import predictable_by_name
from bls.machine.platform import Platform
from bls.workloads.calendar import Calendar, header_facts
from bls.workloads.header import names_in
from bls.workloads.selection import busiest_window, heaviest_window
from bls.workloads.workload import Workload
from traces.base.errors import InputError, in_python, spelled
from traces.base.time import NS_PER_S
from traces.compiled import Array

__all__ = ["Description", "ColumnSpread", "describe", "header_facts"]

_DAY_NS = 24 * 3600 * NS_PER_S

#: Steps of the time line, with their lengths in days: the longest of which the log has at least 20 is taken.
_STEPS = (("year", 365.0), ("month", 30.0), ("week", 7.0), ("day", 1.0), ("hour", 1 / 24))
_LEAST_STEPS = 20

#: What SWF's numbers of the status field mean.
STATUSES = {
    -1: "unknown",
    0: "failed",
    1: "completed",
    2: "part, to be continued",
    3: "last part, completed",
    4: "last part, failed",
    5: "cancelled",
}


@dataclass(frozen=True)
class Description:
    """Figures of a workload on a platform."""

    source: str  # the workload's file
    # the platform's name and number of cores
    platform: str
    platform_cores: int
    # lines of the file that are neither comment nor blank, and the jobs described
    lines: int
    jobs: int
    rejects: dict[str, int]  # rejected lines by reason
    # jobs read that were moved to their place by submit, and jobs narrowed to the platform
    reordered: int
    clamped: int
    # the first submit, and the time from it to the last
    first_submit_ns: int
    span_ns: int
    cores: ColumnSpread  # widths
    # rows (lowest, highest, jobs with as many cores): every power of two is a highest
    widths: tuple[tuple[int, int, int], ...]
    # run times and their estimates
    run_ns: ColumnSpread
    estimate_ns: ColumnSpread
    overestimate: ColumnSpread  # estimate / run time
    underestimated: int  # jobs that ran longer than estimated
    # jobs that were cancelled before their start. They have no run time, and no part in what is said of run times,
    # overestimates and work.
    cancelled: int
    # start of the 24 hours with most submits (it is a submit), and the number of them
    busiest_day_ns: int
    busiest_day_jobs: int
    # start of the 24 hours in which most work is submitted (it is a submit), and this work in core-seconds
    heaviest_day_ns: int
    heaviest_day_core_s: float
    work_core_s: float  # sum of cores × run time in core-seconds
    # offered load: work / (platform cores × span). None where all jobs are submitted at one instant.
    load: float | None
    header: dict[str, str]  # the header's facts
    # jobs of one core, and of 2, 4, 8, … cores
    serial: int
    powers_of_two: int
    width_work_core_s: tuple[float, ...]  # cores × run time in core-seconds, for every row of ``widths``
    # the distributions behind ``run_ns`` and ``estimate_ns``
    run_percentiles_ns: Percentiles
    estimate_percentiles_ns: Percentiles
    estimates: Estimates  # how good the estimates are
    # the share of the jobs of which ``estimates`` last-two, profile and data-driven can predict the run time at most
    predictable: dict[str, float]
    arrivals: SubmitClocks  # submits by hour, day of the week and month
    months: tuple[Period, ...]  # jobs, work and offered load in every month from the first submit to the last
    # the same in steps (year, month, week, day or hour) of which the log has at least 20, so as to draw it
    step: str
    timeline: tuple[Period, ...]
    wait_ns: ColumnSpread | None  # waits that the log records, from when a job could start. None where it records none.
    users: Users | None  # how users share the machine. None where the log names none.
    # jobs by queue, partition, quality of service and status, the most frequent first. Empty where none is known.
    queues: tuple[Members, ...]
    partitions: tuple[Members, ...]
    qos: tuple[Members, ...]
    statuses: tuple[Members, ...]
    memory_kb: ColumnSpread | None  # memory per core (KB) of those jobs that say it. None where none does.
    memory_known: int  # how many do

    def as_dict(self) -> dict[str, Any]:
        """The figures in plain values, as JSON can hold them."""
        return {name: _plain(value) for name, value in asdict(self).items()}

    def __str__(self) -> str:
        """The figures as text for people: a line each, in aligned columns."""
        return spelled(as_text(self), in_python)


def describe(workload: Workload, platform: Platform) -> Description:
    """The figures of a workload, the jobs of which fit the platform (``bls.workloads.selection.fit``).

    Raises
    ------
    InputError
        If no job has a run time.
    """
    submit, cores = workload.submit_ns, workload.cores
    ran = ~workload.run_unknown
    if not ran.any():
        raise InputError(f"{workload.source}: every job was cancelled before its start: no run time is known")
    run, estimate = workload.run_ns[ran], workload.estimate_ns[ran]
    span_ns = int(submit[-1] - submit[0])
    day_ns, day_jobs = busiest_window(workload, _DAY_NS)
    heaviest_ns, heaviest_core_ns = heaviest_window(workload, _DAY_NS)
    calendar = Calendar.of(workload)
    work = work_core_s(workload)
    all_work_core_s = float(np.sum(work))
    of_run, of_estimate = percentiles(run), percentiles(workload.estimate_ns)
    widths = _widths(cores)
    step = next((name for name, days in _STEPS if span_ns >= _LEAST_STEPS * days * _DAY_NS), _STEPS[-1][0])
    months = periods(workload, calendar, platform.n_cores, work, "month")
    # A wait counts from when the job could start; a job that started before has not waited.
    waited = np.maximum(workload.wait_ns - (workload.earliest_ns - workload.submit_ns), 0)
    waits, memory = waited[workload.wait_ns >= 0], workload.memory_kb[workload.memory_kb >= 0]
    kinds = {name: names_in(workload.header, name) for name in ("Queue", "Partition", "QOS")}
    return Description(
        source=workload.source,
        platform=platform.name,
        platform_cores=platform.n_cores,
        lines=workload.n_lines,
        jobs=len(workload),
        rejects=dict(workload.rejects),
        reordered=workload.reordered,
        clamped=workload.clamped,
        first_submit_ns=int(submit[0]),
        span_ns=span_ns,
        cores=spread(cores),
        widths=widths,
        run_ns=of_run.spread(float(run.astype(np.float64).mean())),
        estimate_ns=of_estimate.spread(float(workload.estimate_ns.astype(np.float64).mean())),
        overestimate=spread(estimate / run),
        underestimated=int(np.count_nonzero(estimate < run)),
        cancelled=int(np.count_nonzero(~ran)),
        busiest_day_ns=day_ns,
        busiest_day_jobs=day_jobs,
        heaviest_day_ns=heaviest_ns,
        heaviest_day_core_s=heaviest_core_ns / NS_PER_S,
        work_core_s=all_work_core_s,
        load=all_work_core_s / (platform.n_cores * (span_ns / NS_PER_S)) if span_ns else None,
        header=header_facts(workload.header),
        serial=int(np.count_nonzero(cores == 1)),
        powers_of_two=int(np.count_nonzero((cores > 1) & (cores & (cores - 1) == 0))),
        width_work_core_s=tuple(_by_width(cores, work, widths)),
        run_percentiles_ns=of_run,
        estimate_percentiles_ns=of_estimate,
        estimates=estimates(run, estimate),
        predictable=predictable_by_name(workload),
        arrivals=arrivals(workload, calendar),
        months=months,
        step=step,
        timeline=months if step == "month" else periods(workload, calendar, platform.n_cores, work, step),
        wait_ns=spread(waits) if len(waits) else None,
        users=users(workload, work),
        queues=members(workload.queue, work, kinds["Queue"]),
        partitions=members(workload.partition, work, kinds["Partition"]),
        qos=members(workload.qos, work, kinds["QOS"]),
        statuses=members(workload.status, work, STATUSES),
        memory_kb=spread(memory) if len(memory) else None,
        memory_known=len(memory),
    )


def _plain(value: Any) -> Any:
    """Tuples as lists, within others too."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def _widths(cores: Array) -> tuple[tuple[int, int, int], ...]:
    """Counts for 1, 2, 3-4, 5-8, 9-16, …: every power of two is the highest of its row."""
    rows: list[tuple[int, int, int]] = []
    lowest, highest = 1, 1
    while not rows or rows[-1][1] < int(cores.max()):
        count = int(np.count_nonzero((cores >= lowest) & (cores <= highest)))
        rows.append((lowest, highest, count))
        lowest, highest = highest + 1, highest * 2
    return tuple(rows)


def _by_width(cores: Array, work: Array, widths: tuple[tuple[int, int, int], ...]) -> Iterator[float]:
    for lowest, highest, _ in widths:
        yield float(np.sum(work[(cores >= lowest) & (cores <= highest)]))
