"""What is written of a replay, and what is said of it: as of a run, with an account of Slurm."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bridge.replay.run import Replay
from bridge.runs.directory import read_record, write_record
from bridge.runs.gantt import slurm_title
from bridge.runs.record import write_run
from bridge.runs.tracing import TraceRequest
from traces.base.time import NS_PER_S, format_ns


def write_replay(
    done: Replay,
    folder: Path,
    arguments: Mapping[str, Any],
    *,
    tasks: bool,
    trace: TraceRequest | bool | None,
    nodes: bool = False,
) -> None:
    """Write what a run writes; ``run.json`` has a key ``replay`` more."""
    write_run(done.result, folder, arguments, tasks=tasks, trace=trace, nodes=nodes)
    record = read_record(folder)
    record["replay"] = replay_account(done)
    write_record(folder / "run.json", record)


def replay_account(done: Replay) -> dict[str, Any]:
    """What a replay has taken, and what Slurm was told: the key ``replay`` of its record."""
    return {**done.cost, "keys": dict(done.found.keys), "replaced": [*done.found.replaced, *done.notes]}


def replay_rows(done: Replay) -> list[tuple[str, str]]:
    """The figures of a replay that a person looks at first: (name, text)."""
    # As of a run; but Slurm is told from our own policy of this name, and backfills and places by its own rules.
    title = slurm_title(done.cost["release"])
    told = {"batch × application": f"{title} × {done.result.scenario.options.names()['als']}"}
    as_run = [(name, told.get(name, text)) for name, text in done.result.summary() if name != "backfilling, allocator"]
    return [*as_run, *_slurm_rows(done)]


def _slurm_rows(done: Replay) -> list[tuple[str, str]]:
    cost = done.cost
    chosen = {key.lower(): value for key, value in done.found.keys.items()}
    plugins = [chosen[key] for key in ("selecttype", "schedulertype", "prioritytype") if key in chosen]
    span = format_ns(round(cost["simulated_s"] * NS_PER_S))
    speed = cost["simulated_s"] / cost["replay_s"]
    jumps = f", {cost['jumps']} jumps" if cost["jumps"] else ""
    return [
        ("Slurm", ", ".join([cost["release"], *plugins])),
        ("replayed", f"{span} in {format_ns(round(cost['replay_s'] * NS_PER_S))}, {speed:,.0f}×{jumps}"),
    ]
