"""The messages between a run and an external scheduler, its batch level (``PROTOCOL.md``, section 15)."""

from typing import Annotated, Final, Literal

from bls.machine.platform import MAX_GPUS
from bridge.encoding import Meta
from bridge.protocol import messages as m
from bridge.protocol.messages import Duration, Instant, JobMessage, Key, Map, Name, NotNegative, Reason
from bridge.protocol.tables import SCHEDULER_TABLE
from bridge.protocol.vocabulary import Message, Vocabulary
from traces.base.scale import HIGHEST, LOWEST
from traces.records.gpus import WHOLE_GPU

SCHEDULER_VERSION: Final = 6  # the version of this part of the protocol, which has its own number
SCHEDULER_ROLE: Final = "scheduler"  # the role in the hello of a scheduler

MAX_MACHINE_CORES: Final = 2**24
MAX_INTERVALS: Final = 2**20  # in one column
MAX_ANSWERS: Final = 2**20  # jobs in one list of an answer
MAX_WAKE_UPS: Final = 2**16  # instants in one answer

_Words = Annotated[str, Meta(max_length=200)]
_Text = Annotated[str, Meta(max_length=4096)]
_Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
_Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
_Cores = Annotated[int, Meta(ge=1, le=MAX_MACHINE_CORES)]
_Amounts = dict[str, _Count]

#: Half-open intervals, as int32 one after another: first, stop, first, stop …
Intervals = Annotated[bytes, Meta(max_length=8 * MAX_INTERVALS)]

How = Literal["completed", "killed", "cancelled", "failed", "requeued", "rejected"]


class SchedulerHello(Message, frozen=True, kw_only=True, tag="hello"):
    """Scheduler: the first frame."""

    version: m.Version
    role: Literal["scheduler"]
    token: _Words
    name: Name
    directs: Annotated[tuple[Name, ...], Meta(max_length=4)]


class GivenUp(Message, frozen=True, kw_only=True, tag="refused"):
    """Bridge: the hello was refused, or the run given up; the last message, like ``refused`` to an application."""

    reason: Reason
    blame: Literal["stranger", "scheduler", "bridge"]


class HostGroupOfMachine(Map, frozen=True, kw_only=True):
    """Consecutive hosts that are alike."""

    count: Annotated[int, Meta(ge=1, le=m.MAX_HOSTS)]
    cores: _Cores
    speed_gflops: NotNegative
    resources: _Amounts
    gpus: Annotated[int, Meta(ge=0, le=MAX_GPUS)]
    gpu: _Words


class PartitionOfMachine(Map, frozen=True, kw_only=True):
    """A partition and its limits."""

    name: _Text
    hosts: Intervals
    priority: _Whole
    min_cores: _Count | None
    max_cores: _Count | None
    max_time_ns: _Count | None
    max_running_jobs: _Count | None
    max_running_cores: _Count | None
    max_jobs_per_user: _Count | None
    max_cores_per_user: _Count | None
    max_gpus: NotNegative | None
    max_running_gpus: NotNegative | None
    max_gpus_per_user: NotNegative | None


class WindowOfMachine(Map, frozen=True, kw_only=True):
    """An advance reservation or a maintenance."""

    kind: Literal["maintenance", "reservation"]
    name: _Text
    begin_ns: Instant
    end_ns: Instant
    cores: Intervals
    jobs: str


class MachineDescription(Message, frozen=True, kw_only=True, tag="machine"):
    """Bridge: once, after the welcome: the machine, and the features that the engine handles itself."""

    has_maps = True

    cores: _Cores
    hosts: tuple[HostGroupOfMachine, ...]
    licences: _Amounts
    partitions: tuple[PartitionOfMachine, ...]
    windows: tuple[WindowOfMachine, ...]
    allocator: _Text
    whole_hosts: bool
    kills: bool
    releases: bool
    resizes: bool
    hints: bool


class GpusOfJob(Map, frozen=True, kw_only=True):
    """The request of a job for numbered GPUs, or shares of them."""

    count: Annotated[int, Meta(ge=1, le=MAX_GPUS)]
    per: Literal["unit", "host"]
    milli: Annotated[int, Meta(ge=1, le=WHOLE_GPU)]
    kinds: tuple[_Words, ...]


class Submitted(JobMessage, frozen=True, kw_only=True):
    """Bridge: a job was submitted; it waits, or is held until another has ended."""

    has_maps = True

    number: _Whole
    attempt: _Count
    first: Key
    submit_ns: Instant
    eligible_ns: Instant | None
    estimate_ns: Duration
    walltime_ns: Duration
    deadline_ns: _Whole
    cores: _Cores
    min_cores: _Cores
    max_cores: _Cores
    units: _Cores
    unit_cores: _Cores
    resources: _Amounts
    licences: _Amounts
    gpus: GpusOfJob | None
    switches: _Count
    user: _Whole
    group: _Whole
    queue: _Whole
    partition: _Whole
    qos: _Whole
    partition_name: _Text | None
    reservation: _Text | None
    depends_on: _Whole | None
    think_ns: Duration
    application: _Whole
    memory_kb: _Whole
    power_mw: _Whole | None
    extras: dict[str, _Whole]


class Eligible(JobMessage, frozen=True, kw_only=True):
    """Bridge: a held job is waiting from now on."""

    eligible_ns: Instant
    estimate_ns: Duration


class Started(JobMessage, frozen=True, kw_only=True):
    """Bridge: a job has started."""

    start_ns: Instant
    cores: Intervals
    gpus: Annotated[bytes, Meta(max_length=4 * MAX_INTERVALS)]
    expected_end_ns: Instant


class Expected(JobMessage, frozen=True, kw_only=True):
    """Bridge: the planned end of a running job has changed."""

    expected_end_ns: Instant


class Released(JobMessage, frozen=True, kw_only=True):
    """Bridge: a running job has given these cores back."""

    cores: Intervals


class Given(JobMessage, frozen=True, kw_only=True):
    """Bridge: a running job has received these cores."""

    cores: Intervals


class Ended(JobMessage, frozen=True, kw_only=True):
    """Bridge: a job has ended, or will never start."""

    end_ns: Instant
    how: How


class Host(Message, frozen=True, kw_only=True):
    """Bridge: a host is down, or up again."""

    host: Annotated[int, Meta(ge=0, lt=m.MAX_HOSTS)]
    down: bool
    up_again_ns: Instant | None


class Decide(Message, frozen=True, kw_only=True):
    """Bridge: the question: what starts now?"""

    decision: _Count
    now_ns: Instant
    free_cores: Annotated[int, Meta(ge=0, le=MAX_MACHINE_CORES)]
    free_gpus: Annotated[bytes, Meta(max_length=8 * MAX_INTERVALS)]
    power_left_mw: _Whole | None
    woken: bool


class JobMap(Map, frozen=True, kw_only=True):
    """A part of an answer, about one job."""

    job: Key


class StartJob(JobMap, frozen=True, kw_only=True):
    """A job that starts, on these cores, or on cores that the engine's allocator chooses."""

    cores: Intervals | None


class RejectedJob(JobMap, frozen=True, kw_only=True):
    """A job that is rejected."""

    reason: Annotated[str, Meta(min_length=1, max_length=200)]


class ScaleJob(JobMap, frozen=True, kw_only=True):
    """A running job whose cores, these or all, run at a multiple of their own speed from now on."""

    factor: Annotated[float, Meta(ge=LOWEST, le=HIGHEST)]
    cores: Intervals | None


class EndJob(JobMap, frozen=True, kw_only=True):
    """A running job that is ended, and perhaps queued again."""

    requeue: bool


class ResizeJob(JobMap, frozen=True, kw_only=True):
    """A running job whose number of cores is to change."""

    cores: _Cores


class HintJob(JobMap, frozen=True, kw_only=True):
    """A running job that should use these cores last, as another job waits for them; or no cores any more."""

    cores: Intervals | None
    waiting: Key | None


class Decided(Message, frozen=True, kw_only=True):
    """Scheduler: the answer."""

    has_maps = True

    decision: _Count
    start: Annotated[tuple[StartJob, ...], Meta(max_length=MAX_ANSWERS)]
    reject: Annotated[tuple[RejectedJob, ...], Meta(max_length=MAX_ANSWERS)]
    wake_ns: Annotated[tuple[Instant, ...], Meta(max_length=MAX_WAKE_UPS)]
    scale: Annotated[tuple[ScaleJob, ...], Meta(max_length=MAX_ANSWERS)]
    end: Annotated[tuple[EndJob, ...], Meta(max_length=MAX_ANSWERS)]
    resize: Annotated[tuple[ResizeJob, ...], Meta(max_length=MAX_ANSWERS)]
    hint: Annotated[tuple[HintJob, ...], Meta(max_length=MAX_ANSWERS)]


class SchedulerFailed(Message, frozen=True, kw_only=True, tag="failed"):
    """Scheduler: it cannot go on; the last message, instead of an answer."""

    reason: Annotated[str, Meta(min_length=1, max_length=500)]
    blame: Literal["user", "bridge", "scheduler"]


class SchedulerQuit(Message, frozen=True, kw_only=True, tag="quit"):
    """Bridge: the run has finished, or was given up."""

    complete: bool


#: Every message, in the order of ``PROTOCOL.md``.
SCHEDULER_MESSAGES: Final = Vocabulary(
    SCHEDULER_TABLE,
    (
        SchedulerHello, m.Welcome, GivenUp, MachineDescription, Submitted, Eligible, Started, Expected, Released, Given, Ended,
        Host, Decide, Decided, SchedulerFailed, SchedulerQuit,
    ),
)  # fmt: skip
