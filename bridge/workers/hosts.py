"""Other hosts of a run: who may join, what they are told, and what happens when one is lost.

Each host has one connection of its own, over which processes are started and killed there, and which says how they ended;
each of its processes has another one, as those of this host have.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bridge.options.declared import LISTEN
from bridge.protocol.host_messages import (
    MAX_FILES,
    Admitted,
    Declined,
    Gone,
    Join,
    Kill,
    Launch,
    NeededFile,
    Over,
    Ready,
    Unborn,
)
from bridge.protocol.messages import OVER, PROTOCOL_VERSION, Hello
from bridge.protocol.session import ProtocolError
from bridge.protocol.tables import ConnectionState
from bridge.protocol.vocabulary import Message
from bridge.workers.assignment import Assignment, Place
from bridge.workers.connection import Connection
from bridge.workers.credentials import Certificate, read_token
from bridge.workers.host_listener import HostListener
from bridge.workers.launchers import READY_S
from traces.base.errors import InputError
from traces.base.given_file import parse_json

if TYPE_CHECKING:
    from bridge.workers.workforce import Workforce

log = logging.getLogger("twolevel.bridge")

#: How long hosts may take to end their processes when the run is over, s.
_PARTING_S: Final = 6.0

#: How much longer than it gives itself a host may take to prepare, s.
_LATE_S: Final = 60.0


#: Where the names of a choice among techniques end.
_BETWEEN: Final = re.compile(r"[,()]")


@dataclass(frozen=True)
class HostsRequest:
    """What a run says of other hosts."""

    listen: str  # where it listens, ``tls://HOST:PORT``
    # token_file, certificate: the files with the token, which is there, and with the certificate, which is made
    token_file: str
    certificate: str
    package: str  # the version of ``twolevel``, which every host must have
    files: tuple[NeededFile, ...] = ()  # what every host must have


class _Remote:
    """The processes of another host, which does what it is told over its connection."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def _tell(self, message: Message) -> None:
        if self.connection.session.state is ConnectionState.READY:
            self.connection.say(message)

    def launch(self, worker: str) -> None:
        """As of ``Processes``."""
        self._tell(Launch(worker=worker))

    def greeted(self, worker: str) -> None:
        """As of ``Processes``: such a process says nothing that tells it from a stranger until it has said hello."""

    def kill(self, worker: str) -> None:
        """As of ``Processes``."""
        self._tell(Kill(worker=worker))


class Hosts:
    """The other hosts of a run.

    - ``owner``: is informed of what becomes of them and of their processes.
    - ``token``: the secret of application processes, which hosts are told.
    - ``admit``, ``serve``: for application processes, as of ``Listener``.
    - ``technique``: what hosts load in advance.
    - ``per_worker``: how many processes may be there for each that simulates.
    - ``depth``: how many jobs a process may hold.
    """

    def __init__(
        self,
        owner: Workforce,
        wanted: HostsRequest,
        token: str,
        admit: Callable[[Hello], str | None],
        serve: Callable[[Hello, Connection], Awaitable[None]],
        *,
        technique: str,
        per_worker: int,
        depth: int,
    ) -> None:
        self._owner, self._wanted, self._token, self._technique = owner, wanted, token, technique
        self._per_worker, self._depth = per_worker, depth
        host_token = read_token(wanted.token_file)
        self._listener = HostListener(
            token,
            admit,
            serve,
            host_token=host_token,
            admit_host=self._admit_host,
            serve_host=self._serve_host,
            awaited=owner.awaited_elsewhere,
        )
        self._certificate: Certificate | None = None
        self._closing = False
        self._there: dict[Place, Connection] = {}
        self._preparing: dict[Place, float] = {}  # since when, s
        self._none_left = asyncio.Event()
        #: All hosts that were ever let in.
        self.places: list[Place] = []
        #: What to run on a host.
        self.command = ""

    @property
    def listener(self) -> HostListener:
        """Where they connect."""
        return self._listener

    @property
    def waiting(self) -> bool:
        """Whether no host is there, nor about to be."""
        return not self._there

    async def open(self) -> None:
        """Make the certificate, and listen. Raises InputError if it cannot be."""
        wanted = self._wanted
        # openssl takes a moment, in which nothing else has to happen yet.
        self._certificate = Certificate(wanted.certificate)
        address = await self._listener.open_tls(wanted.listen, self._certificate.context)
        files = f"--token-file {wanted.token_file} --certificate {wanted.certificate}"
        self.command = f"twolevel worker {address} {files}"
        log.warning("on every host that is to take part: %s", self.command)

    def _admit_host(self, join: Join) -> Admitted | str:
        if self._closing:
            return OVER
        ours = self._wanted.package
        if join.package != ours:
            return f"host {join.host} has twolevel {join.package}; this run is of twolevel {ours}"
        preparing = sum(place.alive for place in self._preparing)
        if not self._owner.room_more(preparing + join.workers * self._per_worker):
            return f"host {join.host}: no room for {join.workers} more workers: too few files may be open at once"
        return Admitted(
            version=PROTOCOL_VERSION, token=self._token, technique=self._technique, files=self._wanted.files
        )

    async def _serve_host(self, join: Join, connection: Connection) -> None:
        known = [place.name for place in self.places]
        name, number = join.host, 1
        while name in known:
            number += 1
            name = f"{join.host}:{number}"
        assignment = Assignment(join.workers, self._depth)
        place = Place(name, _Remote(connection), assignment, join.workers, join.workers * self._per_worker)
        self.places.append(place)
        self._there[place], self._preparing[place] = connection, asyncio.get_running_loop().time()
        self._none_left.clear()
        how = "its connection ended"
        try:
            while isinstance(event := await connection.hear(), Message):
                if isinstance(event, Declined):
                    how = f"it cannot take part: {event.reason}"
                else:
                    self._heed(place, event)
        except ProtocolError as error:
            how = str(error)
            if not connection.ended:
                connection.say_bytes(error.farewell)
        finally:
            del self._there[place]
            self._preparing.pop(place, None)
            place.count(connection)
            place.lost = not self._closing
            if not self._there:
                self._none_left.set()
            if not self._closing:
                self._owner.lost(place, how)

    def _heed(self, place: Place, event: Message) -> None:
        if isinstance(event, Ready):
            self._preparing.pop(place, None)
            self._owner.joined(place)
        elif (
            isinstance(event, Gone | Unborn) and event.worker.partition("@")[2] == place.name
        ):  # it speaks of its own only
            if isinstance(event, Gone):
                self._owner.gone(event.worker, event.how, blameless=event.blameless)
            else:
                self._owner.unborn(event.worker, event.why)

    def dismiss(self, place: Place) -> None:
        """Let go of a host that is of no use."""
        place.alive = 0
        connection = self._there.get(place)
        if connection is not None:
            if connection.session.state in (ConnectionState.READY, ConnectionState.PREPARING):
                connection.say(Over(complete=False))
            connection.close()

    def watch(self, now_s: float, *, stopped: bool) -> None:
        """Let go of hosts that do not become ready; ``stopped`` says that this process has just been."""
        for place, since in list(self._preparing.items()):
            if stopped:
                self._preparing[place] = now_s
            elif now_s - since > READY_S + _LATE_S:
                self.dismiss(place)

    async def close(self, *, patient: bool) -> None:
        """Part with every host, and leave nothing behind. ``patient``: whether the run has come to its end."""
        self._closing = True
        self._listener.run_over()
        for connection in self._there.values():
            if connection.session.state in (ConnectionState.READY, ConnectionState.PREPARING):
                connection.say(Over(complete=patient))
        try:
            if self._there:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_PARTING_S):
                        await self._none_left.wait()
        finally:
            await self._listener.close()
            if self._certificate is not None:
                self._certificate.close()

    def cost(self) -> list[dict[str, Any]]:
        """What each host did, as ``run.json`` has it."""
        return [place.cost() for place in self.places]


def needed_files(names: Iterable[str]) -> tuple[NeededFile, ...]:
    """The files that are named, with what is in them, so that no host takes part that has others.

    - ``names``: what workers receive: ``/home/FILE.py:NAME:x=1``, ``file:/home/lengths.txt``, a choice of such, or a
      program as JSON that has them. Paths are absolute.

    Raises InputError if they are too many.
    """
    texts = (
        text for name in names for text in (_texts(parse_json(name, "program")) if name.startswith("{") else [name])
    )
    paths = dict.fromkeys(path for text in texts for part in _parts(text) if (path := _file_of(part)))
    if len(paths) > MAX_FILES:
        raise InputError(f"{LISTEN}: {len(paths)} files of plug-ins, lengths and graphs; allowed: up to {MAX_FILES}")
    return tuple(NeededFile(path=path, sha256=_digest(path)) for path in paths)


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict | list):
        for value in content.values() if isinstance(content, dict) else content:
            yield from _texts(value)


def _parts(text: str) -> Iterator[str]:
    """The text, and what stands between any two of its separators: a path may have such characters, too."""
    yield text
    ends = [match.start() for match in _BETWEEN.finditer(text)]
    for begin in (end + 1 for end in ends):
        yield from (text[begin:end] for end in (*ends, len(text)) if end > begin)


def _file_of(text: str) -> str:
    """The file that is named at the beginning of a text, after ``file:``; empty if there is none."""
    path = text.strip().removeprefix("file:")
    while path.startswith("/"):
        if os.path.isfile(path):
            return path
        path = path.rpartition(":")[0]
    return ""


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
