"""Draw the pictures of ``docs/reference/figures.md``: what the figures of runs look like, on the sample workload.

    python -m tools.run_pictures

Three runs of the sample on the usual 4 × 64 cores: tasks vary by a quarter, 8 a core.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

import bridge
from bls import sample_path
from bls.scheduler_options import Rules
from tools.plain_tool import only
from traces.figures.application.chunk_sizes import chunks_figure
from traces.figures.application.task_lengths import task_lengths_figure
from traces.figures.drawing.canvas import Figure, save
from traces.figures.run.core_heat import heat_figure
from traces.figures.run.decisions import decisions_figure
from traces.figures.run.gantt import core_gantt_figure
from traces.figures.run.job_imbalance import imbalance_jobs_figure
from traces.figures.run.utilisation import utilisation_figure
from traces.figures.run.wait_times import waits_figure

__all__ = ["RUNS", "main", "pictures"]

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"

#: Batch policy, backfilling and technique of each run by its label.
RUNS = {
    "fcfs × static": ("fcfs", "none", "static"),
    "fcfs × gss": ("fcfs", "none", "gss"),
    "sjf+easy × fac": ("sjf", "easy", "fac"),
}

#: What the picture of the Gantt chart shows, and those of the maps.
GANTT_JOBS, GANTT_CORES, MAP_CORES, MAP_COLUMNS = [(97, 105)], [(0, 32)], [(0, 64)], 250


def pictures(
    jobs: Mapping[str, pd.DataFrame],
    tasks: Mapping[str, pd.DataFrame],
    decisions: Mapping[str, pd.DataFrame],
    machine: Any,
) -> dict[str, Figure]:
    """The pictures by the names of their files: of tables by label, of runs on a ``traces.ledger.Machine``."""
    first, second, third = jobs
    hosts = {"first_core": machine.first_core, "host_names": machine.host_names}
    cores = int(machine.first_core[-1])
    compared = pd.concat([table.assign(run=label) for label, table in jobs.items()])
    title = "sample: {}, Υ = 0.25"
    return {
        "run-utilisation.png": utilisation_figure(jobs[first], cores=cores, title=title.format(first)),
        "run-waits.png": waits_figure(compared, title="sample, Υ = 0.25"),
        "run-imbalance.png": imbalance_jobs_figure(compared, title="sample, Υ = 0.25"),
        "run-gantt.png": core_gantt_figure(
            tasks[first], **hosts, jobs=GANTT_JOBS, cores=GANTT_CORES, title=title.format(first)
        ),
        "run-heat.png": heat_figure(
            tasks[first], **hosts, cores=MAP_CORES, columns=MAP_COLUMNS, title=title.format(first)
        ),
        "run-held.png": heat_figure(
            jobs[first], **hosts, cores=MAP_CORES, columns=MAP_COLUMNS, title=title.format(first)
        ),
        "run-chunks.png": chunks_figure(tasks[second], title=title.format(second)),
        "run-lengths.png": task_lengths_figure(tasks[third], title=title.format(third)),
        "run-decisions.png": decisions_figure(decisions[third], title=title.format(third)),
    }


def main() -> int:
    """Simulate, and write the pictures."""
    found = {
        label: bridge.simulate(
            sample_path(),
            bls=bls,
            als=als,
            variation=0.25,
            tasks_per_core=8,
            seed=1,
            rules=Rules(backfill=backfill, keep_decisions=True),
        )
        for label, (bls, backfill, als) in RUNS.items()
    }
    machine = next(iter(found.values())).ledger.machine
    jobs = {label: result.jobs for label, result in found.items()}
    tasks = {label: result.tasks for label, result in found.items()}
    decisions = {label: result.decisions for label, result in found.items()}
    for name, figure in pictures(jobs, tasks, decisions, machine).items():
        sys.stdout.write(f"{save(figure, IMAGES / name)}\n")
    return 0


if __name__ == "__main__":
    only(__doc__)
    sys.exit(main())
