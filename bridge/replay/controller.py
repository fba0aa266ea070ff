"""The process slurmctld: started, run turn by turn, asked, and ended. It never outlives its starter."""

import contextlib
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from bridge.replay.clock import NEVER, Clock
from bridge.replay.configuration import HERE
from bridge.replay.installed import Slurm
from bridge.replay.messages import SlurmMessageError, whole_messages
from bridge.replay.nodes import NodeController, connected, listening
from traces.base.errors import InputError, PeerError

_LOOK_S = 0.5  # interval between checks whether slurmctld is alive
_PATIENCE_S = 60.0  # it counts as hanging if it neither comes to rest nor uses a processor for this time
_SHOWN_LINES = 3  # number of lines of its log that are shown after a death or a hang
_STOP_S = 5.0
_FROM_OUTSIDE = " from outside, as the system does when memory runs out, not because of the workload or slurm.conf"
_DAMAGED = "the program that uses libslurm has ended, or does not respond; Slurm may be damaged"


class SlurmRefused(Exception):
    """Slurm refuses a request, with a reason."""


class _Ended(PeerError):
    """slurmctld has ended without a request."""


@contextlib.contextmanager
def _heard() -> Iterator[None]:
    """Report a lost reader as an error; elsewhere a broken pipe means that the command's output is not read."""
    try:
        yield
    except ConnectionError:
        raise PeerError(_DAMAGED) from None


class Controller:
    """A slurmctld, and the program that communicates with it through libslurm. ``folder`` has ``slurm.conf`` and receives
    slurmctld's files; ``parts`` are the compiled ``native/clock.c`` and ``native/requests.c``."""

    def __init__(self, folder: Path, slurm: Slurm, clock: Clock, parts: Sequence[Path], nodes: NodeController) -> None:
        self._folder, self.slurm, self.clock, self.nodes = folder, slurm, clock, nodes
        preload, requests = parts
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "LD_"))}
        environment |= {
            "SLURM_CONF": f"{HERE}/slurm.conf",
            "TZ": "UTC",
            "LC_ALL": "C",
            "LD_PRELOAD": f"{HERE}/{preload.name}",  # relative to this folder; a path with a blank would be split
            "TWOLEVEL_REPLAY_SOCKETS": str(folder),
            "TWOLEVEL_REPLAY_PARENT": str(os.getpid()),
        }
        self._touched = True  # whether anything was sent to it, or closed, since it came to rest
        self._listener = listening(folder, "requests", 16)
        self._requests: subprocess.Popen[bytes] | None = None
        self._requests_command, self._environment = [str(requests)], environment
        own = {"TWOLEVEL_REPLAY_CLOCK": str(folder / "clock")}
        with open(folder / "slurmctld.out", "wb") as said:
            self._slurmctld = self._started(
                [str(slurm.slurmctld), "-D", "-c"],
                environment | own,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
            )

    def _started(self, command: list[str], environment: dict[str, str], **streams: Any) -> subprocess.Popen[bytes]:
        # In a session of its own: Ctrl-C is handled by its starter.
        return subprocess.Popen(command, env=environment, cwd=self._folder, start_new_session=True, **streams)

    @property
    def processor_s(self) -> float:
        """Processor time used by slurmctld."""
        with open(f"/proc/{self._slurmctld.pid}/stat", encoding="utf-8", errors="replace") as file:
            used = file.read().rpartition(")")[2].split()
        return (int(used[11]) + int(used[12])) / os.sysconf("SC_CLK_TCK")

    def begin(self) -> None:
        """Wait until it is up and accepts connections. Raises InputError if it does not start with its configuration."""
        try:
            self._await(self.clock.await_turn(_LOOK_S))
            self.settle()
            while not (self._folder / "slurmctld").exists():
                if self.clock.shared.wake_ns == NEVER:
                    raise self._fault("has come to rest without accepting connections")
                self.clock.move(self.clock.shared.wake_ns)
                self.settle()
        except _Ended as error:
            words = self.last_words()
            if "fatal:" not in words:  # it was killed, or has crashed
                raise
            raise InputError(f"slurmctld does not start with this slurm.conf: {words}") from error
        self._requests = self._started(
            self._requests_command, self._environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._answer()

    def step(self, until_ns: int) -> bool:
        """Run it until it has sent a message, or nothing can happen before an instant; return whether it has sent one. Raises
        InputError if it could not write its files, PeerError if it has died, hangs, or has sent an unexpected message."""
        clock = self.clock
        if not (self._touched or clock.rate) and clock.now_ns < clock.shared.wake_ns >= until_ns:
            return False  # nothing to do
        self._await(clock.pass_turn(until_ns, _LOOK_S))
        try:
            answered = self.nodes.serve()
            self._touched = answered > 0 or self.nodes.spoken_to
            return answered > 0
        except SlurmMessageError as error:
            raise self._fault(f"has sent an unexpected message: {error}") from None

    def settle(self) -> None:
        """Run it until nothing is left to be done at this instant."""
        now_ns = self.clock.now_ns
        while self.step(now_ns) or self.clock.shared.wake_ns <= now_ns:
            now_ns = self.clock.now_ns

    def ask(self, message: bytes) -> bytes:
        """Send it a message; return its answer. If it sleeps before it answers, move the clock to its next wake-up."""
        received = bytearray()
        with self._connected() as connection:
            connection.sendall(message)
            connection.setblocking(False)
            while True:
                self.settle()
                with contextlib.suppress(BlockingIOError):
                    part = connection.recv(1 << 20)
                    received += part
                    if not part:
                        self._check_running(_STOP_S)
                        raise self._fault("has not answered")
                for raw in whole_messages(received):
                    self.settle()
                    return len(raw).to_bytes(4, "big") + raw
                if not received and self.clock.shared.wake_ns == NEVER:
                    raise self._fault("waits for nothing, and does not answer")
                if self.clock.rate:
                    time.sleep(1e-4)
                elif not received:
                    self.clock.move(max(self.clock.shared.wake_ns, self.clock.now_ns))

    def send(self, message: bytes) -> None:
        """Send it a message that has no answer."""
        with self._connected() as connection:
            connection.sendall(message)
            self.settle()

    @contextlib.contextmanager
    def _connected(self) -> Iterator[socket.socket]:
        # It must notice an event at the beginning, and another one at the end.
        self._touched = True
        try:
            with contextlib.closing(connected(self._folder, "slurmctld")) as connection:
                yield connection
        except (ConnectionError, FileNotFoundError) as error:
            self._check_running(_STOP_S)
            raise self._fault(f"does not accept connections: {error.strerror}") from None
        self._touched = True

    def request(self, *fields: object) -> int:
        """Send a request of ``native/requests.c``; return the answer's number. Raises SlurmRefused."""
        return int(self.words(*fields)[0])

    def words(self, *fields: object) -> list[str]:
        """The same; return all words of the answer."""
        with _heard():
            self._pipe(0).write(("\t".join(map(str, fields)) + "\n").encode())
            self._pipe(0).flush()
        return self._answer()

    def last_words(self) -> str:
        """The end of its log, on one line."""
        lines = []
        for name in ("slurmctld.log", "slurmctld.out"):
            with contextlib.suppress(OSError):
                text = (self._folder / name).read_text(errors="replace")
                lines += [line.strip() for line in text.splitlines() if line.strip()]
            if lines:
                break
        fatal = max((at for at, line in enumerate(lines) if "fatal:" in line), default=None)
        if fatal is not None:  # with the complaints just before it
            complaint = lines[max(fatal - 1, 0) : fatal]
            lines = [*(line for line in complaint if "error:" in line), lines[fatal]]
        return " | ".join(lines[-_SHOWN_LINES:]) or "none"

    def close(self) -> None:
        """End both; safe to call again."""
        for process in (self._requests, self._slurmctld):
            if process is None:
                continue
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_STOP_S)
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
        self._listener.close()

    def _pipe(self, which: int) -> IO[bytes]:
        assert self._requests is not None
        pipe = (self._requests.stdin, self._requests.stdout)[which]
        assert pipe is not None
        return pipe

    def _answer(self) -> list[str]:
        # Pass libslurm's messages to slurmctld, and its answers back.
        assert self._requests is not None
        said = self._pipe(1)
        while True:
            ready = set(select.select([said.fileno(), self._listener.fileno()], [], [], _LOOK_S)[0])
            if said.fileno() in ready:
                line = said.readline().decode("utf-8", "replace")
                kind, _, rest = line.strip().partition(" ")
                if kind == "ok":
                    return rest.split()
                if kind != "error":
                    raise PeerError(_DAMAGED)
                self._check_running(0.0)
                raise SlurmRefused(rest.partition(" ")[2])
            if self._listener.fileno() in ready:
                with self._listener.accept()[0] as connection:
                    connection.settimeout(_PATIENCE_S)
                    received = bytearray()
                    while not (messages := list(whole_messages(received))) and (part := connection.recv(1 << 18)):
                        received += part
                    for raw in messages:
                        answer = self.ask(len(raw).to_bytes(4, "big") + raw)
                        with _heard():
                            connection.sendall(answer)

    def _await(self, come: bool) -> None:
        # Wait without a limit as long as slurmctld computes.
        used, since_s = -1.0, time.monotonic()
        while not come:
            if self._slurmctld.poll() is not None:
                self._check_running(0.0)
            now_s = time.monotonic()
            if (uses := self.processor_s) > used and self.clock.shared.threads:
                used, since_s = uses, now_s
            elif now_s - since_s > _PATIENCE_S:
                why = "" if self.clock.shared.threads else "; the system has not loaded its clock"
                raise self._fault(f"hangs: it has done nothing for {_PATIENCE_S:g} s{why}")
            come = self.clock.await_turn(_LOOK_S)
        if code := self.clock.shared.no_room:
            raise InputError(f"slurmctld cannot write its log or its state into {self._folder}: {os.strerror(code)}")

    def _check_running(self, within_s: float) -> None:
        """Raise ``_Ended`` if slurmctld has ended, or does so within a time."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._slurmctld.wait(within_s)
        code = self._slurmctld.returncode
        if code is not None and code < 0:
            outside = _FROM_OUTSIDE if -code == signal.SIGKILL else ""
            what = f"was killed by {signal.Signals(-code).name}{outside}"
        elif code is not None:
            what = f"has ended with code {code}"
        else:
            return
        raise _Ended(str(self._fault(what)))

    def _fault(self, what: str) -> PeerError:
        return PeerError(f"slurmctld {what}; end of its log: {self.last_words()}")
