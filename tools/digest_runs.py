"""Functions that run each kind of case of the matrix and return its tables.

Only this module imports names that are not public, within the functions that need them.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from tools.digest_cases.workloads import workload as made_workload

#: Columns by name: arrays, or lists of plain values.
Table = Mapping[str, Any]
Tables = dict[str, Table]

#: Columns with the cost or the folder of a run, which differ between runs.
MEASURED = ("decision_ns", "simulation_s", "wall_s", "worker")

#: The file of an OTF2 trace that contains a random number and little else.
_DRAWN = "traces.otf2"


def _columns(frame: Any) -> Table:
    return {name: column.to_numpy() for name, column in frame.items() if name not in MEASURED}


def _figures(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    # Every number of a nested mapping with its path, exactly.
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _figures(inner, f"{name}.{key}")
    elif isinstance(value, list | tuple):
        for place, inner in enumerate(value):
            yield from _figures(inner, f"{name}.{place}")
    else:
        plain = value.item() if isinstance(value, np.generic) else value
        yield name, repr(plain)


def _metrics(value: Any) -> Table:
    return {"figures": [f"{name} {text}" for name, text in _figures(value)]}


def _files_below(folder: Path) -> Table:
    # The bytes of every file, or the columns of a table, one value of two words each.
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != _DRAWN)
    return {"files": [f"{path.relative_to(folder)} {sha256(_content(path)).hexdigest()}" for path in paths]}


def _content(path: Path) -> bytes:
    from traces.tables import read_rows

    # The bytes of Parquet differ between versions of its library.
    return read_rows(path, ()).to_json().encode() if path.suffix == ".parquet" else path.read_bytes()


def _exported(ledger: Any, names: list[str]) -> Tables:
    from traces import exporter

    found: Tables = {}
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            exporter(name)(ledger, Path(folder) / "trace")
            found[name] = _files_below(Path(folder))
    return found


def _run(given: Mapping[str, Any]) -> Tables:
    from bridge import simulate

    said = dict(given)
    exports, log = said.pop("exports", []), said.pop("workload", None)
    jobs = said.pop("file") if log is None else made_workload(log)
    for group in ("rules", "constraints", "level"):
        said |= said.pop(group, {})
    fair = said.pop("fair_start", False)
    result = simulate(jobs, **said)
    tables: Tables = {"jobs": _columns(result.stored_jobs), "metrics": _metrics(result.metrics)}
    if fair:
        tables["fair starts"] = {"fair_start_ns": result.fair_start_ns, **_metrics(result.fairness)}
    if said["als"] != "recorded":
        tables["tasks"] = _columns(result.tasks)
    if result.ledger.transfers is not None:
        tables["transfers"] = _columns(result.transfers)
    if len(result.decisions):
        tables["decisions"] = _columns(result.decisions)
    if said.get("observers"):
        tables["observations"] = _columns(result.observations)
    return tables | _exported(result.ledger, exports)


def _loop(given: Mapping[str, Any]) -> Tables:
    from als.lengths import lengths
    from bridge.single.loop_run import LoopOptions, drawn_tasks, simulate_loop

    said = {"core_speed_gflops": (1.0,) * 8, "seed": 5, **given}
    model = lengths(said.pop("lengths"), variation=said.pop("variation", 0.0))
    tasks = drawn_tasks(model, said["seed"], None if model.count else 300, 2.0)
    result = simulate_loop(tasks, LoopOptions(**said))
    chosen = {"chosen": result.chosen, "ahead": result.ahead_chunks, "makespan_ns": result.makespan_ns}
    said_metrics = {"metrics": result.metrics, "steps": result.steps, **chosen}
    return {"tasks": result.tasks, "chunks": result.chunks, "metrics": _metrics(said_metrics)}


def _graph(given: Mapping[str, Any]) -> Tables:
    from bridge import GraphOptions, simulate_graph
    from bridge.single.graph_source import GraphSource

    said = {"core_speed_gflops": (46.875,) * 8, "seed": 3, **given}
    source = GraphSource(said.pop("graph"), said.pop("tasks", None))
    options = GraphOptions(**said)
    graph = source.read(options)
    result = simulate_graph(graph, options)
    drawn = {"source": graph.source, "target": graph.target, "bytes": graph.bytes}
    figures = {**result.metrics, "makespan_ns": result.makespan_ns, "critical": result.critical.tolist()}
    tables: Tables = {"tasks": result.tasks, "edges": drawn, "metrics": _metrics(figures)}
    return tables | ({} if result.transfers is None else {"transfers": result.transfers})


def _application(given: Mapping[str, Any]) -> Tables:
    from als import ApplicationSimulator, technique

    second = 10**9
    lengths = 0.05 + np.arange(120) % 7 * 0.11
    application = ApplicationSimulator(lengths, [1.0, 1.0, 0.5, 2.0], technique(given["als"]), overhead_ns=10**6)
    for at_s, core, speed in given["changes"]:
        application.advance(int(at_s * second))
        if not application.finished:
            application.set_speed(speed, core)
    if "stop_s" in given:
        application.run_to_stop(int(given["stop_s"] * second))
    application.advance()
    state = application.state
    names = ("core", "chunk", "start_ns", "end_ns")
    ends = {"end_ns": application.end_ns, "ran": application.ran, "chunks": application.chunks}
    return {
        "tasks": {name: getattr(state, name) for name in names},
        "cores": {"finish_ns": state.cores.finish_ns, "busy_ns": state.cores.busy_ns},
        "metrics": _metrics({**ends, "scheduling_ns": application.scheduling_ns, "stopped": application.stopped}),
    }


def _chunks(given: Mapping[str, Any]) -> Tables:
    from als.chunk_sequence import chunk_sequence
    from als.techniques import TECHNIQUES

    size = given["n_tasks"], given["n_cores"]
    found = {name: chunk_sequence(rule, *size, seed=given["seed"]) for name, rule in TECHNIQUES.items()}
    return {name: {"size": np.array(sizes, np.int64)} for name, sizes in found.items()}


def _workload(given: Mapping[str, Any]) -> Tables:
    import bls
    from bls.workloads.generators.accasim import generate_like
    from bls.workloads.generators.lublin import generate_lublin

    said = dict(given)
    if "read" in said:
        name = said["read"]
        jobs = bls.read_workload(
            bls.sample_path() if name == "sample" else name, cancelled=said.get("cancelled", False)
        )
    elif said.pop("model", None):
        jobs = generate_lublin(said.pop("n_jobs"), **said)
    else:
        jobs = generate_like(made_workload(said.pop("like")), said.pop("n_jobs"), **said)
    columns = {entry.name: getattr(jobs, entry.name) for entry in fields(jobs)}
    tables: Tables = {
        "jobs": {name: np.ascontiguousarray(value) for name, value in columns.items() if isinstance(value, np.ndarray)},
        "extras": {name: np.ascontiguousarray(value) for name, value in jobs.extras.items()},
        "rejects": _metrics(jobs.rejects),
    }
    if "described" in said:
        figures = bls.describe(jobs, bls.load_platform(said["described"])).as_dict()
        tables["description"] = _metrics({name: value for name, value in figures.items() if name != "source"})
    return tables


def _command(given: Mapping[str, Any]) -> Tables:
    import pandas as pd

    from bridge.cli import main

    before, said = sys.argv, io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        sys.argv = ["twolevel", *given["words"], "--out", os.fspath(out)]
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()) as errors:
                main()
        except SystemExit as end:
            if end.code:
                raise RuntimeError(errors.getvalue()) from None
        finally:
            sys.argv = before
        tables: Tables = {"said": {"lines": said.getvalue().replace(folder, "").splitlines()}}
        for path in sorted(out.rglob("*.parquet")):
            tables[path.relative_to(out).as_posix()] = _columns(pd.read_parquet(path))
        for path in sorted(out.rglob("run.json")):
            record = json.loads(path.read_text())
            tables[path.relative_to(out).as_posix()] = _metrics(record.get("metrics", {}))
    return tables


#: The function for each kind of case.
RUNS: dict[str, Callable[[Mapping[str, Any]], Tables]] = {
    "run": _run,
    "loop": _loop,
    "graph": _graph,
    "application": _application,
    "chunks": _chunks,
    "workload": _workload,
    "command": _command,
}
