"""The story of one job: what happened to it, when, and why, from the table of jobs; for people to read.

The table says when a job came, started and ended, and by which rule it started. Why it had to wait follows from the others: how
many cores they held as it became eligible, who gave cores back as it started, and who started before it that came after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from bls.workloads.job_words import JobWords
from bridge.runs.gantt import hosts
from traces.base.errors import InputError
from traces.base.time import NS_PER_S, format_ns
from traces.compiled import Array
from traces.intervals import intervals_text
from traces.ledger_tables import HINTS, RELEASES, SCALES, WIDTHS
from traces.lifecycle import Ending, Stage, told
from traces.tables import BEGIN, BOOT_WAIT, CUT_BECAUSE, NAME, REJECTED_BECAUSE, STARTED_BECAUSE, read_jobs, read_rows

if TYPE_CHECKING:
    import pandas as pd

#: A table: a frame, or columns by name.
Table: TypeAlias = "Mapping[str, Any] | pd.DataFrame"

#: So many jobs are named where several are of the same kind.
_NAMED = 3

#: So much of the list of job numbers is shown in an error.
_LONGEST_LIST = 120


def _instant(ns: int) -> str:
    # Hours, minutes and seconds, exact.
    seconds, part = divmod(ns, NS_PER_S)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    text = f"{hours}:{minutes:02d}:{seconds:02d}"
    return f"{text}.{part:09d}".rstrip("0") if part else text


def _counted(n: int, word: str) -> str:
    return f"{n} {word}{'' if n == 1 else 's'}"


def _named(numbers: Array) -> str:
    names = ", ".join(str(number) for number in numbers[:_NAMED].tolist())
    return f"{'job' if len(numbers) == 1 else 'jobs'} {names}" + (", …" if len(numbers) > _NAMED else "")


class _Jobs:
    """The table of jobs as columns."""

    def __init__(
        self,
        columns: Table,
        n_cores: int,
        decisions: Table | None,
        releases: Table | None,
        hints: Table | None,
        widths: Table | None,
        scales: Table | None,
    ) -> None:
        whole = ("job_id", "submit_ns", "eligible_ns", "start_ns", "end_ns", "cores", "held_cores", "attempt")
        self.number, self.submit, self.eligible, self.start, self.end, self.cores, self.held, self.attempt = (
            np.asarray(columns[name], np.int64) for name in whole
        )
        self.begin = np.asarray(columns[BEGIN], np.int64) if BEGIN in columns else self.submit
        self.started = self.start >= 0
        # Since when it had its cores: where their hosts had to boot, it started later.
        boot = np.maximum(np.asarray(columns[BOOT_WAIT], np.int64), 0) if BOOT_WAIT in columns else 0
        self.had = np.where(self.started, self.start - boot, self.start)
        self.columns, self.n_cores = columns, n_cores
        names = ("row", "core", "released_ns")
        none = np.zeros(0, np.int64)
        self.released_row, self.released_core, self.released = (
            none if releases is None else np.asarray(releases[name], np.int64) for name in names
        )
        of_hints = ("row", "told_ns", "waiting_row", "lack", "wanted")
        self.told_row, self.told, self.told_of, self.lack, self.wanted = (
            none if hints is None else np.asarray(hints[name], np.int64) for name in of_hints
        )
        of_widths = ("row", "told_ns", "core", "change")
        self.changed_row, self.changed, self.changed_core, self.change = (
            none if widths is None else np.asarray(widths[name], np.int64) for name in of_widths
        )
        of_scales = ("row", "told_ns", "core")
        self.scaled_row, self.scaled, self.scaled_core = (
            none if scales is None else np.asarray(scales[name], np.int64) for name in of_scales
        )
        self.factor = np.zeros(0) if scales is None else np.asarray(scales["factor"], np.float64)
        self.decisions = (
            None
            if decisions is None
            else {name: np.asarray(decisions[name]) for name in ("now_ns", "waiting", "started")}
        )

    def word(self, name: str, row: int) -> str:
        return str(np.asarray(self.columns[name])[row])

    def value(self, name: str, row: int) -> float | None:
        return float(np.asarray(self.columns[name])[row]) if name in self.columns else None

    def free_at(self, ns: int, row: int) -> int:
        # As what ends then has ended, and before anything starts.
        running = self.started & (self.had < ns) & (self.end > ns)
        running[row] = False
        released = running[self.released_row] & (self.released <= ns)
        given = running[self.changed_row] & (self.changed < ns) & (self.change > 0)
        held = int(self.held[running].sum()) + int(np.count_nonzero(given))
        return self.n_cores - held + int(np.count_nonzero(released))

    def lines(self, row: int) -> list[tuple[str, str]]:
        eligible, start = int(self.eligible[row]), int(self.start[row])
        found: list[tuple[str, str]] = []
        attempt = int(self.attempt[row])
        if attempt == 0:
            found.append((_instant(int(self.submit[row])), "submitted" + self._asked(row)))
        if eligible >= 0:
            found.append((_instant(eligible), self._eligible(row, attempt)))
        if start < 0:
            found.append(("", self._never(row)))
            return found
        if start > eligible:
            found.append(("", self._waited(row)))
        if start > self.had[row]:
            found.append((_instant(int(self.had[row])), self._had(row)))
        found.append((_instant(start), self._start(row)))
        between = self._hints(row) + self._widths(row) + self._scales(row) + self._releases(row)
        found += [line for _, line in sorted(between, key=lambda event: event[0])]
        found.append((_instant(int(self.end[row])), self._end(row)))
        return found

    def _widths(self, row: int) -> list[tuple[int, tuple[str, str]]]:
        # As :meth:`_releases`.
        mine = np.flatnonzero(self.changed_row == row)
        lines = []
        instants = np.unique(self.changed[mine])
        for ns in instants[:_NAMED].tolist():
            now = mine[self.changed[mine] == ns]
            for wished in self.changed_core[now[self.change[now] == 0]].tolist():
                lines.append((ns, (_instant(ns), f"wished for {_counted(wished, 'core')}")))
            for change, verb in ((1, "given"), (-1, "asked for")):
                cores = np.sort(self.changed_core[now[self.change[now] == change]])
                if not len(cores):
                    continue
                which = _counted(len(cores), "core")
                if len(cores) <= _NAMED:
                    which = f"{'core' if len(cores) == 1 else 'cores'} {' '.join(map(str, cores.tolist()))}"
                lines.append((ns, (_instant(ns), f"{verb} {which}")))
        if len(instants) > _NAMED:
            more, last = _counted(len(instants) - _NAMED, "time"), int(instants[-1])
            what = "given cores, or asked for some," if self.change[mine].all() else "wished for others, or had them,"
            lines.append((last, ("", f"{what} {more} more, the last at {_instant(last)}")))
        return lines

    def _scales(self, row: int) -> list[tuple[int, tuple[str, str]]]:
        # As :meth:`_releases`; those that leave a speed as it was are not worth a line.
        mine = np.array(self._telling_scales(row), np.int64)
        lines = []
        for k in mine[:_NAMED].tolist():
            core, factor = int(self.scaled_core[k]), self.factor[k]
            which, whose = ("all of its cores run", "their") if core < 0 else (f"core {core} runs", "its")
            speed = f"{whose} own speed" if factor == 1.0 else f"{factor:.10g} times {whose} own speed"
            ns = int(self.scaled[k])
            lines.append((ns, (_instant(ns), f"from here on {which} at {speed}")))
        if len(mine) > _NAMED:
            last = int(self.scaled[mine[-1]])
            more = _counted(len(mine) - _NAMED, "time")
            lines.append((last, ("", f"scaled {more} more, the last at {_instant(last)}")))
        return lines

    def _telling_scales(self, row: int) -> list[int]:
        # Which rows of the scales change a speed of the job's.
        of_all, of_core, found = 1.0, dict[int, float](), []
        for k in np.flatnonzero(self.scaled_row == row).tolist():
            core, factor = int(self.scaled_core[k]), float(self.factor[k])
            before = {of_all, *of_core.values()} if core < 0 else {of_core.get(core, of_all)}
            if before != {factor}:
                found.append(k)
            if core < 0:
                of_all = factor
                of_core.clear()
            else:
                of_core[core] = factor
        return found

    def _releases(self, row: int) -> list[tuple[int, tuple[str, str]]]:
        # The first ones in a line each, and the others in one more; each with the instant by which it is placed.
        mine = np.flatnonzero(self.released_row == row)
        if not len(mine):
            return []
        mine = mine[np.argsort(self.released[mine], kind="stable")]
        instants = np.unique(self.released[mine])
        lines = []
        for ns in instants[:_NAMED].tolist():
            cores = self.released_core[mine][self.released[mine] == ns]
            which = _counted(len(cores), "core")
            if len(cores) <= _NAMED:
                which = f"{'core' if len(cores) == 1 else 'cores'} {' '.join(map(str, cores.tolist()))}"
            why = "no longer needed"
            if np.isin(cores, self.changed_core[(self.changed_row == row) & (self.change < 0)]).all():
                why = "as it was asked to" if self.change[self.changed_row == row].all() else "as it wished for fewer"
            lines.append((ns, (_instant(ns), f"released {which}, {why}")))
        later = int(np.count_nonzero(self.released[mine] > instants[min(_NAMED, len(instants)) - 1]))
        if later:
            more = f"released {_counted(later, 'core')} more, the last at {_instant(int(instants[-1]))}"
            lines.append((int(instants[-1]), ("", more)))
        return lines

    def _hints(self, row: int) -> list[tuple[int, tuple[str, str]]]:
        # As :meth:`_releases`.
        mine = np.flatnonzero(self.told_row == row)
        lines = []
        for k in mine[:_NAMED].tolist():
            if self.told_of[k] < 0:
                text = "told that nobody waits for its cores any more"
            else:
                who, lack = self.number[self.told_of[k]], _counted(int(self.lack[k]), "core")
                own = f"{int(self.wanted[k])} of its own are served last" if self.wanted[k] else "none of its own"
                text = f"told that job {who} waits for {lack}: {own}"
            lines.append((int(self.told[k]), (_instant(int(self.told[k])), text)))
        if len(mine) > _NAMED:
            more, last = _counted(len(mine) - _NAMED, "time"), int(self.told[mine[-1]])
            lines.append((last, ("", f"told {more} more who waits, the last at {_instant(last)}")))
        return lines

    def _asked(self, row: int) -> str:
        estimate = self.value("estimate_ns", row)
        for_time = "" if estimate is None else f" for {format_ns(int(estimate))}"
        return f": asks for {_counted(int(self.cores[row]), 'core')}{for_time}"

    def _eligible(self, row: int, attempt: int) -> str:
        eligible = int(self.eligible[row])
        # When those that never started have left, the table does not say: they are not counted.
        waiting = self.started & (self.eligible <= eligible) & (self.had >= eligible)
        waiting[row] = False
        before = waiting & ((self.eligible < eligible) | (self.submit < self.submit[row]))
        again = f"{told(Ending.REQUEUED, 'waiting')}, attempt {attempt}"
        text = told(Stage.COMING, "waiting") if attempt == 0 else again
        if attempt == 0 and eligible > self.submit[row]:
            why = "it could not start before" if self.begin[row] == eligible else "it follows another job"
            text += f", {format_ns(eligible - int(self.submit[row]))} after its submit: {why}"
        ahead = _counted(int(before.sum()), "job")
        verb = "waits" if before.sum() == 1 else "wait"
        return f"{text}: {self.free_at(eligible, row)} of {self.n_cores} cores are free, {ahead} that came before it {verb}"

    def _never(self, row: int) -> str:
        stage = Stage.WAITING if self.eligible[row] >= 0 else Stage.COMING
        because = self.word(REJECTED_BECAUSE, row) if REJECTED_BECAUSE in self.columns else ""
        return told(stage, self.word("state", row), because)

    def _waited(self, row: int) -> str:
        eligible, start, requested = int(self.eligible[row]), int(self.start[row]), int(self.cores[row])
        had = int(self.had[row])
        text = f"waited {format_ns(start - eligible)}"
        if had == eligible:
            return f"{text}: it had its cores at once, and their hosts had to boot"
        if had < start:
            text += f", {format_ns(start - had)} of it for its hosts to boot"
        free = self.free_at(eligible, row)
        if free < requested:
            reason = f"{_counted(requested, 'core')} asked for, {free} free as it became eligible"
        else:
            reason = "there were cores enough as it became eligible, so that others before it, a reservation, a limit or the "
            reason += "place of the cores kept it back"
        overtook = self.started & (self.had >= eligible) & (self.had < had) & (self.eligible > eligible)
        text += f": {reason}"
        if overtook.any():
            others = np.flatnonzero(overtook)
            did = "had their cores" if (self.had != self.start)[[row, *others]].any() else "started"
            text += f"; {_counted(len(others), 'job')} that came later {did} before it: {_named(self.number[others])}"
        return text

    def _had(self, row: int) -> str:
        had = int(self.had[row])
        return (
            f"had its cores{self._given(row)}; waited {format_ns(int(self.start[row]) - had)} for their hosts to boot"
        )

    def _start(self, row: int) -> str:
        start = int(self.start[row])
        text = f"started {told(Stage.WAITING, self.word('why', row))}"
        if STARTED_BECAUSE in self.columns and (because := self.word(STARTED_BECAUSE, row)):
            text += f"; the policy says: {because}"
        if start == self.had[row]:
            text += self._given(row)
        held = int(self.held[row])
        text += f"; on {'core' if held == 1 else 'cores'} {self.word('allocation', row)}"
        if held > self.cores[row]:
            text += f", {held} in all: whole hosts"
        return text

    def _given(self, row: int) -> str:
        # Who gave cores back at the instant at which it was given its own, and which pass that was.
        had, text = int(self.had[row]), ""
        gave = np.flatnonzero(self.started & (self.end == had) & (self.start < had))
        released = np.flatnonzero(self.released == had)
        released = released[self.released_row[released] != row]
        if len(released) and had > self.eligible[row]:
            owners = np.unique(self.released_row[released])
            verb = "releases" if len(owners) == 1 else "release"
            text += f"; {_named(self.number[owners])} {verb} {_counted(len(released), 'core')} at this instant"
        if len(gave) and had > self.eligible[row]:
            before = np.isin(self.released_row, gave)
            given = np.isin(self.changed_row, gave) & (self.change > 0)
            n = int(self.held[gave].sum()) + int(np.count_nonzero(given)) - int(np.count_nonzero(before))
            cores = _counted(n, "core")
            text += (
                f"; {_named(self.number[gave])} {'gives' if len(gave) == 1 else 'give'} back {cores} at this instant"
            )
        if self.decisions is not None:
            at = int(np.searchsorted(self.decisions["now_ns"], had, side="right")) - 1
            if at >= 0:
                waiting, n = int(self.decisions["waiting"][at]), int(self.decisions["started"][at])
                text += f"; scheduling pass {at} starts {n} of {_counted(waiting, 'waiting job')}"
        return text

    def _end(self, row: int) -> str:
        ran = format_ns(int(self.end[row] - self.start[row]))
        because = self.word(CUT_BECAUSE, row) if CUT_BECAUSE in self.columns else ""
        text = f"{told(Stage.RUNNING, self.word('state', row), because)}, after {ran}"
        tasks = self.value("tasks", row)
        if tasks:
            text += f"; {_counted(int(tasks), 'task')}"
            if chunks := self.value("chunks", row):
                text += f" in {_counted(int(chunks), 'chunk')}"
            imbalance = self.value("imbalance", row)
            if imbalance is not None and np.isfinite(imbalance):
                text += f", imbalance {imbalance:.3g}"
        return text


def job_story(
    columns: Table,
    job: int,
    n_cores: int,
    decisions: Table | None = None,
    releases: Table | None = None,
    hints: Table | None = None,
    widths: Table | None = None,
    scales: Table | None = None,
    word: str = "",
) -> str:
    """What happened to one job, one line per event.

    Parameters
    ----------
    columns : mapping of str to column
        The table of jobs (``traces.tables.JOB_COLUMNS``), or a frame of it. ``estimate_ns``, ``tasks``, ``chunks`` and
        ``imbalance`` may be missing; then they are not spoken of.
    job : int
        The job's number.
    n_cores : int
        Of the machine.
    decisions : mapping of str to column, optional
        The table of scheduling passes, where it was kept: ``now_ns``, ``waiting``, ``started``.
    releases : mapping of str to column, optional
        The table of releases (``traces.ledger_tables.RELEASES``), where cores were released.
    hints : mapping of str to column, optional
        The table of hints (``traces.ledger_tables.HINTS``), where jobs were told who waits for their cores.
    widths : mapping of str to column, optional
        The table of widths (``traces.ledger_tables.WIDTHS``), where running jobs were given cores, or asked for some.
    scales : mapping of str to column, optional
        The table of scaled speeds (``traces.ledger_tables.SCALES``), where there were some.
    word : str
        The word that named the job, for the title where the table has no name.

    Returns
    -------
    str
        Instants are hours, minutes and seconds since the workload's time 0, exact.

    Raises
    ------
    InputError
        If there is no such job; the message lists those that there are.
    """
    jobs = _Jobs(columns, n_cores, decisions, releases, hints, widths, scales)
    rows = np.flatnonzero(jobs.number == job)
    if not len(rows):
        raise InputError(f"job {job}: there is none in these results; allowed: {_list(jobs.number)}")
    rows = rows[np.argsort(jobs.attempt[rows], kind="stable")]
    lines: list[tuple[str, str]] = [line for row in rows.tolist() for line in jobs.lines(row)]
    width = max(len(instant) for instant, _ in lines)
    name = (jobs.word(NAME, int(rows[0])) if NAME in columns else "") or word
    title = f"job {job} ({name})" if name and name != f"{job}" else f"job {job}"
    return "\n".join([title, *(f"  {instant.rjust(width)}  {text}" for instant, text in lines)])


def _list(numbers: Sequence[int] | Array) -> str:
    # The job numbers as ranges, as many as a line can bear.
    known = np.unique(np.asarray(numbers, np.int64))
    if not len(known):
        return "none, it has no jobs"
    first = np.flatnonzero(np.diff(known, prepend=known[0] - 2) != 1)
    stop = np.append(first[1:], len(known)) - 1
    text = intervals_text(zip(known[first].tolist(), (known[stop] + 1).tolist(), strict=True))
    return text if len(text) <= _LONGEST_LIST else text[:_LONGEST_LIST].rsplit(" ", 1)[0] + f" … {known[-1]}"


def story_of_results(folder: Path, job: str) -> str:
    """:func:`job_story` of a folder that ``twolevel run`` has written; with the scheduling passes, where it kept them.

    ``job`` is a number, or another word that names one job (:mod:`bls.workloads.job_words`).

    Raises
    ------
    InputError
        If it is none, or has no such job.
    """
    n_cores = int(hosts(folder)[0][-1])
    frame = read_jobs(folder / "jobs.parquet")
    number = JobWords.of(frame["job_id"].to_numpy(), frame[NAME].tolist() if NAME in frame else None).one(job, "JOB")
    passes = folder / "decisions.parquet"
    decisions = read_rows(passes, ("now_ns", "waiting", "started")) if passes.is_file() else None
    releases, hints, widths, scales = (one.read_if_there(folder) for one in (RELEASES, HINTS, WIDTHS, SCALES))
    return job_story(frame, number, n_cores, decisions, releases, hints, widths, scales, job)
