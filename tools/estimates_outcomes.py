"""What becomes of a log's jobs by what the scheduler knows of run times (``tools.estimates_study``)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from bls.allocators import allocator
from bls.engine.state import BY_BACKFILL, END, START, WHY
from bls.engine.status import BatchStatus
from bls.estimates import AnyEstimator, estimator
from bls.machine.platform import HostGroup, Platform
from bls.metrics.jobs import bounded_slowdown, slowdown
from bls.policies import policy
from bls.scheduler_options import Rules
from bls.simulator import BatchSimulator
from bls.workloads import read_workload, replications
from bls.workloads.calendar import header_facts
from bls.workloads.reshape import scale
from bls.workloads.selection import fit
from bls.workloads.workload import Workload
from traces.base.errors import InputError
from traces.base.time import NS_PER_S
from traces.compiled import Array

__all__ = [
    "ESTIMATES", "HIGH", "RUN_CLASSES", "Doubled", "Outcome", "counted", "load", "of_sample", "outcome", "shaken",
    "width_bounds",
]  # fmt: skip

#: From where on the paper calls a slowdown high.
HIGH = 5.0

_SHAKEN_NS = 60 * NS_PER_S
_COMPLETED = 1

#: Classes of run time: their upper ends in seconds, and what they are called.
_RUN_ENDS_S = (60, 600, 3600, 6 * 3600)
RUN_CLASSES = ("up to 1 min", "up to 10 min", "up to 1 h", "up to 6 h", "longer")


@dataclass(frozen=True)
class Doubled:
    """Twice the recorded run time, which no user would call accurate; no job outruns it."""

    name: str = "exact × 2"

    def planned_ns(self, workload: Workload, seed: int) -> Array:
        """Twice the run times."""
        return np.asarray(2 * workload.run_ns)


#: What is tried; the first is what the others are compared with.
ESTIMATES: tuple[AnyEstimator, ...] = (
    *(estimator(name) for name in ("requested", "within:10%", "exact")),
    Doubled(),
    *(estimator(name) for name in ("last-two", "profile", "application")),
)


@dataclass(frozen=True)
class Outcome:
    """What became of the completed jobs of one sample with one kind of estimates.

    Attributes
    ----------
    high : float64 (k,)
        The slowdowns above :data:`HIGH`.
    jobs : int
        How many jobs completed.
    wait_s, bounded : float
        Mean wait, and mean bounded slowdown.
    backfilled : float
        What share of all jobs started before the head of the queue.
    utilisation : float
        Of all cores from the first submit to the last end; all jobs.
    high_by_run : int64 (classes,)
        Jobs with a high slowdown, by class of run time.
    wait_by_width_s : float64 (3,)
        Mean waits of the narrowest half of the jobs, of the next 40 %, and of the widest.
    """

    high: Array
    jobs: int
    wait_s: float
    bounded: float
    backfilled: float
    utilisation: float
    high_by_run: Array
    wait_by_width_s: Array


@cache
def load(path: Path, factor: float, n_cores: int | None = None) -> tuple[Workload, int]:
    """The jobs of a log that fit its machine, submitted ``factor`` times as densely; and how many cores that has.

    ``n_cores`` of them, or as many as the header names.
    """
    log = read_workload(path)
    if n_cores is None:
        said = header_facts(log.header).get("MaxProcs", "")
        if not (said.isascii() and said.isdigit() and 0 < int(said) <= 2**24):
            raise InputError(f"{path}: the header names no number of cores (MaxProcs): the machine is not known")
        n_cores = int(said)
    jobs = fit(log, n_cores)
    return (jobs if factor == 1 else scale(jobs, load=factor)), n_cores


def shaken(log: Workload, sample: int) -> Workload:
    """A sample: the log itself if its number is 0, else each job up to a minute later."""
    return replications.shaken(log, sample, _SHAKEN_NS)


def counted(log: Workload) -> Array:
    """Bool (n,): the jobs that completed; all where the log says of none how it ended."""
    return np.asarray(log.status == _COMPLETED) if (log.status >= 0).any() else np.ones(len(log), bool)


def width_bounds(log: Workload) -> tuple[int, int]:
    """The widest of the narrowest half of the jobs, and of the narrowest 90 %."""
    half, most = np.quantile(log.cores, (0.5, 0.9), method="inverted_cdf").tolist()
    return int(half), int(most)


def outcome(jobs: Workload, n_cores: int, estimates: AnyEstimator, seed: int) -> Outcome:
    """Simulate some jobs with some estimates."""
    platform = Platform((HostGroup(n_cores, 1, 1.0),))
    rules = Rules(backfill="easy", estimates=estimates)
    run = BatchSimulator(jobs, platform, policy("fcfs"), allocator("first-fit"), rules=rules, recorded=True, seed=seed)
    if run.advance(2**62) != BatchStatus.DONE:
        raise AssertionError("the simulation paused")
    of = counted(jobs)
    start, end = run.column(START), run.column(END)
    span = float(end.max() - jobs.submit_ns.min())
    used = float((jobs.cores * (end - start).astype(np.float64)).sum()) / (n_cores * span)
    submit, start, end = jobs.submit_ns[of], start[of], end[of]
    slow, wait_s = slowdown(submit, start, end), (start - submit) / NS_PER_S
    high = slow > HIGH
    run_class = np.searchsorted(np.array(_RUN_ENDS_S) * NS_PER_S, (end - start)[high])
    width = np.searchsorted(width_bounds(jobs), jobs.cores[of])
    waits = np.bincount(width, wait_s, 3) / np.maximum(np.bincount(width, minlength=3), 1)
    return Outcome(
        slow[high],
        len(submit),
        float(wait_s.mean()),
        float(bounded_slowdown(submit, start, end).mean()),
        float((run.column(WHY) == BY_BACKFILL).mean()),
        used,
        np.bincount(run_class, minlength=len(RUN_CLASSES)),
        waits,
    )


def of_sample(path: Path, factor: float, sample: int) -> list[Outcome]:
    """The outcomes of all :data:`ESTIMATES` on one sample of a log."""
    log, n_cores = load(path, factor)
    jobs = shaken(log, sample)
    return [outcome(jobs, n_cores, estimates, sample) for estimates in ESTIMATES]
