"""The messages of the bridge protocol, typed and bounded; what their fields mean is said in ``PROTOCOL.md``."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from bridge.encoding import Meta
from bridge.protocol.message_fields import (
    Changes,
    CoreColumn,
    CoreOfJob,
    Count,
    Duration,
    EdgeColumn4,
    EdgeColumn8,
    Hints,
    HostColumn,
    Instant,
    Key,
    LengthColumn,
    Measurement,
    Name,
    Network,
    NotNegative,
    Parts,
    PositiveCount,
    Reason,
    Recipe,
    RecordColumn4,
    RecordColumn8,
    Resizes,
    Scales,
    TechniqueName,
    Version,
    Width,
    WidthRange,
)
from bridge.protocol.tables import APPLICATION_TABLE
from bridge.protocol.vocabulary import Greeting, Message, Vocabulary

#: The version of the protocol that this module speaks.
PROTOCOL_VERSION: Final = 11

#: Environment variables that tell an application process where to connect, with which token, and who it is.
ADDRESS_VARIABLE: Final = "TWOLEVEL_ADDRESS"
TOKEN_VARIABLE: Final = "TWOLEVEL_TOKEN"
WORKER_VARIABLE: Final = "TWOLEVEL_WORKER"

#: Reason for refusing a hello that arrives after all jobs are done; not a fault of the process, which just ends.
OVER: Final = "the run is over"


class Hello(Message, frozen=True, kw_only=True):
    """Application: the first frame on a connection."""

    version: Version
    token: Annotated[str, Meta(max_length=200)]
    worker: Annotated[str, Meta(max_length=200)]
    name: Name
    tasks: Literal["recipe", "lengths"]
    conserves_work: bool
    releases: bool
    hints: bool
    resizes: bool
    wishes: bool
    scales: bool


class Promise(Message, frozen=True, kw_only=True):
    """Application: nothing of this job will be visible before an instant."""

    job: Key
    not_before_ns: Instant


class Wish(Message, frozen=True, kw_only=True):
    """Application: from an instant on the job wants so many cores."""

    job: Key
    at_ns: Instant
    cores: Width


class Suspended(Message, frozen=True, kw_only=True):
    """Application: it has run everything before ``now_ns`` and waits to be resumed."""

    job: Key
    now_ns: Instant
    not_before_ns: Instant


class Records(Message, frozen=True, kw_only=True):
    """Application: a slice of the job's tasks, from task ``first`` on."""

    job: Key
    first: Count
    start_ns: RecordColumn8
    end_ns: RecordColumn8
    core: RecordColumn4
    chunk: RecordColumn4
    length_gflop: RecordColumn8


class Transfers(Message, frozen=True, kw_only=True):
    """Application: a slice of the job's transfers between cores, from transfer ``first`` on."""

    job: Key
    first: Count
    source: RecordColumn4
    target: RecordColumn4
    bytes: RecordColumn8
    sent_ns: RecordColumn8
    arrived_ns: RecordColumn8


class Outcome(Message, frozen=True, kw_only=True):
    """Application: the job has ended."""

    has_maps = True

    job: Key
    attempt: Count
    end_ns: Instant
    stopped: bool
    last_lost: CoreOfJob | None
    tasks: PositiveCount
    ran: Count
    chunks: Count
    transfers: Count
    length_gflop: NotNegative
    length_cov: NotNegative | None
    finish_ns: CoreColumn
    busy_ns: CoreColumn
    released_ns: CoreColumn | None
    scheduling_ns: Key
    chosen: Annotated[tuple[Count, ...], Meta(max_length=1000)]
    ahead_chunks: Key
    graph: Measurement | None


class Failed(Message, frozen=True, kw_only=True):
    """Application: it cannot simulate this job."""

    job: Key
    reason: Reason
    blame: Literal["user", "bridge", "application"]


class Welcome(Message, frozen=True, kw_only=True):
    """Bridge: the hello was accepted."""

    version: Version
    run: Name


class Refused(Message, frozen=True, kw_only=True):
    """Bridge: its last word before it closes the connection."""

    reason: Reason
    blame: Literal["stranger", "application", "bridge"]


class Start(Message, frozen=True, kw_only=True):
    """Bridge: simulate a job."""

    has_maps = True

    job: Key
    attempt: Count
    start_ns: Instant
    core_speed_gflops: CoreColumn
    technique: TechniqueName
    parts: Parts | None
    overhead_ns: Duration
    latency_ns: CoreColumn | None
    master: bool
    core_host: HostColumn | None
    network: Network | None
    records: bool
    releases: bool
    recipe: Recipe | None
    tasks: PositiveCount | None
    until_ns: Instant | None
    changes: Changes
    hints: Hints
    resizes: Resizes | None
    resize_ns: Duration
    wishes: WidthRange | None
    scales: Scales
    stop_ns: Instant | None


class Lengths(Message, frozen=True, kw_only=True):
    """Bridge: a slice of the lengths of the job's tasks, from task ``first`` on."""

    job: Key
    first: Count
    length_gflop: LengthColumn


class Edges(Message, frozen=True, kw_only=True):
    """Bridge: a slice of the edges of the job's graphs, from edge ``first`` on."""

    job: Key
    first: Count
    source: EdgeColumn4
    target: EdgeColumn4
    bytes: EdgeColumn8


class Resume(Message, frozen=True, kw_only=True):
    """Bridge: go on with a suspended job."""

    has_maps = True

    job: Key
    until_ns: Instant | None
    changes: Changes
    stop_ns: Instant | None


class Cancel(Message, frozen=True, kw_only=True):
    """Bridge: forget a job."""

    job: Key


class Quit(Message, frozen=True, kw_only=True):
    """Bridge: no more work; close the connection."""


#: Every message, in the order of ``PROTOCOL.md``.
APPLICATION_MESSAGES: Final = Vocabulary(
    APPLICATION_TABLE,
    (
        Hello, Welcome, Refused, Start, Lengths, Edges, Promise, Wish, Suspended, Resume, Records, Transfers, Outcome, Failed,
        Cancel, Quit,
    ),
)  # fmt: skip
encode, decode, sender_of = APPLICATION_MESSAGES.encode, APPLICATION_MESSAGES.decode, APPLICATION_MESSAGES.sender_of


def other_version(greeting: Greeting) -> str:
    """Return why a first message of another version is refused; empty for one of ours."""
    if greeting.version == PROTOCOL_VERSION:
        return ""
    return f"protocol version {greeting.version} is not spoken here; spoken: {PROTOCOL_VERSION}"
