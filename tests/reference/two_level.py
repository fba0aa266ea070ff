"""Both levels on one clock."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from reference import application, batch, cluster
from reference.drawing import at_speed_ns, kept, task_lengths, words
from reference.machine import Host, Machine, Rules


@dataclass(frozen=True)
class Task:
    """One task, by global core number."""

    chunk: int
    core: int
    start: int
    end: int
    length: float


@dataclass(frozen=True)
class Done:
    """One job that has run: ``finish`` are its cores' finishing instants."""

    number: int
    submit: int
    start: int
    end: int
    deadline: int
    cores: tuple[int, ...]
    chunks: int
    tasks: tuple[Task, ...]
    finish: tuple[int, ...]


@dataclass(frozen=True)
class Phase:
    """A phase of what all jobs compute: a loop by a technique, or a serial part; and what it wishes for, 0 nothing."""

    share: float
    technique: str | None
    cores: float


@dataclass(frozen=True)
class Wide:
    """How the widths of jobs change: between ``widths``, by row, by the rule ``resize``, on cores of these hosts.

    Without ``phases``, which are computed ``steps`` times, jobs are one loop.
    """

    widths: Sequence[tuple[int, int]]
    resize: str
    host_of: Sequence[int]
    cost: int = 0
    releases: bool = False
    depth: int | None = 0
    latency: int = 0
    master: bool = False
    hints: bool = False
    phases: Sequence[Phase] = ()
    steps: int = 1


def lengths_of_phases(
    phases: Sequence[Phase],
    steps: int,
    seed: int,
    job: int,
    cores: int,
    run_ns: int,
    slowest: float,
    variation: float,
    tasks_per_core: int,
) -> tuple[list[float], list[int]]:
    """GFLOP of each task, and how many each part has: those of later steps are those of the first."""
    stream, whole = words(seed, job), math.fsum(phase.share for phase in phases)
    parts = []
    for phase in phases:
        a_core = slowest * (run_ns / 1e9) * (phase.share / whole) / steps
        if phase.technique is None:
            parts.append([a_core])
        elif variation == 0:
            parts.append([a_core / tasks_per_core] * (cores * tasks_per_core))
        else:
            n, mean = cores * tasks_per_core, a_core / tasks_per_core
            core_ns = at_speed_ns(slowest * (run_ns / 1e9), slowest) * (phase.share / whole) / steps
            parts.append(kept("normal", stream, mean, n, a_core * cores, cores, core_ns, slowest, cov=variation))
    return [length for part in steps * parts for length in part], [len(part) for part in steps * parts]


def simulate(
    jobs: Sequence[batch.Job],
    core_speeds: Sequence[float],
    *,
    policy: str,
    technique: str,
    variation: float,
    tasks_per_core: int,
    seed: int,
    slack: float,
    overhead: int,
    draw: str = "work",
    wide: Wide | None = None,
) -> list[Done]:
    """Simulate jobs, in workload order, on cores of these speeds; ``recorded`` is no technique but the log's run times."""
    runs: dict[int, tuple[list[float], application.Run]] = {}

    def end_of(row: int, start: int, cores: tuple[int, ...]) -> int:
        job = jobs[row]
        if technique == "recorded":
            return start + job.run
        lengths = task_lengths(seed, job.number, job.cores, job.run, min(core_speeds), variation, tasks_per_core, draw)
        speeds = [core_speeds[core] for core in cores]
        runs[row] = lengths, application.run(lengths, speeds, technique, start=start, overhead=overhead)
        return runs[row][1].end

    def resized(
        row: int, start: int, first: tuple[int, ...], changes: cluster.Changes, hints: cluster.Hints = ()
    ) -> tuple[int, dict[int, int]]:
        assert wide is not None
        job, (least, most) = jobs[row], wide.widths[row]
        drawing = seed, job.number, job.cores, job.run, min(core_speeds), variation, tasks_per_core
        lengths, part_tasks = task_lengths(*drawing), []
        if wide.phases:
            lengths, part_tasks = lengths_of_phases(wide.phases, wide.steps, *drawing)
        wishes = [
            phase.cores and max(least, min(most, math.floor(phase.cores * job.cores + 0.5))) for phase in wide.phases
        ]
        evolves = wide.resize == "evolve" and least < most

        def latency(core: int) -> int:
            return wide.latency if wide.host_of[core] != wide.host_of[first[0]] else 0

        decided = [
            application.Resize(
                at, tuple((core, core_speeds[core], latency(core)) for core in given), frozenset(), wide.cost, asked
            )
            for at, given, asked in changes
        ]
        ran = application.run(
            lengths,
            [core_speeds[core] for core in first],
            "" if wide.phases else technique,
            start=start,
            overhead=overhead,
            phases=[phase.technique for phase in wide.phases],
            part_tasks=part_tasks,
            wishes=[int(wish) for wish in wishes] if evolves else (),
            latency=[latency(core) for core in first],
            master=wide.master,
            seed=seed,
            job=job.number,
            releases=wide.releases,
            hints=hints,
            resizes=decided,
            numbers=first,
        )
        runs[row] = lengths, ran
        return ran.end, {core: at for core, at in ran.released_cores.items() if at < ran.end}

    def molded(row: int, start: int, cores: tuple[int, ...]) -> int:
        return resized(row, start, cores, ())[0]

    done = []
    if wide is None:
        placements = batch.simulate(jobs, len(core_speeds), policy, slack, end_of)
    else:
        sizes = [wide.host_of.count(host) for host in sorted(set(wide.host_of))]
        machine = Machine(tuple(Host(size) for size in sizes))
        rules = Rules(order=policy, slack=slack, depth=wide.depth)
        if wide.resize == "mold":
            gives = (lambda *job: resized(*job, ())[1]) if wide.releases else None
            found = cluster.run(jobs, machine, rules, molded, gives, widths=wide.widths, resize="mold")
        else:
            evolves = wide.resize == "evolve"
            wishes_of = (lambda row, *_: tuple(runs[row][1].wishes)) if evolves else None
            of_wide = {"widths": wide.widths, "resize": wide.resize, "hints": wide.hints}
            found = cluster.run(jobs, machine, rules, resized=resized, wishes_of=wishes_of, **of_wide)
        placements = [batch.Placed(one.start, one.end, one.cores) for one in found]
    for row, placed in enumerate(placements):
        lengths, ran = runs.get(row, ([], application.Run([], [], 0)))
        tasks = tuple(
            Task(task.chunk, task.core if wide is not None else placed.cores[task.core], task.start, task.end, length)
            for task, length in zip(ran.tasks, lengths, strict=True)
            if task is not None
        )
        job, times = jobs[row], (placed.start, placed.end, batch.deadline(jobs[row], slack))
        done.append(Done(job.number, job.submit, *times, placed.cores, ran.chunks, tasks, tuple(ran.finish)))
    return done
