"""Both levels on one clock."""

from collections.abc import Sequence
from dataclasses import dataclass

from reference import application, batch
from reference.drawing import task_lengths


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

    done = []
    placements = batch.simulate(jobs, len(core_speeds), policy, slack, end_of)
    for row, placed in enumerate(placements):
        lengths, ran = runs.get(row, ([], application.Run([], [], 0)))
        tasks = tuple(
            Task(task.chunk, placed.cores[task.core], task.start, task.end, length)
            for task, length in zip(ran.tasks, lengths, strict=True)
            if task is not None
        )
        job, times = jobs[row], (placed.start, placed.end, batch.deadline(jobs[row], slack))
        done.append(Done(job.number, job.submit, *times, placed.cores, ran.chunks, tasks, tuple(ran.finish)))
    return done
