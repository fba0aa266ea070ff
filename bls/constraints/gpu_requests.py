"""Requests of jobs for the numbered GPUs of hosts: of each task, of each host, or of the whole job (docs/reference/inputs.md).

A task is a unit of the job. GPUs of the whole job are given to equal parts of it, each on one host: as many as possible, or one
for each node if the log states nodes that divide units and GPUs. If these divide the GPUs only, and there would be fewer parts
than nodes, the GPUs of a node become those of each host.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from itertools import groupby

import numpy as np

from bls.machine.platform import GPU_COLUMNS, HostGroup, Platform, accepts_kind
from bls.workloads.workload import Workload
from traces.base.columns import read_only
from traces.base.errors import InputError, one_of, shown, whole
from traces.compiled import Array
from traces.records.gpus import WHOLE_GPU

OF_JOB, PER_HOST, PER_TASK, MILLI, KIND = GPU_COLUMNS
_OF_LOGS = ("gpus", "gpu")  # further columns of logs with the number of a job's GPUs


@dataclass(frozen=True, eq=False)
class GpuRequests:
    """GPUs requested by the jobs of a workload, by row. Arrays are read-only int64."""

    per_unit: Array  # (n,): GPUs of each unit, on its host
    per_host: Array  # (n,): GPUs of each host that the job has cores on; 0 if it requests GPUs per unit
    milli: Array  # (n,): thousandths of each GPU, 1 to 1000; of a share there is one per unit or host
    kinds: Array  # (n,): accepted kinds, the sum of 1 << k for numbers k in ``Platform.gpu_kinds``
    #: (n,): requested units that form a unit, which gets an equal part of the GPUs of the whole job; 0 if it requests these
    #: otherwise. None: no job requests GPUs for the whole of it.
    joined: Array | None = None

    def __post_init__(self) -> None:
        for entry in fields(self):
            if (column := getattr(self, entry.name)) is not None:
                object.__setattr__(self, entry.name, read_only(np.array(column, np.int64)))

    @property
    def columns(self) -> list[Array]:
        """The columns of the GPUs of units and hosts."""
        return [self.per_unit, self.per_host, self.milli, self.kinds]

    @property
    def any(self) -> Array:
        """Whether each job requests GPUs: bool (n,)."""
        return (self.per_unit > 0) | (self.per_host > 0)

    def parts(self, units: Array, hosts: Array | int = 1) -> Array:
        """Number of GPUs, or shares of one, that jobs of ``units`` units on ``hosts`` hosts request, int64 (n,)."""
        return np.asarray(self.per_unit * units + self.per_host * hosts)

    def milli_in_all(self, units: Array) -> Array:
        """Thousandths of GPUs that jobs of ``units`` units request, int64 (n,); of GPUs per host those of one host, as the
        number of its hosts is unknown before it starts."""
        return np.asarray(self.parts(units) * self.milli)

    def take(self, rows: Array) -> "GpuRequests":
        """The requests of some rows (ascending numbers, or a mask)."""
        joined = None if self.joined is None else self.joined[rows]
        per_unit, per_host, milli, kinds = (column[rows] for column in self.columns)
        return GpuRequests(per_unit, per_host, milli, kinds, joined)

    def accepted(self, row: int, known: tuple[str, ...]) -> tuple[str, ...]:
        """The known kinds that a job accepts; empty for all, and for a job without GPUs. Raises ValueError if it accepts
        none, so that it can never run."""
        if not (self.per_unit[row] or self.per_host[row]):
            return ()
        found = tuple(kind for k, kind in enumerate(known) if accepts_kind(self.kinds[row], k))
        if not found:
            raise ValueError(f"row {row} accepts none of the kinds {', '.join(known)}: it should have been rejected")
        return found if len(found) < len(known) else ()

    def units_on(self, group: HostGroup, kinds: tuple[str, ...]) -> Array:
        """Number of units of each job that the GPUs of an empty host allow, int64 (n,); the largest integer for any number."""
        here = (
            group.gpus * accepts_kind(self.kinds, kinds.index(group.gpu)) if group.gpus else np.zeros_like(self.kinds)
        )
        shares = np.where(self.milli < WHOLE_GPU, WHOLE_GPU // self.milli, 1) * here
        most = np.where(self.per_unit > 0, shares // np.maximum(self.per_unit, 1), np.iinfo(np.int64).max)
        return np.where(self.per_host > here, 0, most)


def gpus_of_log(workload: Workload) -> Array | None:
    """Number of GPUs of each job by the log, int64 (n,), 0 if unknown; None if it has no column with them."""
    columns = [column for name, column in workload.extras.items() if name.lower() in _OF_LOGS]
    return np.asarray(np.max(columns, axis=0, initial=0)) if columns else None


def with_gpus_of_log(platform: Platform, workload: Workload) -> Platform:
    """The platform with the GPUs that the jobs of a log held, on its first hosts: of each kind as many per host as a job held
    on a node, and on as many hosts as needed for what jobs held at once. If jobs name single kinds, only these jobs count.
    Raises InputError if the hosts do not suffice."""
    if (gpus := gpus_of_log(workload)) is None:
        return platform
    nothing = np.full(len(workload), -1, np.int64)
    nodes, milli, kind = (workload.extras.get(name, nothing) for name in ("nodes", MILLI, KIND))
    held, per_host = gpus * np.where(milli > 0, milli, WHOLE_GPU), -(-gpus // np.maximum(nodes, 1))
    single = sorted((name, number) for number, name in workload.labels.get(KIND, {}).items() if "|" not in name)
    named = [(name, rows) for name, number in single if (rows := (kind == number) & (gpus > 0)).any()]
    start_ns = workload.submit_ns + np.maximum(workload.wait_ns, 0)
    hosts: list[tuple[int, str]] = []  # GPUs, and their kind
    for name, rows in named or [("", gpus > 0)]:
        change = np.concatenate([-held[rows], held[rows]])
        order = np.argsort(np.concatenate([(start_ns + workload.run_ns)[rows], start_ns[rows]]), kind="stable")
        most, each = int(np.cumsum(change[order]).max(initial=0)), int(per_host[rows].max(initial=1))
        hosts += [(each, name)] * -(-most // (WHOLE_GPU * each))
    if len(hosts) > platform.n_hosts:
        few = f"its jobs held GPUs on at least {len(hosts)} hosts at once, and its machine has {platform.n_hosts}"
        raise InputError(f"{workload.source}: {few}")
    hosts += [(0, "")] * (platform.n_hosts - len(hosts))
    homes = [one for one in platform.hosts for _ in range(one.count)]
    runs = groupby(zip(homes, hosts, strict=True))
    groups = (replace(one, count=len([*some]), gpus=n, gpu=name) for (one, (n, name)), some in runs)
    return replace(platform, hosts=tuple(groups))


def readers(platform: Platform) -> dict[str, Callable[[str, str], int]]:
    """Readers of the columns that are not just counts, as of ``read_request_file``: shares, and kinds such as ``a100|v100``."""
    return {MILLI: _milli, KIND: lambda where, text: _kinds(where, text, platform.gpu_kinds)}


def check_line(where: str, numbers: Mapping[str, int]) -> None:
    """Check that a line of a request file gives at most one number of GPUs. Raises InputError."""
    given = [name for name in (OF_JOB, PER_HOST, PER_TASK) if numbers.get(name, -1) > 0]
    if len(given) > 1:
        raise InputError(f"{where}: {given[1]}: {numbers[given[1]]}, and {given[0]}; allowed: one of them")


def _milli(where: str, text: str) -> int:
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else text
    return whole(where, number, 1, WHOLE_GPU)


def _kinds(where: str, text: str, known: tuple[str, ...]) -> int:
    if known == ("",):
        raise InputError(f"{where}: {shown(text)}: the GPUs of the platform have no kinds; give it gpu")
    mask = 0
    for kind in text.split("|"):
        if kind.strip() not in known:
            raise one_of("kind", kind.strip(), known, where)
        mask |= 1 << known.index(kind.strip())
    return mask


def gpu_requests(
    workload: Workload, platform: Platform, given: Mapping[str, Array], units: Array, source: str
) -> tuple[GpuRequests, Array]:
    """The GPUs that jobs request on a platform with GPUs, and the number of units of each that form a new unit, int64 (n,).

    ``given``: columns of a request file, -1 for missing values, which take precedence over the log's further columns ``gpus``
    (of the job), ``gpu_milli`` and ``gpu_kind``, whose names are in ``Workload.labels``. ``units``, int64 (n,): units of the
    jobs. ``source``: the request file, for messages. Raises InputError if a job requests shares of several GPUs at once.
    """
    nothing = np.full(len(workload), -1, np.int64)
    of_job, per_host, per_task = (given.get(name, nothing) for name in (OF_JOB, PER_HOST, PER_TASK))
    if (logged := gpus_of_log(workload)) is not None:
        of_job = np.where((of_job < 0) & (per_host < 0) & (per_task < 0), logged, of_job)
    of_job, per_host, per_task = (np.maximum(column, 0) for column in (of_job, per_host, per_task))

    nodes = np.maximum(workload.extras.get("nodes", nothing), 1)
    by_node = (nodes > 1) & (units % nodes == 0) & (of_job % nodes == 0)
    parts = np.where(by_node, nodes, np.gcd(units, np.maximum(of_job, 1)))
    # Parts that nodes of the log did not hold: its nodes do not divide the units, and there are fewer parts than nodes.
    by_host = (of_job > 0) & (parts < nodes) & (of_job % nodes == 0)
    per_host, of_job = np.where(by_host, of_job // nodes, per_host), np.where(by_host, 0, of_job)
    joined = np.where(of_job > 0, units // parts, 1)
    per_unit = np.where(of_job > 0, of_job // parts, per_task)

    milli = _first(given.get(MILLI, nothing), workload.extras.get(MILLI, nothing), WHOLE_GPU)
    several = np.flatnonzero((milli < WHOLE_GPU) & (np.maximum(per_unit, per_host) > 1))
    if len(several):
        row = int(several[0])
        number = max(int(per_unit[row]), int(per_host[row]))
        where = f"{source}: job {workload.job_id[row]}: {MILLI}: {milli[row]}"
        raise InputError(f"{where} of each of {number} GPUs; allowed: a share of one GPU")
    every = (1 << len(platform.gpu_kinds)) - 1
    kinds = _first(given.get(KIND, nothing), _kinds_of_log(workload, platform), every)
    return GpuRequests(per_unit, per_host, milli, kinds, np.where(of_job > 0, joined, 0)), joined


def _first(given: Array, log: Array, otherwise: int) -> Array:
    # The file's values, else the log's, else another.
    return np.where(given > 0, given, np.where(log > 0, log, otherwise))


def _kinds_of_log(workload: Workload, platform: Platform) -> Array:
    """The accepted kinds of each job by the log, as the sum of 1 << k; -1 if it states none, and a kind beyond the platform's
    if it states one that no host has."""
    column = workload.extras.get(KIND)
    found = np.full(len(workload), -1, np.int64)
    for number, names in workload.labels.get(KIND, {}).items() if platform.gpu_kinds != ("",) else ():
        places = [platform.gpu_kinds.index(name) for name in names.split("|") if name in platform.gpu_kinds]
        found[column == number] = sum(1 << place for place in places) or 1 << len(platform.gpu_kinds)
    return found
