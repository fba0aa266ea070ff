"""Random two-level scenarios, how the project runs one, and how the slow reference does; both in the same words."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from reference import batch, two_level

import bridge
from bls.machine.platform import HostGroup, Platform
from bls.workloads.workload import Workload
from bridge.scenarios.scenario import Application
from traces.checks.ledger import check_ledger
from traces.intervals import intervals_text

TECHNIQUES = ("static", "ss", "gss", "fac")
POLICIES = ("fcfs", "edf", "sjf")

#: Host groups as (hosts, cores a host, GFLOP/s a host): equal cores, and groups that differ.
PLATFORMS: tuple[tuple[tuple[int, int, float], ...], ...] = (
    ((1, 1, 1.0),),
    ((1, 4, 187.5),),
    ((2, 3, 9.9),),
    ((1, 2, 2.0), (1, 2, 4.0), (2, 1, 3.0)),
    ((2, 2, 93.75), (1, 5, 100.0)),
)


@dataclass(frozen=True)
class Case:
    """Everything that determines a result."""

    jobs: tuple[batch.Job, ...]
    groups: tuple[tuple[int, int, float], ...] = PLATFORMS[1]
    policy: str = "fcfs"
    technique: str = "static"
    variation: float = 0.0
    tasks_per_core: int = 1
    seed: int = 0
    slack: float = 2.0
    overhead: int = 0
    draw: str = "work"

    @property
    def core_speeds(self) -> list[float]:
        """GFLOP/s of each core of the machine."""
        return [speed / cores for hosts, cores, speed in self.groups for _ in range(hosts * cores)]

    @property
    def slack_read(self) -> float:
        """The slack, which only ``edf`` may be given; the default with every other policy."""
        return self.slack if self.policy == "edf" else 2.0

    def workload(self) -> Workload:
        """The jobs as the project takes them: lines of a file, in this order."""
        columns = np.array([(j.number, j.submit, j.run, j.cores, j.estimate) for j in self.jobs], np.int64).T
        lines = np.arange(1, len(self.jobs) + 1)
        return Workload.from_lines([*columns, lines], header=(), rejects={}, source="case", n_lines=len(self.jobs))

    def options(self) -> dict[str, Any]:
        wanted = {job.number: cores_text(job.wanted) for job in self.jobs if job.wanted is not None}
        return {
            "platform": Platform(tuple(HostGroup(*group) for group in self.groups)),
            "bls": self.policy,
            "als": self.technique,
            "variation": self.variation,
            "tasks_per_core": self.tasks_per_core,
            "seed": self.seed,
            **({"slack": self.slack_read} if self.policy == "edf" else {}),
            "overhead_ns": self.overhead,
            "allocator": "given" if wanted else "first-fit",
            "requested": wanted or None,
            **({} if self.draw == "work" else {"application": Application(lengths=f"normal:draw={self.draw}")}),
        }

    def simulated(self, **options: Any) -> bridge.Result:
        """The project's result; its ledger has been checked."""
        keywords = self.options() | options
        if keywords["bls"] != "edf":
            keywords.pop("slack", None)
        result = bridge.simulate(self.workload(), **keywords)
        check_ledger(result.ledger)
        return result

    def expected(self) -> list[two_level.Done]:
        """The reference's result."""
        rows = sorted(self.jobs, key=lambda job: job.submit)  # stable: equal submits stay in line order
        return two_level.simulate(
            rows,
            self.core_speeds,
            policy=self.policy,
            technique=self.technique,
            variation=self.variation,
            tasks_per_core=self.tasks_per_core,
            seed=self.seed,
            slack=self.slack_read,
            overhead=self.overhead,
            draw=self.draw,
        )


def cores_text(cores: frozenset[int]) -> str:
    return intervals_text([(core, core + 1) for core in sorted(cores)])


def done(result: bridge.Result) -> list[two_level.Done]:
    """A result in the reference's words; the finishing times of cores are not in it."""
    jobs, tasks = result.ledger.jobs, result.ledger.tasks
    columns = (jobs.job_id, jobs.submit_ns, jobs.start_ns, jobs.end_ns, jobs.deadline_ns, jobs.chunks)
    found = []
    for row, values in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        number, submit, start, end, deadline, chunks = values
        cores = tuple(core for lo, hi in jobs.allocation(row) for core in range(lo, hi))
        of_job: tuple[two_level.Task, ...] = ()
        if tasks is not None:
            rows = slice(tasks.first[row], tasks.first[row + 1])
            seen = (tasks.chunk, tasks.core, tasks.start_ns, tasks.end_ns, tasks.length_gflop)
            of_job = tuple(two_level.Task(*task) for task in zip(*(c[rows].tolist() for c in seen), strict=True))
        found.append(two_level.Done(number, submit, start, end, deadline, cores, chunks, of_job, ()))
    return found


def assert_as_expected(result: bridge.Result, expected: Sequence[two_level.Done]) -> None:
    """The result is the reference's: instants, cores, chunks and lengths exactly, balance to rounding."""
    assert done(result) == [replace(job, finish=()) for job in expected]
    jobs = result.ledger.jobs
    for at, job in enumerate(expected):
        assert jobs.tasks[at] == len(job.tasks)
        if result.scenario.technique is None:
            assert math.isnan(jobs.imbalance[at])
            assert math.isnan(jobs.cov[at])
            continue
        assert jobs.length_gflop[at] == _sum_in_order(task.length for task in job.tasks)
        times = [finish - job.start for finish in job.finish]
        mean = sum(times) / len(times)
        deviation = math.sqrt(sum((time - mean) ** 2 for time in times) / len(times))
        assert math.isclose(jobs.imbalance[at], max(times) / mean - 1, rel_tol=1e-9, abs_tol=1e-12)
        assert math.isclose(jobs.cov[at], deviation / mean, rel_tol=1e-9, abs_tol=1e-12)


def _sum_in_order(values: Any) -> float:
    total = 0.0
    for value in values:  # sum() itself compensates for rounding in newer versions of Python
        total += value
    return total


#: What a step of time is worth, ns: at one nanosecond every rounding and tie shows, at a second logs are alike.
SCALES = (1, 1000, 10**9)


@st.composite
def cases(draw: st.DrawFn, *, recorded: bool = False, max_jobs: int = 9) -> Case:
    """Small scenarios with many ties: submits, run times and estimates come from a few values."""
    groups = draw(st.sampled_from(PLATFORMS))
    n_cores = sum(hosts * cores for hosts, cores, _ in groups)
    scale = draw(st.sampled_from(SCALES))
    given_cores = draw(st.sampled_from((False, False, False, True)))
    numbers = draw(st.lists(st.integers(0, 10**6), min_size=1, max_size=max_jobs, unique=True))
    jobs = []
    for number in numbers:
        wanted = None
        cores = draw(st.integers(1, n_cores))
        if given_cores:
            wanted = frozenset(draw(st.sets(st.integers(0, n_cores - 1), min_size=1)))
            cores = len(wanted)
        submit, run, estimate = draw(st.tuples(st.integers(0, 12), st.integers(1, 9), st.integers(1, 6)))
        jobs.append(batch.Job(number, submit * scale, run * scale, cores, estimate * scale, wanted))
    return Case(
        tuple(jobs),
        groups,
        draw(st.sampled_from(POLICIES)),
        "recorded" if recorded else draw(st.sampled_from(TECHNIQUES)),
        0.0 if recorded else draw(st.sampled_from((0.0, 0.1, 0.25, 1.0, 3.0))),
        1 if recorded else draw(st.integers(1, 5)),
        draw(st.sampled_from((0, 1, 2**64 - 1)) | st.integers(0, 2**64 - 1)),
        draw(st.sampled_from((0.0, 0.5, 1.0, 2.0, 3.75))),
        0 if recorded else draw(st.sampled_from((0, 0, 1, 3, scale // 2))),
        "work" if recorded else draw(st.sampled_from(("work", "paper"))),
    )


def crowd(seed: int, n_jobs: int, **changes: Any) -> Case:
    """Many small jobs in bursts on a few cores: hundreds of small cases in one run, for what is slow to start."""
    rng = random.Random(seed)
    groups = changes.pop("groups", PLATFORMS[4])
    n_cores = sum(hosts * cores for hosts, cores, _ in groups)
    t, jobs = 0, []
    for number in rng.sample(range(1, 10**6), n_jobs):
        t += rng.choice((0, 0, 0, 1, 5, 25)) * 10**9
        run = rng.choice((1, 2, 3, 10, 60)) * rng.choice((1, 10**6, 10**9, 10**9))
        cores = min(n_cores, rng.choice((1, 1, 2, 3, 5, 9)))
        jobs.append(batch.Job(number, t, run, cores, run * rng.choice((1, 1, 2, 7))))
    case = Case(tuple(jobs), groups, seed=seed)
    return replace(case, **changes)
