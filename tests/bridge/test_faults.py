"""Real application processes, fork servers and commands that are killed: the same result, and nothing left.

What else may happen to them, at any instant and in every kind of run, is simulated in ``test_simulated_network.py``.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from directors import Director
from faulty_runs import (
    PATIENCE_S,
    PLATFORM,
    Once,
    assert_same,
    await_end,
    await_that,
    descendants,
    expected,
    servers,
    simulated,
    strike,
    workers,
    workload,
)
from layers import two_stay
from one_result import different

import bridge
from bls import ConstraintOptions, Rules
from bridge.protocol.messages import SimulateJob
from bridge.runs.simulation import run
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.scenario import Application, Execution, Scenario
from bridge.workers.assignment import Assignment, Order, Worker
from bridge.workers.outstanding_jobs import RETRIES
from bridge.workers.workforce import Workforce

pytestmark = [pytest.mark.whole, pytest.mark.usefixtures("nothing_is_left")]


def at_order(monkeypatch: pytest.MonkeyPatch, wanted: Callable[[Order], bool], what: Callable[[], Any]) -> list[Order]:
    """Do something when a worker is given a job that is wanted, before the worker receives it; return those jobs."""
    met: list[Order] = []
    give = Assignment.give

    def given(self: Assignment, worker: Worker, order: Order) -> None:
        give(self, worker, order)
        if wanted(order):
            met.append(order)
            what()

    monkeypatch.setattr(Assignment, "give", given)
    return met


def watched(watch: Any) -> bridge.Result:
    """The run of ``faulty_runs`` under a watch, with a process for each job."""
    options = Scenario.flat(als="ss", variation=0.25, tasks_per_core=3, seed=3)
    scenario = ReadyScenario.of(workload(20), PLATFORM, options)
    return run(scenario, execution=Execution("process", workers=2), watch=watch)


LOST = tuple(f"lost:cores={core},at={100 + 3 * core}s" for core in range(4))
#: Options of a run, and which orders are of jobs that are changed.
CHANGED: dict[str, tuple[Callable[[], dict[str, Any]], Callable[[SimulateJob], object]]] = {
    "cores are lost": (
        lambda: {"application": Application(speeds=LOST)},
        lambda start: any(change.speed_gflops is None for change in start.changes),
    ),
    "speeds are scaled": (
        lambda: {"bls": Director(3), "tasks_per_core": 4, "rules": Rules(max_attempts=1000)},
        lambda start: start.scales,
    ),
    "hints": (lambda: {"rules": Rules(coordination="hint")}, lambda start: start.hints),
    "widths": (
        lambda: {
            "rules": Rules(resize="equal", coordination="release"),
            "tasks_per_core": 4,
            "constraints": ConstraintOptions(malleable="1:0.25:2"),
            "application": Application(resize_ns=10**6),
        },
        lambda start: start.resizes,
    ),
}


#: No job meets more failures than its process may have.
KILLS = RETRIES


@pytest.mark.parametrize("kind", two_stay(CHANGED))
def test_processes_are_killed_as_jobs_are_changed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes are killed as one is given a job that is changed: the job is changed again as before."""
    options, changed = CHANGED[kind]
    struck: list[int] = []

    def wanted(order: Order) -> bool:
        row = order.start.job
        is_so = len(struck) < KILLS and changed(order.start) and struck.count(row) < 2 and row not in struck[-1:]
        struck.extend([row] if is_so else [])
        return bool(is_so)

    met = at_order(monkeypatch, wanted, lambda: strike(workers()))
    result, reference = simulated("pool", 60, **options()), simulated(jobs=60, **options())
    assert different(result, reference) == ""
    told = [getattr(reference.ledger, table) for table in ("scales", "hints", "widths", "releases")]
    sizes = [len(table) for table in told if table is not None]
    assert not sizes or min(sizes) > 20
    assert bool(sizes) == (kind != "cores are lost")
    assert result.coupling["retries"] >= len(met) == KILLS


def test_the_fork_server_is_killed() -> None:
    seen: list[int] = []

    def kill() -> None:
        seen.extend(descendants())
        strike(servers())

    assert_same(watched(Once(9, kill)), expected(20))
    assert len(seen) >= 2
    await_end(seen)  # the workers ended with it


def test_a_fault_of_ours_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Workforce, worker: Worker, message: Any) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(Workforce, "take", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        simulated("pool", jobs=3)


@contextmanager
def started(tmp_path: Path, coupling: str) -> Iterator[tuple[subprocess.Popen[str], Path, list[int]]]:
    """A ``twolevel run`` of many jobs whose workers have been stopped, so that it waits; and all of its processes."""
    log, out = tmp_path / "log.swf", tmp_path / "out"
    lines = [f"{k} {k} -1 50 4 -1 -1 4 60 -1 1 1 1 -1 -1 -1 -1 -1" for k in range(1, 5001)]
    log.write_text("\n".join(lines) + "\n")
    temporary = tmp_path / "t"
    temporary.mkdir()
    command = [sys.executable, "-m", "bridge.cli", "run", str(log), "--out", str(out), "--coupling", coupling]
    with subprocess.Popen(
        [*command, "--workers", "2", "--trace", "none"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    ) as process:
        await_that(lambda: workers(process.pid) or process.poll() is not None)
        # More may come while these are stopped; and then there are none that work.
        stopped: set[int] = set()
        while new := set(workers(process.pid)) - stopped:
            strike(new, signal.SIGSTOP)
            stopped |= new
        assert process.stderr is not None
        assert process.poll() is None, process.stderr.read()
        try:
            yield process, out, list(descendants(process.pid))
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("coupling", "number"),
    [("pool", signal.SIGINT), pytest.param("process", signal.SIGTERM, marks=pytest.mark.release)],
)
def test_interrupted(tmp_path: Path, coupling: str, number: signal.Signals) -> None:
    with started(tmp_path, coupling) as (process, _, others):
        assert len(others) >= 2
        process.send_signal(number)
        error = process.communicate(timeout=PATIENCE_S)[1]
        assert process.returncode == 130
        assert "Traceback" not in error
        assert error.endswith("twolevel: interrupted; nothing was written\n")
        await_end(others)
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == []
    assert list((tmp_path / "t").iterdir()) == []


def test_the_bridge_itself_is_killed(tmp_path: Path) -> None:
    with started(tmp_path, "pool") as (process, out, others):
        assert len(others) >= 2
        strike(servers(process.pid), signal.SIGSTOP)  # so that it cannot see the end come
        process.kill()
        process.communicate(timeout=PATIENCE_S)
        await_end(others)
    assert not out.exists()
