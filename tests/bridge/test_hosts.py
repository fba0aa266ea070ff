"""Applications of one run on several hosts: worker commands on the loopback, over real TLS, and the same result.

What else may happen to hosts, and when, is simulated in ``test_simulated_network.py``.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conversation import TOKEN, changed, hello
from faulty_runs import PATIENCE_S, PLATFORM, assert_same, await_that, descendants, expected, workload
from tables import table_text

import bridge
from bridge.couplings import check_execution
from bridge.protocol import host_messages
from bridge.protocol.framing import frame
from bridge.protocol.host_messages import HOST_ALPN, HOST_MESSAGES, HostBook, Join
from bridge.protocol.messages import PROTOCOL_VERSION, encode
from bridge.protocol.session import LocalProtocolError, ProtocolError, Session
from bridge.protocol.tables import Role
from bridge.protocol.vocabulary import Message
from bridge.runs.simulation import run
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.scenario import Execution, Scenario
from bridge.workers import address, hosts, listener
from bridge.workers.address import tls_address
from bridge.workers.assignment import Assignment, Order, Worker
from bridge.workers.credentials import Certificate, pinned_context, read_token
from bridge.workers.host import connect, serve_run
from bridge.workers.host_listener import HostListener
from bridge.workers.workforce import Workforce
from traces.base.errors import InputError, PeerError

pytestmark = pytest.mark.whole

SECRET = "0123456789abcdef" * 4
START = table_text(__file__, "start")


def command_line(first: str, *words: object) -> list[str]:
    """``twolevel WORDS…`` in a process of its own, which does something first."""
    code = START.format(path=[os.path.abspath(one) for one in sys.path if one], first=first)
    return [sys.executable, "-c", code, *map(str, words)]


def with_token(path: Path, token: str = SECRET) -> Path:
    path.touch(0o600)
    path.write_text(f"{token}\n")
    return path


class Site:
    """A folder with a token, the runs that listen, and the worker commands that were started for them."""

    def __init__(self, folder: Path) -> None:
        self.token, self.certificate = with_token(folder / "token"), folder / "token.crt"
        self.address = ""
        self.commands: list[subprocess.Popen[str]] = []

    def start(self, *words: object, workers: int = 1, first: str = "pass", **files: Path) -> subprocess.Popen[str]:
        """Start a worker command."""
        token, certificate = files.get("token", self.token), files.get("certificate", self.certificate)
        given = ["--token-file", token, "--certificate", certificate, "--workers", workers, *words]
        line = command_line(first, "worker", self.address, *given)
        self.commands.append(subprocess.Popen(line, stderr=subprocess.PIPE, text=True))
        return self.commands[-1]

    def run(self, coupling: str = "pool", watch: Any = lambda ended, now_ns: None, **peers: Any) -> bridge.Result:
        """The run of ``faulty_runs``, on other hosts."""
        options = Scenario.flat(als="ss", variation=0.25, tasks_per_core=3, seed=3)
        scenario = ReadyScenario.of(workload(), PLATFORM, options)
        wanted = {"listen": "tls://127.0.0.1:0", "token_file": str(self.token), **peers}
        return run(scenario, execution=Execution(coupling, **wanted), watch=watch)


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds that only a fault reaches, here as in the commands."""
    monkeypatch.setattr(listener, "HELLO_S", 600.0)
    monkeypatch.setattr(address, "HANDSHAKE_S", 600.0)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    place = Site(tmp_path)
    before = descendants()
    yield place
    for command in place.commands:
        command.kill()
        command.communicate()
    await_that(lambda: descendants().keys() <= before.keys())
    assert not place.certificate.exists()
    assert list(temporary.glob("twolevel-*")) == []


def when_open(site: Site, monkeypatch: pytest.MonkeyPatch, what: Callable[[], Any]) -> None:
    """Do something when a run listens."""
    opening = hosts.Hosts.open

    async def opened(self: hosts.Hosts) -> None:
        await opening(self)
        site.address = self.command.split()[2]
        what()

    monkeypatch.setattr(hosts.Hosts, "open", opened)


def ended(command: subprocess.Popen[str]) -> tuple[int, str]:
    """Exit code and words of a command."""
    _, said = command.communicate(timeout=PATIENCE_S)
    return command.returncode, said


def hold(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """No job begins before ``count`` hosts are ready."""
    ready: list[Any] = []
    heed, able = hosts.Hosts._heed, Assignment.able

    def heard(self: hosts.Hosts, place: Any, event: Message) -> None:
        heed(self, place, event)
        ready.extend([place] * isinstance(event, host_messages.Ready))

    monkeypatch.setattr(hosts.Hosts, "_heed", heard)
    monkeypatch.setattr(Assignment, "able", lambda self, order: None if len(ready) < count else able(self, order))


def test_two_hosts_join_and_two_others_may_not(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    refused: dict[str, tuple[int, str]] = {}

    def begin() -> None:
        wrong = with_token(tmp_path / "wrong", "f" * 64)
        tries = {"token": site.start(token=wrong), "certificate": site.start(certificate=tmp_path / "other.crt")}

        def wait() -> None:
            refused.update({name: ended(command) for name, command in tries.items()})
            site.start(workers=1)
            site.start(workers=2)

        threading.Thread(target=wait).start()

    hold(monkeypatch, 2)
    when_open(site, monkeypatch, begin)
    with contextlib.closing(Certificate(str(tmp_path / "made"))) as other:
        (tmp_path / "other.crt").write_bytes(other.pem)
        result = site.run("pool")
    assert_same(result, expected())
    one, two = result.coupling["hosts"]
    assert {one["workers"], two["workers"]} == {1, 2}
    assert one["host"] != two["host"]
    assert one["jobs"] + two["jobs"] == 40
    assert one["processes"] + two["processes"] == result.coupling["processes"] > 0
    assert (one["retries"], two["retries"], one["lost"], two["lost"]) == (0, 0, False, False)
    assert [result.coupling[name] for name in ("retries", "workers", "refused")] == [0, 3, 2]
    for command in site.commands[2:]:
        code, said = ended(command)
        joined, over = said.splitlines()
        assert code == 0
        assert "twolevel worker: joined the run at tls://127.0.0.1:" in joined
        assert " is over; " in over
    assert any(name == "hosts" for name, _ in result.summary())
    assert [(code, line.count("\n")) for code, line in refused.values()] == [(1, 1)] * 2
    assert "refused this host: wrong token" in refused["token"][1]
    assert re.search(
        "the program that listens there is not the run of .*certificate verify failed", refused["certificate"][1]
    )
    for why in ("wrong token (to blame: the stranger)", "no TLS: "):
        assert caplog.text.count(f"from 127.0.0.1 was refused: {why}") == 1
    assert SECRET not in caplog.text


def test_worker_commands_are_terminated_and_killed(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    struck: list[int] = []
    give = Assignment.give

    def given(self: Assignment, worker: Worker, order: Order) -> None:
        give(self, worker, order)
        # The hosts are vm, vm:2, vm:3, in the order in which they have joined; the newest has been given a job.
        newest = int(worker.name.rpartition("vm")[2].lstrip(":") or 1) == len(site.commands)
        if newest and len(struck) < 3 and order.start.job >= (7, 20, 27)[len(struck)]:
            struck.append(order.start.job)
            site.commands[-1].send_signal(signal.SIGKILL if len(struck) > 1 else signal.SIGTERM)
            site.start(workers=2)

    monkeypatch.setattr(Assignment, "give", given)
    when_open(site, monkeypatch, site.start)
    result = site.run("pool")
    assert_same(result, expected())
    code, said = ended(site.commands[0])
    assert code == 130
    assert "Traceback" not in said
    found = result.coupling["hosts"]
    # A process may have answered for its last job as its host was killed: then none need be left, or nobody notices.
    assert 1 <= sum(one["lost"] for one in found) <= 3
    assert result.coupling["retries"] == sum(one["retries"] for one in found) >= 1
    assert sum(one["jobs"] for one in found) == 40
    assert sum(one["processes"] for one in found) == result.coupling["processes"] > 0
    for name in ("messages", "bytes_sent", "bytes_received"):
        # A process that connects when its host is already lost is refused; what it has said counts for no host.
        of_hosts, total = sum(one[name] for one in found), result.coupling[name]
        assert 0 < of_hosts <= total if result.coupling["refused"] else of_hosts == total
    assert "was lost: its connection ended" in caplog.text
    assert re.search(r"was lost with its host .*; simulated again: job 1\d\d", caplog.text)


def test_nobody_joins(site: Site) -> None:
    message = r"^no host has joined for 0\.2 s; on every host .*: twolevel worker tls://127\.0\.0\.1:\d+ --token-file "
    with pytest.raises(PeerError, match=message):
        site.run(timeout_s=0.2)


def test_a_host_that_lacks_a_file_says_which(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lost = tmp_path / "lost.py"
    lost.write_text("y = 1\n")
    found = hosts.needed_files([f"{lost}:RULE:x=1"])
    lost.unlink()
    monkeypatch.setattr(hosts, "needed_files", lambda names: found)
    away = Workforce.lost

    def lose(self: Workforce, place: Any, how: str) -> None:
        self._timeout_s = 0.5  # until then the run waits for as long as a busy machine needs to start the command
        away(self, place, how)

    monkeypatch.setattr(Workforce, "lost", lose)
    when_open(site, monkeypatch, site.start)
    with pytest.raises(PeerError, match=r"all hosts are lost, and no other has joined for 0\.5 s"):
        site.run(timeout_s=600.0)
    why = f"{lost}, which the run needs: No such file or directory"
    code, said = ended(site.commands[0])
    assert code == 1
    assert re.fullmatch(rf"twolevel: host \S+: {why}\n", said)
    assert why in caplog.text


def test_files_that_hosts_need(tmp_path: Path) -> None:
    (tmp_path / "run(2),3").mkdir()
    names = ["a.py", "b.py", "run(2),3/c.py", "lengths.txt", "graph.dot"]
    for name in names:
        (tmp_path / name).write_text(name)
    program = f'{{"phases": [{{"als": "{tmp_path}/b.py:B", "lengths": "file:{tmp_path}/lengths.txt:unit=flop"}}]}}'
    shown = ["gss", f"select:({tmp_path}/a.py:A,fac)", program, f'{{"graph": "{tmp_path}/graph.dot"}}', "/no/such.py:X"]
    found = hosts.needed_files([*shown, f"select:(gss,{tmp_path}/run(2),3/c.py:C,fac)"])
    assert {one.path for one in found} == {str(tmp_path / name) for name in names}
    assert len({one.sha256 for one in found}) == 5


#: No job begins, so that the run cannot end before it is killed.
NEVER = "from bridge.workers.assignment import Assignment; Assignment.able = lambda self, order: None"


def test_a_run_that_is_gone(site: Site) -> None:
    """It is killed with kill -9; its worker ends with a line and a code, and so do its processes."""
    words = f"run sample --coupling pool --listen tls://127.0.0.1:0 --als ss --trace none --token-file {site.token}"
    line = command_line(NEVER, *words.split(), "--out", site.token.parent / "out")
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = next(text for text in process.stderr if "twolevel worker" in text)
        site.address = said.split("twolevel worker ")[1].split()[0]
        command = site.start()
        assert command.stderr is not None
        assert "joined the run at" in command.stderr.readline()
        await_that(lambda: "twolevel-als" in descendants(command.pid).values())
        process.kill()
        process.stderr.read()
    status, said = ended(command)
    assert status == 1
    assert said == f"twolevel: the run at {site.address} is gone; its processes here were ended\n"
    site.certificate.unlink()  # which nobody was left to remove


def test_a_worker_waits_for_the_run_to_begin(site: Site) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        site.address = f"tls://127.0.0.1:{taken.getsockname()[1]}"
    patient = site.start("--patience", "30min")
    files = {"token_file": str(site.token), "certificate": str(site.certificate)}
    for part, why in (("", "there is no file"), ("-----BEGIN CERTIFICATE-----\nMII", " is not complete yet")):
        if part:
            site.certificate.write_text(part)
        message = rf"^no run at {site.address}: .*{why}.*; --patience TIME waits for a run to begin$"
        with pytest.raises(PeerError, match=message):
            serve_run(site.address, **files, workers=1, patience_s=0.0, package="1", say=print)
    site.certificate.unlink()
    assert patient.stderr is not None
    assert "waiting up to 1800 s for a run at" in patient.stderr.readline()
    assert_same(site.run(listen=site.address), expected())
    assert ended(patient)[0] == 0


# The door


class Door:
    """A listener for hosts, alone, in a loop of its own."""

    def __init__(self, folder: Path) -> None:
        self.certificate = Certificate(str(folder / "door.crt"))

        async def nobody(*_: object) -> None:
            raise AssertionError("somebody was let in")

        hosts = {"host_token": SECRET, "admit_host": lambda join: f"host {join.host}: no", "serve_host": nobody}
        self.door = HostListener(TOKEN, lambda _: "no", nobody, **hosts, awaited=lambda: 0)  # type: ignore[arg-type]

    async def __aenter__(self) -> Door:
        self.address = await self.door.open_tls("tls://127.0.0.1:0", self.certificate.context)
        self.place = tls_address(self.address, "")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.door.close()
        self.certificate.close()

    def refusals(self, count: int) -> Any:
        return settled(lambda: self.door.refused >= count)

    async def said(self, words: bytes, alpn: str = HOST_ALPN) -> bytes:
        """The answer to a peer that establishes TLS and then sends this."""
        reader, writer = await connect(self.address, pinned_context(self.certificate.pem.decode(), alpn))
        writer.write(words)
        with contextlib.suppress(OSError):
            found = await asyncio.wait_for(reader.read(), PATIENCE_S)
        await closed(writer)
        return found


async def closed(writer: asyncio.StreamWriter) -> None:
    """Nothing of a connection is left to be collected in the middle of another test."""
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def settled(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.001)


JOIN = Join(version=PROTOCOL_VERSION, token=SECRET, package="1", host="far", workers=1)


def join(**fields: Any) -> bytes:
    return frame(HOST_MESSAGES.encode(changed(JOIN, **fields)))


def test_strangers_at_the_door(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(listener, "LINES", 100)
    door_says: dict[str, bytes] = {}

    async def visit() -> None:
        async with Door(tmp_path) as door:
            with socket.create_connection(door.place) as plain:
                plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
                await door.refusals(1)
            with socket.create_connection(door.place):
                pass  # gone before anything
            await door.refusals(2)
            for name, words, *alpn in (
                ("garbage", b"\0\0\0\1\xc1"),
                ("oversized", b"\0\1\0\0"),
                ("endless", b"\0\0\x10\0" + bytes(9000)),
                ("token", join(token="guess")),
                ("no token, other version", join(token="", version=77)),
                ("version", join(version=77)),
                ("no", join()),
                ("application as host", frame(encode(hello(token=TOKEN)))),
                ("application", frame(encode(hello(token="x"))), host_messages.APPLICATION_ALPN),
                ("host as application", join(), host_messages.APPLICATION_ALPN),
            ):
                door_says[name] = await door.said(words, *alpn)
            await door.refusals(12)
            assert door.door.refused == 12

    asyncio.run(visit())
    said = caplog.text
    assert said.count("was refused: no TLS") == 2
    for phrase in ("a frame of 65536 bytes; allowed: 1 to 4096", "are waiting; allowed: 4100", "not a message"):
        assert phrase in said
    for name, words in (
        ("token", b"wrong token"),
        ("no token, other version", b"wrong token"),
        ("version", b"protocol version 77 is not supported"),
        ("no", b"host far: no"),
        ("application", b"wrong token"),
    ):
        assert words in door_says.pop(name)
    assert len(door_says) == 5
    assert set(door_says.values()) == {b""}
    assert SECRET not in said


def test_silence_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(listener, "STRANGERS", 1)

    async def visit() -> None:
        async with Door(tmp_path) as door:
            with socket.create_connection(door.place):
                await settled(lambda: len(door.door._strangers) == 1)
                with socket.create_connection(door.place):
                    await door.refusals(1)
            await door.refusals(2)
            monkeypatch.setattr(listener, "HELLO_S", 0.3)
            reader, writer = await asyncio.open_connection(*door.place)
            away = ssl.MemoryBIO()
            context = pinned_context(door.certificate.pem.decode(), HOST_ALPN)
            with pytest.raises(ssl.SSLWantReadError):
                context.wrap_bio(ssl.MemoryBIO(), away).do_handshake()
            writer.write(away.read()[:100])
            assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
            await closed(writer)
            await door.refusals(3)

    asyncio.run(visit())
    assert "no TLS handshake, and more than 1 wait" in caplog.text
    assert "no TLS handshake within 0.3 s" in caplog.text


def test_a_door_answers_while_a_policy_decides(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The policy's first decision waits until a stranger has agreed upon TLS with the run."""
    heard, callers = threading.Event(), []

    class Waits:
        name = "waits"

        def decide(self, view: Any) -> Any:
            assert heard.wait(PATIENCE_S)
            free = view.free_cores
            for job in view.waiting:
                if job.cores > free:
                    return
                free -= job.cores
                yield job

    async def shake() -> None:
        _, writer = await connect(site.address, pinned_context(site.certificate.read_text(), HOST_ALPN))
        await closed(writer)
        heard.set()

    def opened() -> None:
        callers.append(threading.Thread(target=lambda: asyncio.run(shake())))
        callers[0].start()
        site.start()

    when_open(site, monkeypatch, opened)
    scenario = ReadyScenario.of(
        workload(), PLATFORM, Scenario.flat(bls=Waits(), als="ss", variation=0.25, tasks_per_core=3, seed=3)
    )
    how = Execution("pool", listen="tls://127.0.0.1:0", token_file=str(site.token))
    found = run(scenario, execution=how)
    callers[0].join()
    assert_same(found, run(scenario, execution=Execution("inline")))


# Files


def test_tokens(tmp_path: Path) -> None:
    path = tmp_path / "token"
    make = rf"; to make one: \(umask 077; openssl rand -hex 32 > {path}\)$"
    with pytest.raises(InputError, match="^token_file.*: '.*': No such file or directory" + make):
        read_token(str(path))
    for text in ("", "short", "a" * 201, "two words of one token, in one line, which is none", "\u00fc" * 40):
        with pytest.raises(InputError, match=r"has no token; allowed: one word of 32 to 200 characters" + make):
            read_token(str(with_token(path, text)))
    assert read_token(str(with_token(path))) == SECRET
    for mode in (0o640, 0o604, 0o660, 0o601):
        path.chmod(mode)
        others = rf"others may read '.*' \(mode {mode:o}\); allowed: only its owner: chmod 600"
        with pytest.raises(InputError, match=others):
            read_token(str(path))
    with pytest.raises(InputError, match="is not a file"):
        read_token(str(tmp_path))


_NOT_OF_A_RUN = "exists and is not the certificate of a run; allowed: a new file, or the certificate of an earlier run$"
_FRESH = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout"


def users_files(folder: Path) -> dict[str, bytes]:
    """Files that look like the certificate of a run, and are a user's."""

    def openssl(words: str) -> bytes:
        subprocess.run(["openssl", *shlex.split(words)], cwd=folder, check=True, capture_output=True)
        return (folder / "made").read_bytes()

    def own(words: str) -> bytes:
        return openssl(f"req -x509 {_FRESH} key -days 9 -out made {words}")

    ours = Certificate(str(folder / "ours")).pem
    (folder / "authority").write_bytes(own("-subj '/CN=twolevel run'"))
    openssl(f"req -new {_FRESH} key2 -subj '/CN=twolevel run/O=x' -out request")
    signed = openssl("x509 -req -in request -CA authority -CAkey key -CAcreateserial -days 9 -out made")
    return {
        "own": own("-subj /CN=example.org"),
        "more": own("-subj '/CN=twolevel run/O=x'"),
        "elsewhere": own("-subj /CN=x -addext 'subjectAltName=DNS:twolevel run'"),
        "signed": signed,
        "bundle of ours": ours + signed,
        "text before": b"Subject: CN=twolevel run\n" + ours,
        "text after": ours + b"my thesis",
        "cut off": ours[: len(ours) // 2],
        "empty": b"",
        "no base64": b"-----BEGIN CERTIFICATE-----\nA===\n-----END CERTIFICATE-----\n",
        "much": ours + b"\n" * 100_000,
    }


def test_a_users_certificate_is_never_replaced_or_removed(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    path = tmp_path / "server.crt"
    for name, content in users_files(tmp_path_factory.mktemp("made")).items():
        path.write_bytes(content)
        with pytest.raises(InputError, match=_NOT_OF_A_RUN):
            Certificate(str(path))
        assert path.read_bytes() == content, name
        assert [one.name for one in tmp_path.iterdir()] == ["server.crt"]
        # Nor one that is put there while a run lasts.
        path.unlink()
        with contextlib.closing(Certificate(str(path))):
            path.write_bytes(content)
        assert path.read_bytes() == content, name


def test_a_certificate_is_a_file_and_its_owners(tmp_path: Path) -> None:
    path, ours = tmp_path / "c", Certificate(str(tmp_path / "ours"))
    for make in (
        path.mkdir,
        lambda: os.mkfifo(path),
        *(lambda to=to: path.symlink_to(to) for to in ("ours", "nothing")),
    ):
        make()
        with pytest.raises(InputError, match=r"exists and is not a file; allowed: a new file$"):
            Certificate(str(path))
        assert sorted(one.name for one in tmp_path.iterdir()) == ["c", "ours"]
        assert (tmp_path / "ours").read_bytes() == ours.pem
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    with pytest.raises(InputError, match="cannot be written: No such file or directory"):
        Certificate(str(tmp_path / "no" / "such"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))
        with pytest.raises(InputError, match=r"^listen: there is no openssl command"):
            Certificate(str(path))
    again = Certificate(str(tmp_path / "ours"))
    ours.close()  # the file is another run's now
    assert (tmp_path / "ours").read_bytes() == again.pem
    again.close()
    assert list(tmp_path.iterdir()) == []


def test_options_that_do_not_go_together(site: Site) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"tls://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(InputError, match=r"^token_file=.*: No such file or .*; to make one: "):
            check_execution(Execution(listen="tls://a:1", token_file="/no/such"))
        with pytest.raises(InputError, match=rf"^listen: '{address}': Address already in use$"):
            site.run(listen=address)


def test_addresses_of_runs(site: Site) -> None:
    wrong = f"tls:// tls://a tls://:1 tcp://a:1 tls://a:99999 tls://a:{'9' * 5000} tls://a:b tls://::1:5 tls://a/b:1"
    for one in ("", *wrong.split()):
        with pytest.raises(InputError, match=r"^listen=.*; allowed: tls://HOST:PORT$"):
            site.run(listen=one)
    assert tls_address("tls://node-1.cluster:0", "") == ("node-1.cluster", 0)
    assert tls_address("tls://[::1]:7411", "") == ("::1", 7411)


# The session


def test_a_step_that_is_not_in_the_table_is_refused() -> None:
    run_end, host_end = Session(HostBook, Role.BRIDGE, SECRET), Session(HostBook, Role.HOST)
    with pytest.raises(
        LocalProtocolError, match="ready is not allowed while the connection is in the state await join"
    ):
        host_end.send(host_messages.Ready())
    run_end.receive_data(host_end.send(JOIN) + frame(HOST_MESSAGES.encode(JOIN)))
    assert run_end.next_event() == JOIN
    with pytest.raises(LocalProtocolError, match="launch is not allowed"):
        run_end.send(host_messages.Launch(worker="w"))
    with pytest.raises(ProtocolError, match="the host broke the protocol: join is not allowed") as caught:
        run_end.next_event()
    assert b"refused" in caught.value.farewell
