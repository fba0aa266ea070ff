"""The benchmark: what a run costs, case by case, as a table, a page, a JSON file and a figure.

    python -m tools.bench                    # every case, medians
    python -m tools.bench --case otf2 --case help
    TWOLEVEL_SHARED=/data python -m tools.bench

Real logs are looked for in ``traces/`` of the folder ``TWOLEVEL_SHARED`` (default: ``shared`` beside the project); a case
whose log is not there says so. Every case asserts what it computed. Times are of this machine, on this day: compare
within one run. Kernels are compiled: every case but those of cold starts runs once before it counts. Before and after each
case a fixed piece of work is timed: the column "slow" is how many times slower the machine was than the one that the bounds
are for. The exit code is 1 if a figure misses its bound by more than half, taking this into account, or an assertion fails.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bls.machine.platform import HostGroup, Platform
from bls.workloads import read_workload
from bls.workloads.workload import Workload
from bridge.cli.doctor import versions
from bridge.couplings import PeerOptions
from bridge.runs.simulation import run
from bridge.scenarios.scenario import Options, Scenario, load_workload
from tools.bench_batch import batch_engine, python_policy
from tools.bench_graphs import graph_day, graph_engine, shared_links
from tools.bench_loops import application_engine, python_technique, technique_study
from tools.bench_reaches import all_at_every_event
from tools.bench_rows import CURIE, ROOT, THUNDER, Row, command, log, page, row, slowness, timed
from tools.bench_simgrid import beside_simgrid
from tools.bench_start import cold_and_warm, everything, first_use
from tools.bench_stream import long_log
from tools.bench_studies import dask_overhead, many_cells, paper_study
from tools.bench_wide import which_cores
from tools.bench_workloads import generator, readers, rejected
from traces.base.processor import processor_model
from traces.exporters.otf2 import write_otf2
from traces.ledger import Ledger
from traces.tables import read_rows

PAPER = Platform()


def _two_level(workload: Workload, coupling: str, als: str = "static") -> tuple[float, Any]:
    scenario = Scenario.of(workload, PAPER, Options(bls="fcfs", als=als, variation=0.25, seed=1))
    result = run(scenario, coupling_name=coupling, keep_tasks=False, peers=PeerOptions(workers=2))
    return result.coupling["simulation_s"], result


def _inline_s(workload: Workload) -> float:
    return _two_level(workload, "inline")[0]


def _simulation_s(scenario: Scenario) -> float:
    return float(run(scenario, keep_tasks=False).coupling["simulation_s"])


def couplings() -> list[Row]:
    """Figure 10's 10,000 jobs of both workloads, FCFS-STATIC, Υ = 0.25, in every coupling: the paper's processes, too."""
    rows = []
    for name, source in (("W1", CURIE), ("W2", THUNDER)):
        workload = load_workload(log(source), PAPER, selection="first:10000")
        ends = []
        for coupling, must, runs in (("inline", "≤ 0.5 s", 7), ("pool", "≤ 6 s", 3), ("process", "≤ 60 s", 1)):
            results = [_two_level(workload, coupling) for _ in range(runs + 1 if coupling != "process" else 1)]
            ends.append(results[-1][1].ledger.jobs.end_ns)
            seconds = [s for s, _ in results[-runs:]]
            note = "simulation time; the paper < 110 s" if coupling == "process" else "simulation time"
            rows.append(row(f"Figure 10, {name}, 10,000 jobs, {coupling}", must, seconds, note=note))
        assert all(np.array_equal(ends[0], other) for other in ends[1:])
    return rows


def _whole(case: str, must: str, runs: int, *words: str) -> list[Row]:
    seconds, memory = [], []
    with tempfile.TemporaryDirectory() as scratch:
        for at in range(runs + 1):
            out = Path(scratch) / f"r{at}"
            took, mib = command(*words, "--out", str(out), folder=Path(scratch))
            record = json.loads((out / "run.json").read_text())
            assert (record["workload"]["jobs"], record["workload"]["lines"]) == (241_794, 312_826)
            assert record["metrics"]["tasks"] == 12_877_951
            shutil.rmtree(out)
            if at:
                seconds.append(took)
                memory.append(mib)
    mib = statistics.median(memory)
    return [row(case, must, seconds, note=f"whole command; {mib:.0f} MiB", memory_mib=mib)]


def whole_log() -> list[Row]:
    """All of CEA-Curie, fcfs-gss, Υ = 0.25, whole command, without and with the trace of every task."""
    words = ("run", str(log(CURIE)), "--bls", "fcfs", "--als", "gss", "--variation", "0.25", "--seed", "1")
    return [
        *_whole("CEA-Curie whole, fcfs-gss, no trace", "≤ 10 s, ≤ 2048 MiB", 3, *words, "--no-trace"),
        *_whole("CEA-Curie whole, fcfs-gss, OTF2 trace", "≤ 20 s", 3, *words),
    ]


def _ledger(tasks: int) -> Ledger:
    jobs = 400
    workload = Workload.from_jobs([(i + 1, i, 60, 256, 60) for i in range(jobs)])
    scenario = Scenario.of(
        workload, PAPER, Options(als="ss", variation=0.25, tasks_per_core=max(1, tasks // (256 * jobs)), seed=1)
    )
    return run(scenario).ledger


def otf2_writer() -> list[Row]:
    """Two million tasks with attributes on 256 cores, against the binding's own calls."""
    ledger = _ledger(2_000_000)
    assert ledger.tasks is not None
    events = 2 * len(ledger.tasks)

    def work() -> float:
        with tempfile.TemporaryDirectory() as scratch:
            began = time.perf_counter()
            write_otf2(ledger, Path(scratch) / "trace")
            return time.perf_counter() - began

    ours = row("OTF2, 2 M tasks, 256 cores, attributes", "≥ 5 M events/s", timed(work, 5), per=events / 1e6,
               unit="M events/s")  # fmt: skip
    theirs = row(
        "the same through the binding's calls (50,000 tasks)", "", timed(_binding, 3), per=0.1, unit="M events/s"
    )
    ours.note = f"{ours.figure / theirs.figure:.0f} × the binding"
    return [ours, theirs]


def _binding() -> float:
    import otf2
    from otf2.enums import Type

    with tempfile.TemporaryDirectory() as scratch, otf2.writer.open(f"{scratch}/t", timer_resolution=10**9) as trace:
        node = trace.definitions.system_tree_node("n", parent=None)
        group = trace.definitions.location_group("g", system_tree_parent=node)
        region = trace.definitions.region("job")
        task = trace.definitions.attribute("task", "", Type.UINT64)
        chunk = trace.definitions.attribute("chunk", "", Type.UINT64)
        writer = trace.event_writer("core", group=group)
        began = time.perf_counter()
        for k in range(50_000):
            writer.enter(2 * k, region, {task: k, chunk: k})
            writer.leave(2 * k + 1, region)
        return time.perf_counter() - began


def start_up() -> list[Row]:
    """``twolevel --help``."""
    with tempfile.TemporaryDirectory() as scratch:
        return [row("twolevel --help", "≤ 0.4 s", timed(lambda: command("--help", folder=Path(scratch))[0], 7))]


def grid() -> list[Row]:
    """Twelve cells × five variations on the busiest day of CEA-Curie, two workers."""
    words = ("grid", str(log(CURIE)), "--select", "busiest:24h", "--workers", "2", "--seed", "1")

    def work() -> float:
        with tempfile.TemporaryDirectory() as scratch:
            took, _ = command(*words, "--out", str(Path(scratch) / "g"), folder=Path(scratch))
            assert len(read_rows(Path(scratch) / "g" / "results.parquet", ("cell",))) == 60
            return took

    return [row("60-cell grid, busiest day of CEA-Curie, 2 workers", "≤ 30 s", timed(work, 2), note="whole command")]


def scaling(figure: Path) -> list[Row]:
    """Cost against jobs and against cores, with its figure."""
    whole = read_workload(log(CURIE))
    rows, by_jobs, by_cores = [], [], []
    for n in (1_000, 10_000, 100_000):
        workload = load_workload(whole, PAPER, selection=f"first:{n}")
        seconds = timed(partial(_inline_s, workload), 3)
        rows.append(row(f"{n:,} jobs, fcfs-static, inline", "linear in jobs", seconds,
                        note=f"{1e6 * statistics.median(seconds) / n:.2f} µs a job"))  # fmt: skip
        by_jobs.append((n, seconds))
    for cores in (256, 4_096, 65_536):
        machine = Platform(hosts=(HostGroup(count=cores // 64, cores=64, speed_gflops=3000.0),))
        # The same 10,000 jobs, widened so that they fill the machine as much.
        base = load_workload(whole, PAPER, selection="first:10000")
        workload = base.take(np.arange(len(base)), cores=base.cores * (cores // 256))
        scenario = Scenario.of(workload, machine, Options(als="static", variation=0.25, seed=1))
        seconds = timed(partial(_simulation_s, scenario), 3)
        tasks = int(workload.cores.sum())
        rows.append(row(f"10,000 jobs on {cores:,} cores", "", seconds,
                        note=f"{1e9 * statistics.median(seconds) / tasks:.0f} ns a task"))  # fmt: skip
        by_cores.append((cores, seconds))
    from tools.bench_figure import draw

    draw(by_jobs, by_cores, figure)
    return rows


def main() -> int:
    """Run the cases named on the command line, or all; returns the exit code."""
    parser = argparse.ArgumentParser(description="Benchmarks of twolevel.")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "bench", help="folder for bench.json, bench.md and scaling.png"
    )
    cases: dict[str, Callable[[], list[Row]]] = {
        "couplings": couplings,
        "whole": whole_log,
        "batch": batch_engine,
        "python": python_policy,
        "wide": which_cores,
        "readers": readers,
        "rejected": rejected,
        "stream": long_log,
        "generator": generator,
        "application": application_engine,
        "python-technique": python_technique,
        "techniques": technique_study,
        "graphs": graph_engine,
        "links": shared_links,
        "graph-day": graph_day,
        "reaches": all_at_every_event,
        "simgrid": beside_simgrid,
        "otf2": otf2_writer,
        "help": start_up,
        "start": cold_and_warm,
        "first-use": first_use,
        "warm-up": everything,
        "grid": grid,
        "study": paper_study,
        "dask": dask_overhead,
        "many-cells": many_cells,
    }
    parser.add_argument("--case", action="append", choices=[*cases, "scaling"], help="only this one; may be repeated")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    cases["scaling"] = lambda: scaling(chosen.out / "scaling.png")
    rows: list[Row] = []
    failed: list[str] = []
    where = f"{time.strftime('%Y-%m-%d')}, {len(os.sched_getaffinity(0))} × {processor_model()}"
    print(where)
    print(f"{'case':58} {'median':>22}  {'must reach':18} {'slow':>5} {'min … max':>19}  note")
    for name in chosen.case or cases:
        before = slowness()
        try:
            found = cases[name]()
        except FileNotFoundError as error:
            print(f"{name:58} not run: {error}")
            continue
        except AssertionError:
            traceback.print_exc()
            failed.append(name)
            continue
        slow = (before + slowness()) / 2
        for one in found:
            one.slowness = slow
            span = f"{one.low:.3g} … {one.high:.3g}"
            print(
                f"{one.case:58} {one.figure:>9.3g} {one.unit:12}  {one.must:18} {slow:5.2f} {span:>19}  {one.note}",
                flush=True,
            )
        rows += found
    record = {
        "date": time.strftime("%Y-%m-%d"),
        "versions": versions(),
        "processor": processor_model(),
        "processors": len(os.sched_getaffinity(0)),
        "max_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "rows": [asdict(one) for one in rows],
    }
    (chosen.out / "bench.json").write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    (chosen.out / "bench.md").write_text(page(rows, where), encoding="utf-8")
    print(f"written: {chosen.out / 'bench.json'}, {chosen.out / 'bench.md'}")
    missed = [one.case for one in rows if one.far_off]
    if missed:
        print(f"missed by more than half: {'; '.join(missed)}", file=sys.stderr)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if missed or failed else 0


if __name__ == "__main__":
    sys.exit(main())
