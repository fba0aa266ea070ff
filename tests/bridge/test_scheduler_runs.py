"""Schedulers of the user's own: the toy is the own engine's fcfs, and whoever misbehaves is named in one line."""

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
from command_line import succeeds, twolevel
from directing import changed_toy
from faulty_runs import assert_same, await_end, await_that, expected, simulated
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import msgpack
from pages import ROOT, blocks
from tables import table_rows

import bridge
from bls import ConstraintOptions, View
from bls.machine.platform import HostGroup, Platform
from bls.scheduler_options import Rules
from bls.workloads.workload import Workload
from bridge.protocol.framing import frame
from bridge.scenarios.scenario import Execution
from bridge.schedulers.external import ExternalScheduler
from bridge.schedulers.line import Line, Silence
from traces.base.errors import InputError, PeerError
from traces.checks.ledger import check_ledger

pytestmark = [pytest.mark.whole, pytest.mark.usefixtures("nothing_is_left")]

HERE = Path(__file__).parent
TOY = shlex.join([sys.executable, str(HERE / "toy_scheduler.py")])


def rogue(how: str) -> str:
    """The command of a scheduler that misbehaves."""
    return shlex.join([sys.executable, str(HERE / "rogue_scheduler.py"), how])


@pytest.mark.parametrize(("coupling", "kind"), [("inline", "unix"), ("pool", "tcp")])
def test_the_toy_is_fcfs(coupling: str, kind: str) -> None:
    result = simulated(execution=Execution(coupling, bls_command=TOY, socket=kind))
    assert_same(result, expected())
    spoken = result.coupling["scheduler"]
    # The machine, the hello, a welcome; of each job a submit, a start and an end; questions and answers.
    assert spoken["messages"] == 3 + 3 * 40 + 2 * result.notes.decisions["decisions"]
    assert spoken["bytes_sent"] > spoken["bytes_received"] > 0
    assert result.scenario.options.names()["bls"] == TOY


@pytest.fixture(scope="module")
def c_toy(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The toy in C, compiled."""
    made = tmp_path_factory.mktemp("c") / "toy"
    compiler = os.environ.get("CC") or "cc"
    assert shutil.which(compiler), "a C compiler: make system-packages installs one"
    subprocess.run([compiler, "-O1", "-Wall", "-Wextra", "-Werror", "-o", made, HERE / "toy_scheduler.c"], check=True)
    return str(made)


#: Submit, run time, cores, estimate.
rows_of_jobs = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 12), st.integers(1, 6), st.integers(1, 14)), min_size=1, max_size=14
).map(sorted)


@settings(max_examples=40)
@given(
    rows=rows_of_jobs,
    failing=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 40)), max_size=3),
    kills=st.booleans(),
    in_c=st.booleans(),
)
def test_the_toys_are_fcfs_on_any_workload(
    c_toy: str, rows: list[tuple[int, int, int, int]], failing: list[tuple[int, int]], kills: bool, in_c: bool
) -> None:
    """With failures of hosts, after which jobs are tried again, and kills; the toys place as first-fit does."""
    machine = Platform((HostGroup(1, 4, 4.0), HostGroup(1, 2, 2.0)))
    jobs = Workload.from_jobs([(k, q, p, n, r) for k, (q, p, n, r) in enumerate(rows)])
    with tempfile.TemporaryDirectory() as folder:
        lines = [f"{host},{60 * k + down},{60 * k + down + 7}\n" for k, (host, down) in enumerate(failing)]
        failures = Path(folder) / "failures.csv"
        failures.write_text("host,down_s,up_s\n" + "".join(lines))
        constraints = ConstraintOptions(failures=str(failures)) if failing else ConstraintOptions()
        options: dict[str, Any] = {
            "als": "recorded",
            "constraints": constraints,
            "rules": Rules(kill_at_walltime=kills),
        }
        by_toy = bridge.simulate(jobs, machine, bls_command=c_toy if in_c else TOY, **options)
        assert by_toy.jobs.equals(bridge.simulate(jobs, machine, **options).jobs)
    check_ledger(by_toy.ledger)


AT = r"^scheduler '.*', at \d+ ns"


@pytest.mark.parametrize(("how", "timeout_s", "message"), table_rows(__file__, "misbehave"))
def test_who_misbehaves_is_named(how: str, timeout_s: float, message: str) -> None:
    with pytest.raises(InputError if how == "users" else PeerError, match=message.replace("AT", AT)) as caught:
        simulated(bls_command=rogue(how), timeout_s=timeout_s)
    assert str(caught.value).isprintable()


def test_cores_that_are_held() -> None:
    """The engine keeps the books: what the scheduler thinks of free cores is held against them."""
    source = (HERE / "toy_scheduler.py").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "blind.py").write_text(source.replace("        free -= running[job]\n", ""))
        blind = shlex.join([sys.executable, str(Path(folder) / "blind.py")])
        message = r"scheduler '.*', at \d+ ns: it placed job 1\d\d on cores? [\d -]+: core \d+ is held by job 1\d\d$"
        with pytest.raises(PeerError, match=message):
            simulated(bls_command=blind)


def test_a_scheduler_that_is_woken_for_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bls.simulator._MAX_IDLE_WAKES", 50)
    message = AT + ": it was woken 50 times in a row, and started nothing; nothing runs or arrives"
    with pytest.raises(PeerError, match=message):
        simulated(bls_command=rogue("sleepless"), jobs=1)


def test_an_answer_may_come_in_pieces() -> None:
    assert_same(simulated(bls_command=rogue("pieces")), expected())


def test_a_scheduler_receives_more_than_a_socket_holds() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        line, shown, heard = Line(ours, "token"), os.urandom(3_000_000), bytearray()
        line.send_now(shown)  # as much as there is room for
        first = line.bytes_sent
        assert first < len(shown)

        theirs.settimeout(5.0)

        def listen() -> None:
            with contextlib.suppress(TimeoutError):
                while len(heard) < first + len(shown):
                    heard.extend(theirs.recv(50_000))

        listener = threading.Timer(0.1, listen)
        listener.start()
        line.send(shown, 60.0)
        listener.join()
        assert heard == shown[:first] + shown
        assert line.bytes_sent == len(heard)
        with pytest.raises(Silence, match=r"^it has not read its messages for 0\.2 s$"):
            line.send(shown, 0.2)


def test_a_scheduler_that_says_more_than_an_answer_and_reads_nothing_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.protocol.session.MAX_FRAME", 1_000)
    ours, theirs = socket.socketpair()
    hello = {"type": "hello", "version": 6, "role": "scheduler", "token": "token", "name": "n", "directs": []}

    def write() -> None:
        with contextlib.suppress(OSError):
            theirs.sendall(bytes(10_000_000))

    with theirs:
        with ours:
            line = Line(ours, "token")
            line.session.receive_data(frame(msgpack.encode(hello)))
            line.session.next_event()
            writer = threading.Thread(target=write)
            writer.start()
            with pytest.raises(Silence, match="it has not read its messages for"):
                line.send(bytes(3_000_000), 0.5)
        writer.join()
    assert line.session.full


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bls_command": ""}, "empty; allowed: a command line"),
        ({"bls_command": "'"}, "No closing quotation"),
        ({"bls_command": "no-such-program --fast"}, "'no-such-program' is not a program that can be run"),
        ({"bls_command": TOY, "bls": "sjf"}, "not with .*: the command is the policy; allowed: one of them$"),
        ({"bls_command": TOY, "backfill": "easy"}, "decides itself which jobs start; allowed: none"),
    ],
)
def test_commands_and_options_that_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        simulated(**options)


def test_an_interrupt_while_a_scheduler_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    asking = ExternalScheduler.decide
    main = threading.main_thread().ident
    assert main is not None

    def decide(self: ExternalScheduler, view: View) -> Any:
        if view.now_ns > 0:
            signal.pthread_kill(main, signal.SIGINT)
        return asking(self, view)

    monkeypatch.setattr(ExternalScheduler, "decide", decide)
    # Whoever starts the tests may have chosen to ignore interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            simulated("pool", bls_command=rogue("silent"))
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_scheduler_that_stays_is_killed_and_so_is_what_it_has_started(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert_same(simulated(bls_command=rogue("stays")), expected())
    assert "had not ended 2 s after the run, and was killed by SIGKILL" in caplog.text
    mark = tmp_path / "child"
    assert_same(simulated(bls_command=f"{rogue('parent')} {mark}"), expected())
    await_end([int(mark.read_text())])


def test_a_scheduler_dies_with_the_run(tmp_path: Path) -> None:
    """Even one that has not connected, and so does not see that nobody is there any more."""
    mark = tmp_path / "itself"
    command = f"{rogue('late')} {mark}"
    words = [
        "run",
        "sample",
        "--als",
        "recorded",
        "--bls-command",
        command,
        "--trace",
        "none",
        "--out",
        str(tmp_path / "r"),
    ]
    with subprocess.Popen([sys.executable, "-m", "twolevel", *words], cwd=ROOT) as ran:
        try:
            scheduler = int(await_that(lambda: mark.is_file() and mark.read_text()))
        finally:
            ran.kill()
    await_end([scheduler])


def test_it_runs_once_at_a_time_and_again() -> None:
    scheduler = ExternalScheduler(TOY)
    first, second = simulated(bls=scheduler), simulated(bls=scheduler)
    assert_same(first, second)
    assert first.coupling["scheduler"] == second.coupling["scheduler"]
    with scheduler, pytest.raises(InputError, match=r"it is running already; allowed: one run at a time$"):
        simulated(bls=scheduler)


def test_the_command_line(tmp_path: Path) -> None:
    words = ("run", "sample", "--select", "first:20", "--als", "gss", "--bls-command", TOY, "--timeout", "1min")
    plain = twolevel(*words[:6], "--trace", "none", "--out", tmp_path / "plain")
    ran = twolevel(*words, "--trace", "none", "--same-as", tmp_path / "plain", "--out", tmp_path / "r")
    assert (plain.code, ran.code) == (0, 0), ran.err
    record = json.loads((tmp_path / "r" / "run.json").read_text())
    arguments = record["arguments"]
    assert (arguments["bls"], arguments["bls_command"], arguments["timeout_s"]) == (TOY, TOY, 60.0)
    assert set(record["coupling"]["scheduler"]) == {"messages", "bytes_sent", "bytes_received"}
    assert "bls_command" not in json.loads((tmp_path / "plain" / "run.json").read_text())["arguments"]
    succeeds("story", tmp_path / "r", "1")
    both = twolevel("run", "sample", "--bls", "fcfs", "--bls-command", TOY, "--trace", "none", "--out", tmp_path / "b")
    line = "twolevel: --bls-command: not with --bls: the command is the policy; allowed: one of them\n"
    assert (both.code, both.err) == (2, line)
    failed = twolevel(*words[:6], "--bls-command", rogue("exits"), "--trace", "none", "--out", tmp_path / "f")
    assert failed.code == 1
    assert re.search(r"scheduler '.*', at \d+ ns: it exited with status 3\n$", failed.err)
    assert not (tmp_path / "f").exists()


def test_the_toy_in_c_is_fcfs(c_toy: str) -> None:
    assert_same(simulated(execution=Execution(bls_command=c_toy, socket="tcp")), expected())


def test_the_toys_are_short_and_on_the_page() -> None:
    page = ROOT / "docs" / "how-to/schedulers.md"
    in_python, in_c = ((HERE / f"toy_scheduler.{end}").read_text(encoding="utf-8") for end in ("py", "c"))
    assert len(in_python.splitlines()) <= 80
    assert len(in_c.splitlines()) <= 200
    assert blocks(page, "python") == [in_python]
    assert "tests/bridge/toy_scheduler.c)" in page.read_text(encoding="utf-8")


def test_a_scheduler_may_reject_jobs(tmp_path: Path) -> None:
    reject = '"reject": [{"job": job, "reason": "too wide"} for job in waiting if waiting[job]["cores"] > 8]'
    skip = '        needed = waiting[job]["cores"]\n'
    changes = {'"reject": []': reject, skip: f"{skip}        if needed > 8:\n            continue\n"}
    jobs = simulated(bls_command=changed_toy(tmp_path, changes)).jobs
    assert (jobs.state == "rejected").tolist() == (jobs.cores > 8).tolist()
    assert set(jobs.rejected_because) == {"", "too wide"}
