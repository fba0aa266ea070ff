"""The same replay again and again: at other phases, under clocks that run, and of fewer jobs."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bridge.couplings import Watch
from bridge.replay.chosen import SlurmChoice
from bridge.replay.report.sides import SLURM, Side, of_result
from bridge.scenarios.ready import ReadyScenario
from bridge.spelling import on_command_line
from traces.base.errors import TwolevelError
from traces.compiled import Array

#: A replay whose makespan exceeds that of the exact one by more than this share has not kept up with its clock.
LATE = 0.1


@dataclass(frozen=True)
class Plan:
    """What is repeated."""

    repeats: int = 1  # how often each, with a phase of its own; the first of them is the replay itself
    rates: tuple[float, ...] = ()  # of clocks that run
    sizes: tuple[int, ...] = ()  # numbers of first jobs; of all jobs in any case


@dataclass(frozen=True)
class Attempt:
    """A replay of a report."""

    rate: float  # of its clock; 0: exact
    repeat: int
    jobs: int
    elapsed_s: float  # what it took
    makespan_ns: int | None  # max end − min start; None if it has ended with an error, or no job ran
    failure: str = ""  # why it is no good: its error, or how late it was; empty if it is
    side: Side | None = None  # of an exact one


def attempts(
    scenario: ReadyScenario,
    choice: SlurmChoice,
    plan: Plan,
    folder: Path,
    *,
    first: Attempt,
    known_jobs: Array,
    watch: Watch,
    tell: Callable[[str], None],
) -> list[Attempt]:
    """Run all that is planned but the first, which was run.

    - ``folder``: where each has its files meanwhile.
    - ``first``: the exact replay of all jobs, repeat 0.
    - ``known_jobs``: ndarray of int64, all numbers of the log's jobs.
    - ``tell``: told what is run now.

    Raises TwolevelError if an exact one fails.
    """
    jobs = len(scenario.workload)
    found = [first]
    for n in (*plan.sizes, jobs):
        part = scenario if n == jobs else _first_jobs(scenario, n, known_jobs)
        exact = first if n == jobs else None
        for repeat in range(plan.repeats if n == jobs else 1):
            if exact is None or repeat:
                tell(f"repeat {repeat + 1} of {n} jobs")
                found.append(_attempt(part, choice, repeat, folder, watch))
            exact = exact or found[-1]
        assert exact is not None
        for rate in plan.rates:
            for repeat in range(plan.repeats):
                tell(f"repeat {repeat + 1} of {n} jobs under a clock {rate:g} times as fast as real time")
                running = replace(choice, rate=rate, settle_s=None)
                found.append(_judged(_attempt(part, running, repeat, folder, watch), exact))
    return found


def _first_jobs(scenario: ReadyScenario, n: int, known_jobs: Array) -> ReadyScenario:
    jobs = scenario.workload.take(np.arange(n))
    return ReadyScenario.of(jobs, scenario.platform, scenario.options, known_jobs=known_jobs)


def _attempt(scenario: ReadyScenario, choice: SlurmChoice, repeat: int, folder: Path, watch: Watch) -> Attempt:
    own = folder / "repeat"
    own.mkdir()
    began_s, n = time.monotonic(), len(scenario.workload)
    try:
        done = choice.replay(scenario, own, repeat=repeat, keep_tasks=False, watch=watch)
    except TwolevelError as error:
        if not choice.rate:
            raise
        return Attempt(
            choice.rate, repeat, n, time.monotonic() - began_s, None, " ".join(on_command_line(error.text).split())
        )
    finally:
        shutil.rmtree(own, ignore_errors=True)
    side = of_result(SLURM, done.result)
    return Attempt(choice.rate, repeat, n, time.monotonic() - began_s, side.makespan_ns, side=side)


def _judged(one: Attempt, exact: Attempt) -> Attempt:
    if one.makespan_ns is None or not exact.makespan_ns:
        return replace(one, side=None)
    late = one.makespan_ns / exact.makespan_ns - 1
    return replace(one, side=None, failure=f"{late:.0%} longer than the exact replay" if late > LATE else "")
