"""The words of the batch level: jobs, the machine, the rules of a run, and what became of an attempt. Plain values only."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Gpus:
    """``n`` GPUs of each ``unit``, of each ``host`` of the job, or of the ``job``; ``milli`` of each, which is a share of one
    GPU if it is less than 1000; of these kinds, or of any if there are none."""

    n: int
    per: str = "unit"
    milli: int = 1000
    kinds: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Job:
    """A job as the workload has it; times in ns. ``wanted`` are the cores it requests by number, if it does.

    ``run`` -1: not known; it runs until something stops it. A unit is ``unit_cores`` cores and ``needs`` (resource,
    amount) of one host; ``licences`` (name, amount) are of the machine. ``limit``: most leaf switches, 0 any. ``after`` is the
    row of the job that must leave before, ``think`` what passes from then on. ``cancel`` is an instant. ``window`` is the
    place of the reservation in ``Machine.windows`` that it runs in. ``planned`` is the run time that the scheduler plans with,
    if that is known and is not what is asked for. From ``any_from`` on, as it waits, it accepts any number of switches.
    ``begin`` is the instant before which it may not join the queue.
    """

    number: int
    submit: int
    run: int
    cores: int
    estimate: int
    wanted: frozenset[int] | None = None
    unit_cores: int = 1
    needs: tuple[tuple[str, int], ...] = ()
    licences: tuple[tuple[str, int], ...] = ()
    limit: int = 0
    user: int = -1
    group: int = -1
    queue: int = -1
    partition: int = 0
    after: int | None = None
    think: int = 0
    cancel: int | None = None
    preset: bool = False
    window: int | None = None
    application: int = -1
    planned: int | None = None
    any_from: int | None = None
    begin: int = -1
    gpus: Gpus | None = None

    @property
    def earliest(self) -> int:
        return max(self.submit, self.begin)


@dataclass(frozen=True)
class Host:
    """``cores`` cores, amounts of (resource, amount), the instants between which it fails, or is drained, as (down, up), and
    ``gpus`` GPUs of one kind."""

    cores: int
    amounts: tuple[tuple[str, int], ...] = ()
    outages: tuple[tuple[int, int], ...] = ()
    drains: tuple[tuple[int, int], ...] = ()
    gpus: int = 0
    kind: str = ""


@dataclass(frozen=True)
class Partition:
    """Hosts for some of the jobs (None: all of them), its place before others, and its limits (None: none)."""

    hosts: frozenset[int] | None = None
    tier: int = 0
    max_jobs: int | None = None
    max_cores: int | None = None
    max_user_jobs: int | None = None
    max_user_cores: int | None = None
    max_milli: int | None = None
    max_user_milli: int | None = None


@dataclass(frozen=True)
class Window:
    """[begin, end): ``maintenance`` of the hosts, or a reservation of the cores for the jobs that name it."""

    begin: int
    end: int
    maintenance: bool
    cores: frozenset[int]


@dataclass(frozen=True)
class Machine:
    """Hosts, whose cores are numbered host by host; ``switches`` are (level, hosts below), leaves have level 0."""

    hosts: tuple[Host, ...]
    licences: tuple[tuple[str, int], ...] = ()
    partitions: tuple[Partition, ...] = (Partition(),)
    windows: tuple[Window, ...] = ()
    switches: tuple[tuple[int, frozenset[int]], ...] = ()

    def cores_of(self, host: int) -> list[int]:
        """The numbers of a host's cores."""
        first = sum(each.cores for each in self.hosts[:host])
        return list(range(first, first + self.hosts[host].cores))

    @property
    def has_gpus(self) -> bool:
        return any(host.gpus for host in self.hosts)

    def gpus_of(self, host: int) -> list[int]:
        """The numbers of a host's GPUs."""
        first = sum(each.gpus for each in self.hosts[:host])
        return list(range(first, first + self.hosts[host].gpus))

    def host_of(self, core: int) -> int:
        return next(host for host in range(len(self.hosts)) if core in self.cores_of(host))


def ranges(*switches: tuple[int, int, int]) -> tuple[tuple[int, frozenset[int]], ...]:
    return tuple((level, frozenset(range(lo, hi))) for level, lo, hi in switches)


#: By how much a job that runs longer than predicted is expected to go on: 1, 5, 15 … minutes.
MINUTE = 60 * 10**9
MINUTES = tuple(MINUTE * minutes for minutes in (1, 5, 15, 30, 60, 120, 300, 600, 1200, 3000, 6000))


@dataclass(frozen=True)
class Predictor:
    """Predicts by ended jobs: the mean of the latest ``mean_of`` that agree in the fields of a level, the first level
    with at least ``least`` of them."""

    levels: tuple[tuple[str, ...], ...]
    mean_of: int = 1
    least: int = 1


LAST_TWO = Predictor((("user",),), 2, 2)
PROFILE = Predictor(
    (
        ("user", "application", "queue", "cores", "estimate"),
        ("user", "application", "queue", "cores"),
        ("user", "application", "queue"),
        ("user", "application"),
        ("user", "queue", "cores", "estimate"),
        ("user", "cores", "estimate"),
        ("user", "cores"),
    )
)


@dataclass(frozen=True)
class Rules:
    """How the machine is scheduled.

    ``order`` is a name in ``reference.orders.ORDERS`` or a key of (job, now). ``depth`` None: no bound. ``keep`` only with
    that. ``cost`` is what each pass takes. ``counts`` None: by what is asked. ``predictor`` None: jobs
    are planned with what is said of them. ``promises``: a job that runs is planned with its own end from the next pass on, but
    for one that its user or a host will stop. ``switch_wait``: how long a job waits for few switches, None: for ever.
    ``workload``: the jobs by which the fragmentation of GPUs is measured; set when a run begins.
    """

    order: str | Callable[[Job, int], float | int] = "fcfs"
    depth: int | None = 0
    keep: bool = False
    allocator: str = "first-fit"
    kill: bool = False
    requeue: bool = True
    cost: int = 0
    slack: float | Fraction = 2.0
    seed: int = 0
    counts: bool | None = None
    predictor: Predictor | None = None
    corrections: tuple[int, ...] = MINUTES
    promises: bool = False
    switch_wait: int | None = None
    workload: tuple[Job, ...] = ()


@dataclass(frozen=True)
class Attempt:
    """Result of an attempt: -1 for an instant that never came."""

    number: int
    attempt: int
    eligible: int
    start: int
    end: int
    cores: tuple[int, ...]
    why: str
    state: str
    gpus: tuple[int, ...] = ()
