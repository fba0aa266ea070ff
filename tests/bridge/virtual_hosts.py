"""Other hosts of a simulated run: worker commands that come late, are cut off, killed or stopped.

They run ``bridge.workers.host`` as it is. Of TLS there is only what a run and its hosts see of it: a handshake that takes a
while or fails, and the purpose of the connection (ALPN). The bytes go over the plain simulated stream. The keep-alive of TCP
is simulated, too.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock

from fault_plans import HOST_SPOILS, HostPlan
from virtual_network import FIRST_PID, End, Link, connect_ends, hold, release

from bridge.protocol.framing import READ_AT_MOST
from bridge.protocol.host_messages import APPLICATION_ALPN, HOST_ALPN, Join
from bridge.protocol.messages import PROTOCOL_VERSION
from bridge.protocol.session import Session
from bridge.protocol.tables import ConnectionState, Role
from bridge.workers import credentials, host, host_listener, hosts
from bridge.workers.address import HANDSHAKE_S, PARTING_TLS_S
from bridge.workers.connection import Streams
from traces.base.errors import TwolevelError

if TYPE_CHECKING:
    from simulated_world import World
    from virtual_fork_server import ForkServer
    from virtual_processes import Process

ADDRESS = "tls://run:7411"

_SECRET, _PACKAGE = "0123456789abcdef" * 4, "simulated"

#: After this time without an answer, TCP's keep-alive gives a silent connection up, s.
_ASKED_S = 60.0

#: The worker command that a task belongs to.
HOST: ContextVar[Command | None] = ContextVar("HOST", default=None)


class _Plug:
    """A connection that is not secured yet, as the run sees it."""

    def __init__(self, world: World, who: str, alpn: str, link: Link, pid: int, command: Command | None) -> None:
        self.who, self.alpn, self.link, self.pid, self.command = who, alpn, link, pid, command
        self.secured: asyncio.Future[End] = world.loop.create_future()

    async def until_healed(self) -> None:
        if self.command is not None:
            await self.command.healed.wait()

    def getpeername(self) -> tuple[str, int]:
        return ("10.0.0.7", 1)

    def close(self) -> None:
        if not self.secured.done():
            self.secured.set_exception(ConnectionResetError(104, "Connection reset by peer"))
            self.secured.exception()  # nobody has to wait for it


class _Port:
    """The socket that listens for hosts."""

    def __init__(self) -> None:
        self._arrived: asyncio.Queue[_Plug] = asyncio.Queue()
        self.accept = self._arrived.get
        self.closed = False

    def setblocking(self, is_so: bool) -> None:
        pass

    def getsockname(self) -> tuple[str, int]:
        return ("run", 7411)

    def close(self) -> None:
        self.closed = True
        while not self._arrived.empty():
            self._arrived.get_nowait().close()

    def arrive(self, plug: _Plug) -> None:
        if self.closed:
            plug.close()
        else:
            self._arrived.put_nowait(plug)


class Site:
    """The other hosts of a world, and the port to which they connect."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.commands: list[Command] = []
        self.port: _Port | None = None
        self.certified = False
        self.attempts = 0  # to connect
        self.executing_until_s = -1.0  # until when the run does something beside its loop

    def begin(self) -> None:
        for plan in self.world.plan.hosts:
            self.world.loop.call_later(plan.at_s, self.start, plan, plan.kind)

    def start(self, plan: HostPlan, kind: str) -> None:
        if not self.world.over:
            self.commands.append(Command(self, plan, kind))
            self.commands[-1].begin()

    def begun(self, task: asyncio.Task[Any]) -> None:
        """A task has begun; the tasks of worker commands may outlive the run."""
        if (command := HOST.get()) is not None:
            command.tasks.add(task)
            task.add_done_callback(command.tasks.discard)

    @property
    def tasks(self) -> set[asyncio.Task[Any]]:
        return {task for command in self.commands for task in command.tasks}

    def odd(self, since_s: float = -1.0) -> bool:
        """Whether something was wrong with any command; or with all that were there by then."""
        if since_s < 0:
            return any(command.odd for command in self.commands)
        return all(command.odd for command in self.commands if command.begun_s <= since_s)

    # Its port

    def _opened(self, *place: Any, **options: Any) -> _Port:
        self.world.note("bridge", "listens for hosts")
        self.port = _Port()
        self.world.begin()
        return self.port

    async def connect(self, plug: _Plug) -> Streams:
        """Connect, agree upon TLS, and talk; as ``bridge.workers.host.connect``."""
        world, port = self.world, self.port
        self.attempts += 1
        await asyncio.sleep(world.draw.uniform(0.0, 0.01))
        try:
            async with asyncio.timeout(HANDSHAKE_S):
                await plug.until_healed()
        except TimeoutError:
            raise TimeoutError(110, "Connection timed out") from None
        if port is None or port.closed:
            raise ConnectionRefusedError(111, "Connection refused")
        world.note(plug.who, "connects by TLS")
        world.loop.call_later(plug.link.latency_s * world.draw.random(), port.arrive, plug)
        try:
            async with asyncio.timeout(HANDSHAKE_S):
                near = await plug.secured
        except BaseException as error:
            if not plug.secured.cancel() and not plug.secured.exception():
                plug.secured.result().die()
            if isinstance(error, TimeoutError):
                raise ConnectionAbortedError("SSL handshake is taking longer than allowed") from None
            raise
        reader = asyncio.StreamReader(limit=READ_AT_MOST, loop=world.loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=world.loop)
        near.begin(protocol)
        near.other.wire.release()
        return reader, asyncio.StreamWriter(near, protocol, reader, world.loop)

    async def handshake(self, factory: Any, plug: _Plug) -> tuple[End, Any]:
        """The run's side of TLS, as ``loop.connect_accepted_socket``."""
        world = self.world
        await asyncio.sleep(plug.link.arrival_s(world.loop.time(), world.draw.random()) - world.loop.time())
        await plug.until_healed()
        if plug.secured.done():
            raise ConnectionResetError(104, "Connection reset by peer")
        near, far = connect_ends(world.loop, world.draw, plug.who, plug.link, plug.pid)
        near.parting_s = far.parting_s = PARTING_TLS_S
        far.alpn = plug.alpn
        world.pairs.append((near, far))
        if plug.command is not None:
            plug.command.connected(near)
        protocol = factory()
        far.begin(protocol)
        far.wire.hold()  # until the other end is there
        plug.secured.set_result(near)
        return far, protocol

    async def from_process(self, process: Process) -> Streams:
        plug = _Plug(self.world, process.name, APPLICATION_ALPN, process.link(), process.pid, process.server.host)

        def is_secured(secured: asyncio.Future[End]) -> None:
            if not secured.cancelled() and secured.exception() is None:
                process.connects(secured.result())

        plug.secured.add_done_callback(is_secured)
        return await self.connect(plug)

    async def _from_host(self, address: str, context: object) -> Streams:
        command = HOST.get()
        assert command is not None
        return await self.connect(
            _Plug(self.world, command.name, HOST_ALPN, self.world.plan.link(), FIRST_PID - 3, command)
        )

    # What the code of hosts requests from the system

    def _certificate(self, path: str) -> Any:
        self.certified = True
        return SimpleNamespace(context=None, close=lambda: None)

    def _read_certificate(self, **options: Any) -> str:
        if not self.certified:
            raise FileNotFoundError(2, "No such file or directory")
        return "of the run"

    @contextlib.contextmanager
    def instead_of_the_system(self) -> Iterator[None]:
        """Hosts, and the code that admits them, request from this site whatever they request from the system."""
        opened = SimpleNamespace(create_server=lambda *place, **options: self._opened(), SOCK_STREAM=1)
        with contextlib.ExitStack() as stack:
            for target, name, stand_in in (
                (credentials, "read_token", lambda *place: _SECRET),
                (hosts, "read_token", lambda *place: _SECRET),
                (hosts, "Certificate", self._certificate),
                (host_listener, "socket", opened),
                (host_listener, "keep_alive", lambda plug: None),
                (host, "Path", lambda path: SimpleNamespace(read_text=self._read_certificate)),
                (host, "pinned_context", lambda pem, alpn: None),
                (host, "connect", self._from_host),
                (hosts, "needed_files", lambda names: ()),
                (host.socket, "gethostname", lambda: "run"),
            ):
                stack.enter_context(mock.patch.object(target, name, stand_in))
            with mock.patch("importlib.metadata.version", return_value=_PACKAGE):
                yield

    # The witness

    def stepped(self, session: Session[Any], before: ConnectionState, event: str) -> None:
        """The connection of a host has taken a step."""
        self.world.found.host_steps.add((before, event, session.state))
        if event == "over" and session.role is Role.BRIDGE:
            for command in self.commands:
                command.run_ends()
        self.world.note(f"{session.role!s} of a host", f"{event}: {session.state!s}")

    def finish(self) -> None:
        """The run is over; commands that were stopped for ever are killed."""
        for command in self.commands:
            if command.kind == "stopped" and command.alive:
                command.fires()
                command.die()

    def check(self, problem: Any, tables: bool) -> None:
        """Every worker command has come to an end that the events of the run explain."""
        if self.port is not None and not self.port.closed:
            problem("the port for hosts is open")
        for command in self.commands:
            if command.alive:
                problem(f"the worker command on {command.name} is left")
            elif wrong := command.unexplained(tables):
                problem(f"the worker command on {command.name} ends with {command.end!r}: {wrong}")
        if self.tasks:
            problem(f"tasks of worker commands are left: {sorted(map(repr, self.tasks))}")


class Command:
    """One worker command."""

    def __init__(self, site: Site, plan: HostPlan, kind: str) -> None:
        self.site, self.world, self.plan, self.kind = site, site.world, plan, kind
        self.name, self.begun_s = plan.name, self.world.loop.time()
        self.why: list[str] = []  # its faults that have come into effect
        self.end = ""  # over, killed, or the line of its error
        self.alive, self.joined = True, False
        self.servers: list[ForkServer] = []
        self.tasks: set[asyncio.Task[Any]] = set()
        self.healed = asyncio.Event()
        self.healed.set()
        self.failed_early = False  # its fork server has died before it was ready, and the run goes on
        self._ends: list[End] = []
        self._held: list[End] = []
        self._task: asyncio.Task[None] | None = None
        self._said = 0

    @property
    def is_cut(self) -> bool:
        return not self.healed.is_set()

    @property
    def odd(self) -> bool:
        processes = self.world.processes.values()
        return bool(self.why) or any(process.why for process in processes if process.server.host is self)

    def note(self, what: str) -> None:
        self.world.note(self.name, what)

    def fires(self) -> None:
        if self.kind not in self.why:
            self.blame(self.kind)

    def blame(self, what: str) -> None:
        if what not in self.why:
            self.note(what)
        self.why.append(what)
        for server in self.servers:
            for process in server.processes.values():
                process.why.append(f"host: {what}")

    # Its life

    def begin(self) -> None:
        HOST.set(self)
        try:
            self._task = self.world.loop.create_task(self._live())
            self.world.loop.call_later(self.plan.fault_s, self._strike)
        finally:
            HOST.set(None)

    async def _live(self) -> None:
        join = Join(
            version=PROTOCOL_VERSION + (self.kind == "other version"),
            token="f" * 64 if self.kind == "wrong token" else _SECRET,
            package="older" if self.kind == "other package" else _PACKAGE,
            host=self.name,
            workers=self.plan.workers,
        )
        if self.kind in ("wrong token", "other package", "other version"):
            self.fires()
        try:
            await host._Host(ADDRESS, "/simulated/token.crt", join, self._say).run(self.plan.patience_s)
            end = "over"
        except (OSError, TwolevelError) as error:
            end = str(error)
            if "\n" in end:
                self.world.problem(f"{self.name} says more than a line: {end!r}")
        except asyncio.CancelledError:
            end = "killed"
        except Exception as error:
            end = f"{type(error).__name__}: {error}"
            self.world.problem(f"{self.name}: {end}")
        if self.alive:
            self._ended(end)

    def _say(self, line: str) -> None:
        self.note(f"says {line}")
        self.joined = self.joined or line.startswith("joined the run")

    def _ended(self, how: str) -> None:
        self.alive, self.end = False, how
        self.failed_early = self.failed_early and not self.world.over
        self.note(f"ends: {how}")
        if how != "over" and self.plan.lives and not self.world.over:
            # As where a script starts it again.
            self.plan.lives -= 1
            kind = self.world.draw.choice(("", "", self.kind))
            self.world.loop.call_later(10 ** self.world.draw.uniform(-1.0, 1.0), self.site.start, self.plan, kind)

    def connected(self, near: End) -> None:
        self._ends = [end for end in self._ends if not end.lost]
        self._ends.append(near)
        if near.name.startswith(f"{self.name} "):
            near.change = self._sends
        if self.is_cut:
            self._held += hold([near])

    def _sends(self, data: bytes) -> bytes:
        # Of its own connection.
        before, self._said = self._said, self._said + 1
        spoils = {"garbage": 2, "garbage at once": 0, "says it twice": self.plan.fault_s * 10 % 4}
        if self.kind in HOST_SPOILS and before >= spoils[self.kind] and self.kind not in self.why:
            self.fires()
            return data * 2 if self.kind == "says it twice" else data + b"\x00\x00\x00\x05\xc1tea\xc1"
        return data

    # Its faults

    def _strike(self) -> None:
        if not self.alive or self.world.over:
            return
        if self.kind == "killed":
            self.fires()
            self.die()
        elif self.kind == "stopped":  # its system still answers for it
            self.fires()
            self.healed.clear()
            self._held += hold(end for end in self._ends if not end.lost)
        elif self.kind == "cut off":
            self._cut_off(self.plan.seconds)
        elif self.kind.startswith("fork server") and "as it ends" not in self.kind and self.servers:
            server = self.servers[-1]
            if server.alive and not server.stopped:
                self.blame(self.kind)
                server.strike("stopped" if self.kind == "fork server stopped" else "killed")
            if self.kind == "fork server dies often" and self.alive:  # a launcher omits it at last
                self.world.loop.call_later(self.plan.fault_s / 20, self._strike)

    def run_ends(self) -> None:
        if self.kind == "fork server dies as it ends" and self.servers and self.alive:
            self.blame(self.kind)
            self.servers[-1].strike("killed")
        for server in self.servers:
            server.run_ends()

    def die(self) -> None:
        """It is killed, at this very instant; its fork server finds that out, and its processes end with that."""
        draw = self.world.draw
        for end in self._ends:
            if end.name.startswith(f"{self.name} "):
                end.die(ConnectionResetError(104, "by the simulation") if draw.random() < 0.2 else None)
        self._ended("killed")
        for task in self.tasks:
            task.cancel()
        for server in self.servers:
            self.world.loop.call_later(draw.uniform(0.0, 0.05), server.exit, 0)

    def _cut_off(self, seconds: float) -> None:
        """For a while no byte leaves or reaches its host."""
        self.fires()
        self.note(f"is cut off for {seconds:g} s")
        self.healed.clear()
        ends = [end for end in self._ends if not end.lost]
        self._held += hold(ends)
        if seconds > _ASKED_S:
            self.world.loop.call_later(_ASKED_S, self._give_up, ends)
        self.world.loop.call_later(seconds, self._heal)

    def _heal(self) -> None:
        self.note("is no longer cut off")
        self.healed.set()
        held, self._held = self._held, []
        release(held)

    def _give_up(self, ends: list[End]) -> None:
        """The systems at both ends give silent connections up; where bytes are under way, they repeat those for longer."""
        for end in (one for near in ends for one in (near, near.other)):
            if self.is_cut and not end.lost and not end.wire.waiting and not end.get_write_buffer_size():
                end.lose(TimeoutError(110, "Connection timed out"))

    # The witness

    def unexplained(self, tables: bool) -> str:
        """State what is wrong with its end; nothing if the end is explained."""
        world, said = self.world, self.end
        let_go = any(
            f"host {self.name}" in what and "it is dismissed" in what
            for _, who, what in world.found.log
            if who == "log"
        )
        if self.failed_early and said.endswith("is gone") and all(why.startswith("fork server") for why in self.why):
            return "its fork server has died before it was ready"
        if self.why or world.leapt_s or let_go or said.endswith("refused this host: the run is over"):
            return ""
        if said == "over":
            return "" if tables or world.interrupted else "the run was given up"
        if any(part in said for part in ("no run at", "was given up", "is gone", "ended before it answered")):
            return "it had joined, and the run has come to its end" if tables and self.joined else ""
        return "nothing was wrong with it"
