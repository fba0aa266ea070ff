"""Which 24 hours of a log the two-level paper may have simulated: the table of ``docs/explanation/two-level-paper.md``.

    python -m tools.paper_selections CEA-Curie-2011-2.1-cln.swf.gz

The paper takes "the most intensive 24 hours in terms of job arrival time" of CEA-Curie, 1,700 jobs on 256 cores. The log that
everybody has gives 9,206. So readings of that sentence are tried: which jobs are counted, by what a day is intensive,
and which spans of 24 hours there are. That one comes near does not make it the paper's: see :func:`days_near`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from bls.workloads import read_workload
from bls.workloads.calendar import Calendar
from bls.workloads.columns import CANCELLED, FAILED
from bls.workloads.workload import Workload
from traces.base.errors import TwolevelError
from traces.base.time import NS_PER_S
from traces.compiled import Array

__all__ = ["COUNTED", "MEASURES", "NEAR", "SPANS", "Selection", "days_near", "flurry", "selections", "table"]

#: Cores of the paper's platform.
CORES = 256

#: Numbers that "1,700" may stand for: the paper's Table 2 cuts 312,826 to 312,000, and others round.
NEAR = range(1_650, 1_800)

_DAY_NS = 86_400 * NS_PER_S


@dataclass(frozen=True)
class Selection:
    """The busiest span of a log under one reading.

    Attributes
    ----------
    counted, measure, span : str
        The reading, by its names in :data:`COUNTED`, :data:`MEASURES` and :data:`SPANS`.
    first_ns : int
        Submit of its first job.
    n_jobs : int
        Counted jobs in it.
    n_fitting : int
        Those of them that fit the paper's platform.
    """

    counted: str
    measure: str
    span: str
    first_ns: int
    n_jobs: int
    n_fitting: int

    @property
    def near(self) -> bool:
        """Whether one of the two numbers is near the paper's."""
        return self.n_jobs in NEAR or self.n_fitting in NEAR


def _first(log: Workload, n: int, widest: int) -> Array:
    # The first n of the jobs up to a width.
    chosen = log.cores <= widest
    return np.asarray(chosen & (np.cumsum(chosen) <= n))


def _partition(log: Workload, name: str) -> Array:
    # By its name in the header: "; Partition: 10  standard".
    numbers = [line.split()[2] for line in log.header if line.startswith("; Partition:") and line.split()[3:] == [name]]
    return np.asarray(np.isin(log.partition, [int(number) for number in numbers]))


def flurry(log: Workload) -> tuple[int, int]:
    """The user who submitted most in the busiest 24 hours of jobs that fit, and how many jobs these are."""
    fitting = np.flatnonzero(log.cores <= CORES)
    begin, end = _spans(log, fitting, "any 24 h")
    longest = int(np.argmax(end - begin))
    users, counts = np.unique(log.user[fitting[begin[longest] : end[longest]]], return_counts=True)
    return int(users[np.argmax(counts)]), int(counts.max())


#: Which jobs are counted; each gives a mask over the log.
COUNTED: dict[str, Callable[[Workload], Array]] = {
    "all": lambda log: np.asarray(log.cores > 0),
    "up to 256 cores": lambda log: np.asarray(log.cores <= CORES),
    "of several cores": lambda log: np.asarray(log.cores > 1),
    "of 2 to 256 cores": lambda log: np.asarray((log.cores > 1) & (log.cores <= CORES)),
    "completed": lambda log: np.asarray(~np.isin(log.status, [FAILED, CANCELLED])),
    "partition standard": partial(_partition, name="standard"),
    "partition large": partial(_partition, name="large"),
    "that waited": lambda log: np.asarray(log.wait_ns > 0),
    "first 10,000": partial(_first, n=10_000, widest=2**62),
    "first 10,000 up to 256 cores": partial(_first, n=10_000, widest=CORES),
    "first 20,000": partial(_first, n=20_000, widest=2**62),
    "first 20,000 up to 256 cores": partial(_first, n=20_000, widest=CORES),
    "but the flurry's user": lambda log: np.asarray(log.user != flurry(log)[0]),
}

#: By what a span is intensive: what a job counts for.
MEASURES: dict[str, Callable[[Workload], Array]] = {
    "jobs": lambda log: np.ones(len(log)),
    "core-seconds": lambda log: log.run_ns / NS_PER_S * np.minimum(log.cores, CORES),
}

#: Which spans there are: one from every submit on, or the dates of the log's own time zone.
SPANS = ("any 24 h", "a date")


def _spans(log: Workload, rows: Array, span: str) -> tuple[Array, Array]:
    # Of each span the first of some rows, and the first after it.
    submit = log.submit_ns[rows]
    if span == "any 24 h":
        return np.arange(len(rows)), np.searchsorted(submit - _DAY_NS, submit, side="left")
    begin = np.unique(Calendar.of(log).day(submit), return_index=True)[1]
    return begin, np.append(begin[1:], len(rows))


def _busiest(log: Workload, counted: str, measure: str, span: str) -> Selection:
    rows = np.flatnonzero(COUNTED[counted](log))
    begin, end = _spans(log, rows, span)
    until = np.concatenate([[0.0], np.cumsum(MEASURES[measure](log)[rows])])
    best = int(np.argmax(until[end] - until[begin]))
    chosen = rows[begin[best] : end[best]]
    fitting = int(np.count_nonzero(log.cores[chosen] <= CORES))
    return Selection(counted, measure, span, int(log.submit_ns[chosen[0]]), len(chosen), fitting)


def selections(log: Workload) -> list[Selection]:
    """The busiest span under every reading: jobs that are counted vary slowest, spans fastest."""
    return [
        _busiest(log, counted, measure, span)
        for counted in COUNTED
        if COUNTED[counted](log).any()
        for measure in MEASURES
        for span in SPANS
    ]


def days_near(log: Workload) -> tuple[int, int]:
    """On how many dates about as many jobs as the paper's were submitted, and on how many any were."""
    counts = np.unique(Calendar.of(log).day(log.submit_ns), return_counts=True)[1]
    return int(np.count_nonzero(np.isin(counts, NEAR))), len(counts)


def table(log: Workload) -> list[str]:
    """The table of the page: a row for what is counted, a column for measure and span."""
    dates = Calendar.of(log)
    found = selections(log)
    lines = [
        "| jobs that are counted | "
        + " | ".join(f"most {measure}, {span}" for measure in MEASURES for span in SPANS)
        + " |",
        "|---|" + "---|" * (len(MEASURES) * len(SPANS)),
    ]
    for counted in dict.fromkeys(one.counted for one in found):
        cells = []
        for one in (one for one in found if one.counted == counted):
            said = f"{one.n_jobs:,}" if one.n_jobs == one.n_fitting else f"{one.n_jobs:,} ({one.n_fitting:,})"
            cells.append(f"{'**' + said + '**' if one.near else said}, {dates.date(one.first_ns):%d %b %Y}")
        lines.append(f"| {counted} | {' | '.join(cells)} |")
    return lines


def main(words: Sequence[str] | None = None) -> int:
    """Print the table; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.paper_selections", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("log", type=Path, metavar="LOG", help="log in SWF, plain or gzipped")
    said = parser.parse_args(words)
    try:
        log = read_workload(said.log)
    except TwolevelError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    near, days = days_near(log)
    user, n_jobs = flurry(log)
    sys.stdout.write("\n".join(table(log)) + "\n\n")
    sys.stdout.write(f"dates with {NEAR[0]:,} to {NEAR[-1]:,} jobs: {near} of {days}\n")
    sys.stdout.write(f"most jobs of one user in the busiest 24 hours: {n_jobs:,} of user {user}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
