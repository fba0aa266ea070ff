"""The schedules that a report compares, those of the log, of Slurm and of our engine, and their measures."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np

from bls.metrics.batch import started_and_finished, utilisation_within
from bls.metrics.schedule import Schedule
from bls.options import BACKFILL, BLS
from bls.workloads.workload import Workload
from bridge.options.declared import BESIDE
from bridge.runs.result import Result
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.scenario import Scenario
from traces.base.errors import InputError, leading, parse_list, shown
from traces.base.plugins import split_names
from traces.base.time import NS_PER_S
from traces.compiled import Array
from traces.figures.study.combinations import batch_label
from traces.lifecycle import Reason
from traces.tables import DataFrame, rows_frame

LOG, SLURM = "log", "Slurm"  # labels of the log's schedule, and of Slurm's
_COLUMNS = ("job_id", "submit_ns", "start_ns", "end_ns", "cores")  # columns of a schedule


@dataclass(frozen=True, eq=False)
class Side:
    """A schedule: jobs that ran, ascending by their number; times in ns since the workload's time 0."""

    label: str
    # job_id, submit_ns, start_ns, end_ns, cores: int64 (n,)
    job_id: Array
    submit_ns: Array
    start_ns: Array
    end_ns: Array
    cores: Array
    killed: int  # number of jobs cut at their limit; -1 if unknown
    not_run: int  # jobs that never started, or whose start the log does not state
    attempts: int = -1  # number of starts, including jobs that were cut and queued again; -1 if unknown
    # bool (n,), jobs that ran at time 0: they have no wait and are not counted, but occupy the machine. None: no job
    preset: Array | None = None
    # int64 (n,), the earliest starts of jobs; by default their submits
    begin_ns: Array = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        if not len(self.begin_ns):
            object.__setattr__(self, "begin_ns", self.submit_ns)

    @property
    def measured(self) -> Self:
        """A copy without the jobs that ran at time 0."""
        if self.preset is None or not self.preset.any():
            return self
        columns = {name: getattr(self, name)[~self.preset] for name in (*_COLUMNS, "begin_ns")}
        return replace(self, **columns, preset=None)

    @property
    def makespan_ns(self) -> int | None:
        """Max end − min start; None if no job ran."""
        return int(self.end_ns.max() - self.start_ns.min()) if len(self.job_id) else None

    @property
    def wait_ns(self) -> Array:
        """Start minus earliest start, which usually is the submit: the paper's response time."""
        return self.start_ns - self.begin_ns

    @property
    def run_ns(self) -> Array:
        """End minus start: the paper's execution time."""
        return self.end_ns - self.start_ns

    @property
    def slowdown(self) -> Array:
        """(wait + run) / run, float64, for jobs with a run time above 0."""
        run = self.run_ns
        some = run > 0
        return np.asarray((self.wait_ns[some] + run[some]) / run[some], np.float64)


def recorded(workload: Workload) -> Side | None:
    """The schedule of the log; None if it has no start of any job."""
    rows = np.flatnonzero(workload.wait_ns >= 0)
    if not len(rows):
        return None
    rows = rows[np.argsort(workload.job_id[rows], kind="stable")]
    start = workload.submit_ns + workload.wait_ns
    ran = (workload.submit_ns, start, start + workload.run_ns, workload.cores)
    job_id, submit, start, end, cores = (column[rows] for column in (workload.job_id, *ran))
    preset, begin, not_run = workload.preset[rows] == 1, workload.earliest_ns[rows], len(workload) - len(rows)
    return Side(LOG, job_id, submit, start, end, cores, -1, not_run, preset=preset, begin_ns=begin)


def of_result(label: str, result: Result) -> Side:
    """The schedule of a run: the last attempt of each job that ran, so one row per job."""
    jobs = result.ledger.jobs
    columns = {name: getattr(jobs, name) for name in (*_COLUMNS, "begin_ns", "attempt")}
    frame = rows_frame(columns | {"preset": jobs.why == Reason.PRESET})
    return _of_attempts(label, frame, int(result.metrics.get("state_killed", 0)))


def of_table(label: str, jobs: DataFrame, killed: int) -> Side:
    """The same from a stored table of jobs; ``killed`` jobs were ended at their limit."""
    begin = jobs["begin_ns" if "begin_ns" in jobs else "submit_ns"]
    return _of_attempts(label, jobs.assign(begin_ns=begin, preset=jobs["why"] == "preset"), killed)


def _of_attempts(label: str, jobs: DataFrame, killed: int) -> Side:
    ran = jobs[jobs["start_ns"] >= 0].sort_values(["job_id", "attempt"])
    last = ran.drop_duplicates("job_id", keep="last")
    columns: Any = {name: last[name].to_numpy(np.int64) for name in (*_COLUMNS, "begin_ns")}
    not_run, preset = jobs["job_id"].nunique() - len(last), last["preset"].to_numpy(bool)
    return Side(label, **columns, killed=killed, not_run=not_run, attempts=len(ran), preset=preset)


def parse_beside(text: str, where: str) -> tuple[tuple[str, str], ...]:
    """Variants of our engine: ``fcfs+easy,sjf`` is (policy, backfilling) of each; a policy may have parameters. Raises
    InputError if one is empty or occurs twice; unknown policies are refused later."""
    if text:  # without any, Slurm is compared with the log only
        parse_list(text, where)
    found = []
    for word in split_names(text):
        bls, _, depth = word.rpartition("+")
        found.append((bls, depth) if bls else (word, BACKFILL.default))
    if len(set(found)) < len(found):
        raise InputError(f"{where}: {shown(text)} has a value twice; allowed: e.g. {BLS.default}+easy, each once")
    return tuple(found)


def engines(scenario: ReadyScenario, ways: Sequence[tuple[str, str]], known_jobs: Array) -> dict[str, ReadyScenario]:
    """The runs of our engine for the comparison, by label; jobs end at their limit. ``known_jobs``: all numbers of the log's
    jobs. Raises InputError, which names ``--beside``, if there is no such policy or backfilling."""
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
            if option is None or option.name not in (BLS.name, BACKFILL.name):  # these are given by --beside
                what = error.text
            raise InputError(f"{BESIDE}: {label}: {what.removeprefix(': ')}") from None
    return found


HIGH_SLOWDOWN = 5.0  # slowdowns above this are high (section VIII-B)
_HOUR_NS = 3600 * NS_PER_S
_LENGTHS = (0, 1, 2, 4, 8, 16)  # the classes of Table I: hours, each including its end


def submit_interval(submit_ns: Array) -> tuple[int, int]:
    """From the first submit to the last, ns, and a second more if they are equal; one second if there is none."""
    first, last = (int(submit_ns.min()), int(submit_ns.max())) if len(submit_ns) else (0, 0)
    return first, max(last, first + NS_PER_S)


def _schedule(side: Side, n_cores: int) -> Schedule:
    columns = {name: getattr(side, name) for name in _COLUMNS if name != "job_id"}
    return Schedule(n_cores=n_cores, **columns)


def measures(side: Side, n_cores: int, interval: tuple[int, int]) -> dict[str, Any]:
    """The measures of a schedule by name; times in ns, None if no job has a value. ``utilisation`` and ``throughput`` (jobs
    that start and end within) refer to the interval. Jobs that ran at time 0 count only for makespan and utilisation."""
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


def differences(side: Side, base: Side) -> DataFrame:
    """For every job that ran in both: the differences of submit, start and run time, with its number and its submit in
    the base. Jobs that were running at time 0 are omitted."""
    side, base = side.measured, base.measured
    _, ours, theirs = np.intersect1d(side.job_id, base.job_id, assume_unique=True, return_indices=True)
    delta = {
        f"delta_{word}_ns": getattr(side, name)[ours] - getattr(base, name)[theirs]
        for word, name in (("submit", "submit_ns"), ("start", "start_ns"), ("duration", "run_ns"))
    }
    return rows_frame({"side": side.label, "job_id": side.job_id[ours], "submit_ns": base.submit_ns[theirs], **delta})


def median_side(sides: Sequence[Side], label: str) -> Side:
    """From several schedules of the same jobs, one with the median start and the median run time of each job; for an even
    number the lower of the two. Jobs that ran in all."""
    first, common = sides[0], functools.reduce(np.intersect1d, (one.job_id for one in sides))
    at = [np.searchsorted(one.job_id, common) for one in sides]
    middle = (len(sides) - 1) // 2
    start = np.sort([one.start_ns[rows] for one, rows in zip(sides, at, strict=True)], axis=0)[middle]
    run = np.sort([one.run_ns[rows] for one, rows in zip(sides, at, strict=True)], axis=0)[middle]
    columns = {name: getattr(first, name)[at[0]] for name in ("job_id", "submit_ns", "cores", "begin_ns")}
    not_run, preset = len(first.job_id) + first.not_run - len(common), first.preset
    columns |= {"start_ns": start, "end_ns": start + run, "preset": None if preset is None else preset[at[0]]}
    return replace(first, label=label, not_run=not_run, **columns)


def submissions(submit_ns: Array, of_day_ns: int) -> DataFrame:
    """Submitted jobs per hour (Figure 4), from the first midnight; ``of_day_ns`` is the time of day at time 0."""
    hours = (submit_ns + of_day_ns) // _HOUR_NS
    first = int(hours.min())
    counts = np.bincount((hours - first).astype(np.int64))
    return rows_frame({"hour": np.arange(first, first + len(counts)), "jobs": counts})


def classes(side: Side) -> DataFrame:
    """Jobs by width, which doubles from row to row from the smallest one, and length in hours (Table I)."""
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
    lows = [1, *(width + 1 for width in widths[:-1])]
    wide = [str(to) if low == to else f"{low} to {to}" for low, to in zip(lows, widths, strict=True)][first:]
    return rows_frame({"cores": wide, **columns, "total": counts[first:].sum(axis=1)})
