"""Both levels on one clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reference import application, batch, cluster
from reference.drawing import task_lengths
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
class Wide:
    """How the widths of jobs change: between ``widths``, by row, by the rule ``resize``, on cores of these hosts."""

    widths: Sequence[tuple[int, int]]
    resize: str
    host_of: Sequence[int]
    cost: int = 0
    releases: bool = False
    depth: int | None = 0
    latency: int = 0
    master: bool = False


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
    wide: Wide | None = None,
) -> list[Done]:
    """Simulate jobs, in workload order, on cores of these speeds; ``recorded`` is no technique but the log's run times."""
    runs: dict[int, tuple[list[float], application.Run]] = {}

    def end_of(row: int, start: int, cores: tuple[int, ...]) -> int:
        job = jobs[row]
        if technique == "recorded":
            return start + job.run
        lengths = task_lengths(seed, job.number, job.cores, job.run, min(core_speeds), variation, tasks_per_core)
        speeds = [core_speeds[core] for core in cores]
        runs[row] = lengths, application.run(lengths, speeds, technique, start=start, overhead=overhead)
        return runs[row][1].end

    def resized(row: int, start: int, first: tuple[int, ...], changes: cluster.Changes) -> tuple[int, dict[int, int]]:
        assert wide is not None
        job = jobs[row]
        lengths = task_lengths(seed, job.number, job.cores, job.run, min(core_speeds), variation, tasks_per_core)

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
            technique,
            start=start,
            overhead=overhead,
            latency=[latency(core) for core in first],
            master=wide.master,
            seed=seed,
            job=job.number,
            releases=wide.releases,
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
            found = cluster.run(jobs, machine, rules, resized=resized, widths=wide.widths, resize=wide.resize)
        placements = [batch.Placed(one.start, one.end, one.cores) for one in found]
    for row, placed in enumerate(placements):
        lengths, ran = runs.get(row, ([], application.Run([], [], 0)))
        tasks = tuple(
            Task(task.chunk, task.core if wide is not None else placed.cores[task.core], task.start, task.end, length)
            for task, length in zip(ran.tasks, lengths, strict=True)
            if task is not None
        )
        done.append(
            Done(
                jobs[row].number,
                jobs[row].submit,
                placed.start,
                placed.end,
                batch.deadline(jobs[row], slack),
                placed.cores,
                ran.chunks,
                tasks,
                tuple(ran.finish),
            )
        )
    return done
