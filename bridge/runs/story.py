"""The story of one job: its events with their times and reasons, from the table of jobs.

The table has the times of a job and the rule by which it started. The reason for its wait follows from the other jobs: cores
held when it became eligible, jobs that released cores when it started, and jobs that overtook it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from bls.engine.features.records import EVENTS, START_DELAY
from bls.workloads.job_words import JobWords, number_ranges
from bridge.runs.afterwards import StoredRun
from bridge.runs.gpu_hosts import GpuHosts, gpus_text
from bridge.runs.stored import hosts
from traces.base.errors import InputError
from traces.base.time import format_ns
from traces.compiled import Array
from traces.ledger_tables import stored_events
from traces.lifecycle import Ending, Stage, describe
from traces.records.events import NAMED, JobEvents, counted, instant_text
from traces.tables import BEGIN, CUT_BECAUSE, NAME, REJECTED_BECAUSE, STARTED_BECAUSE, read_jobs, read_rows

if TYPE_CHECKING:
    import pandas as pd

Table: TypeAlias = "Mapping[str, Any] | pd.DataFrame"  #: a table: a frame, or columns by name


def _named(numbers: Array) -> str:
    names = ", ".join(str(number) for number in numbers[:NAMED].tolist())
    return f"{'job' if len(numbers) == 1 else 'jobs'} {names}" + (", …" if len(numbers) > NAMED else "")


class _Jobs:
    """The table of jobs as columns."""

    def __init__(
        self,
        columns: Table,
        n_cores: int,
        hosts: GpuHosts | None,
        decisions: Table | None,
        events: Collection[JobEvents],
    ) -> None:
        whole = ("job_id", "submit_ns", "eligible_ns", "start_ns", "end_ns", "cores", "held_cores", "attempt")
        self.number, self.submit, self.eligible, self.start, self.end, self.cores, self.held, self.attempt = (
            np.asarray(columns[name], np.int64) for name in whole
        )
        self.begin = np.asarray(columns[BEGIN], np.int64) if BEGIN in columns else self.submit
        self.started = self.start >= 0
        delay = np.asarray(columns[START_DELAY.column], np.int64) if START_DELAY.column in columns else 0
        self.had = np.where(self.started, self.start - np.maximum(delay, 0), self.start)  # when it had its cores
        self.columns, self.n_cores, self.hosts, self.events = columns, n_cores, hosts, events
        self.gpus = 0 * self.cores if hosts is None else np.asarray(columns["gpus"], np.int64)  # thousandths
        # Events that change the cores of jobs: rows, instants, and numbers of cores.
        changing = [(one.job, one.at_ns, cores) for one in events if (cores := one.cores_gained) is not None]
        none = np.zeros(0, np.int64)
        self.changed_row, self.changed, self.gained = (
            np.concatenate(columns) for columns in zip((none, none, none), *changing, strict=True)
        )
        self.decisions: dict[str, Array] = {}  # empty if they were not kept
        if decisions is not None:
            self.decisions = {name: np.asarray(decisions[name]) for name in ("now_ns", "waiting", "started")}

    def word(self, name: str, row: int) -> str:
        return str(np.asarray(self.columns[name])[row])

    def value(self, name: str, row: int) -> float | None:
        return float(np.asarray(self.columns[name])[row]) if name in self.columns else None

    def free_at(self, ns: int, row: int) -> int:
        # Cores: after the ends of that instant, and before its starts.
        running = self.started & (self.had < ns) & (self.end > ns)
        running[row] = False
        before = running[self.changed_row] & ((self.changed < ns) | ((self.changed == ns) & (self.gained < 0)))
        return self.n_cores - int(self.held[running].sum()) - int(self.gained[before].sum())

    def lines(self, row: int) -> list[tuple[str, str]]:
        eligible, start, attempt = int(self.eligible[row]), int(self.start[row]), int(self.attempt[row])
        found: list[tuple[str, str]] = []
        if attempt == 0:
            found.append((instant_text(int(self.submit[row])), "submitted" + self._asked(row)))
        if eligible >= 0:
            found.append((instant_text(eligible), self._eligible(row, attempt)))
        if start < 0:
            found.append(("", self._never(row)))
            return found
        if start > eligible:
            found.append(("", self._waited(row)))
        if start > self.had[row]:
            found.append((instant_text(int(self.had[row])), self._had(row)))
        found.append((instant_text(start), self._start(row)))
        between = [one for events in self.events for one in events.sentences(row, self.number, self.events)]
        between.sort(key=lambda one: one.at_ns)
        found += [(instant_text(one.at_ns) if one.dated else "", one.text) for one in between]
        found.append((instant_text(int(self.end[row])), self._end(row)))
        return found

    def _asked(self, row: int) -> str:
        estimate = self.value("estimate_ns", row)
        for_time = "" if estimate is None else f" for {format_ns(int(estimate))}"
        gpus = f" and {gpus_text(int(self.gpus[row]))}" if self.gpus[row] else ""
        return f": requests {counted(int(self.cores[row]), 'core')}{gpus}{for_time}"

    def _eligible(self, row: int, attempt: int) -> str:
        eligible = int(self.eligible[row])
        # Jobs that never started are not counted: the table does not say when they left the queue.
        waiting = self.started & (self.eligible <= eligible) & (self.had >= eligible)
        waiting[row] = False
        before = waiting & ((self.eligible < eligible) | (self.submit < self.submit[row]))
        again = f"{describe(Ending.REQUEUED, 'waiting')}, attempt {attempt}"
        text = describe(Stage.COMING, "waiting") if attempt == 0 else again
        if attempt == 0 and eligible > self.submit[row]:
            why = "its earliest begin" if self.begin[row] == eligible else "it follows another job"
            text += f", {format_ns(eligible - int(self.submit[row]))} after its submit: {why}"
        ahead = counted(int(before.sum()), "job")
        verb = "waits" if before.sum() == 1 else "wait"
        free = f"{self.free_at(eligible, row)} of {self.n_cores} cores"
        if self.hosts is not None and self.gpus[row]:
            free += f" and {self.hosts.free_text(row, self.hosts.free(eligible, row, self.had)[1])}"
        return f"{text}: {free} are free, {ahead} before it {verb}"

    def _never(self, row: int) -> str:
        stage = Stage.WAITING if self.eligible[row] >= 0 else Stage.COMING
        because = self.word(REJECTED_BECAUSE, row) if REJECTED_BECAUSE in self.columns else ""
        return describe(stage, self.word("state", row), because)

    def _waited(self, row: int) -> str:
        eligible, start, requested = int(self.eligible[row]), int(self.start[row]), int(self.cores[row])
        had = int(self.had[row])
        text = f"waited {format_ns(start - eligible)}"
        if had == eligible:
            return f"{text} for its {START_DELAY.awaited}"
        if had < start:
            text += f" ({format_ns(start - had)} for its {START_DELAY.awaited})"
        free, of_gpus = self.free_at(eligible, row), ""
        if self.hosts is not None and self.gpus[row]:
            of_gpus = self.hosts.reason(row, int(self.gpus[row]), *self.hosts.free(eligible, row, self.had))
        if free < requested:
            few = f"{counted(requested, 'core')} requested, {free} free when it became eligible"
            reason = "; ".join(filter(None, (few, of_gpus)))
        elif of_gpus:
            reason = of_gpus
        else:
            reason = "enough cores were free when it became eligible, but earlier jobs, a reservation, a limit, a hold or the "
            reason += "location of the cores delayed it"
        overtook = self.started & (self.had >= eligible) & (self.had < had) & (self.eligible > eligible)
        text += f": {reason}"
        if overtook.any():
            others = np.flatnonzero(overtook)
            did = "had their cores" if (self.had != self.start)[[row, *others]].any() else "started"
            text += f"; {counted(len(others), 'job')} submitted later {did} before it: {_named(self.number[others])}"
        return text

    def _had(self, row: int) -> str:
        waited = format_ns(int(self.start[row] - self.had[row]))
        return f"had its cores{self._given(row)}; waited {waited} for their {START_DELAY.awaited}"

    def _start(self, row: int) -> str:
        start = int(self.start[row])
        text = f"started {describe(Stage.WAITING, self.word('why', row))}"
        if STARTED_BECAUSE in self.columns and (because := self.word(STARTED_BECAUSE, row)):
            text += f"; reason of the policy: {because}"
        if start == self.had[row]:
            text += self._given(row)
        held = int(self.held[row])
        text += f"; on {'core' if held == 1 else 'cores'} {self.word('allocation', row)}"
        if held > self.cores[row]:
            text += f", {held} in all: whole hosts"
        if self.gpus[row]:
            text += f"; with GPUs {self.word('gpu_allocation', row)}"
        return text

    def _given(self, row: int) -> str:
        # The jobs that released cores when this job received its cores, and the scheduling pass.
        had, text = int(self.had[row]), ""
        gave = np.flatnonzero(self.started & (self.end == had) & (self.start < had))
        released = np.flatnonzero((self.changed == had) & (self.gained < 0) & (self.changed_row != row))
        if len(released) and had > self.eligible[row]:
            text += self._released(np.unique(self.changed_row[released]), len(released))
        if len(gave) and had > self.eligible[row]:
            n = int(self.held[gave].sum()) + int(self.gained[np.isin(self.changed_row, gave)].sum())
            text += self._released(gave, n)
        if self.decisions and (at := int(np.searchsorted(self.decisions["now_ns"], had, side="right")) - 1) >= 0:
            waiting, n = int(self.decisions["waiting"][at]), int(self.decisions["started"][at])
            text += f"; scheduling pass {at} starts {n} of {counted(waiting, 'waiting job')}"
        return text

    def _released(self, rows: Array, n: int) -> str:
        return f"; {_named(self.number[rows])} {'releases' if len(rows) == 1 else 'release'} {counted(n, 'core')} then"

    def _end(self, row: int) -> str:
        ran = format_ns(int(self.end[row] - self.start[row]))
        because = self.word(CUT_BECAUSE, row) if CUT_BECAUSE in self.columns else ""
        text = f"{describe(Stage.RUNNING, self.word('state', row), because)}, after {ran}"
        if tasks := self.value("tasks", row):
            text += f"; {counted(int(tasks), 'task')}"
            if chunks := self.value("chunks", row):
                text += f" in {counted(int(chunks), 'chunk')}"
            if (imbalance := self.value("imbalance", row)) is not None and np.isfinite(imbalance):
                text += f", imbalance {imbalance:.3g}"
        return text


def job_story(
    columns: Table,
    job: int,
    n_cores: int,
    decisions: Table | None = None,
    events: Collection[JobEvents] = (),
    word: str = "",
    hosts: GpuHosts | None = None,
) -> str:
    """The events of one job, one per line, with exact instants since the workload's time 0.

    - ``columns``: the table of jobs; ``estimate_ns``, ``tasks``, ``chunks`` and ``imbalance`` may be missing.
    - ``decisions``: the table of scheduling passes, if there is one.
    - ``events``: events of running jobs (``Ledger.events``).
    - ``word``: the word that named the job, for the title if the table has no name.
    - ``hosts``: the hosts of a machine with GPUs; then the table has its columns of GPUs.

    Raises InputError if there is no such job; the message lists the existing ones.
    """
    jobs = _Jobs(columns, n_cores, hosts, decisions, events)
    rows = np.flatnonzero(jobs.number == job)
    if not len(rows):
        known = number_ranges(np.unique(jobs.number), "none, it has no jobs")
        raise InputError(f"job {job}: there is none in these results; allowed: {known}")
    rows = rows[np.argsort(jobs.attempt[rows], kind="stable")]
    lines: list[tuple[str, str]] = [line for row in rows.tolist() for line in jobs.lines(row)]
    width = max(len(instant) for instant, _ in lines)
    name = (jobs.word(NAME, int(rows[0])) if NAME in columns else "") or word
    title = f"job {job} ({name})" if name and name != f"{job}" else f"job {job}"
    return "\n".join([title, *(f"  {instant.rjust(width)}  {text}" for instant, text in lines)])


def story_of_results(folder: Path, job: str) -> str:
    """:func:`job_story` of a written run; ``job`` is a word that names one job. Raises InputError."""
    n_cores = int(hosts(folder)[0][-1])
    frame = read_jobs(folder / "jobs.parquet")
    number = JobWords.of(frame["job_id"].to_numpy(), frame[NAME].tolist() if NAME in frame else None).one(job, "JOB")
    passes = folder / "decisions.parquet"
    decisions = read_rows(passes, ("now_ns", "waiting", "started")) if passes.is_file() else None
    with_gpus = StoredRun(folder).gpu_hosts if "gpus" in frame else None
    return job_story(frame, number, n_cores, decisions, stored_events(folder, len(frame), EVENTS), job, with_gpus)
