"""Application simulators of the user, the toy, missing or misbehaving ones; and real processes and commands that are killed."""

import asyncio
import os
import resource
import shlex
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
from bridge.protocol import session
from bridge.protocol.messages import SimulateJob
from bridge.runs.simulation import run
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.scenario import Application, Execution, Scenario
from bridge.workers import workforce
from bridge.workers.assignment import Assignment, Order, Worker, room_for
from bridge.workers.outstanding_jobs import RETRIES
from bridge.workers.workforce import Workforce
from traces.base.errors import InputError, PeerError, TwolevelError

pytestmark = [pytest.mark.whole, pytest.mark.usefixtures("nothing_is_left")]

HERE = Path(__file__).parent
TOY = shlex.join([sys.executable, str(HERE / "toy_peer.py")])


def rogue(how: str, mark: Path | None = None) -> str:
    """The command of a simulator that misbehaves; once, if there is a mark to leave."""
    return shlex.join([sys.executable, str(HERE / "rogue_peer.py"), how, *([str(mark)] if mark else [])])


MANY_PARTS = '[default]\nsteps = 70000\nphases = [{ kind = "serial", share = 1 }]\n'
GRAPH = '[default]\ngraph = "layered:tasks=300"\nals = "ss"\n'
SAYS = r"^job 1\d\d: the application simulator reports: "
STRAIGHT = SAYS + "the toy only runs straight: no --speeds, no --network$"
NO_HELLO = "processes in a row did not send a hello; the last one exited with status "
SCHEDULER = shlex.join([sys.executable, str(HERE / "toy_scheduler.py")])


CANNOT = [
    (TOY, MANY_PARTS, {}, InputError, r"^job 100: 70000 parts \(phases times steps\); a simulator that requests lengths can "
     "receive 65536; use inline$"),
    (TOY, GRAPH, {"network": "lv08"}, InputError, STRAIGHT),
    (TOY, "", {"als": "gss"}, InputError, SAYS + "unknown technique gss: ss, static$"),
    (rogue("too-many-chosen"), "", {}, PeerError, "^job 100: the outcome's chosen has 3 numbers; allowed: up to 0$"),
    (SCHEDULER, "", {}, InputError, "^als_command=.*: it is a scheduler; allowed: an application simulator"),
    ("no-such-program --fast", "", {}, InputError,
     "^als_command='no.*-fast': 'no-such-program' is not a program that can be run$"),
    (rogue("exits"), "", {"workers": 5}, PeerError, f"5 {NO_HELLO}3$"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "applications", "given", "kind", "message"), CANNOT, ids=[row[-1] for row in CANNOT]
)
def test_what_a_simulator_cannot_do(
    command: str, applications: str, given: dict[str, Any], kind: type[TwolevelError], message: str, tmp_path: Path
) -> None:
    level = {name: given.pop(name) for name in ("speeds", "network") if name in given}
    if applications:
        (tmp_path / "apps.toml").write_text(applications)
        level["applications"] = tmp_path / "apps.toml"
    with pytest.raises(kind, match=message):
        simulated("pool", 8, als_command=command, application=Application(**level), **given)


def test_a_start_that_does_not_fit_into_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "MAX_FRAME", 100)
    message = "cannot be sent to a simulator: start cannot be sent: job 0: a frame of .* allowed: 1 to 100$"
    with pytest.raises(InputError, match=f"^job 100: {message}"):
        simulated("pool", 1, als_command=TOY)


def test_what_a_simulator_says_cannot_steer_a_terminal() -> None:
    with pytest.raises(PeerError) as caught:
        simulated("pool", als_command=rogue("escapes"))
    assert str(caught.value).endswith(r"reports: out\x1b[2J of\x07 luck  \x9b31m")
    assert str(caught.value).isprintable()


def test_one_that_misbehaves_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    result = simulated("pool", 8, als_command=rogue("other-lengths", tmp_path / "mark"), workers=1)
    assert_same(result, expected(8))
    assert "records of tasks with other lengths than the bridge sent" in caplog.text
    assert result.coupling["retries"] >= 1
    # A sum that was added in another order is no fault.
    assert_same(simulated("pool", 8, als_command=rogue("other-sum")), expected(8))


def test_the_timeout_bounds_one_that_never_connects(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = r"never-connects: no process has connected within 1\.5 s; allowed: within timeout_s$"
    with pytest.raises(PeerError, match=message):
        simulated("pool", 8, als_command=rogue("never-connects"), workers=3, timeout_s=1.5)
    assert not caplog.messages  # no other line, of another time
    monkeypatch.setattr(workforce, "CONNECT_S", 0.01)  # a program may take all of the timeout
    assert_same(simulated("pool", 8, als_command=TOY, workers=1), expected(8))


SCRIPTS = {
    # A shell that waits for the simulator that it has started, and another child that waits for ever.
    "wrapped": f"#!/bin/sh\nsleep 1000000 &\n{TOY}\n",
    "broken": "#!/no/such/interpreter\n",
}


def test_a_command_that_starts_others_and_one_that_cannot_be_executed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, text in SCRIPTS.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    assert_same(simulated("pool", 8, als_command=str(tmp_path / "wrapped")), expected(8))
    with pytest.raises(PeerError, match=r"the last one exited with status 127$"):
        simulated("pool", 8, als_command=str(tmp_path / "broken"))
    assert f"{tmp_path / 'broken'}: No such file or directory" in capfd.readouterr().err
    # Text that a plug-in prints is no report.
    technique = "class One:\n    name = 'one'\n\n    def chunk(self, ask):\n        return 1\n"
    (tmp_path / "chatty.py").write_text(f"print('a technique that talks', flush=True)\n{technique}")
    plug_in = f"{tmp_path / 'chatty.py'}:One"
    assert_same(simulated("pool", 8, als=plug_in, workers=1), simulated(jobs=8, als=plug_in))
    assert "a technique that talks" in capfd.readouterr().err


# Where a run finds itself


def test_errors_and_interrupts_within_a_running_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    async def cell(**options: Any) -> bridge.Result:
        return simulated("pool", **options)

    with pytest.raises(PeerError, match=r"the last one exited with status 3$"):
        asyncio.run(cell(als_command=rogue("exits")))

    def interrupted(_: object, timeout: float | None = None) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr("concurrent.futures.Future.result", interrupted)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(cell(jobs=60))
    assert descendants() == {}


def test_modules_of_the_same_names_in_the_working_directory(tmp_path: Path) -> None:
    for name in ("bridge", "als", "json", "asyncio"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong module')\n")
    program = (
        "import sys; sys.path[:] = [folder for folder in sys.path if folder]; import os; os.chdir(sys.argv[1])\n"
        "import bridge; from bls.workloads.workload import Workload\n"
        "result = bridge.simulate(Workload.from_jobs([(1, 0, 60, 4, 60)]), coupling='pool', workers=1)\n"
        "print(result.jobs.end_ns[0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False, cwd=HERE.parents[1]
    )
    assert (done.stdout, done.stderr) == ("60000000000\n", "")


def test_few_open_files(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = [256, 300]
    monkeypatch.setattr(resource, "getrlimit", lambda which: tuple(limits))
    monkeypatch.setattr(resource, "setrlimit", lambda which, new: limits.__setitem__(0, new[0]))
    for wanted, given, files in ((100, 100, 256), (150, 150, 278), (1000, 172, 300)):
        assert room_for(wanted) == given
        assert limits == [files, 300]
    assert "172 application processes at once, not 1000: only 300 files may be open" in caplog.text


def test_workers_beyond_the_jobs_are_not_started_and_no_file_is_left_open() -> None:
    def opened_after(coupling: str) -> int:
        result = simulated(coupling, jobs=3, workers=50)
        assert_same(result, expected(3))
        assert result.coupling["processes"] == 3
        return len(os.listdir("/proc/self/fd"))

    before = opened_after("pool")
    assert [opened_after("pool"), opened_after("process")] == [before, before]


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
    sizes = [len(events) for events in reference.ledger.events]
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
