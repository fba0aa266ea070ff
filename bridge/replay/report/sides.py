"""The schedules that a report compares, those of the log, of Slurm and of our engine, and their measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bls.metrics.batch import started_and_finished, utilisation_within
from bls.metrics.schedule import Schedule
from bls.options import BACKFILL, BLS
from bls.workloads.workload import Workload
from bridge.options.declared import BESIDE
from bridge.runs.result import Result
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.scenario import Scenario
from traces.base.errors import InputError, leading, shown
from traces.base.plugins import split_names
from traces.base.time import NS_PER_S
from traces.compiled import Array
from traces.figures.study.combinations import batch_label
from traces.lifecycle import Reason
from traces.tables import rows_frame

if TYPE_CHECKING:
    import pandas as pd

#: What the schedule of the log is called, and that of Slurm.
LOG, SLURM = "log", "Slurm"


#: What a schedule has of each job.
_COLUMNS = ("job_id", "submit_ns", "start_ns", "end_ns", "cores")


@dataclass(frozen=True, eq=False)
class Side:
    """A schedule. Of jobs that ran, ascending by their number; times in ns since the workload's time 0."""

    label: str
    # job_id, submit_ns, start_ns, end_ns, cores: int64 (n,)
    job_id: Array
    submit_ns: Array
    start_ns: Array
    end_ns: Array
    cores: Array
    killed: int  # how many of them were cut at their limit; -1 where it is not known
    not_run: int  # jobs that never started, or of which the log does not say when
    # how often jobs have started, those included that were cut and put back; -1 where it is not known
    attempts: int = -1
    # bool (n,), which of them ran already at time 0: nobody has submitted them then, so that they have no wait and are
    # in no count of jobs; the machine is busy with them all the same. None: no job
    preset: Array | None = None
    # int64 (n,), the instants from which jobs may start; by default their submits
    begin_ns: Array = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        if not len(self.begin_ns):
            object.__setattr__(self, "begin_ns", self.submit_ns)

    @property
    def measured(self) -> Side:
        """The same without the jobs that ran already."""
        if self.preset is None or not self.preset.any():
            return self
        columns = {name: getattr(self, name)[~self.preset] for name in (*_COLUMNS, "begin_ns")}
        return replace(self, **columns, preset=None)

    @property
    def makespan_ns(self) -> int | None:
        """Max end less min start; None if no job ran."""
        return int(self.end_ns.max() - self.start_ns.min()) if len(self.job_id) else None

    @property
    def wait_ns(self) -> Array:
        """Start less the instant from which it may be, the submit for most: what the paper calls response time."""
        return self.start_ns - self.begin_ns

    @property
    def run_ns(self) -> Array:
        """End less start: the paper's execution time."""
        return self.end_ns - self.start_ns

    @property
    def slowdown(self) -> Array:
        """(wait + run) / run, float64, of jobs that ran for some time."""
        run = self.run_ns
        some = run > 0
        return np.asarray((self.wait_ns[some] + run[some]) / run[some], np.float64)


def _side(label: str, which: Array, columns: Sequence[Array], preset: Array, killed: int, attempts: int = -1) -> Side:
    rows = np.flatnonzero(which)
    rows = rows[np.argsort(columns[0][rows], kind="stable")]
    job_id, submit, start, end, cores, begin = (column[rows] for column in columns)
    not_run = len(np.setdiff1d(columns[0], job_id))
    return Side(label, job_id, submit, start, end, cores, killed, not_run, attempts, preset[rows], begin)


def recorded(workload: Workload) -> Side | None:
    """What the log has recorded; None if it says of no job when it has started."""
    known = workload.wait_ns >= 0
    if not known.any():
        return None
    start = workload.submit_ns + workload.wait_ns
    columns = (
        workload.job_id,
        workload.submit_ns,
        start,
        start + workload.run_ns,
        workload.cores,
        workload.earliest_ns,
    )
    return _side(LOG, known, columns, workload.preset == 1, -1)


def of_result(label: str, result: Result) -> Side:
    """What has come of a run: of each job its last attempt that ran, so that schedules have a row a job."""
    jobs = result.ledger.jobs
    columns = (jobs.job_id, jobs.submit_ns, jobs.start_ns, jobs.end_ns, jobs.cores, jobs.begin_ns)
    preset = jobs.why == Reason.PRESET
    return _of_attempts(label, jobs.attempt, columns, preset, int(result.metrics.get("state_killed", 0)))


def of_table(label: str, jobs: pd.DataFrame, killed: int) -> Side:
    """The same of a table of jobs that a run has written; ``killed`` jobs were ended at their limit."""
    names = (*_COLUMNS, "begin_ns" if "begin_ns" in jobs else "submit_ns")
    columns = [jobs[name].to_numpy(np.int64) for name in names]
    return _of_attempts(
        label, jobs["attempt"].to_numpy(np.int64), columns, (jobs["why"] == "preset").to_numpy(), killed
    )


def _of_attempts(label: str, attempt: Array, columns: Sequence[Array], preset: Array, killed: int) -> Side:
    job_id, start_ns = columns[0], columns[2]
    ran = np.flatnonzero(start_ns >= 0)
    ran = ran[np.lexsort((attempt[ran], job_id[ran]))]
    last = np.zeros(len(job_id), bool)
    last[ran[np.diff(job_id[ran], append=job_id[ran[-1:]] + 1) != 0]] = True
    return _side(label, last, columns, preset, killed, len(ran))


def parse_beside(text: str, where: str) -> tuple[tuple[str, str], ...]:
    """The ways in which our engine decides: ``fcfs+easy,sjf`` is (policy, backfilling) of each; a policy may have parameters.

    Raises InputError if one is there twice or empty; whether there is such a policy is seen where it is used.
    """
    found = []
    for word in split_names(text):
        bls, _, depth = word.rpartition("+")
        found.append((bls, depth) if bls else (word, BACKFILL.default))
    if len(set(found)) < len(found):
        raise InputError(f"{where}: {shown(text)} has one twice; allowed: as {BLS.default}+easy, each once")
    return tuple(found)


def engines(scenario: ReadyScenario, ways: Sequence[tuple[str, str]], known_jobs: Array) -> dict[str, ReadyScenario]:
    """What our engine is to run beside Slurm, by its label; jobs are ended at their limit, as Slurm does. ``known_jobs`` are
    all numbers of the log's jobs.

    Raises InputError if there is no such policy or backfilling; the option that is named is ``--beside``.
    """
    options = Scenario(**{one.name: getattr(scenario.options, one.name) for one in fields(Scenario)})
    found = {}
    for bls, depth in ways:
        label = batch_label(bls, depth)
        try:
            batch = replace(options.batch, policy=bls, backfill=depth, kill_at_walltime=True)
            own = replace(options, batch=batch)
            found[label] = ReadyScenario.of(scenario.workload, scenario.platform, own, known_jobs=known_jobs)
        except InputError as error:
            option, what = leading(error.text)
            if option is None or option.name not in (BLS.name, BACKFILL.name):  # which come from another option here
                what = error.text
            raise InputError(f"{BESIDE}: {label}: {what.removeprefix(': ')}") from None
    return found


#: A slowdown above this is high (section VIII-B).
HIGH_SLOWDOWN = 5.0

_HOUR_NS = 3600 * NS_PER_S

#: The classes of Table I: hours, each up to and with its end.
_LENGTHS = (0, 1, 2, 4, 8, 16)


class Interval(NamedTuple):
    """A span of time, ns since the workload's time 0."""

    begin_ns: int
    end_ns: int


def submit_interval(submit_ns: Array) -> Interval:
    """From the first submit to the last, and a second more if they are one; a second if there is none."""
    first, last = (int(submit_ns.min()), int(submit_ns.max())) if len(submit_ns) else (0, 0)
    return Interval(first, max(last, first + NS_PER_S))


def _schedule(side: Side, n_cores: int) -> Schedule:
    return Schedule.of(
        n_cores=n_cores, submit_ns=side.submit_ns, start_ns=side.start_ns, end_ns=side.end_ns, cores=side.cores
    )


def measures(side: Side, n_cores: int, interval: Interval) -> dict[str, Any]:
    """The measures of a schedule by their names; times in ns, None where no job has one.

    ``makespan_ns`` is max end − min start, ``utilisation`` and ``throughput`` (jobs that start and end within) are of the
    interval, slowdowns (wait + run) / run. Jobs that ran already at time 0 count for makespan and utilisation alone.
    """
    counted = side.measured
    wait, slowdown = counted.wait_ns, counted.slowdown
    high = int(np.count_nonzero(slowdown > HIGH_SLOWDOWN))
    ran = len(counted.job_id) > 0
    return {
        "jobs": len(counted.job_id),
        "attempts": None if side.attempts < 0 else side.attempts,
        "makespan_ns": side.makespan_ns,
        "utilisation": utilisation_within(_schedule(side, n_cores), *interval),
        "throughput": started_and_finished(_schedule(counted, n_cores), *interval),
        "mean_wait_ns": float(wait.mean()) if ran else None,
        "median_wait_ns": float(np.median(wait)) if ran else None,
        "p95_wait_ns": float(np.quantile(wait, 0.95)) if ran else None,
        "max_wait_ns": int(wait.max()) if ran else None,
        "mean_slowdown": float(slowdown.mean()) if len(slowdown) else None,
        "median_slowdown": float(np.median(slowdown)) if len(slowdown) else None,
        "high_slowdown": high,
        "high_slowdown_share": high / len(counted.job_id) if ran else None,
        "killed": None if side.killed < 0 else side.killed,
    }


def differences(side: Side, reference: Side) -> pd.DataFrame:
    """Of every job that ran in both: ``job_id``, ``submit_ns`` of the reference, and how much later it was submitted
    and started and how much longer it lasted: ``delta_submit_ns``, ``delta_start_ns``, ``delta_duration_ns``. Without jobs that
    ran already at time 0."""
    side, reference = side.measured, reference.measured
    _, ours, theirs = np.intersect1d(side.job_id, reference.job_id, assume_unique=True, return_indices=True)
    return rows_frame(
        {
            "side": side.label,
            "job_id": side.job_id[ours],
            "submit_ns": reference.submit_ns[theirs],
            "delta_submit_ns": side.submit_ns[ours] - reference.submit_ns[theirs],
            "delta_start_ns": side.start_ns[ours] - reference.start_ns[theirs],
            "delta_duration_ns": side.run_ns[ours] - reference.run_ns[theirs],
        }
    )


def median_side(sides: Sequence[Side], label: str) -> Side:
    """Of several schedules of the same jobs the one in which each job has its median start and its median run time; of an even
    number the lower of both. Jobs that ran in all."""
    common = sides[0].job_id
    for one in sides[1:]:
        common = np.intersect1d(common, one.job_id, assume_unique=True)
    at = [np.searchsorted(one.job_id, common) for one in sides]
    middle = (len(sides) - 1) // 2
    start = np.sort(np.stack([one.start_ns[rows] for one, rows in zip(sides, at, strict=True)]), axis=0)[middle]
    run = np.sort(np.stack([one.run_ns[rows] for one, rows in zip(sides, at, strict=True)]), axis=0)[middle]
    first, rows = sides[0], at[0]
    not_run = len(first.job_id) + first.not_run - len(common)
    submit, cores, begin = first.submit_ns[rows], first.cores[rows], first.begin_ns[rows]
    preset = None if first.preset is None else first.preset[rows]
    return Side(label, common, submit, start, start + run, cores, first.killed, not_run, first.attempts, preset, begin)


def submissions(submit_ns: Array, of_day_ns: int) -> pd.DataFrame:
    """How many jobs were submitted in each hour (Figure 4): ``hour`` since the first midnight, ``jobs``; hours between,
    too. ``of_day_ns`` is the time of the day at the workload's time 0."""
    hours = (submit_ns + of_day_ns) // _HOUR_NS
    first = int(hours.min())
    counts = np.bincount((hours - first).astype(np.int64))
    return rows_frame({"hour": np.arange(first, first + len(counts)), "jobs": counts})


def classes(side: Side) -> pd.DataFrame:
    """How many jobs are how wide and how long (Table I): ``cores`` doubles from row to row, a column for each class of hours.

    A class of lengths is above its lower and up to its upper end; only the rows are there that hold a job, and those between.
    """
    widths = [1]
    while widths[-1] < int(side.cores.max()):
        widths.append(2 * widths[-1])
    of_width = np.searchsorted(widths, side.cores)
    of_length = np.searchsorted(np.array(_LENGTHS[1:]) * _HOUR_NS, side.run_ns)
    counts = np.zeros((len(widths), len(_LENGTHS)), np.int64)
    np.add.at(counts, (of_width, of_length), 1)
    first = int(of_width.min())
    names = [f"{lo} to {hi} h" for lo, hi in pairwise(_LENGTHS)] + [f"> {_LENGTHS[-1]} h"]
    columns = dict(zip(names, counts[first:].T, strict=True))
    wide = [_width_name(widths, k) for k in range(first, len(widths))]
    return rows_frame({"cores": wide, **columns, "total": counts[first:].sum(axis=1)})


def _width_name(widths: Sequence[int], place: int) -> str:
    low = 1 if place == 0 else widths[place - 1] + 1
    return str(widths[place]) if low == widths[place] else f"{low} to {widths[place]}"
