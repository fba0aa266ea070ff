"""The messages of the bridge protocol, typed and bounded, and their parts; ``PROTOCOL.md`` defines their fields."""

from typing import Annotated, Final, Literal

from bridge.encoding import Meta, Struct
from bridge.protocol.tables import APPLICATION_TABLE
from bridge.protocol.vocabulary import Greeting, Message, Vocabulary
from traces.base.scale import HIGHEST, LOWEST
from traces.base.time import MAX_NS

PROTOCOL_VERSION: Final = 13  # the version of the protocol that this module speaks

#: Environment variables of an application process: the address of the bridge, the token, and the process's own id.
ADDRESS_VARIABLE: Final = "TWOLEVEL_ADDRESS"
TOKEN_VARIABLE: Final = "TWOLEVEL_TOKEN"
WORKER_VARIABLE: Final = "TWOLEVEL_WORKER"

#: Reason for refusing a hello that arrives after all jobs are done; the process then ends without an error.
OVER: Final = "the run is over"
ALL_CORES: Final = -1  # the ``core`` of a :class:`Change` of every core of the job

# Limits
MAX_CORES: Final = 2**20  # cores of one job
MAX_TASKS: Final = 2**31 - 1  # tasks of one job
MAX_EDGES: Final = 2**31 - 1  # edges of one job
MAX_CHANGES: Final = 2**16  # changes in one message
MAX_PARTS: Final = 2**16  # parts of one job
MAX_HOSTS: Final = 2**24  # hosts of the machine
MAX_PROMISES: Final = 2**16  # promises for one job
MAX_WISHES: Final = 2**16  # requests of one job
MAX_HINTS: Final = 2**11  # hints in one message, and cores in all of them
MAX_HINTED: Final = 2**16
MAX_RESIZES: Final = 2**11  # changes of the width in one message, and cores in all of them
MAX_RESIZED: Final = 2**16
MAX_SCALES: Final = 2**14  # scales of speeds in one message, and cores that all of them name
MAX_SCALED: Final = 2**16
LENGTHS_PER_FRAME: Final = 2**20  # lengths in one ``lengths``
EDGES_PER_FRAME: Final = 2**20  # edges in one ``edges``
RECORDS_PER_FRAME: Final = 2**18  # tasks in one ``records``, transfers in one ``transfers``
_MAX_FLOAT: Final = 1.7976931348623157e308  # excludes infinity; NaN fails every comparison

Version = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Key = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Instant = Annotated[int, Meta(ge=0, le=MAX_NS)]
Duration = Annotated[int, Meta(ge=0, le=MAX_NS)]
Count = Annotated[int, Meta(ge=0, le=MAX_TASKS)]
PositiveCount = Annotated[int, Meta(ge=1, le=MAX_TASKS)]
Positive = Annotated[float, Meta(gt=0, le=_MAX_FLOAT)]
NotNegative = Annotated[float, Meta(ge=0, le=_MAX_FLOAT)]
Seed = Annotated[int, Meta(ge=0)]  # up to 2**64 - 1, the limit of MessagePack
Name = Annotated[str, Meta(min_length=1, max_length=200)]
TechniqueName = Annotated[str, Meta(min_length=1, max_length=1000)]  # may contain the path of a file
TopologyText = Annotated[str, Meta(min_length=1, max_length=500)]
ProgramText = Annotated[str, Meta(max_length=2**20)]
Reason = Annotated[str, Meta(max_length=500)]
CoreOfJob = Annotated[int, Meta(ge=ALL_CORES, lt=MAX_CORES)]
Width = Annotated[int, Meta(ge=1, le=MAX_CORES)]
CoreColumn = Annotated[bytes, Meta(min_length=8, max_length=8 * MAX_CORES)]
HostColumn = Annotated[bytes, Meta(min_length=4, max_length=4 * MAX_CORES)]
LengthColumn = Annotated[bytes, Meta(min_length=8, max_length=8 * LENGTHS_PER_FRAME)]
EdgeColumn8 = Annotated[bytes, Meta(min_length=8, max_length=8 * EDGES_PER_FRAME)]
EdgeColumn4 = Annotated[bytes, Meta(min_length=4, max_length=4 * EDGES_PER_FRAME)]
RecordColumn8 = Annotated[bytes, Meta(min_length=8, max_length=8 * RECORDS_PER_FRAME)]
RecordColumn4 = Annotated[bytes, Meta(min_length=4, max_length=4 * RECORDS_PER_FRAME)]


class Map(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A map inside a message."""


class JobMessage(Message, frozen=True, kw_only=True):
    """A message about one job."""

    job: Key


class Change(Map, frozen=True, kw_only=True):
    """From ``at_ns`` on, a core (index within the job, or ``ALL_CORES``) has another speed; 0: it is lost; None: for good."""

    at_ns: Instant
    core: CoreOfJob
    speed_gflops: NotNegative | None


class Hint(Map, frozen=True, kw_only=True):
    """From ``at_ns`` on the queue waits for exactly these cores of the job (indices within the job, int32)."""

    at_ns: Instant
    cores: Annotated[bytes, Meta(max_length=4 * MAX_CORES)]


class WidthChange(Map, frozen=True, kw_only=True):
    """After ``at_ns`` cores are added at these places of the job (int32), and the cores at other places are requested back
    (int32). ``speed_gflops`` (float64) and ``latency_ns`` (int64) are those of the added cores."""

    at_ns: Instant
    places: Annotated[bytes, Meta(max_length=4 * MAX_CORES)]
    speed_gflops: Annotated[bytes, Meta(max_length=8 * MAX_CORES)]
    latency_ns: Annotated[bytes, Meta(max_length=8 * MAX_CORES)]
    asked: Annotated[bytes, Meta(max_length=4 * MAX_CORES)]


class WidthRange(Map, frozen=True, kw_only=True):
    """The smallest and largest number of cores that a job may request while it runs."""

    least: Width
    most: Width


class Scale(Map, frozen=True, kw_only=True):
    """From ``at_ns`` on, after all other events at that instant, these cores of the job (int32; nil: all, and those added
    later) run at ``factor`` times their own speeds."""

    at_ns: Instant
    cores: Annotated[bytes, Meta(max_length=4 * MAX_CORES)] | None
    factor: Annotated[float, Meta(ge=LOWEST, le=HIGHEST)]


class NetworkFields(Map, frozen=True, kw_only=True):
    """The network between the hosts of the machine."""

    kind: Literal["none", "hockney", "sharing"]
    topology: TopologyText
    hosts: Annotated[int, Meta(ge=1, le=MAX_HOSTS)]
    bandwidth_bytes_per_s: Positive
    latency_ns: NotNegative
    memory_bytes_per_s: Positive | None
    latency_factor: NotNegative
    bandwidth_factor: Positive
    weight_bytes: NotNegative
    gamma_bytes: NotNegative
    crosstraffic: bool


class Placement(Map, frozen=True, kw_only=True):
    """The hosts that determine the links of a job's devices."""

    core_host: HostColumn
    network: NetworkFields


class Recipe(Map, frozen=True, kw_only=True):
    """The data from which an application generates the job's tasks itself."""

    seed: Seed
    job_number: Key
    cores: Width
    n: PositiveCount
    mean_gflop: Positive
    variation: NotNegative
    total_gflop: Positive
    core_gflop: Positive
    speed_gflops: Positive
    bytes_per_gflop: Positive
    program: ProgramText
    drives: HostColumn | None
    placement: Placement | None


class Part(Map, frozen=True, kw_only=True):
    """A part of a job: a loop or a graph with its technique, or a serial part without one."""

    tasks: PositiveCount
    technique: TechniqueName | None
    order: Literal["index", "rank"]
    edges: Annotated[int, Meta(ge=0, le=MAX_EDGES)]
    cores: Width | None


class Measurement(Map, frozen=True, kw_only=True):
    """Measurements of a job that has a graph."""

    critical_path_ns: NotNegative | None
    parallelism: NotNegative | None
    slr: NotNegative | None
    speedup: NotNegative | None
    transfers: Annotated[int, Meta(ge=0, le=MAX_EDGES)]
    transfer_bytes: NotNegative
    transfer_wait_ns: Key


Changes = Annotated[tuple[Change, ...], Meta(max_length=MAX_CHANGES)]
Hints = Annotated[tuple[Hint, ...], Meta(max_length=MAX_HINTS)]
Resizes = Annotated[tuple[WidthChange, ...], Meta(max_length=MAX_RESIZES)]
Scales = Annotated[tuple[Scale, ...], Meta(max_length=MAX_SCALES)]
Parts = Annotated[tuple[Part, ...], Meta(min_length=1, max_length=MAX_PARTS)]


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


class Promise(JobMessage, frozen=True, kw_only=True):
    """Application: this job has no visible effect before an instant."""

    not_before_ns: Instant


class Wish(JobMessage, frozen=True, kw_only=True):
    """Application: from an instant on the job requests this number of cores."""

    at_ns: Instant
    cores: Width


class Suspended(JobMessage, frozen=True, kw_only=True):
    """Application: the job was simulated up to, but not including, ``now_ns`` and waits for ``resume``."""

    now_ns: Instant
    not_before_ns: Instant


class Records(JobMessage, frozen=True, kw_only=True):
    """Application: a slice of the job's tasks, from task ``first`` on."""

    first: Count
    start_ns: RecordColumn8
    end_ns: RecordColumn8
    core: RecordColumn4
    chunk: RecordColumn4
    length_gflop: RecordColumn8


class Transfers(JobMessage, frozen=True, kw_only=True):
    """Application: a slice of the job's transfers between cores, from transfer ``first`` on."""

    first: Count
    source: RecordColumn4
    target: RecordColumn4
    bytes: RecordColumn8
    sent_ns: RecordColumn8
    arrived_ns: RecordColumn8


class Outcome(JobMessage, frozen=True, kw_only=True):
    """Application: the job has ended."""

    has_maps = True

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


class Failed(JobMessage, frozen=True, kw_only=True):
    """Application: it cannot simulate this job."""

    reason: Reason
    blame: Literal["user", "bridge", "application"]


class Welcome(Message, frozen=True, kw_only=True):
    """Bridge: the hello was accepted."""

    version: Version
    run: Name


class Refused(Message, frozen=True, kw_only=True):
    """Bridge: the hello was refused; the last message before the connection closes."""

    reason: Reason
    blame: Literal["stranger", "application", "bridge"]


class SimulateJob(JobMessage, frozen=True, kw_only=True, tag="start"):
    """Bridge: simulate a job."""

    has_maps = True

    attempt: Count
    start_ns: Instant
    core_speed_gflops: CoreColumn
    technique: TechniqueName
    parts: Parts | None
    overhead_ns: Duration
    latency_ns: CoreColumn | None
    master: bool
    core_host: HostColumn | None
    network: NetworkFields | None
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


class Lengths(JobMessage, frozen=True, kw_only=True):
    """Bridge: a slice of the lengths of the job's tasks, from task ``first`` on."""

    first: Count
    length_gflop: LengthColumn


class EdgeSlice(JobMessage, frozen=True, kw_only=True, tag="edges"):
    """Bridge: a slice of the edges of the job's graphs, from edge ``first`` on."""

    first: Count
    source: EdgeColumn4
    target: EdgeColumn4
    bytes: EdgeColumn8


class Resume(JobMessage, frozen=True, kw_only=True):
    """Bridge: continue a suspended job."""

    has_maps = True

    until_ns: Instant | None
    changes: Changes
    stop_ns: Instant | None


class Cancel(JobMessage, frozen=True, kw_only=True):
    """Bridge: drop a job."""


class Quit(Message, frozen=True, kw_only=True):
    """Bridge: there is no more work; close the connection."""


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
    """Return why a first message of another version is refused; empty for the current version."""
    if greeting.version == PROTOCOL_VERSION:
        return ""
    return f"protocol version {greeting.version} is not supported; supported: {PROTOCOL_VERSION}"
