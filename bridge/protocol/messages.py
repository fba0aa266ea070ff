"""The messages of the bridge protocol, typed and bounded; what their fields mean is said in ``PROTOCOL.md``."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from bridge.encoding import Meta
from bridge.protocol import message_fields as fields
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

    version: fields.Version
    token: Annotated[str, Meta(max_length=200)]
    worker: Annotated[str, Meta(max_length=200)]
    name: fields.Name
    tasks: Literal["recipe", "lengths"]
    conserves_work: bool
    releases: bool
    hints: bool
    resizes: bool
    wishes: bool
    scales: bool


class Promise(Message, frozen=True, kw_only=True):
    """Application: nothing of this job will be visible before an instant."""

    job: fields.Key
    not_before_ns: fields.Instant


class Wish(Message, frozen=True, kw_only=True):
    """Application: from an instant on the job wants so many cores."""

    job: fields.Key
    at_ns: fields.Instant
    cores: fields.Width


class Suspended(Message, frozen=True, kw_only=True):
    """Application: it has run everything before ``now_ns`` and waits to be resumed."""

    job: fields.Key
    now_ns: fields.Instant
    not_before_ns: fields.Instant


class Records(Message, frozen=True, kw_only=True):
    """Application: a slice of the job's tasks, from task ``first`` on."""

    job: fields.Key
    first: fields.Count
    start_ns: fields.RecordColumn8
    end_ns: fields.RecordColumn8
    core: fields.RecordColumn4
    chunk: fields.RecordColumn4
    length_gflop: fields.RecordColumn8


class Transfers(Message, frozen=True, kw_only=True):
    """Application: a slice of the job's transfers between cores, from transfer ``first`` on."""

    job: fields.Key
    first: fields.Count
    source: fields.RecordColumn4
    target: fields.RecordColumn4
    bytes: fields.RecordColumn8
    sent_ns: fields.RecordColumn8
    arrived_ns: fields.RecordColumn8


class Outcome(Message, frozen=True, kw_only=True):
    """Application: the job has ended."""

    has_maps = True

    job: fields.Key
    attempt: fields.Count
    end_ns: fields.Instant
    stopped: bool
    last_lost: fields.CoreOfJob | None
    tasks: fields.PositiveCount
    ran: fields.Count
    chunks: fields.Count
    transfers: fields.Count
    length_gflop: fields.NotNegative
    length_cov: fields.NotNegative | None
    finish_ns: fields.CoreColumn
    busy_ns: fields.CoreColumn
    released_ns: fields.CoreColumn | None
    scheduling_ns: fields.Key
    chosen: Annotated[tuple[fields.Count, ...], Meta(max_length=1000)]
    ahead_chunks: fields.Key
    graph: fields.Measurement | None


class Failed(Message, frozen=True, kw_only=True):
    """Application: it cannot simulate this job."""

    job: fields.Key
    reason: fields.Reason
    blame: Literal["user", "bridge", "application"]


class Welcome(Message, frozen=True, kw_only=True):
    """Bridge: the hello was accepted."""

    version: fields.Version
    run: fields.Name


class Refused(Message, frozen=True, kw_only=True):
    """Bridge: its last word before it closes the connection."""

    reason: fields.Reason
    blame: Literal["stranger", "application", "bridge"]


class SimulateJob(Message, frozen=True, kw_only=True, tag="start"):
    """Bridge: simulate a job."""

    has_maps = True

    job: fields.Key
    attempt: fields.Count
    start_ns: fields.Instant
    core_speed_gflops: fields.CoreColumn
    technique: fields.TechniqueName
    parts: fields.Parts | None
    overhead_ns: fields.Duration
    latency_ns: fields.CoreColumn | None
    master: bool
    core_host: fields.HostColumn | None
    network: fields.NetworkFields | None
    records: bool
    releases: bool
    recipe: fields.Recipe | None
    tasks: fields.PositiveCount | None
    until_ns: fields.Instant | None
    changes: fields.Changes
    hints: fields.Hints
    resizes: fields.Resizes | None
    resize_ns: fields.Duration
    wishes: fields.WidthRange | None
    scales: fields.Scales
    stop_ns: fields.Instant | None


class Lengths(Message, frozen=True, kw_only=True):
    """Bridge: a slice of the lengths of the job's tasks, from task ``first`` on."""

    job: fields.Key
    first: fields.Count
    length_gflop: fields.LengthColumn


class EdgeSlice(Message, frozen=True, kw_only=True, tag="edges"):
    """Bridge: a slice of the edges of the job's graphs, from edge ``first`` on."""

    job: fields.Key
    first: fields.Count
    source: fields.EdgeColumn4
    target: fields.EdgeColumn4
    bytes: fields.EdgeColumn8


class Resume(Message, frozen=True, kw_only=True):
    """Bridge: go on with a suspended job."""

    has_maps = True

    job: fields.Key
    until_ns: fields.Instant | None
    changes: fields.Changes
    stop_ns: fields.Instant | None


class Cancel(Message, frozen=True, kw_only=True):
    """Bridge: forget a job."""

    job: fields.Key


class Quit(Message, frozen=True, kw_only=True):
    """Bridge: no more work; close the connection."""


#: Every message, in the order of ``PROTOCOL.md``.
APPLICATION_MESSAGES: Final = Vocabulary(
    APPLICATION_TABLE,
    (
        Hello, Welcome, Refused, SimulateJob, Lengths, EdgeSlice, Promise, Wish, Suspended, Resume, Records, Transfers,
        Outcome, Failed, Cancel, Quit,
    ),
)  # fmt: skip
encode, decode, sender_of = APPLICATION_MESSAGES.encode, APPLICATION_MESSAGES.decode, APPLICATION_MESSAGES.sender_of


def other_version(greeting: Greeting) -> str:
    """Return why a first message of another version is refused; empty for one of ours."""
    if greeting.version == PROTOCOL_VERSION:
        return ""
    return f"protocol version {greeting.version} is not spoken here; spoken: {PROTOCOL_VERSION}"
