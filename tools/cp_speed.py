"""How long a dispatch with constraint programming takes, and what it is worth beside its own list.

    python -m tools.cp_speed --seeds 5
    python -m tools.cp_speed --machines eurora --models pcp20 --limit 0.02

Times are CPU milliseconds, medians over seeds: choosing jobs, lists, making the model, solving it, and all of it. Beside
them: variables, and their ratio to PCP'19's (figure 6 of the paper); how many plans are proven to be optimal, and how
many are the list's; how much of Σ s/d, the part of Z that a plan can change, the solver took off its list's. What must be
reached: 100 modelled jobs of ``pcp20`` in 100 ms on Eurora and 350 ms on KIT; 10,000 waiting jobs at most 5 ms more than
100.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median

from bls.cp.by_node import count_variables
from bls.cp.dispatch import plan
from bls.cp.instance import Instance
from bls.cp.objective import Objective
from bls.cp.parameters import MODELS, SEARCHES, WHICH, Parameters
from bls.cp.plan import Plan
from bls.cp.problem import problem_of
from bls.cp.ranking import select
from bls.cp.solver import cp_model
from tools.cp_instances import MACHINES, drawn

#: CPU ms of a dispatch with 100 modelled jobs: what pcp20 must reach.
MUST_MS = {"eurora": 100.0} | {name: 350.0 for name in MACHINES if name != "eurora"}

#: So many wait for each one that is modelled, where only those that fit are.
_CROWD = 4


@dataclass(frozen=True)
class Measured:
    """One dispatch."""

    choose_ms: float
    total_ms: float
    found: Plan
    pcp19: int
    constant: Fraction

    @property
    def gain(self) -> float:
        """How much less Σ s/d is than by the list, as a fraction of that."""
        assert self.found.list_value is not None
        assert self.found.value is not None
        listed = self.found.list_value - self.constant
        return float((self.found.list_value - self.found.value) / listed) if listed else 0.0


def _dispatch(instance: Instance, model: str, modelled: int, which: str, parameters: Parameters) -> Measured:
    gc.collect()
    began = time.process_time_ns()
    problem = problem_of(instance, select(instance, modelled, which))
    chosen = time.process_time_ns()
    found = plan(problem, model, parameters, row=instance.queue.row, clock_ns=time.process_time_ns)
    ended = time.process_time_ns()
    assert found.value is not None
    assert found.list_value is not None
    assert found.bound is not None
    assert parameters.search == "paper" or found.list_value >= found.value
    assert found.value >= found.bound
    variables, constant = count_variables(problem), Objective(problem).constant
    return Measured((chosen - began) / 1e6, (ended - began) / 1e6, found, variables, constant)


def _table(options: argparse.Namespace) -> None:
    heads = "machine model modelled choose list build solve total must variables /pcp19 optimal listed gain"
    print(("{:10} {:10} {:>8} {:>5}" + " {:>7}" * 6 + " {:>9} {:>7} {:>7} {:>7} {:>7}").format(*_with_which(heads)))
    for name in options.machines:
        for which in options.which:
            for modelled in options.modelled:
                crowd = modelled * (_CROWD if which == "fits" else 1)
                instances = [drawn(MACHINES[name], crowd, seed) for seed in range(1, options.seeds + 1)]
                for model in options.models:
                    parameters = Parameters(limit_s=options.limit, search=options.search, which=which)
                    rows = [_dispatch(one, model, modelled, which, parameters) for one in instances]
                    print(_line(name, model, which, rows), flush=True)


def _with_which(heads: str) -> list[str]:
    names = heads.split()
    return [*names[:3], "which", *names[3:]]


def _line(name: str, model: str, which: str, rows: Sequence[Measured]) -> str:
    found = [row.found for row in rows]
    modelled = median(one.modelled for one in found)
    must = f"{MUST_MS[name]:.0f}" if model == "pcp20" and modelled >= 100 else "-"
    times = [
        median(row.choose_ms for row in rows),
        median(one.list_ns for one in found) / 1e6,
        median(one.build_ns for one in found) / 1e6,
        median(one.solve_ns for one in found) / 1e6,
        median(row.total_ms for row in rows),
    ]
    ratios = [row.found.variables / row.pcp19 for row in rows if row.found.variables]
    return (
        f"{name:10} {model:10} {modelled:8.0f} {which:>5} "
        + " ".join(f"{ms:7.1f}" for ms in times)
        + f" {must:>7} {median(one.variables for one in found):9.0f}"
        + (f" {median(ratios):7.4f}" if ratios else " " * 7 + "-")
        + f" {sum(one.status == 'optimal' for one in found):4}/{len(found)}"
        + f" {sum(one.source == 'fallback' for one in found):5}/{len(found)}"
        + f" {median(row.gain for row in rows):7.4f}"
    )


def _crowds(options: argparse.Namespace) -> None:
    for name in options.machines:
        for which in WHICH:
            ms = {}
            for waiting in (100, 10_000):
                instance = drawn(MACHINES[name], waiting, 1)
                times = []
                for _ in range(9):
                    began = time.process_time_ns()
                    problem_of(instance, select(instance, 100, which))
                    times.append((time.process_time_ns() - began) / 1e6)
                ms[waiting] = median(times)
            more = ms[10_000] - ms[100]
            print(
                f"{name}: choosing 100 of 100 ({which}) {ms[100]:.1f} ms, of 10,000 {ms[10_000]:.1f}: {more:.1f} more, ≤ 5"
            )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    reader = argparse.ArgumentParser(description="What a dispatch with constraint programming costs.")
    reader.add_argument("--machines", nargs="+", choices=MACHINES, default=["eurora", "kit"])
    reader.add_argument("--models", nargs="+", choices=MODELS, default=["hcp19", "cp-classes", "pcp20"])
    reader.add_argument("--which", nargs="+", choices=WHICH, default=list(WHICH))
    reader.add_argument("--modelled", nargs="+", type=int, default=[10, 50, 100])
    reader.add_argument("--seeds", type=int, default=5)
    reader.add_argument("--limit", type=float, default=Parameters.limit_s, help="deterministic s of a solve")
    reader.add_argument("--search", choices=SEARCHES, default="hinted")
    options = reader.parse_args(arguments)
    cp_model()  # importing it, and compiling kernels, are no part of a dispatch
    plan_once = drawn(MACHINES["eurora"], 5, 0)
    for model in MODELS:
        plan(problem_of(plan_once, select(plan_once, 5, "all")), model, Parameters(), row=plan_once.queue.row)
    _table(options)
    _crowds(options)


if __name__ == "__main__":
    main()
