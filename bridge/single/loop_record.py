"""What ``twolevel loop`` writes and prints: run.json, the tables of tasks and chunks, the figure, the trace."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bridge.runs.directory import write_record
from bridge.runs.tracing import TraceRequest
from bridge.single.loop_run import LoopResult
from bridge.single.own_cores import record_head
from bridge.standard_error import lined_up
from traces.base.time import format_ns
from traces.tables import write_rows


def write_loop(result: LoopResult, folder: Path, arguments: Mapping[str, Any], *, trace: TraceRequest | None) -> None:
    """Write run.json, tasks.parquet, chunks.parquet and loop.png, and where asked for traces."""
    from traces.figures.application.loop import loop_figure
    from traces.figures.drawing.canvas import save

    options = result.options
    write_rows(result.tasks, folder / "tasks.parquet")
    write_rows(result.chunks, folder / "chunks.parquet")
    figure = loop_figure(
        result.bars,
        n_cores=options.n_cores,
        end_ns=result.makespan_ns,
        title=str(options.names()["als"]),
        first_core=options.first_core.tolist(),
    )
    save(figure, folder / "loop.png")
    if trace is not None:
        trace.write(result.ledger, folder / "trace")
    record = {
        **record_head(options, arguments, result.makespan_ns),
        "tasks": len(result.tasks["task"]),
        "chunks": result.n_chunks,
        "length_gflop": float(result.tasks["length_gflop"].sum()),
        "metrics": result.metrics,
        "steps": result.steps,
        "chosen": result.chosen,
        "ahead_chunks": result.ahead_chunks,
    }
    write_record(folder / "run.json", record)


def summary(result: LoopResult) -> str:
    """The figures that a person looks at first, a line each."""
    found, options = result.metrics, result.options
    rows = {
        "technique, seed": f"{options.names()['als']}, {options.seed}",
        "tasks on cores": f"{len(result.tasks['task'])} on {options.n_cores}",
        "chunks": str(result.n_chunks),
        "c.o.v. of lengths": f"{found['length_cov']:.4g}",
        "makespan": f"{format_ns(result.makespan_ns)} ({result.makespan_ns} ns)",
        "efficiency": f"{found['efficiency']:.4f}",
        "imbalance": f"{found['imbalance']:.4f}",
        "c.o.v. of finishing times": f"{found['cov']:.4f}",
        "scheduling": f"{format_ns(int(found['scheduling_ns']))}, share {found['scheduling_share']:.4g}",
    }
    if result.chosen:
        rows["chosen"] = ", ".join(f"{name} {times}" for name, times in result.chosen.items())
    return lined_up(list(rows.items()))
