"""The other hosts of a run: admission, orders, and losses.

Over the connection of a host, processes are started and killed, and their ends reported; each process has another one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bridge.options.declared import LISTEN
from bridge.protocol import host_messages as h
from bridge.protocol.messages import OVER, PROTOCOL_VERSION, Hello
from bridge.protocol.session import ProtocolError
from bridge.protocol.tables import ConnectionState
from bridge.protocol.vocabulary import Message
from bridge.workers.assignment import Assignment, Place
from bridge.workers.connection import Connection, add_traffic
from bridge.workers.credentials import Certificate, read_token, sha256_of
from bridge.workers.host_listener import HostListener
from bridge.workers.launchers import READY_S
from traces.base.errors import InputError
from traces.base.given_file import parse_json, texts_in

if TYPE_CHECKING:
    from bridge.workers.workforce import Workforce

log = logging.getLogger("twolevel.bridge")

_PARTING_S: Final = 6.0  # time in which hosts must end their processes at the end of the run, s
_LATE_S: Final = 60.0  # time that a host may take to prepare, in addition to its own limit, s

#: States in which a host may be sent the end of the run.
_ADMITTED: Final = (ConnectionState.READY, ConnectionState.PREPARING)

_BETWEEN: Final = re.compile(r"[,()]")  # end of the names in a choice among techniques


@dataclass(frozen=True)
class HostsRequest:
    """The options of a run about other hosts."""

    listen: str  # address at which it listens, ``tls://HOST:PORT``
    # token_file, certificate: the existing file with the token, and the file for the certificate, which is made
    token_file: str
    certificate: str
    package: str  # the version of ``twolevel``, which every host must have
    files: tuple[h.NeededFile, ...] = ()  # files that every host must have


class _Remote:
    """The processes of another host, which receives orders over its connection."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def launch(self, worker: str) -> None:
        self.connection.send_in((ConnectionState.READY,), h.Launch(worker=worker))

    def greeted(self, worker: str) -> None:
        """See ``Processes``: such a process cannot be distinguished from a stranger until its hello."""

    def kill(self, worker: str) -> None:
        self.connection.send_in((ConnectionState.READY,), h.Kill(worker=worker))


class Hosts:
    """The other hosts of a run. ``owner`` is notified of lost hosts and ended processes; ``token``, ``admit`` and ``serve`` are
    those of application processes (``Listener``). Hosts load ``technique`` in advance. ``per_worker`` processes may exist for
    each that simulates, and each may hold ``depth`` jobs."""

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
        #: The socket to which they connect.
        self.listener = HostListener(
            token,
            admit,
            serve,
            host_token=read_token(wanted.token_file),
            admit_host=self._admit_host,
            serve_host=self._serve_host,
            awaited=owner.awaited_elsewhere,
        )
        self._certificate: Certificate | None = None
        self._closing = False
        self.there: dict[Place, Connection] = {}  # hosts that take part or are preparing
        self._preparing: dict[Place, float] = {}  # with the time of their begin, s
        self._none_left = asyncio.Event()
        self.places: list[Place] = []  # all hosts that were ever admitted
        self.command = ""  # for other hosts

    async def open(self) -> None:
        """Make the certificate, and listen. Raises InputError if that is impossible."""
        wanted = self._wanted
        self._certificate = Certificate(wanted.certificate)  # it takes a moment, in which nothing else needs to happen
        address = await self.listener.open_tls(wanted.listen, self._certificate.context)
        files = f"--token-file {wanted.token_file} --certificate {wanted.certificate}"
        self.command = f"twolevel worker {address} {files}"
        log.warning("on every host that is to take part: %s", self.command)

    def _admit_host(self, join: h.Join) -> h.Admitted | str:
        if self._closing:
            return OVER
        wanted = self._wanted
        if join.package != wanted.package:
            return f"host {join.host} has twolevel {join.package}; this run uses twolevel {wanted.package}"
        preparing = sum(place.alive for place in self._preparing)
        if not self._owner.room_more(preparing + join.workers * self._per_worker):
            return f"host {join.host}: no room for {join.workers} more workers: too few files may be open at once"
        return h.Admitted(version=PROTOCOL_VERSION, token=self._token, technique=self._technique, files=wanted.files)

    async def _serve_host(self, join: h.Join, connection: Connection) -> None:
        known = [place.name for place in self.places]
        further = (f"{join.host}:{number}" for number in range(2, len(known) + 2))
        name = next(name for name in (join.host, *further) if name not in known)
        assignment = Assignment(join.workers, self._depth)
        place = Place(name, _Remote(connection), assignment, join.workers, join.workers * self._per_worker)
        self.places.append(place)
        self.there[place], self._preparing[place] = connection, asyncio.get_running_loop().time()
        self._none_left.clear()
        how = "its connection ended"
        try:
            while isinstance(event := await connection.receive(), Message):
                if isinstance(event, h.Declined):
                    how = f"it cannot take part: {event.reason}"
                else:
                    self._heed(place, event)
        except ProtocolError as error:
            how = str(error)
            if not connection.ended:
                connection.send_bytes(error.farewell)
        finally:
            del self.there[place]
            self._preparing.pop(place, None)
            add_traffic(place, connection)
            place.lost = not self._closing
            if not self.there:
                self._none_left.set()
            if not self._closing:
                self._owner.lost(place, how)

    def _heed(self, place: Place, event: Message) -> None:
        if isinstance(event, h.Ready):
            self._preparing.pop(place, None)
            self._owner.joined(place)
        elif getattr(event, "worker", "").partition("@")[2] != place.name:
            return  # not about its own processes
        elif isinstance(event, h.Gone):
            self._owner.gone(event.worker, event.how, blameless=event.blameless)
        elif isinstance(event, h.Unborn):
            self._owner.unborn(event.worker, event.why)

    def dismiss(self, place: Place) -> None:
        """Dismiss a host that can no longer be used."""
        place.alive = 0
        if (connection := self.there.get(place)) is not None:
            connection.send_in(_ADMITTED, h.Over(complete=False))
            connection.close()

    def watch(self, now_s: float, *, stopped: bool) -> None:
        """Dismiss hosts that do not become ready in time; ``stopped``: this process itself was suspended just now."""
        for place, since in list(self._preparing.items()):
            if stopped:
                self._preparing[place] = now_s
            elif now_s - since > READY_S + _LATE_S:
                self.dismiss(place)

    async def close(self, *, patient: bool) -> None:
        """Dismiss every host, and clean up. ``patient``: whether the run was completed."""
        self._closing = True
        self.listener.fall_silent()
        for connection in self.there.values():
            connection.send_in(_ADMITTED, h.Over(complete=patient))
        try:
            if self.there:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_PARTING_S):
                        await self._none_left.wait()
        finally:
            await self.listener.close()
            if self._certificate is not None:
                self._certificate.close()


def needed_files(names: Iterable[str]) -> tuple[h.NeededFile, ...]:
    """The named files with their checksums, so that hosts with other versions of them are refused. ``names`` are those sent
    to workers: ``/home/FILE.py:NAME:x=1``, ``file:/home/lengths.txt``, a choice of such names, or a program as JSON that
    contains them. Paths are absolute. Raises InputError if there are too many."""
    texts = (
        one for name in names for one in (texts_in(parse_json(name, "program")) if name.startswith("{") else [name])
    )
    paths = dict.fromkeys(path for text in texts for part in _parts(text) if (path := _file_of(part)))
    if len(paths) > h.MAX_FILES:
        raise InputError(f"{LISTEN}: {len(paths)} files of plug-ins, lengths and graphs; allowed: up to {h.MAX_FILES}")
    return tuple(h.NeededFile(path=path, sha256=sha256_of(path)) for path in paths)


def _parts(text: str) -> Iterator[str]:
    """The text, and every part between two of its separators, since a path may contain such characters."""
    yield text
    ends = [match.start() for match in _BETWEEN.finditer(text)]
    for begin in (end + 1 for end in ends):
        yield from (text[begin:end] for end in (*ends, len(text)) if end > begin)


def _file_of(text: str) -> str:
    """The file named at the beginning of a text, after ``file:``; empty if there is none."""
    path = text.strip().removeprefix("file:")
    while path.startswith("/"):
        if os.path.isfile(path):
            return path
        path = path.rpartition(":")[0]
    return ""
