"""Output of ``twolevel loop`` and ``twolevel graph``: run.json, tables, figures, the trace, and the summary."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from als.techniques import Technique
from bridge.runs.directory import write_record
from bridge.runs.tracing import TraceRequest
from bridge.single.graph_run import GraphResult
from bridge.single.loop_run import LoopResult
from bridge.single.own_cores import record_head
from bridge.standard_error import lined_up
from traces.base.time import format_ns
from traces.tables import write_rows


def write_graph(result: GraphResult, folder: Path, arguments: Mapping[str, Any], *, trace: TraceRequest | None) -> None:
    """Write run.json, tables of tasks and transfers, graph.png and schedule.png, and traces if requested."""
    options, graph = result.options, result.graph
    record = record_head(options, arguments, result.makespan_ns) | {
        "tasks": graph.n_tasks,
        "edges": graph.n_edges,
        "chunks": result.n_chunks,
        "length_gflop": float(graph.gflop.sum()),
        "bytes": float(graph.bytes.sum()),
        "critical_path": [graph.label(task) for task in result.critical.tolist()],
        "metrics": result.metrics,
    }
    write_record(folder / "run.json", record)
    write_rows(result.tasks, folder / "tasks.parquet")
    if result.transfers is not None:
        write_rows(result.transfers, folder / "transfers.parquet")
    _draw(result, folder, str(options.names()["als"]))
    if trace is not None:
        trace.write(result.ledger, folder / "trace")


def _draw(result: GraphResult, folder: Path, als: str) -> None:
    from traces.figures.application.graph_levels import task_levels
    from traces.figures.application.schedule import ScheduleTasks, ScheduleTransfers, schedule_figure
    from traces.figures.application.task_graph import task_graph_figure
    from traces.figures.drawing.canvas import save

    graph, options, columns = result.graph, result.options, result.tasks
    first_core = options.first_core.tolist()
    core, chunk = np.asarray(columns["core"]), np.asarray(columns["chunk"])
    figure = task_graph_figure(
        graph.gflop,
        graph.source,
        graph.target,
        graph.bytes,
        graph.names,
        core=core,
        first_core=first_core,
        critical=result.critical,
        title=graph.name,
    )
    save(figure, folder / "graph.png")
    # Chunks of one task would show nothing more than the bars.
    by_chunk = 2 * result.n_chunks <= graph.n_tasks
    group = chunk.astype(np.int64) if by_chunk else task_levels(graph.n_tasks, graph.source, graph.target)
    network = f", {options.network}" if options.has_network else ""
    sent = result.transfers
    lines = None if sent is None else ScheduleTransfers(*(sent[name] for name in ScheduleTransfers._fields))
    figure = schedule_figure(
        ScheduleTasks(core, np.asarray(columns["start_ns"]), np.asarray(columns["end_ns"]), group),
        lines,
        n_cores=options.n_cores,
        first_core=first_core,
        end_ns=result.makespan_ns,
        title=f"{graph.name}: {als}{network}",
        colour_by="chunk" if by_chunk else "level",
        critical=result.critical,
        names=graph.names,
    )
    save(figure, folder / "schedule.png")


def _ratio(value: float) -> str:
    return "none" if math.isnan(value) else f"{value:.4f}"


def graph_summary(result: GraphResult) -> str:
    """The main figures, one per line."""
    found, options, graph = result.metrics, result.options, result.graph
    ordered = f", order {options.order}" if isinstance(options.scheduler, Technique) else ""
    hosts = "1 host" if options.hosts == 1 else f"{options.hosts} hosts"
    critical, speed = found["critical_path_ns"], options.core_speed_gflops
    most = min(found["parallelism"], sum(speed) / max(speed))  # limits of the graph, and of the cores
    rows = {
        "scheduler, seed": f"{options.names()['als']}{ordered}, {options.seed}",
        "tasks, edges": f"{graph.n_tasks}, {graph.n_edges}",
        "cores": f"{options.n_cores} on {hosts}",
        "network": f"{options.network}, {options.topology}" if options.has_network else options.network,
        "chunks": str(result.n_chunks),
        "makespan": f"{format_ns(result.makespan_ns)} ({result.makespan_ns} ns)",
        "critical path": "none" if math.isnan(critical) else format_ns(round(critical)),
        "schedule length ratio": _ratio(found["slr"]),
        "speed-up": f"{_ratio(found['speedup'])} of at most {_ratio(most)}",
        "efficiency": f"{found['efficiency']:.4f}",
        "transfers between hosts": f"{int(found['transfers'])}, {found['transfer_bytes']:.4g} bytes in all",
        "waiting for data": f"{format_ns(int(found['transfer_wait_ns']))}, sum over cores",
    }
    if not options.has_network:
        del rows["transfers between hosts"], rows["waiting for data"]
    return lined_up(list(rows.items()))


def write_loop(result: LoopResult, folder: Path, arguments: Mapping[str, Any], *, trace: TraceRequest | None) -> None:
    """Write run.json, tasks.parquet, chunks.parquet and loop.png, and traces if requested."""
    from traces.figures.application.loop import LoopChunks, loop_figure
    from traces.figures.drawing.canvas import save

    options = result.options
    write_rows(result.tasks, folder / "tasks.parquet")
    write_rows(result.chunks, folder / "chunks.parquet")
    figure = loop_figure(
        LoopChunks(*(result.chunks[name] for name in LoopChunks._fields)),
        n_cores=options.n_cores,
        end_ns=result.makespan_ns,
        title=str(options.names()["als"]),
        first_core=options.first_core.tolist(),
    )
    save(figure, folder / "loop.png")
    if trace is not None:
        trace.write(result.ledger, folder / "trace")
    record = record_head(options, arguments, result.makespan_ns) | {
        "tasks": len(result.tasks["task"]),
        "chunks": result.n_chunks,
        "length_gflop": float(result.tasks["length_gflop"].sum()),
        "metrics": result.metrics,
        "steps": result.steps,
        "chosen": result.chosen,
        "ahead_chunks": result.ahead_chunks,
    }
    write_record(folder / "run.json", record)


def loop_summary(result: LoopResult) -> str:
    """The main figures, one per line."""
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
