"""Predict each schedule of a measured program from the runs of the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from als.graphs.task_graph import TaskGraph
from als.techniques.openmp import from_openmp
from bridge.measure.folder import MeasurementTables
from bridge.measure.program import iteration_ns, whole_ns
from bridge.single.graph_options import GraphOptions
from bridge.single.graph_run import simulate_graph
from bridge.single.loop_run import LoopOptions, simulate_loop

QUIET: Final = 1.02  #: longest loop of known work before a quiet run, over the shortest one
FEWEST: Final = 5  #: with fewer quiet runs of a schedule, all runs count
_TASKS_PER_THREAD = 10  # of LLVM's taskloop without a grain size
_DRAWS = 2000  # of the bootstrap


@dataclass(frozen=True)
class Prediction:
    """A schedule of a program: times are ms, intervals have 95 %."""

    program: str
    schedule: str
    runs: int  # number of measured runs
    quiet: int  # number of quiet ones among these
    measured: tuple[float, float, float]  # median over the runs that count, and its interval
    predicted: float
    measured_spread: float  # interquartile range over the median
    predicted_spread: float  # the same of predictions from single repeats

    @property
    def error(self) -> float:
        """Of the prediction, over the measured median."""
        return self.predicted / self.measured[0] - 1.0


def instances(measured: MeasurementTables) -> pd.DataFrame:
    """Executions of loops or tasks, but the first of each run; with schedule, repeat, and whether the run is quiet."""
    runs = measured.runs.set_index("run")
    found = measured.loops[measured.loops["loop"] > 0].copy()
    of = runs.loc[found["run"]]
    found["ms"] = (found["end_ns"] - found["begin_ns"]) / 1e6
    found["repeat"] = of["repeat"].to_numpy()
    found["quiet"] = (of["quiet_ns"] <= QUIET * runs["quiet_ns"].min()).to_numpy()
    found["of"] = of["schedule"].to_numpy()
    for threads, word in ((1, "thread"), (2, "threads")):
        found.loc[(of["schedule"] == "tasks").to_numpy() & (found["threads"] == threads), "of"] = (
            f"tasks, {threads} {word}"
        )
    return found


def predictions(program: str, measured: MeasurementTables, seed: int = 0) -> list[Prediction]:
    """Predict each schedule of a program from the others; runs that are not quiet count only if there are too few others."""
    every = instances(measured)
    counted = every[every["quiet"]]
    names = list(dict.fromkeys(every["of"]))
    runs = {name: counted.loc[counted["of"] == name, "run"].nunique() for name in names}
    used = counted if min(runs.values()) >= FEWEST else every
    predict = _graph if names[0].startswith("tasks") else _loop
    rng, found = np.random.default_rng(seed), []
    for name in names:
        of, others = used[used["of"] == name], used[used["of"] != name]
        by_run = of.groupby("run")["ms"].median().to_numpy()
        drawn = np.median(rng.choice(by_run, (_DRAWS, len(by_run))), axis=1)
        low, high = np.quantile(drawn, (0.025, 0.975)).tolist()
        alone = [predict(measured, name, others[others["repeat"] == one]) for one in sorted(set(others["repeat"]))]
        found.append(
            Prediction(
                program,
                name,
                every.loc[every["of"] == name, "run"].nunique(),
                runs[name],
                (float(np.median(by_run)), low, high),
                predict(measured, name, others),
                _spread(by_run),
                _spread(np.array(alone)),
            )
        )
    return found


def _spread(values: Any) -> float:
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75)).tolist()
    return float((high - low) / middle)


def _technique(schedule: str, n: int, threads: int) -> str:
    kind, _, size = schedule.partition(",")
    if kind == "taskloop":  # its tasks are chunks that any thread takes
        return f"ss:chunk={size or -(-n // (_TASKS_PER_THREAD * threads))}"
    return from_openmp(schedule, "schedule")


def _loop(measured: MeasurementTables, schedule: str, others: pd.DataFrame) -> float:
    n, threads = int(others["iterations"].iloc[0]), int(others["threads"].iloc[0])
    lengths, _ = iteration_ns(measured, others)
    work, overhead = _work(measured, others)
    lengths = whole_ns(np.maximum(lengths * (work / lengths.sum()), 1.0))
    options = LoopOptions(_technique(schedule, n, threads), (1.0,) * threads, overhead_ns=round(overhead))
    return simulate_loop(lengths * 1e-9, options).makespan_ns / 1e6


def _work(measured: MeasurementTables, others: pd.DataFrame) -> tuple[float, float]:
    """The time of all iterations and the overhead of a chunk, ns: least squares over the times of schedules.

    The time of a schedule is the sum of its chunks, each with its median over all executions: other programs disturb the median
    of a short chunk less than a sum.
    """
    chunks = measured.chunks.merge(others[["run", "loop", "of"]], on=["run", "loop"])
    chunks["ns"] = chunks["end_ns"] - chunks["begin_ns"]
    each = chunks.groupby(["of", "first", "iterations"], as_index=False)["ns"].median().groupby("of")
    # Chunks that are not in every execution cover some iterations several times.
    share = int(others["iterations"].iloc[0]) / each["iterations"].sum().to_numpy()
    number, time = each.size().to_numpy() * share, each["ns"].sum().to_numpy() * share
    slope = np.polyfit(number, time, 1)[0] if np.ptp(number) else 0.0
    overhead = max(float(slope), 0.0)
    return float(np.median(time - overhead * number)), overhead


def _graph(measured: MeasurementTables, schedule: str, others: pd.DataFrame) -> float:
    tasks = measured.tasks.merge(others[["run", "loop"]], on=["run", "loop"])
    tasks = tasks.sort_values(["run", "loop", "created_ns", "task"])
    place = tasks.groupby(["run", "loop"]).cumcount().to_numpy()
    lengths = np.maximum(tasks.groupby(place)["run_ns"].median().to_numpy(), 1.0)
    first = tasks.set_index(["run", "loop"]).index == tuple(tasks[["run", "loop"]].iloc[0])
    at = dict(zip(tasks["task"].to_numpy()[first].tolist(), place[first].tolist(), strict=True))
    run, loop = tasks[["run", "loop"]].iloc[0]
    pairs = measured.dependences
    pairs = pairs[(pairs["run"] == run) & (pairs["loop"] == loop)]
    source, target = (np.array([at[task] for task in pairs[end].tolist()], np.int64) for end in ("before", "after"))
    graph = TaskGraph(lengths * 1e-9, source, target, np.zeros(len(source)))
    threads = int(schedule.split()[1])
    return simulate_graph(graph, GraphOptions("ss", (1.0,) * threads)).makespan_ns / 1e6
