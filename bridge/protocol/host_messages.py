"""The messages between a run and a host that provides application processes (``PROTOCOL.md``, section 14)."""

from typing import Annotated, Final, Literal

from bridge.encoding import Meta
from bridge.protocol.messages import Map, Reason, TechniqueName, Version, other_version
from bridge.protocol.session import Book
from bridge.protocol.tables import HOST_TABLE, ConnectionState, Role
from bridge.protocol.vocabulary import Greeting, Message, Vocabulary

#: ALPN names of the two kinds of TLS connections: those of hosts, and those of application processes.
HOST_ALPN: Final = "twolevel-host"
APPLICATION_ALPN: Final = "twolevel-application"
MAX_HOST_WORKERS: Final = 1024  # number of simultaneous application processes that one host may offer
MAX_FILES: Final = 1024  # number of files that a run may need on every host
_Words = Annotated[str, Meta(max_length=200)]
HostName = Annotated[str, Meta(min_length=1, max_length=100)]


class Join(Message, frozen=True, kw_only=True):
    """Host: the first frame; offers application processes for this run."""

    version: Version
    token: _Words
    package: _Words
    host: HostName
    workers: Annotated[int, Meta(ge=1, le=MAX_HOST_WORKERS)]


class NeededFile(Map, frozen=True, kw_only=True):
    """A file that must be the same on every host."""

    path: Annotated[str, Meta(min_length=1, max_length=4096)]
    sha256: Annotated[str, Meta(min_length=64, max_length=64)]


class Admitted(Message, frozen=True, kw_only=True):
    """Bridge: the join was accepted; prepare."""

    has_maps = True

    version: Version
    token: _Words
    technique: TechniqueName
    files: Annotated[tuple[NeededFile, ...], Meta(max_length=MAX_FILES)]


class Dismissed(Message, frozen=True, kw_only=True, tag="refused"):
    """Bridge: the join was refused; the last message, like ``refused`` to an application."""

    reason: Reason
    blame: Literal["stranger", "host", "bridge"]


class Ready(Message, frozen=True, kw_only=True):
    """Host: processes can be started."""


class Declined(Message, frozen=True, kw_only=True):
    """Host: it cannot take part, or not any more; the last message."""

    reason: Reason


class Launch(Message, frozen=True, kw_only=True):
    """Bridge: start an application process with this name."""

    worker: _Words


class Kill(Message, frozen=True, kw_only=True):
    """Bridge: kill that process if it still exists."""

    worker: _Words


class Gone(Message, frozen=True, kw_only=True):
    """Host: a process has ended."""

    worker: _Words
    how: Reason
    blameless: bool


class Unborn(Message, frozen=True, kw_only=True):
    """Host: a process could not be started."""

    worker: _Words
    why: Reason


class Over(Message, frozen=True, kw_only=True):
    """Bridge: the run is finished, or was given up; end all processes and close the connection."""

    complete: bool


class HostGreeting(Greeting, frozen=True, tag_field="type", tag="join"):
    """The part of a join that is equal in every version."""


#: Every message, in the order of ``PROTOCOL.md``.
_TYPES: Final = (Join, Admitted, Dismissed, Ready, Declined, Launch, Kill, Gone, Unborn, Over)
HOST_MESSAGES: Final = Vocabulary(HOST_TABLE, _TYPES, HostGreeting)


class HostBook(Book):
    """The connection of a host, which has no state. Each application process of the host has its own connection."""

    peer = Role.HOST
    messages = HOST_MESSAGES
    strange = frozenset({ConnectionState.AWAIT_JOIN})

    def unwelcome(self, greeting: Greeting) -> str:
        """See ``Book``; refused are other versions."""
        return other_version(greeting)
