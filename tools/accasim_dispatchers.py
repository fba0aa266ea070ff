"""A dispatcher of the AccaSim paper's case study, and what it does and costs on a log (``tools.accasim_study``)."""

from __future__ import annotations

import gc
import os
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np

from bls.allocators import allocator
from bls.constraints.options import Surroundings, surround
from bls.engine.state import END, START
from bls.engine.status import BatchStatus
from bls.machine.platform import Platform, load_platform
from bls.metrics.jobs import slowdown
from bls.policies import policy
from bls.scheduler_options import Rules
from bls.simulator import BatchSimulator
from bls.workloads import read_workload
from bls.workloads.selection import fit, select
from traces.base.time import NS_PER_S
from traces.compiled import Array

__all__ = ["CORE_GFLOPS", "DISPATCHERS", "Dispatcher", "Measured", "measure", "resident_mb"]

#: The speed of a core in the paper's Figure 6, GFLOP/s.
CORE_GFLOPS = 1.667

# Between two looks at the memory so many jobs end.
_PAUSE_JOBS = 2000


@dataclass(frozen=True)
class Dispatcher:
    """A scheduler and an allocator.

    Attributes
    ----------
    scheduler, fit : str
        The paper's names, except that its EBF is here EASY.
    policy, backfill, allocator : str
        As the options of these names.
    """

    scheduler: str
    fit: str
    policy: str
    backfill: str
    allocator: str

    @property
    def name(self) -> tuple[str, str]:
        """As figures take it."""
        return self.scheduler, self.fit


DISPATCHERS = tuple(
    Dispatcher(scheduler, short, order, backfill, allocator_name)
    for scheduler, order, backfill in (
        ("FIFO", "fcfs", "none"), ("LJF", "ljf", "none"), ("SJF", "sjf", "none"), ("EASY", "fcfs", "easy"),
    )
    for short, allocator_name in (("FF", "first-fit"), ("BF", "best-fit"))
)  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """A dispatcher on a log.

    Attributes
    ----------
    dispatcher : Dispatcher
    slowdown : float64 (n,)
        Of every job, (wait + run) / run.
    wait_s : float
        Mean wait.
    queue : int64 (steps,)
        Jobs that wait at each step, before anything is decided.
    decide_ns : int64 (steps,)
        Wall time of deciding at each step: the least of the repetitions, as what is more is the operating system's.
    total_s : list of float
        Wall time of each repetition, from opening the log to the last end. (Deciding takes less than it takes to ask for the
        processor time, so that only wall time can be compared with it.)
    deciding_s : list of float
        Wall time that each repetition took to decide.
    memory_before_mb, memory_mean_mb, memory_max_mb : float or None
        Resident memory of the process (10^6 bytes) before the log is opened, and over all looks at it after that; None
        on a system that does not say.
    """

    dispatcher: Dispatcher
    slowdown: Array
    wait_s: float
    queue: Array
    decide_ns: Array
    total_s: list[float]
    deciding_s: list[float]
    memory_before_mb: float | None
    memory_mean_mb: float | None
    memory_max_mb: float | None

    @property
    def step_ns(self) -> tuple[float, float]:
        """Mean wall time of a step in ns: to decide, and for all else in the quickest repetition."""
        deciding = float(self.decide_ns.sum())
        return deciding / len(self.queue), (NS_PER_S * min(self.total_s) - deciding) / len(self.queue)


def resident_mb() -> float | None:
    """Resident memory of this process in 10^6 bytes, or None on a system that does not say (Linux does)."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _simulated(
    log: Path, platform: Platform, dispatcher: Dispatcher, memory: str, first: str, seen_mb: list[float]
) -> BatchSimulator:
    workload = select(fit(read_workload(log), platform.n_cores), first)
    workload, around = surround(workload, platform, Surroundings(memory=memory))
    run = BatchSimulator(
        workload,
        platform,
        policy(dispatcher.policy),
        allocator(dispatcher.allocator),
        rules=Rules(backfill=dispatcher.backfill, keep_decisions=True),
        circumstances=around,
        recorded=True,
    )
    while run.advance(_PAUSE_JOBS) != BatchStatus.DONE:
        now_mb = resident_mb()
        if now_mb is not None:
            seen_mb.append(now_mb)
    return run


def measure(log: Path, platform_file: Path, dispatcher: Dispatcher, repeats: int, memory: str) -> Measured:
    """Run a dispatcher on a log so many times."""
    platform = load_platform(platform_file, processor_gflops=2 * CORE_GFLOPS)
    _simulated(log, platform, dispatcher, memory, "first:100", [])  # compiled code is loaded
    gc.collect()
    before_mb = resident_mb()
    totals, decidings = [], []
    seen_mb: list[float] = []
    for repetition in range(repeats):
        began = time.perf_counter()
        run = _simulated(log, platform, dispatcher, memory, "all", seen_mb)
        totals.append(time.perf_counter() - began)
        decidings.append(run.decisions()["decision_total_ns"] / NS_PER_S)
        columns, submit = run.decision_columns(), run.workload.submit_ns
        if repetition == 0:
            least_ns, queue = columns["decision_ns"].copy(), columns["waiting"].copy()
            slow = slowdown(submit, run.column(START), run.column(END))
            wait_s = float((run.column(START) - submit).mean()) / NS_PER_S
        np.minimum(least_ns, columns["decision_ns"], out=least_ns)
        del run, columns, submit  # what this one holds would count as the next one's
    return Measured(
        dispatcher,
        slow,
        wait_s,
        queue,
        least_ns,
        totals,
        decidings,
        before_mb,
        fmean(seen_mb) if seen_mb else None,
        max(seen_mb) if seen_mb else None,
    )
