"""The schedules that stand side by side: what the log has recorded, what Slurm has decided, what our engine decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from bls.options import BACKFILL, BLS
from bls.workloads.workload import Workload
from bridge.options.declared import BESIDE
from bridge.runs.result import Result
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.scenario import Scenario
from traces.base.errors import InputError, leading, shown
from traces.base.plugins import split_names
from traces.compiled import Array
from traces.figures.study.combinations import batch_label
from traces.lifecycle import Reason

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
