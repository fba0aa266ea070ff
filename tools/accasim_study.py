"""The AccaSim paper's case study again: the figures and tables of ``docs/explanation/accasim-study.md``.

    python -m tools.accasim_study HPC2N-2002-2.2-cln.swf.gz --out DIR [--repeats 5] [--memory none]

Eight dispatchers, {FIFO, SJF, LJF, EASY} × {first fit, best fit}, on Seth: 120 nodes of 4 cores, of which a processor of
the log is 2 (the paper's Figure 7). Every dispatcher runs in a process of its own, one after the other; a repetition
reads the log and simulates it. Then the workloads of the paper's section 7.3 are generated and set beside the log
(``tools.accasim_workloads``).

Source: C. Galleguillos, Z. Kiziltan, A. Netti, R. Soto, "AccaSim: a customizable workload management simulator for job
dispatching research in HPC systems", Cluster Computing 23, 2020, doi:10.1007/s10586-019-02905-5.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from bls.machine.platform import load_platform
from bls.workloads import read_workload
from bls.workloads.selection import fit
from tools.accasim_dispatchers import CORE_GFLOPS, DISPATCHERS, Dispatcher, Measured, measure
from tools.accasim_workloads import CONFIGURATIONS, Configuration, compare
from traces.base.errors import InputError, TwolevelError
from traces.base.time import NS_PER_S

#: The paper's Figure 7.
SETH = {
    "system_name": "Seth - HPC2N",
    "start_time": 1027839845,
    "equivalence": {"processor": {"core": 2}},
    "groups": {"g0": {"core": 4, "mem": 1000000}},
    "resources": {"g0": 120},
}

REPEATS = 5


def results(measured: Sequence[Measured]) -> list[str]:
    """The table of what the dispatchers do to jobs and to the queue: the same in every run."""
    lines = [
        "| dispatcher | mean wait | slowdown: mean | median | 75 % | 95 % "
        "| queue: mean | median | 75 % | 95 % | longest | steps |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for one in measured:
        slow = np.quantile(one.slowdown, (0.5, 0.75, 0.95)).tolist()
        queue = np.quantile(one.queue, (0.5, 0.75, 0.95)).tolist()
        lines.append(
            f"| {'-'.join(one.dispatcher.name)} | {one.wait_s:,.0f} s | {one.slowdown.mean():.1f} "
            f"| {slow[0]:.2f} | {slow[1]:.2f} | {slow[2]:,.1f} "
            f"| {one.queue.mean():.1f} | {queue[0]:.0f} | {queue[1]:.0f} | {queue[2]:.0f} | {one.queue.max():,} "
            f"| {len(one.queue):,} |"
        )
    return lines


def costs(measured: Sequence[Measured]) -> list[str]:
    """The table of what the dispatchers cost, as the paper's Table 2, and per step as its Figure 12."""
    lines = [
        "| dispatcher | total | deciding | a step: deciding | the rest | memory before | mean | maximum |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in measured:
        seconds = f"{min(one.total_s):.2f} s | {one.decide_ns.sum() / NS_PER_S:.2f} s"
        each = " | ".join(f"{ns / 1e3:.2f} µs" for ns in one.step_ns)
        looks = (one.memory_before_mb, one.memory_mean_mb, one.memory_max_mb)
        memory = " | ".join("not known" if mb is None else f"{mb:.0f} MB" for mb in looks)
        lines.append(f"| {'-'.join(one.dispatcher.name)} | {seconds} | {each} | {memory} |")
    return lines


def write_rows(measured: Sequence[Measured], path: Path) -> None:
    """One line a dispatcher and repetition, exact."""
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(
            (
                "scheduler",
                "allocator",
                "repetition",
                "total_s",
                "deciding_s",
                "steps",
                "mean_slowdown",
                "mean_queue",
            )
        )
        for one in measured:
            same = (len(one.queue), float(one.slowdown.mean()), float(one.queue.mean()))
            for k, (total, deciding) in enumerate(zip(one.total_s, one.deciding_s, strict=True), 1):
                lines.writerow((*one.dispatcher.name, k, total, deciding, *same))


def draw(measured: Sequence[Measured], out: Path) -> None:
    """Draw the paper's Figures 10 to 13, as ``twolevel figures`` draws them for a study."""
    # Here, so that the processes that are measured, which import this module, do not load them.
    import pandas as pd

    from traces.figures.drawing.boxes import Box
    from traces.figures.drawing.canvas import save
    from traces.figures.drawing.queue_sizes import sums_by_class
    from traces.figures.study.decisions import decision_cost_figure, decision_lines_figure
    from traces.figures.study.distributions import distributions_figure

    names = [{"label": "-".join(one.dispatcher.name), "batch": one.dispatcher.scheduler} for one in measured]
    for name, columns, words in (
        ("slowdown", [one.slowdown for one in measured], {"axis": "slowdown of jobs (logarithmic)"}),
        ("queue", [one.queue for one in measured], {}),
    ):
        boxes = [of | asdict(Box.of(column)) | {"seeds": 1} for of, column in zip(names, columns, strict=True)]
        save(distributions_figure(pd.DataFrame(boxes), of=name, **words), out / f"{name}-boxes.png")
    steps = [one.step_ns for one in measured]
    costs = [of | {"deciding_ns": a, "rest_ns": b} for of, (a, b) in zip(names, steps, strict=True)]
    save(decision_cost_figure(pd.DataFrame(costs)), out / "decision-cost.png")
    classes = []
    for of, one in zip(names, measured, strict=True):
        passes, waiting, decision_ns = sums_by_class(one.queue, one.decide_ns)
        there = passes > 0
        classes.append(
            pd.DataFrame({"waiting": waiting[there], "decision_ns": decision_ns[there]})
            .div(passes[there], axis=0)
            .assign(**of)
        )
    save(decision_lines_figure(pd.concat(classes)), out / "decisions.png")


def study(
    log: Path,
    out: Path,
    *,
    repeats: int = REPEATS,
    memory: str = "none",
    seed: int = 1,
    dispatchers: Sequence[Dispatcher] = DISPATCHERS,
    configurations: Sequence[Configuration] = CONFIGURATIONS,
) -> dict[str, list[str]]:
    """Run the study; writes its figures and tables into ``out`` and returns the tables by name.

    Parameters
    ----------
    log : Path
        HPC2N-2002-2.2, or any other log that fits the machine.
    out : Path
        A folder; it is made where there is none.
    repeats : int
        Repetitions of every dispatcher, 1 to 1000.
    memory : {"none", "swf"}
        Whether jobs hold the memory that the log says they ask for.
    seed : int
        Of the generated workloads.
    dispatchers : sequence of Dispatcher
        Who is compared.
    configurations : sequence of Configuration
        What is generated.

    Raises
    ------
    InputError
        If something given cannot be used.
    """
    if not 1 <= repeats <= 1000:
        raise InputError(f"--repeats: {repeats}; allowed: 1 to 1000")
    out.mkdir(parents=True, exist_ok=True)
    platform_file = out / "seth.json"
    platform_file.write_text(json.dumps(SETH, indent=2) + "\n", encoding="utf-8")
    platform = load_platform(platform_file, processor_gflops=2 * CORE_GFLOPS)
    source = fit(read_workload(log), platform.n_cores)  # an error here, not later
    # A process each, so that none has what another has left in memory; one at a time, so that none disturbs another.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        waiting = [pool.submit(measure, log, platform_file, one, repeats, memory) for one in dispatchers]
        measured = [one.result() for one in waiting]
    draw(measured, out)
    write_rows(measured, out / "dispatchers.csv")
    tables = {
        "results": results(measured),
        "costs": costs(measured),
        "workloads": compare(source, platform, out, seed=seed, configurations=configurations),
    }
    lines = [line for name, table in tables.items() for line in (f"## {name}", "", *table, "")]
    (out / "tables.md").write_text("\n".join(lines), encoding="utf-8")
    return tables


def main(words: Sequence[str] | None = None) -> int:
    """Run the study from the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.accasim_study", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("log", type=Path, metavar="LOG", help="HPC2N-2002-2.2-cln.swf.gz")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="folder for the figures and tables")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="of every dispatcher (default %(default)s)")
    parser.add_argument("--memory", choices=("none", "swf"), default="none", help="whether jobs hold memory, too")
    parser.add_argument("--seed", type=int, default=1, help="of the generated workloads (default 1)")
    said: Any = parser.parse_args(words)
    try:
        tables = study(said.log, said.out, repeats=said.repeats, memory=said.memory, seed=said.seed)
    except TwolevelError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write("".join(f"{line}\n" for table in tables.values() for line in (*table, "")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
