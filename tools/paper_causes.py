"""Why the makespans of the two-level paper's evaluation are what they are: by the tasks of its jobs, and by five of them.

``tools.paper_pages`` makes the tables of ``docs/explanation/two-level-paper.md`` with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import bridge
from bls.workloads.selection import fit, select
from bls.workloads.workload import Workload
from bridge.scenarios.application_level import ApplicationLevel
from traces.compiled import Array
from traces.metric_units import interval_text
from traces.statistics import mean_interval

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "CORES",
    "FIVE",
    "PAPER_DRAW",
    "SEEDS",
    "TECHNIQUES",
    "Jobs",
    "busiest_day",
    "five_jobs",
    "jobs_of",
    "shares",
    "stretches",
]

#: The paper's techniques, and the other rounding of static chunks, of which the paper does not say which it takes.
TECHNIQUES = ("static", "static:round=ceil", "ss", "gss", "fac")

#: Tasks are drawn until their sum reaches the job's length.
PAPER_DRAW = ApplicationLevel(lengths="normal:draw=paper")

#: The cores of the paper's platform, and the seeds of the study.
CORES, SEEDS = 256, range(10)

#: The paper's Figure 9 shows jobs 1542 to 1546: places in the order of the workload, from 1.
FIVE = range(1542, 1547)

#: By technique and seed, the table of jobs of a run under FCFS; by ``""`` that without variation.
Jobs = Mapping[tuple[str, int], "pd.DataFrame"]

#: Jobs by how many more tasks they have than cores.
_EXCESS: dict[str, Callable[[Array], Array]] = {
    "none": lambda more: np.asarray(more <= 0),
    "one more": lambda more: np.asarray(more == 1),
    "two more": lambda more: np.asarray(more == 2),
    "three or more": lambda more: np.asarray(more >= 3),
}


def busiest_day(log: Workload) -> Workload:
    """The jobs of the study: of those that fit 256 cores the busiest 24 hours."""
    return select(fit(log, CORES), "busiest:24h", preset=False)


def jobs_of(day: Workload, seeds: Sequence[int] = SEEDS, variation: float = 0.25) -> Jobs:
    """Simulate a day under FCFS with every technique and seed, and once without variation."""
    ran = {("", 0): bridge.simulate(day, als="ss", platform="paper", keep_tasks=False).jobs}
    for seed in seeds:
        for als in TECHNIQUES:
            given = {"als": als, "variation": variation, "seed": seed, "level": PAPER_DRAW}
            ran[als, seed] = bridge.simulate(day, **given, platform="paper", keep_tasks=False).jobs
    return ran


def _run(jobs: pd.DataFrame) -> Array:
    return np.asarray(jobs["end_ns"] - jobs["start_ns"], np.float64)


def _mean(values: Sequence[float]) -> str:
    found = mean_interval(values)
    return interval_text(found.mean, found.low, found.high)


def _seeds(ran: Jobs) -> list[int]:
    return sorted({seed for als, seed in ran if als})


def stretches(ran: Jobs) -> list[str]:
    """How much longer than recorded jobs run, by how many more tasks they have than cores.

    The rows are classes of jobs, the columns techniques: of each seed the mean over the jobs of run time / recorded run
    time, then the mean over the seeds with its interval. Classes of which some seed has no job are left out.
    """
    recorded = _run(ran["", 0])
    lines = [
        f"| more tasks than cores | share of jobs | {' | '.join(TECHNIQUES)} |",
        "|---|---|" + "---|" * len(TECHNIQUES),
    ]
    for words, chosen in _EXCESS.items():
        # All techniques have the same tasks.
        of = {seed: chosen(np.asarray(ran["ss", seed]["tasks"] - ran["ss", seed]["cores"])) for seed in _seeds(ran)}
        if not all(one.any() for one in of.values()):
            continue
        cells = [_mean([float(one.mean()) for one in of.values()])]
        for als in TECHNIQUES:
            cells.append(_mean([float((_run(ran[als, seed]) / recorded)[one].mean()) for seed, one in of.items()]))
        lines.append(f"| {words} | {' | '.join(cells)} |")
    return lines


def shares(ran: Jobs) -> list[str]:
    """What becomes of the batch with variation, each as a multiple of what it is without.

    The work that is drawn, the core time that jobs hold (Σ cores × run time), and the makespan: means over the seeds.
    """
    base = ran["", 0]
    held = _held(base)
    lines = ["| technique | work | core time held | makespan |", "|---|---|---|---|"]
    for als in TECHNIQUES:
        tables = [ran[als, seed] for seed in _seeds(ran)]
        of = (
            [float(one["length_gflop"].sum() / base["length_gflop"].sum()) for one in tables],
            [_held(one) / held for one in tables],
            [_makespan(one) / _makespan(base) for one in tables],
        )
        lines.append(f"| {als} | {' | '.join(map(_mean, of))} |")
    return lines


def _held(jobs: pd.DataFrame) -> float:
    return float((_run(jobs) * np.asarray(jobs["cores"], np.float64)).sum())


def _makespan(jobs: pd.DataFrame) -> float:
    return float(jobs["end_ns"].max() - jobs["submit_ns"].min())


def five_jobs(gss: Any, fac: Any) -> list[str]:
    """Jobs 1542 to 1546 in two runs: a row each, with the job at whose end it started under GSS.

    Parameters
    ----------
    gss, fac : Result
        Of ``bridge.simulate``, one seed, under FCFS.
    """
    from bridge.compare.comparison import compare_jobs

    delays = compare_jobs(fac.jobs, gss.jobs).delays
    tables = [result.jobs.set_index("job_id") for result in (gss, fac)]
    own, other = (
        ("cores", "tasks", "run under GSS", "under FAC"),
        ("its cores", "its tasks", "its run under GSS", "under FAC"),
    )
    head = ["job", *own, "started as this one ended", *other]
    lines = [f"| {' | '.join(head)} |", "|---|" + "---|" * (len(head) - 1)]
    for place in FIVE:
        row = delays.iloc[place - 1]
        told = []
        for job in (int(row["job_id"]), int(row["cause_job_b"])):
            of = tables[0].loc[job]
            runs = (table.loc[job] for table in tables)
            seconds = (f"{(one['end_ns'] - one['start_ns']) / 1e9:.1f} s" for one in runs)
            told += [str(job), str(of["cores"]), str(of["tasks"]), *seconds]
        lines.append(f"| {' | '.join(told)} |")
    return lines
