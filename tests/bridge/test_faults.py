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

COUPLINGS = ("pool", "process")


@pytest.fixture(autouse=True)
def _nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = descendants()  # such as what a study of an earlier test has left to Python
    yield
    assert descendants().keys() <= before.keys()
    assert list(tmp_path.glob("twolevel-*")) == []


def at_order(monkeypatch: pytest.MonkeyPatch, wanted: Callable[[Order], bool], what: Callable[[], Any]) -> list[Order]:
    """Do something when a worker is given a job that is wanted, before the worker knows; returns those jobs."""
    met: list[Order] = []
    give = Assignment.give

    def given(self: Assignment, worker: Worker, order: Order) -> None:
        give(self, worker, order)
        if wanted(order):
            met.append(order)
            what()

    monkeypatch.setattr(Assignment, "give", given)
    return met


def strike_at_order(monkeypatch: pytest.MonkeyPatch, wanted: Callable[[Order], bool]) -> list[Order]:
    """Kill the very process that is given a job that is wanted, before it knows; returns those jobs."""
    met: list[Order] = []
    give = Assignment.give

    def given(self: Assignment, worker: Worker, order: Order) -> None:
        give(self, worker, order)
        if wanted(order):
            met.append(order)
            strike([_process_of(worker)])

    monkeypatch.setattr(Assignment, "give", given)
    return met


def _process_of(worker: Worker) -> int:
    assert worker.connection is not None
    told = worker.connection._writer.get_extra_info("socket").getsockopt(
        socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")
    )
    pid: int = struct.unpack("3i", told)[0]
    return pid


def watched(coupling: str, watch: Any, cores: int | None = None, **peers: Any) -> bridge.Result:
    """The run of ``faulty_runs`` under a watch."""
    scenario = Scenario.of(workload(cores=cores), PLATFORM, Options("fcfs", "ss", 0.25, 3, 3))
    return run(scenario, coupling_name=coupling, peers=PeerOptions(workers=2, **peers), watch=watch)


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_killed_while_it_holds_a_job(
    coupling: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    met = at_order(
        monkeypatch,
        lambda order: order.start.job in (5, 17) and order.start.attempt == 0,
        lambda: strike(workers()),
    )
    with caplog.at_level(logging.WARNING, "twolevel.bridge"):
        result = simulated(coupling)
    assert_same(result, expected())
    assert len(met) == 2
    assert result.coupling["retries"] >= 2
    assert "was killed by SIGKILL; simulated again: job " in caplog.text


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_killed_amid_a_job_whose_cores_change_their_speeds(coupling: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The job lasts longer than it was told of at first, is resumed, and then has to begin again."""
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
    result = simulated(coupling, 15, level=level)
    assert_same(result, simulated(jobs=15, level=level))
    assert result.coupling["retries"] >= 2
    for row in (2, 9):  # before it was struck, and when it was simulated again
        assert len({attempt for job, attempt in resumed if job == row}) >= 2


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_processes_are_killed_while_jobs_lose_all_their_cores(coupling: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process is killed as it is given a job whose cores will be lost, ten times: the job is lost with its cores, and not
    with the process."""
    level = ApplicationLevel(speeds=tuple(f"lost:cores={core},at={100 + 3 * core}s" for core in range(4)))
    struck: list[int] = []

    def wanted(order: Order) -> bool:
        row = order.start.job
        loses = any(change.speed_gflops is None for change in order.start.changes)
        if len(struck) == 10 or not loses or struck.count(row) == 2 or row in struck[-1:]:
            return False
        struck.append(row)
        return True

    met = strike_at_order(monkeypatch, wanted)
    result = simulated(coupling, 60, level=level)
    reference = simulated(jobs=60, level=level)
    assert_same(result, reference)
    assert {"requeued", "failed"} <= set(reference.jobs.state)
    assert result.jobs.cut_because.equals(reference.jobs.cut_because)
    assert result.coupling["retries"] >= len(met) == 10


EVOLVING = """
[default]
steps = 3
phases = [{ kind = "loop", cores = 2 }, { kind = "serial", share = 0.2, cores = 0.25 }, { kind = "loop", cores = 1 }]
"""


@pytest.mark.parametrize("coupling", COUPLINGS)
@pytest.mark.parametrize("resize", ["equal", "evolve"])
def test_twenty_kills_while_widths_change(
    resize: str, coupling: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A process is killed as it is given a job whose width has changed, twenty times; it changes again as it did."""
    (tmp_path / "evolving.toml").write_text(EVOLVING)
    said: dict[str, Any] = {"rules": Rules(resize=resize, coordination="release"), "tasks_per_core": 4}
    level = ApplicationLevel(resize_ns=10**6, applications=tmp_path / "evolving.toml" if resize == "evolve" else None)
    said |= {"surroundings": Surroundings(malleable="1:0.25:2"), "level": level}
    struck: list[int] = []

    def wanted(order: Order) -> bool:
        row = order.start.job
        if len(struck) == 20 or not order.start.resizes or struck.count(row) == 2 or row in struck[-1:]:
            return False
        struck.append(row)
        return True

    met = strike_at_order(monkeypatch, wanted)
    result = simulated(coupling, 60, **said)
    reference = simulated(jobs=60, **said)
    assert_same(result, reference)
    assert result.widths.equals(reference.widths)
    assert result.releases.equals(reference.releases)
    assert result.coupling["retries"] >= len(met) == 20


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_twenty_kills_while_speeds_are_scaled(coupling: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process is killed as it is given a job whose cores were scaled, twenty times; they are scaled again as they were."""
    struck: list[int] = []

    def wanted(order: Order) -> bool:
        row = order.start.job
        if len(struck) == 20 or not order.start.scales or struck.count(row) == 2 or row in struck[-1:]:
            return False
        struck.append(row)
        return True

    said: dict[str, Any] = {"tasks_per_core": 4, "rules": Rules(max_attempts=1000)}
    met = strike_at_order(monkeypatch, wanted)
    result = simulated(coupling, 60, bls=Director(3), **said)
    reference = simulated(jobs=60, bls=Director(3), **said)
    assert_same(result, reference)
    assert result.scales.equals(reference.scales)
    assert len(result.scales) > 60
    assert {"requeued", "cancelled"} <= set(result.jobs.state)
    assert result.coupling["retries"] >= len(met) == 20


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_twenty_kills_while_jobs_are_told_who_waits(coupling: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process is killed as it is given a job that was told something, twenty times; the job is told all of it again."""
    rules = Rules(coordination="hint")
    struck: list[int] = []
    attempts: dict[int, list[int]] = {}

    def wanted(order: Order) -> bool:
        row = order.start.job
        attempts.setdefault(row, []).append(order.start.attempt)
        if len(struck) == 20 or not order.start.hints or struck.count(row) == 2 or row in struck[-1:]:
            return False
        struck.append(row)
        return True

    met = strike_at_order(monkeypatch, wanted)
    result = simulated(coupling, 60, rules=rules)
    reference = simulated(jobs=60, rules=rules)
    assert_same(result, reference)
    assert result.hints.equals(reference.hints)
    assert result.releases.equals(reference.releases)
    assert result.coupling["retries"] >= len(met) == 20
    # Each of them, whether its process was killed or it was told something, can be told from those before.
    assert max(map(len, attempts.values())) > 2
    assert all(numbers == list(range(len(numbers))) for numbers in attempts.values())


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_killed_while_idle(coupling: str) -> None:
    # One job at a time; when the watch looks, it has just ended.
    kill = Once(7, lambda: strike(workers()))
    assert_same(watched(coupling, kill, cores=12), expected(cores=12))
    assert kill.done


@pytest.mark.parametrize("coupling", COUPLINGS)
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
        result = simulated(coupling)
    assert_same(result, expected())
    assert result.coupling["retries"] == 0
    assert result.coupling["processes"] == (40 if coupling == "process" else 2) + len(struck)
    # They are no strangers.
    assert result.coupling["refused"] == 0
    assert "was refused" not in caplog.text
    assert caplog.text.count(", which had not said hello, was killed by SIGKILL") == len(struck)


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_the_fork_server_is_killed(coupling: str) -> None:
    seen: list[int] = []

    def kill() -> None:
        seen.extend(descendants())
        strike(servers())

    assert_same(watched(coupling, Once(9, kill)), expected())
    assert len(seen) >= 2
    await_end(seen)  # the workers died with it


def test_the_fork_server_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launchers, "PARTING_S", 0.1)
    seen: list[int] = []

    def stop() -> None:
        seen.extend(descendants())
        strike(servers(), signal.SIGSTOP)

    assert_same(watched("pool", Once(9, stop)), expected())
    await_end(seen)


def test_no_new_process_comes_from_a_stopped_fork_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launchers, "PARTING_S", 0.1)
    monkeypatch.setattr(workforce, "CONNECT_S", 0.5)
    seen: list[int] = []

    def stop() -> None:
        seen.extend(descendants())
        strike(servers(), signal.SIGSTOP)

    message = r"processes in a row did not say hello; the last one did not connect within 0\.5 s$"
    with pytest.raises(PeerError, match=message):
        watched("process", Once(9, stop))
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


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_stopped_while_it_holds_a_job(
    coupling: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    at_order(
        monkeypatch,
        lambda order: order.start.job == 8 and order.start.attempt == 0,
        lambda: strike(workers(), signal.SIGSTOP),
    )
    monkeypatch.setattr(workforce, "CONNECT_S", 2.0)  # one that was about to say hello is stopped as well
    assert_same(simulated(coupling, workers=1, als_timeout_s=2.0), expected())
    assert "did not answer for 2 s" in caplog.text


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_the_same_job_is_lost_again_and_again(coupling: str, monkeypatch: pytest.MonkeyPatch) -> None:
    met = at_order(monkeypatch, lambda order: order.start.job == 8, lambda: strike(workers()))
    message = rf"^job 108: its application process failed {RETRIES + 1} times; the last one was killed by SIGKILL$"
    with pytest.raises(PeerError, match=message):
        simulated(coupling)
    assert [order.start.attempt for order in met] == list(range(RETRIES + 1))


def test_the_job_behind_is_not_to_blame(monkeypatch: pytest.MonkeyPatch) -> None:
    # Job 8 kills its worker, whichever else that one holds; only job 8 may be named.
    at_order(monkeypatch, lambda order: order.start.job == 8, lambda: strike(workers()))
    with pytest.raises(PeerError, match=r"^job 108: "):
        simulated("pool", workers=1)


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


@pytest.mark.parametrize("coupling", COUPLINGS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
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


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_the_bridge_itself_is_killed(tmp_path: Path, coupling: str) -> None:
    with started(tmp_path, coupling) as (process, out, others):
        assert len(others) >= 2
        strike(servers(process.pid), signal.SIGSTOP)  # so that it cannot see the end come
        process.kill()
        process.communicate(timeout=PATIENCE_S)
        await_end(others)
    assert not out.exists()
