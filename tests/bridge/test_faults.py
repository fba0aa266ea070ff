"""Application processes that are killed, stopped or never come: the same result, or one clear error, and nothing left."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
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

import bridge
from bls import Rules, Surroundings
from bridge.couplings import PeerOptions
from bridge.protocol.messages import Suspended
from bridge.runs.simulation import run
from bridge.scenarios.application_level import ApplicationLevel
from bridge.scenarios.scenario import Options, Scenario
from bridge.workers import launchers, workforce
from bridge.workers.assignment import Assignment, Order, Worker
from bridge.workers.launchers import Launcher
from bridge.workers.outstanding_jobs import RETRIES, OutstandingJobs
from bridge.workers.workforce import Workforce
from traces.base.errors import PeerError

#: How many jobs runs have; with a process for each, few do.
JOBS = {"pool": 40, "process": 20}


@pytest.fixture(autouse=True)
def _nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = descendants()  # such as what a study of an earlier test has left to Python
    yield
    assert descendants().keys() <= before.keys()
    assert list(tmp_path.glob("twolevel-*")) == []


def at_order(
    monkeypatch: pytest.MonkeyPatch, wanted: Callable[[Order], bool], what: Callable[[Worker], Any]
) -> list[Order]:
    """Do something when a worker is given a job that is wanted, before the worker receives it; return those jobs."""
    met: list[Order] = []
    give = Assignment.give

    def given(self: Assignment, worker: Worker, order: Order) -> None:
        give(self, worker, order)
        if wanted(order):
            met.append(order)
            what(worker)

    monkeypatch.setattr(Assignment, "give", given)
    return met


def strike_all(_: Worker) -> None:
    strike(workers())


def strike_it(worker: Worker) -> None:
    """Kill the process that is given the job, and no other."""
    strike([_process_of(worker)])


def _process_of(worker: Worker) -> int:
    assert worker.connection is not None
    told = worker.connection._writer.get_extra_info("socket").getsockopt(
        socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")
    )
    pid: int = struct.unpack("3i", told)[0]
    return pid


def watched(coupling: str, watch: Any, cores: int | None = None, **peers: Any) -> bridge.Result:
    """The run of ``faulty_runs`` under a watch."""
    scenario = Scenario.of(workload(JOBS[coupling], cores), PLATFORM, Options("fcfs", "ss", 0.25, 3, 3))
    return run(scenario, coupling_name=coupling, peers=PeerOptions(workers=2, **peers), watch=watch)


@pytest.mark.parametrize("coupling", JOBS)
def test_killed_while_it_holds_a_job(
    coupling: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    met = at_order(monkeypatch, lambda order: order.start.job in (5, 17) and order.start.attempt == 0, strike_all)
    with caplog.at_level(logging.WARNING, "twolevel.bridge"):
        result = simulated(coupling, JOBS[coupling])
    assert_same(result, expected(JOBS[coupling]))
    assert len(met) == 2
    assert result.coupling["retries"] >= 2
    assert "was killed by SIGKILL; simulated again: job " in caplog.text


def test_killed_amid_a_job_whose_cores_change_their_speeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The job lasts longer than its first message says, is resumed, and then has to begin again."""
    level = ApplicationLevel(speeds=("square:period=3s,low=0.1,duty=0.3", "noise:period=7s,sigma=0.2"))
    resumed: list[tuple[int, int]] = []
    struck: set[int] = set()
    real = OutstandingJobs._go_on

    def go_on(self: OutstandingJobs, worker: Worker, message: Suspended) -> None:
        row, attempt = message.job, worker.orders[message.job].start.attempt
        resumed.append((row, attempt))
        real(self, worker, message)
        if row in (2, 9) and row not in struck:
            struck.add(row)
            strike(workers())

    monkeypatch.setattr(OutstandingJobs, "_go_on", go_on)
    result = simulated("pool", 15, level=level)
    assert_same(result, simulated(jobs=15, level=level))
    assert result.coupling["retries"] >= 2
    for row in (2, 9):  # before it was struck, and when it was simulated again
        assert len({attempt for job, attempt in resumed if job == row}) >= 2


EVOLVING = """
[default]
steps = 3
phases = [{ kind = "loop", cores = 2 }, { kind = "serial", share = 0.2, cores = 0.25 }, { kind = "loop", cores = 1 }]
"""


@dataclass(frozen=True)
class Changing:
    """A run in which jobs are changed while they run, and the orders that come after a change."""

    options: Callable[[Path], dict[str, Any]]
    changed: Callable[[Order], object]
    tables: tuple[str, ...] = ()
    states: tuple[str, ...] = ()


def _widths(resize: str, folder: Path) -> dict[str, Any]:
    (folder / "evolving.toml").write_text(EVOLVING)
    level = ApplicationLevel(resize_ns=10**6, applications=folder / "evolving.toml" if resize == "evolve" else None)
    rules = Rules(resize=resize, coordination="release")
    return {"rules": rules, "tasks_per_core": 4, "surroundings": Surroundings(malleable="1:0.25:2"), "level": level}


LOST = tuple(f"lost:cores={core},at={100 + 3 * core}s" for core in range(4))
CHANGING = {
    "cores are lost": Changing(
        lambda _: {"level": ApplicationLevel(speeds=LOST)},
        lambda order: any(change.speed_gflops is None for change in order.start.changes),
        states=("requeued", "failed"),
    ),
    "equal widths": Changing(partial(_widths, "equal"), lambda order: order.start.resizes, ("widths", "releases")),
    "evolving": Changing(partial(_widths, "evolve"), lambda order: order.start.resizes, ("widths", "releases")),
    "scaled speeds": Changing(
        lambda _: {"tasks_per_core": 4, "rules": Rules(max_attempts=1000), "bls": Director(3)},
        lambda order: order.start.scales,
        ("scales",),
        ("requeued", "cancelled"),
    ),
    "hints": Changing(
        lambda _: {"rules": Rules(coordination="hint")}, lambda order: order.start.hints, ("hints", "releases")
    ),
}

#: How many processes are killed in each of these runs.
KILLS = 10


@pytest.mark.parametrize(
    ("name", "coupling"),
    [*((name, "pool") for name in CHANGING), pytest.param("evolving", "process", marks=pytest.mark.release)],
)
def test_processes_are_killed_as_jobs_are_changed(
    name: str, coupling: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A process is killed as it is given a job that has been changed; the job is changed again as before."""
    kind = CHANGING[name]
    struck: list[int] = []
    attempts: dict[int, list[int]] = {}

    def wanted(order: Order) -> bool:
        row = order.start.job
        attempts.setdefault(row, []).append(order.start.attempt)
        if len(struck) == KILLS or not kind.changed(order) or struck.count(row) == 2 or row in struck[-1:]:
            return False
        struck.append(row)
        return True

    met = at_order(monkeypatch, wanted, strike_it)
    result = simulated(coupling, 60, **kind.options(tmp_path))
    reference = simulated(jobs=60, **kind.options(tmp_path))
    assert_same(result, reference)
    for table in kind.tables:
        assert getattr(result, table).equals(getattr(reference, table))
        assert len(getattr(result, table)) > 20
    assert set(kind.states) <= set(result.jobs.state)
    assert result.coupling["retries"] >= len(met) == KILLS
    if name == "hints":  # an attempt for each kill and each hint, one after the other
        assert max(map(len, attempts.values())) > 2
        assert all(numbers == list(range(len(numbers))) for numbers in attempts.values())


def test_killed_while_idle() -> None:
    # One job at a time; when the watch looks, it has just ended.
    kill = Once(7, lambda: strike(workers()))
    assert_same(watched("pool", kill, cores=12), expected(cores=12))
    assert kill.done


def at_the_fork_server(number: signal.Signals) -> tuple[Once, list[int]]:
    """A watch that strikes the fork server when nine jobs have ended, and the processes that there were."""
    seen: list[int] = []

    def struck() -> None:
        seen.extend(descendants())
        strike(servers(), number)

    return Once(9, struck), seen


@pytest.mark.parametrize("coupling", JOBS)
def test_killed_before_its_hello(
    coupling: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    launch = Launcher.launch
    # Such that the run cannot end without the news of each death: of a pool, all that there are.
    struck = ("w0", "w1", "w3") if coupling == "process" else ("w0", "w1")
    with socket.create_server(("127.0.0.1", 0)) as mute:

        def stillborn(self: Launcher, worker: str) -> None:
            if worker not in struck:
                launch(self, worker)
                return
            # Whenever the blow falls: what it says before, it says to somebody who does not listen.
            with monkeypatch.context() as patch:
                patch.setattr(self, "_address", f"tcp:127.0.0.1:{mute.getsockname()[1]}")
                launch(self, worker)
            self.kill(worker)

        monkeypatch.setattr(Launcher, "launch", stillborn)
        result = simulated(coupling, JOBS[coupling])
    assert_same(result, expected(JOBS[coupling]))
    assert result.coupling["retries"] == 0
    assert result.coupling["processes"] == (20 if coupling == "process" else 2) + len(struck)
    # They are no strangers.
    assert result.coupling["refused"] == 0
    assert "was refused" not in caplog.text
    assert caplog.text.count(", which had not said hello, was killed by SIGKILL") == len(struck)


@pytest.mark.parametrize(
    ("coupling", "number"), [("pool", signal.SIGKILL), ("process", signal.SIGKILL), ("pool", signal.SIGSTOP)]
)
def test_the_fork_server_is_killed_or_stopped(
    coupling: str, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launchers, "PARTING_S", 0.1)
    watch, seen = at_the_fork_server(number)
    assert_same(watched(coupling, watch), expected(JOBS[coupling]))
    assert len(seen) >= 2
    await_end(seen)  # the workers ended with it


def test_no_new_process_comes_from_a_stopped_fork_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launchers, "PARTING_S", 0.1)
    monkeypatch.setattr(workforce, "CONNECT_S", 0.5)
    watch, seen = at_the_fork_server(signal.SIGSTOP)
    message = r"processes in a row did not say hello; the last one did not connect within 0\.5 s$"
    with pytest.raises(PeerError, match=message):
        watched("process", watch)
    await_end(seen)


def test_no_fork_server_is_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    launch = Launcher.launch

    def fatal(self: Launcher, worker: str) -> None:
        launch(self, worker)
        assert self._server is not None
        with contextlib.suppress(ProcessLookupError):
            # Not by its kill(): a second one would take the exit status before asyncio can, which then says 255.
            os.kill(self._server.pid, signal.SIGKILL)

    monkeypatch.setattr(Launcher, "launch", fatal)
    with pytest.raises(PeerError, match=r"^twolevel-fork, .* was killed by SIGKILL for the 4th time$"):
        simulated("pool", jobs=3)


def test_stopped_while_it_holds_a_job(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    at_order(
        monkeypatch,
        lambda order: order.start.job == 8 and order.start.attempt == 0,
        lambda _: strike(workers(), signal.SIGSTOP),
    )
    monkeypatch.setattr(workforce, "CONNECT_S", 2.0)  # one that was about to say hello is stopped as well
    assert_same(simulated("pool", workers=1, als_timeout_s=2.0), expected())
    assert "did not answer for 2 s" in caplog.text


@pytest.mark.parametrize(("coupling", "count"), [("pool", 2), ("process", 2), ("pool", 1)])
def test_the_same_job_is_lost_again_and_again(coupling: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named, and none of those that its process holds as well."""
    met = at_order(monkeypatch, lambda order: order.start.job == 8, strike_all)
    message = rf"^job 108: its application process failed {RETRIES + 1} times; the last one was killed by SIGKILL$"
    with pytest.raises(PeerError, match=message):
        simulated(coupling, workers=count)
    assert [order.start.attempt for order in met] == list(range(RETRIES + 1))


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
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    command = [sys.executable, "-m", "bridge.cli", "run", str(log), "--out", str(out), "--coupling", coupling]
    with subprocess.Popen(
        [*command, "--workers", "2", "--no-trace"],
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
        try:
            yield process, out, list(descendants(process.pid))
        finally:
            process.kill()


@pytest.mark.parametrize(("coupling", "number"), [("pool", signal.SIGINT), ("process", signal.SIGTERM)])
def test_interrupted(tmp_path: Path, coupling: str, number: signal.Signals) -> None:
    with started(tmp_path, coupling) as (process, _, others):
        assert len(others) >= 2
        process.send_signal(number)
        error = process.communicate(timeout=PATIENCE_S)[1]
        assert process.returncode == 130
        assert "Traceback" not in error
        await_end(others)
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == []
    assert list((tmp_path / "temporary").iterdir()) == []


def test_the_bridge_itself_is_killed(tmp_path: Path) -> None:
    with started(tmp_path, "pool") as (process, out, others):
        assert len(others) >= 2
        strike(servers(process.pid), signal.SIGSTOP)  # so that it cannot see the end come
        process.kill()
        process.communicate(timeout=PATIENCE_S)
        await_end(others)
    assert not out.exists()
