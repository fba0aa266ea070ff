"""Two runs of one workload, job by job: delays, the chains of jobs that caused them, and the effect of each job on others.

Definitions: docs/reference/compare.md. Every difference is the second run, B, minus the first, A.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bls.engine.features.records import START_DELAY
from bridge.compare.delay_causes import CAUSES, Pair, StartCauses, StartedJobs, find_causes, followers, sums_along
from traces.base.errors import InputError
from traces.compiled import Array
from traces.records.events import JobEvents
from traces.tables import CUT_BECAUSE, NAME, STARTED_BECAUSE, DataFrame, rows_frame

if TYPE_CHECKING:
    from bridge.report.page import Page

RUNS = ("A", "B")  #: the names of the two runs

#: Columns of the table of delays in A and in B if the start of a compared row was delayed after it had its cores.
DELAY_COLUMNS = {run: START_DELAY.column.replace("_ns", f"_{run.lower()}_ns") for run in RUNS}

#: Required columns of the table of jobs.
_NEEDED = ("job_id", "attempt", "submit_ns", "eligible_ns", "start_ns", "end_ns", "cores", "allocation", "state")


@dataclass(frozen=True, eq=False)
class Comparison:
    """Comparison of two runs of the same jobs."""

    # one row per compared job (an attempt at a job that started in both runs), in A's order; see docs/reference/compare.md
    delays: DataFrame
    # rows: ``compared``; of these ``later``, ``earlier``, ``same`` start in B; ``only_a``, ``only_b``: attempts that one run
    # has; ``started_only_a``, ``started_only_b``, ``never_started``: attempts of both runs that did not start in both
    counts: Mapping[str, int]
    causes: Pair[StartCauses]  # why each compared job started when it did, in A and in B
    rows: Pair[Array]  # (int64 (n,), int64 (n,)): the rows of the compared jobs in the tables of A and of B
    # the log's text for each job, by number, if it has texts as ids
    ids: Mapping[int, str] = field(default_factory=dict)

    def called(self, job: int, attempt: int) -> str:
        """The name of an attempt at a job: ``7``, ``7 (a!7)`` if its log has ids, or ``7 attempt 1``."""
        name = self.ids.get(job, "")
        own = f"{job} ({name})" if name else f"{job}"
        return f"{own} attempt {attempt}" if attempt > 0 else own

    def report(self) -> Page:
        """Its report page (docs/reference/report.md): ``save(path)`` writes it, and a notebook shows it."""
        from bridge.compare.page import page_of_comparison

        return page_of_comparison(self)


@dataclass(frozen=True)
class Link:
    """A job of a chain. If it has a cause, start_delta_ns = cause_run_delta_ns + cause_start_delta_ns + order_ns."""

    row: int  # row of the job in ``Comparison.delays``
    # as in ``Comparison.delays``
    job_id: int
    attempt: int
    cores: int
    start_delta_ns: int
    # cause of its start in the run of the chain: one of :data:`bridge.compare.delay_causes.CAUSES`
    cause: str
    # the job at whose end it started; −1 if there is none
    cause_job: int
    cause_attempt: int
    # the terms of its delay; 0 at the first job of a chain, which no other job delayed
    cause_run_delta_ns: int
    cause_start_delta_ns: int
    order_ns: int


def compare_jobs(
    a: DataFrame,
    b: DataFrame,
    events: Pair[Collection[JobEvents]] = ((), ()),
    ids: Mapping[int, str] | None = None,
) -> Comparison:
    """Compare the tables of jobs of two runs of one workload (``traces.tables.read_jobs``), with the events of running jobs of
    each (``Ledger.events``). ``ids``: the log's texts for jobs, by number. Raises InputError if the runs are not of one
    workload, or a table is not valid."""
    for name, frame in zip(RUNS, (a, b), strict=True):
        _check(name, frame)
    a_row, b_row = _common(a, b)
    _check_same_jobs(a, b, a_row, b_row)
    started_a, started_b = (frame["start_ns"].to_numpy() >= 0 for frame in (a, b))
    in_a, in_b = started_a[a_row], started_b[b_row]
    both = in_a & in_b
    sides = (StartedJobs.of(a, events[0]), StartedJobs.of(b, events[1]))
    # Rows within the table of started jobs.
    rows = (np.cumsum(started_a) - 1)[a_row[both]], (np.cumsum(started_b) - 1)[b_row[both]]
    causes = (find_causes(sides[0], sides[1], rows[0], rows[1]), find_causes(sides[1], sides[0], rows[1], rows[0]))
    columns = _delay_columns(sides, rows, causes) | _reasons(sides, rows)
    delta = columns["start_delta_ns"]
    counts = {
        "compared": len(delta),
        "later": int((delta > 0).sum()),
        "earlier": int((delta < 0).sum()),
        "same": int((delta == 0).sum()),
        "only_a": len(a) - len(a_row),
        "only_b": len(b) - len(b_row),
        "started_only_a": int((in_a & ~in_b).sum()),
        "started_only_b": int((in_b & ~in_a).sum()),
        "never_started": int((~in_a & ~in_b).sum()),
    }
    if ids:
        columns[NAME] = np.array([ids.get(number, "") for number in columns["job_id"].tolist()], object)
    return Comparison(rows_frame(columns), counts, causes, (a_row[both], b_row[both]), ids or {})


def _check(name: str, frame: DataFrame) -> None:
    for column in _NEEDED:
        if column not in frame.columns:
            raise InputError(f"{name}: no column {column}; this is not a table of the jobs of a run")
    for column in _NEEDED[:-2]:
        if frame[column].dtype.kind not in "iu":
            raise InputError(f"{name}: column {column} has values that are no whole numbers")
    back = np.flatnonzero(frame["end_ns"].to_numpy() < frame["start_ns"].to_numpy())
    if len(back):
        raise InputError(f"{name}: job {frame['job_id'].iloc[back[0]]} ends before it starts")
    order = np.lexsort((frame["attempt"].to_numpy(), frame["job_id"].to_numpy()))
    keys = [frame[column].to_numpy()[order] for column in ("job_id", "attempt")]
    twice = np.flatnonzero((keys[0][1:] == keys[0][:-1]) & (keys[1][1:] == keys[1][:-1]))
    if len(twice):
        job, attempt = (int(key[twice[0]]) for key in keys)
        raise InputError(f"{name}: attempt {attempt} of job {job} is there twice")


def _common(a: DataFrame, b: DataFrame) -> Pair[Array]:
    """Rows of the attempts that both have, in the order of ``a``."""
    keys = ["job_id", "attempt"]
    in_a, in_b = (frame[keys].astype(np.int64).assign(row=np.arange(len(frame))) for frame in (a, b))
    both = in_a.merge(in_b, on=keys)
    return both["row_x"].to_numpy(), both["row_y"].to_numpy()


def _check_same_jobs(a: DataFrame, b: DataFrame, a_row: Array, b_row: Array) -> None:
    allowed = "allowed: two runs of one workload"
    if not len(a_row):
        raise InputError(f"A and B have no job in common; {allowed}")
    for column, words in (("submit_ns", "was submitted at {} ns"), ("cores", "requests {} cores")):
        in_a, in_b = a[column].to_numpy()[a_row], b[column].to_numpy()[b_row]
        differing = np.flatnonzero(in_a != in_b)
        if len(differing):
            at = int(differing[0])
            job = int(a["job_id"].to_numpy()[a_row[at]])
            raise InputError(f"job {job} {words.format(in_a[at])} in A, and {in_b[at]} in B; {allowed}")


def _delay_columns(sides: Pair[StartedJobs], rows: Pair[Array], causes: Pair[StartCauses]) -> dict[str, Array]:
    a = sides[0]
    instants = ("start_ns", "end_ns", "eligible_ns")
    pairs = list(zip(sides, rows, strict=True))
    start, end, eligible = ([getattr(side, name)[row] for side, row in pairs] for name in instants)
    start_delta, end_delta = start[1] - start[0], end[1] - end[0]
    run_delta = end_delta - start_delta
    # The chain of a job is followed in the run in which it started later.
    later = start_delta >= 0
    # The part of each delay that neither the run time nor the start of its cause explains.
    order = [np.where(one.link >= 0, start_delta - end_delta[one.link], 0) for one in causes]
    runs = [np.where(one.link >= 0, run_delta[one.link], 0) for one in causes]
    sums = [sums_along(one.link, np.stack(terms)) for one, *terms in zip(causes, runs, order, strict=True)]
    root, links = (np.where(later, *(getattr(sums[late], name) for late in (1, 0))) for name in ("root", "links"))
    totals = np.where(later, sums[1].totals, sums[0].totals)
    after = followers(causes[1].link, start_delta > 0), followers(causes[0].link, start_delta < 0)
    names = np.array(CAUSES, object)
    known = ("job_id", "attempt", "cores", "submit_ns")
    columns: dict[str, Array] = {name: getattr(a, name)[rows[0]] for name in known}
    for late, run in enumerate(("a", "b")):
        columns |= {f"eligible_{run}_ns": eligible[late], f"start_{run}_ns": start[late], f"end_{run}_ns": end[late]}
    columns |= {"start_delta_ns": start_delta, "run_delta_ns": run_delta, "end_delta_ns": end_delta}
    for late, run in enumerate(("a", "b")):
        columns |= {
            f"cause_{run}": names[causes[late].kind],
            f"cause_job_{run}": causes[late].job_id,
            f"cause_attempt_{run}": causes[late].attempt,
            f"order_{run}_ns": order[late],
        }
    return columns | {
        "chain_of": np.where(later, *np.array(RUNS[::-1], object)),
        "chain_links": links,
        "chain_run_ns": totals[0],
        "chain_order_ns": totals[1],
        "root_job": a.job_id[rows[0]][root],
        "root_attempt": a.attempt[rows[0]][root],
        "root_start_delta_ns": start_delta[root],
        "later_jobs": after[0],
        "earlier_jobs": after[1],
        # A product that may pass int64; exact up to 2⁵³ ns.
        "later_ns": after[0] * run_delta.astype(np.float64) + 0.0,  # no −0
        "earlier_ns": after[1] * run_delta.astype(np.float64) + 0.0,
    }


def _reasons(sides: Pair[StartedJobs], rows: Pair[Array]) -> dict[str, Array]:
    """For each run: how compared rows lost all their cores, the policy's reasons for starts, and delays of starts;
    each is missing if no row has it."""
    found: dict[str, Array] = {}
    for name in (CUT_BECAUSE, STARTED_BECAUSE):
        because = {f"{name}_{run}": getattr(side, name)[row] for run, side, row in zip("ab", sides, rows, strict=True)}
        if any((column != "").any() for column in because.values()):
            found |= because
    waits = [side.delay_ns[row] for side, row in zip(sides, rows, strict=True)]
    return found | (dict(zip(DELAY_COLUMNS.values(), waits, strict=True)) if any(wait.any() for wait in waits) else {})


def chain(compared: Comparison, row: int) -> list[Link]:
    """The chain of the compared job in a row of ``compared.delays``: itself, the job that it waited for, and so on."""
    delays = compared.delays
    late = RUNS.index(str(delays["chain_of"].iloc[row]))
    run = "ab"[late]
    causes = compared.causes[late]
    job, attempt, cores, start_delta, run_delta, order = (
        delays[name].to_numpy()
        for name in ("job_id", "attempt", "cores", "start_delta_ns", "run_delta_ns", f"order_{run}_ns")
    )
    found: list[Link] = []
    while row >= 0:
        link = int(causes.link[row])
        of_job = int(job[row]), int(attempt[row]), int(cores[row]), int(start_delta[row])
        cause = CAUSES[causes.kind[row]], int(causes.job_id[row]), int(causes.attempt[row])
        terms = (int(run_delta[link]), int(start_delta[link]), int(order[row])) if link >= 0 else (0, 0, 0)
        found.append(Link(row, *of_job, *cause, *terms))
        row = link
    return found


def overtakers(compared: Comparison, row: int, run: str) -> list[int]:
    """Return the rows of the jobs that started while this job waited in ``run`` (``"A"`` or ``"B"``), but after it in the
    other run: the widest first, then by number. Jobs that started at the same instant did not overtake it."""
    delays = compared.delays
    here, there = run.lower(), RUNS[1 - RUNS.index(run)].lower()
    start, start_there = (delays[f"start_{name}_ns"].to_numpy() for name in (here, there))
    if DELAY_COLUMNS["A"] in delays:  # a job that has its cores is not overtaken
        delay, delay_there = (delays[DELAY_COLUMNS[name.upper()]].to_numpy() for name in (here, there))
        start, start_there = start - delay, start_there - delay_there
    eligible = int(delays[f"eligible_{here}_ns"].to_numpy()[row])
    rows = np.flatnonzero((start >= eligible) & (start < start[row]) & (start_there > start_there[row]))
    cores, job, attempt = (delays[name].to_numpy()[rows] for name in ("cores", "job_id", "attempt"))
    return [int(one) for one in rows[np.lexsort((attempt, job, -cores))]]


def ranked(compared: Comparison, column: str, top: int, *, later: bool) -> list[int]:
    """Rows of the ``top`` largest positive values of a column, or without ``later`` of the most negative; ties by row."""
    value = compared.delays[column].to_numpy() * (1 if later else -1)
    order = np.argsort(-value, kind="stable")[:top]
    return [int(row) for row in order if value[row] > 0]


def most_moved(compared: Comparison) -> int | None:
    """The row of the job that starts the longest time later in B, or else earlier; None if all start at the same time."""
    moved = (ranked(compared, "start_delta_ns", 1, later=later) for later in (True, False))
    return next((found[0] for found in moved if found), None)
