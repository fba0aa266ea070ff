"""The page on measured programs: what its command predicts is right where nothing disturbs, and its parts run."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from als.graphs.task_graph import TaskGraph
from bridge.measure import MeasurementTables, read_measurement
from bridge.single.graph_options import GraphOptions
from bridge.single.graph_run import simulate_graph
from bridge.single.loop_run import LoopOptions, simulate_loop
from tools.native.__main__ import main, order, rows
from tools.native.measuring import SCHEDULES, TASKLOOPS
from tools.native.predicting import _technique, predictions
from traces import exporter
from traces.records.measurements import TABLES

N, THREADS, REPEATS, INSTANCES = 400, 2, 6, 2
OVERHEAD_NS = 200


def measurement(runs: list[tuple[str, MeasurementTables]]) -> MeasurementTables:
    """Measurements of one run each as one of all, in each repeat one after another; every loop twice."""
    frames: dict[str, list[pd.DataFrame]] = {name: [] for name in TABLES}
    for run, (schedule, one) in enumerate(runs * REPEATS):
        for name in TABLES:
            for loop in range(INSTANCES if "loop" in TABLES[name] else 1):
                changed = {"run": run, "loop": loop} if "loop" in TABLES[name] else {}
                frames[name].append(getattr(one, name).assign(**changed))
        frames["runs"][-1] = frames["runs"][-1].assign(run=run, schedule=schedule, repeat=run // len(runs), quiet_ns=7)
    joined: dict[str, Any] = {name: pd.concat(of, ignore_index=True) for name, of in frames.items()}
    return replace(runs[0][1], **(joined | {"regions": runs[0][1].regions}))


@pytest.fixture
def simulated(tmp_path: Path) -> MeasurementTables:
    """All schedules of a loop on a simulated machine."""
    lengths = np.random.default_rng(3).exponential(20e-6, N) + 1e-6
    runs = []
    for k, schedule in enumerate([*SCHEDULES, *TASKLOOPS]):
        options = LoopOptions(_technique(schedule, N, THREADS), (1.0,) * THREADS, overhead_ns=OVERHEAD_NS)
        path = exporter("measured")(simulate_loop(lengths, options).ledger, tmp_path / f"{k}")
        runs.append((schedule, read_measurement(path.parent)))
    return measurement(runs)


def test_schedules_of_a_simulated_machine_are_predicted(simulated: MeasurementTables) -> None:
    found = predictions("loop", simulated)
    assert [one.schedule for one in found] == [*SCHEDULES, *TASKLOOPS]
    for one in found:
        assert (one.runs, one.quiet) == (REPEATS, REPEATS)
        assert one.measured[1] == one.measured[0] == one.measured[2]
        # Each chunk of one iteration includes an overhead, which the work has to lose: 1 % of it.
        assert abs(one.error) < 0.01, one
        assert one.measured_spread == one.predicted_spread == 0.0
    right, pairs = order(found)
    assert pairs >= 20
    assert right >= 0.9 * pairs
    table = rows(found, "here", 50.0)
    assert table["what"].value_counts()["error"] == len(found)
    assert table.set_index(["program", "what"]).loc[("all", "pairs"), "number"] == pairs


def test_only_quiet_runs_count(simulated: MeasurementTables) -> None:
    """A disturbed repeat is slower, and left out, unless too few are left."""
    runs, loops = simulated.runs, simulated.loops
    disturbed = runs["repeat"] == 0
    slow = loops["run"].isin(runs["run"][disturbed])
    changed = replace(
        simulated,
        runs=runs.assign(quiet_ns=np.where(disturbed, 8, 7)),
        loops=loops.assign(end_ns=np.where(slow, 3 * loops["end_ns"], loops["end_ns"])),
    )
    assert [one.measured for one in predictions("loop", changed)] == [
        one.measured for one in predictions("loop", simulated)
    ]
    few = replace(changed, runs=runs.assign(quiet_ns=np.where(runs["repeat"] == 1, 7, 8)))
    assert predictions("loop", few)[0].measured[2] > predictions("loop", few)[0].measured[0]


def test_tasks_are_predicted_from_another_number_of_threads(tmp_path: Path) -> None:
    """With the tasks' times and dependences, the simulator's own makespans return."""
    work = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0])
    source, target = np.array([0, 0, 1, 2, 3]), np.array([1, 2, 3, 4, 5])
    graph = TaskGraph(work * 1e-3, source, target, np.zeros(len(source)))
    edges = pd.DataFrame({"run": 0, "loop": 0, "before": source, "after": target})
    runs, expected = [], []
    for threads in (1, 2):
        result = simulate_graph(graph, GraphOptions("ss", (1.0,) * threads))
        expected.append(result.makespan_ns / 1e6)
        one = read_measurement(exporter("measured")(result.ledger, tmp_path / f"{threads}").parent)
        columns = {name: result.tasks[name] for name in ("task", "core", "start_ns", "end_ns")}
        tasks = pd.DataFrame(columns).rename(columns={"core": "thread", "start_ns": "begin_ns"})
        tasks = tasks.assign(run=0, loop=0, creator=-1, created_ns=range(7), run_ns=tasks["end_ns"] - tasks["begin_ns"])
        runs.append(("tasks", replace(one, tasks=tasks, dependences=edges)))
    found = predictions("graph", measurement(runs))
    assert [one.schedule for one in found] == ["tasks, 1 thread", "tasks, 2 threads"]
    assert [one.predicted for one in found] == expected == [one.measured[0] for one in found]


@pytest.mark.whole
def test_the_command_measures_predicts_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("data", "images"):
        (tmp_path / folder).mkdir()
    words = ["triangle", "cholesky", "--docs", str(tmp_path)]
    assert main([*words, "--repeats", "1", "--keep", str(tmp_path / "kept")]) == 0
    first = (tmp_path / "data" / "native.csv").read_bytes()
    assert main([*words, "--measured", str(tmp_path / "kept")]) == 0
    assert (tmp_path / "data" / "native.csv").read_bytes() == first
    found = pd.read_csv(tmp_path / "data" / "native.csv")
    errors = found[found["what"] == "error"]
    assert errors["schedule"].tolist() == [*SCHEDULES, *TASKLOOPS, "tasks, 1 thread", "tasks, 2 threads"]
    assert (tmp_path / "images" / "native.png").stat().st_size > 10_000
    measured = read_measurement(tmp_path / "kept" / "triangle")
    assert measured.loops.groupby("run").size().tolist() == [6] * 9
    assert set(measured.loops["iterations"]) == {1000}
    assert "pairs in order" in capsys.readouterr().out
