"""The benchmark's cases of the batch level alone: real logs with recorded run times, every start compared between cases."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from bls.allocators import allocator
from bls.engine.state import START
from bls.engine.status import BatchStatus
from bls.machine.platform import HostGroup, Platform
from bls.policies import AnyPolicy, policy
from bls.scheduler_options import Rules
from bls.simulator import BatchSimulator
from bls.view import SeenJob, View
from bls.workloads import read_workload
from bls.workloads.selection import fit
from bls.workloads.workload import Workload
from tools.bench_rows import CURIE, HPC2N, Row, log, row, timed

__all__ = ["batch_engine", "python_policy"]

#: 120 hosts of 2 processors, and Curie's 93,312 cores on hosts of 16.
SETH = Platform(hosts=(HostGroup(count=120, cores=2, speed_gflops=2.0),))
CURIES_OWN = Platform(hosts=(HostGroup(count=5832, cores=16, speed_gflops=16.0),))


class ByHand:
    """FCFS as somebody would write it who wants a policy of their own."""

    name = "fcfs-by-hand"

    def decide(self, view: View) -> list[SeenJob]:
        """The jobs at the front that fit."""
        free, chosen = view.free_cores, []
        for job in view.waiting:
            if job.cores > free:
                break
            free -= job.cores
            chosen.append(job)
        return chosen


def _simulated(
    workload: Workload, platform: Platform, order: AnyPolicy, placed: str, rules: Rules
) -> tuple[float, BatchSimulator]:
    simulator = BatchSimulator(workload, platform, order, allocator(placed), rules=rules, recorded=True)
    began = time.perf_counter()
    assert simulator.advance(2**40) == BatchStatus.DONE
    took = time.perf_counter() - began
    assert simulator.ended == len(workload)
    return took, simulator


def _mean_wait_s(simulator: BatchSimulator) -> float:
    return float(np.mean(simulator.column(START) - simulator.workload.submit_ns)) / 1e9


def batch_engine() -> list[Row]:
    """Seth (HPC2N) and CEA-Curie on its own cores, recorded run times, the engine alone."""
    seth = fit(read_workload(log(HPC2N)), SETH.n_cores)
    curie = fit(read_workload(log(CURIE)), CURIES_OWN.n_cores)
    assert (len(seth), len(curie)) == (202_871, 295_540)
    fcfs, sjf, wfp3 = policy("fcfs"), policy("sjf"), policy("wfp3")
    cases: list[tuple[str, str, int, Workload, Platform, Any, str, Rules, str]] = [
        ("Seth, fcfs", "≤ 0.25 s", 7, seth, SETH, fcfs, "first-fit", Rules(), "AccaSim 113 CPU s, Batsim 45, pyss 6.6"),
        ("Seth, sjf", "≤ 0.25 s", 7, seth, SETH, sjf, "first-fit", Rules(), "AccaSim 118 CPU s"),
        ("Seth, fcfs, best-fit", "", 3, seth, SETH, fcfs, "best-fit", Rules(), ""),
        ("Seth, easy", "≤ 0.25 s", 7, seth, SETH, fcfs, "first-fit", Rules("easy"), "AccaSim 121 CPU s, Batsim 44, pyss 10.3"),
        ("Seth, wfp3, easy", "", 3, seth, SETH, wfp3, "first-fit", Rules("easy"), ""),
        ("Seth, 4 reservations", "", 3, seth, SETH, fcfs, "first-fit", Rules("4"), ""),
        ("Seth, conservative, keep", "≤ 10 s", 3, seth, SETH, fcfs, "first-fit", Rules("conservative"), ""),
        ("Seth, conservative, rebuild", "≤ 10 s", 1, seth, SETH, fcfs, "first-fit", Rules("conservative", "rebuild"), ""),
        ("Curie on 93,312 cores, easy", "≤ 5 s", 3, curie, CURIES_OWN, fcfs, "first-fit", Rules("easy"),
         "pyss 32.6 s, Batsim 177"),
        ("Curie on 93,312 cores, easy, best-fit", "", 1, curie, CURIES_OWN, fcfs, "best-fit", Rules("easy"), ""),
    ]  # fmt: skip
    rows = []
    for name, must, runs, workload, platform, order, placed, rules, peers in cases:
        waits: list[float] = []

        def work(args: Any = (workload, platform, order, placed, rules), waits: list[float] = waits) -> float:
            took, simulator = _simulated(*args)
            waits.append(_mean_wait_s(simulator))
            return took

        seconds = timed(work, runs)
        assert len(set(waits)) == 1
        rate = f"{len(workload) / min(seconds) / 1e6:.2f} M jobs/s; mean wait {waits[0]:,.0f} s"
        rows.append(row(f"{name}, engine", must, seconds, note=f"{rate}{'; ' if peers else ''}{peers}"))
    return rows


def python_policy() -> list[Row]:
    """FCFS written by hand in Python, on Seth; the same starts as the compiled one."""
    seth = fit(read_workload(log(HPC2N)), SETH.n_cores)
    _, compiled = _simulated(seth, SETH, policy("fcfs"), "first-fit", Rules())
    decisions = 0

    def work() -> float:
        nonlocal decisions
        took, simulator = _simulated(seth, SETH, ByHand(), "first-fit", Rules())
        assert np.array_equal(simulator.column(START), compiled.column(START))
        decisions = simulator.decisions()["decisions"]
        return took

    seconds = timed(work, 3)
    return [row("Python policy (fcfs by hand), Seth", "≥ 50 k decisions/s", seconds, per=decisions / 1e3,
                unit="k decisions/s", note="AccaSim 1,700 jobs/s")]  # fmt: skip
