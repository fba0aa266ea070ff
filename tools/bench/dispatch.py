"""Cases of the benchmark about constraint programming: CPU milliseconds of one dispatch of 100 modelled jobs."""

from __future__ import annotations

import time
from statistics import median

from bls.cp.by_node import count_variables
from bls.cp.dispatch import plan
from bls.cp.parameters import Parameters
from bls.cp.problem import problem_of, select
from tools.bench.rows import Found, timed
from tools.cp_instances import MACHINES, drawn


def dispatch(machine: str, model: str, which: str, jobs: int = 100) -> Found:
    """CPU time of a dispatch on three drawn instances; where only jobs that fit are modelled, four times as many wait."""
    times, notes, parameters = [], [], Parameters(limit_s=0.005, which=which)
    for seed in (0, 1, 2, 3):
        instance = drawn(MACHINES[machine], jobs * (4 if which == "fits" else 1), seed)
        began = time.process_time_ns()
        problem = problem_of(instance, select(instance, jobs, which))
        found = plan(problem, model, parameters, row=instance.queue.row, clock_ns=time.process_time_ns)
        times.append((time.process_time_ns() - began) / 1e6)
        assert found.value is not None
        assert found.list_value is not None
        assert found.bound is not None
        assert found.list_value >= found.value >= found.bound
        parts = (found.list_ns / 1e6, found.build_ns / 1e6, found.solve_ns / 1e6)
        share = found.variables / count_variables(problem)
        notes.append(
            "list {:.0f}, build {:.0f}, solve {:.0f} ms".format(*parts) + f"; {share:.2g} of pcp19's variables"
        )
    return Found(times[1:], notes[1])  # the first loads kernels and the solver


def choosing(machine: str, which: str) -> Found:
    """Time to choose 100 of 10,000 waiting jobs, more than to choose 100 of 100."""
    few, many = (
        median(1e3 * timed(lambda: problem_of(instance, select(instance, 100, which)))[0] for _ in range(9))  # noqa: B023
        for instance in (drawn(MACHINES[machine], waiting, 1) for waiting in (100, 10_000))
    )
    return Found((many - few,), f"{few:.1f} ms of 100")
