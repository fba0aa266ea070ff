"""A workload similar to a given one, by the AccaSim paper's generator (section 7.3), and a variant that follows the week.

Each job consists of three parts that are drawn independently: its submit (``bls.workloads.generators.arrivals``), its request
and run time, and its origin, a job of the source, which gives all other columns, the FLOPs, and the ratio of the estimate to
the run time. Requests and run times are drawn in three phases: the type of a job, serial or parallel, and its nodes; its
request on each node, uniformly within the limits; its run time, FLOPs over the speed of the requested resources.

``accasim``: a job is serial (one core) with the source's share of serial jobs. The nodes of the others are two-stage uniform in
their log2 (:class:`bls.workloads.generators.lublin.JobSizes`), from 1 to the source's largest number, with the bend at the
median of the source's parallel jobs, and their share of powers of two. On one node a parallel job requests at least two cores.
The paper combines any FLOPs with any width, so that the work of the widest job would keep a single core busy for decades. Here,
as in AccaSim's program, a job is parallel if its FLOPs exceed those of every serial job of the source, and gets as many nodes
as it needs, and as exist, in order not to run longer than the source's longest job.

``calendar``: the generated job is serial if the drawn job is serial, and requests the same number of cores if there are no
limits of cores.

A parallel job also requests GPUs, with the share of nodes that have them as probability, if enough nodes have them.

Source: C. Galleguillos, Z. Kiziltan, A. Netti, R. Soto, "AccaSim: a customizable workload management simulator for job
dispatching research in HPC systems", Cluster Computing 23, 2020, doi:10.1007/s10586-019-02905-5.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from bls.machine.platform import MAX_CORES, MEMORY, Platform
from bls.machine.platform_files import PROCESSOR_GFLOPS
from bls.options import JOBS, METHOD, NODES_FACTOR, SPEED_FACTOR
from bls.workloads.columns import OPTIONAL
from bls.workloads.generators.arrivals import accasim_arrivals, calendar_arrivals
from bls.workloads.generators.lublin import JobSizes, made_workload, stream
from bls.workloads.header import Calendar, named_size
from bls.workloads.selection import fit
from bls.workloads.workload import Workload
from traces.base.errors import InputError, Mention, one_of, real, shown, whole
from traces.base.time import MAX_NS, NS_PER_S
from traces.compiled import Array

# As errors name them.
_GPUS, _LIMIT = str(Mention("gpus", "gpus")), str(Mention("limit", "limits"))

LIMITS = ("cores", "gpus", "memory_kb")  #: resources of a node whose request may be limited


class Gpus(NamedTuple):
    """Accelerators of a machine: some nodes have ``cards`` each, with ``speed_gflops`` GFLOP/s per card."""

    share: float
    cards: int
    speed_gflops: float


Limits = Mapping[str, tuple[int, int]]  #: smallest and largest request of a job on each of its nodes, by name


@dataclass(frozen=True)
class EqualNodes:
    """A machine of equal nodes."""

    # number of nodes, and total number of cores; a node has cores // nodes of them
    nodes: int
    cores: int
    core_gflops: float  # speed of a core in GFLOP/s
    node_memory_kb: int = 0  # memory of each node; 0 if unknown
    # nodes that have GPUs, and the cards of each; 0 for none
    gpu_nodes: int = 0
    cards: int = 0
    card_gflops: float = 0.0  # speed of a card in GFLOP/s

    @property
    def node_cores(self) -> int:
        """Cores per node."""
        return self.cores // self.nodes


def machine_of(source: Workload, platform: Platform | None) -> EqualNodes:
    """The machine that a workload ran on. ``platform``: the machine, if known; unequal hosts are replaced by the same number of
    average ones. Otherwise the header decides: ``MaxProcs`` cores (else the width of the widest job) on ``MaxNodes`` nodes
    (else one core each), with the default platform's speed per core."""
    if platform is not None:
        speed = float(platform.core_speed_gflops.mean())
        memory = 0
        if MEMORY in platform.resource_names:
            memory = int(platform.host_resources[:, platform.resource_names.index(MEMORY)].min())
        return EqualNodes(platform.n_hosts, platform.n_cores, speed, memory)
    cores, nodes = named_size(source.header)
    cores = max(int(source.cores.max()), cores)
    return EqualNodes(nodes if 0 < nodes <= cores else cores, cores, PROCESSOR_GFLOPS)


def changed(
    machine: EqualNodes, speed_factor: float, nodes_factor: float, gpus: tuple[float, int, float] | None
) -> EqualNodes:
    """The machine with the speed of cores and the number of nodes multiplied by factors, and with GPUs. Raises InputError if a
    factor is not from 1e-6 to 1e6, no node or too many cores are left, or the GPUs are impossible."""
    faster = SPEED_FACTOR.check(speed_factor)
    more = NODES_FACTOR.check(nodes_factor)
    nodes, where = round(machine.nodes * more), f"{NODES_FACTOR}: {shown(nodes_factor)}"
    if nodes < 1:
        raise InputError(f"{where} leaves none of {machine.nodes} nodes; allowed: at least 1")
    cores = machine.cores * nodes // machine.nodes
    if cores > max(MAX_CORES, machine.cores):
        raise InputError(f"{where} makes {cores} cores; allowed: up to {MAX_CORES}")
    made = replace(machine, nodes=nodes, cores=cores, core_gflops=machine.core_gflops * faster)
    if gpus is None:
        return made
    if not isinstance(gpus, tuple) or len(gpus) != 3:
        raise InputError(f"{_GPUS}: {shown(gpus)}; allowed: (share of the nodes, cards of each, GFLOP/s of a card)")
    share = real(f"{_GPUS}: share", gpus[0], 0.0, 1.0)
    cards = whole(f"{_GPUS}: cards", gpus[1], 1, MAX_CORES)
    card_gflops = real(f"{_GPUS}: speed_gflops", gpus[2], 1e-9, 1e15)
    # Slightly more, so that a third of 3 nodes is one.
    gpu_nodes = int(share * nodes + 1e-9)
    if gpu_nodes < 1:
        raise InputError(f"{_GPUS}: share {share:g} of {nodes} nodes is less than one node")
    return replace(made, gpu_nodes=gpu_nodes, cards=cards, card_gflops=card_gflops)


def checked_limits(limits: Limits | None, machine: EqualNodes) -> dict[str, tuple[int, int]]:
    """The limits as a dict. Raises InputError if a name or a pair is not allowed for a node of the machine."""
    most = {
        "cores": (1, machine.node_cores),
        "gpus": (0, machine.cards),
        "memory_kb": (1, machine.node_memory_kb or MAX_NS),
    }
    found: dict[str, tuple[int, int]] = {}
    for name, pair in (limits or {}).items():
        if name not in LIMITS:
            raise one_of("limit", name, LIMITS, _LIMIT)
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InputError(f"{_LIMIT}: {name}: {shown(pair)} is no pair; allowed: (smallest, largest)")
        if name == "gpus" and machine.cards == 0:
            raise InputError(f"{_LIMIT}: gpus: {shown(pair)}: the machine has no GPUs; give it some with {_GPUS}")
        lowest, highest = most[name]
        low, high = (whole(f"{_LIMIT}: {name} of a node", value, lowest, highest) for value in pair)
        if low > high:
            raise InputError(f"{_LIMIT}: {name}: {low} to {high} is empty; allowed: the smallest first")
        found[name] = (low, high)
    return found


class DrawnRequests(NamedTuple):
    """Requests of jobs: int64 arrays of shape (n,). ``cores`` is the total; ``unit_cores`` and ``gpus`` count for each of cores
    / unit_cores nodes; ``memory_kb`` for each core, or None without limits of memory."""

    cores: Array
    unit_cores: Array
    gpus: Array
    memory_kb: Array | None


def drawn_requests(
    source: Workload, rows: Array, before: EqualNodes, machine: EqualNodes, limits: Limits, method: str, seed: int
) -> DrawnRequests:
    """Requests of jobs generated from the jobs ``rows`` of a source, which fit its machine ``before``; ``machine`` is the
    machine of the generated jobs, ``limits`` are those of :func:`checked_limits`, ``method`` selects the first phase."""
    n = len(rows)
    gflop = _gflop(source, before)
    work = gflop[rows]
    chance = stream(seed, "requests")
    if method == "accasim":
        sizes = node_sizes(source, before, machine)
        serial = gflop[source.cores == 1]
        parallel = stream(seed, "types").random(n) >= len(serial) / len(source)
        parallel |= work > (serial.max() if len(serial) else 0.0)
        nodes = np.where(parallel, sizes.drawn(n, machine.nodes, stream(seed, "nodes")), 1)
        limits = {"cores": (1, machine.node_cores), **limits}
        width = nodes
    else:
        width = _scaled(source.cores[rows], before, machine)
        parallel = width > 1
        nodes = np.minimum(-(-width // machine.node_cores), machine.nodes)
    if "cores" in limits:
        low, high = limits["cores"]
        if high == 1:  # nodes of one core: a parallel job needs two of them
            nodes = np.where(parallel, np.minimum(np.maximum(nodes, 2), machine.nodes), nodes)
        least = np.where(parallel & (nodes == 1), min(max(low, 2), high), low)
        most = np.where(parallel, high, low)
        unit = least + np.floor(chance.random(n) * (most - least + 1)).astype(np.int64)
        if method == "accasim":
            longest_s = int(source.run_ns.max()) / NS_PER_S
            needed = np.ceil(work / (unit * before.core_gflops * longest_s) - 1e-9).astype(np.int64)
            nodes = np.minimum(np.maximum(nodes, needed), machine.nodes)
        width = nodes * unit
    else:
        unit = width // nodes
    gpus = np.zeros(n, np.int64)
    if machine.cards:
        low, high = limits.get("gpus", (1, machine.cards))
        with_gpus = stream(seed, "gpus").random(n) < machine.gpu_nodes / machine.nodes
        with_gpus &= parallel & (nodes <= machine.gpu_nodes)
        gpus[with_gpus] = stream(seed, "cards").integers(low, high + 1, int(np.count_nonzero(with_gpus)))
        width = np.where(gpus > 0, nodes * unit, width)  # equal on all nodes
    unit = np.where(nodes * unit == width, unit, 1)
    if "memory_kb" not in limits:
        return DrawnRequests(width, unit, gpus, None)
    low, high = limits["memory_kb"]
    each = stream(seed, "memory").integers(low, high + 1, n)
    return DrawnRequests(width, unit, gpus, np.maximum(each // unit, 1))


def node_sizes(source: Workload, before: EqualNodes, machine: EqualNodes) -> JobSizes:
    """The distribution of the nodes of parallel jobs in the ``accasim`` method; all of its jobs are parallel."""
    parallel = source.cores[source.cores > 1]
    if len(parallel) == 0:
        return JobSizes(serial=0.0, power_of_two=0.0, low=0.0, middle=0.0, high=0.0, first=1.0)
    nodes = np.maximum(1, np.rint(-(-parallel // before.node_cores) * (machine.nodes / before.nodes)))
    nodes = np.minimum(nodes, machine.nodes)
    bend = float(np.median(nodes))
    return JobSizes(
        serial=0.0,
        power_of_two=float(np.mean(np.exp2(np.rint(np.log2(nodes))) == nodes)),
        low=0.0,
        middle=math.log2(bend),
        high=math.log2(float(nodes.max())),
        first=float(np.mean(nodes <= bend)),
    )


def _gflop(source: Workload, before: EqualNodes) -> Array:
    return np.asarray(source.cores * (source.run_ns / NS_PER_S) * before.core_gflops)


def _scaled(cores: Array, before: EqualNodes, machine: EqualNodes) -> Array:
    """Widths on a machine with another number of nodes: jobs of several nodes grow or shrink with it."""
    if machine.nodes == before.nodes:
        return cores
    several = cores > before.node_cores
    grown = np.rint(cores * (machine.nodes / before.nodes)).astype(np.int64)
    return np.minimum(np.where(several, np.maximum(grown, 1), cores), machine.cores)


def run_times_ns(
    source: Workload, rows: Array, before: EqualNodes, machine: EqualNodes, requests: DrawnRequests
) -> Array:
    """Run times: whole seconds in ns, at least one. Raises InputError if one is beyond 146 years."""
    nodes = requests.cores // requests.unit_cores
    speed = requests.cores * machine.core_gflops + nodes * requests.gpus * machine.card_gflops
    run_s = np.maximum(np.rint(_gflop(source, before)[rows] / speed), 1.0)
    if not run_s.max() * NS_PER_S <= MAX_NS:
        raise InputError(
            f"{SPEED_FACTOR}: cores of {machine.core_gflops:g} GFLOP/s would need more than 146 years for a job of "
            f"{source.source}"
        )
    return run_s.astype(np.int64) * NS_PER_S


# Columns of the log about what happened to a job, or between jobs.
_LEFT = ("preceding", "think_ns", "cancel_ns", "wait_ns", "preset", "status", "begin_ns")


def generate_like(
    source: Workload,
    n_jobs: int,
    *,
    seed: int,
    platform: Platform | None = None,
    speed_factor: float = SPEED_FACTOR.default,
    nodes_factor: float = NODES_FACTOR.default,
    gpus: tuple[float, int, float] | None = None,
    limits: Limits | None = None,
    method: str = METHOD.default,
) -> Workload:
    """Generate ``n_jobs`` jobs (1 to 20 million) similar to ``source``; jobs wider than its machine, or without a known run
    time, are left out.

    - ``seed``: 0 to 2**64 - 1; equal seeds give equal jobs
    - ``platform``: the machine of the source; by default as in its header (:func:`machine_of`)
    - ``speed_factor``, ``nodes_factor``: factors of the speed of cores and of the number of nodes; 1e-6 to 1e6
    - ``gpus``: as :class:`Gpus`, e.g. ``(0.25, 2, 933.0)``
    - ``limits``: smallest and largest request per node, of ``cores``, ``gpus`` and ``memory_kb``. By default 1 to all cores of
      a node with ``accasim``, the requests of the source's jobs with ``calendar``; 1 to all cards; the source's memory.
    - ``method``: ``calendar`` or ``accasim``

    Submits and run times are whole seconds; the first job is submitted with the source's first. The header has the machine and
    the speeds by which FLOPs are counted. With ``gpus``, the further columns ``unit_cores`` and ``gpu`` are the requested cores
    and cards on each node. Raises InputError if a value is out of range, a limit is wider than a node, or the source has no
    span or no job that can be used.
    """
    JOBS.check(n_jobs, "n_jobs")
    METHOD.check(method, "method")
    before = machine_of(source, platform)
    if np.all(source.run_unknown):
        raise InputError(f"{source.source}: no run time of any job is known")
    usable = fit(source.take(~source.run_unknown), before.cores)
    machine = changed(before, speed_factor, nodes_factor, gpus)
    checked = checked_limits(limits, machine)
    calendar = Calendar.of(source)
    arrivals = accasim_arrivals if method == "accasim" else calendar_arrivals
    submit_ns = arrivals(source, n_jobs, calendar, stream(seed, "arrivals"))
    rows = stream(seed, "jobs").integers(0, len(usable), n_jobs)
    requests = drawn_requests(usable, rows, before, machine, checked, method, seed)
    run_ns = run_times_ns(usable, rows, before, machine, requests)
    extra = {name: getattr(usable, name)[rows] for name in OPTIONAL if name not in _LEFT}
    if requests.memory_kb is not None:
        extra["memory_kb"] = requests.memory_kb
    return made_workload(
        (submit_ns, run_ns, requests.cores, _estimates_ns(usable, rows, run_ns)),
        extra=extra,
        source=f"generated like {PurePath(source.source).name}",
        header=_header(source, calendar, before, machine, method, seed),
        extras={"unit_cores": requests.unit_cores, "gpu": requests.gpus} if machine.cards else None,
        names=source.names,
    )


def _estimates_ns(source: Workload, rows: Array, run_ns: Array) -> Array:
    """Estimates with the same ratio to the run time as in the source; whole seconds, if the run time has changed."""
    before_ns, estimate_ns = source.run_ns[rows], source.estimate_ns[rows]
    seconds = np.ceil(run_ns / NS_PER_S * (estimate_ns / before_ns) - 1e-9)
    longest = MAX_NS // NS_PER_S
    scaled = np.clip(seconds, 1, longest).astype(np.int64) * NS_PER_S
    return np.where(run_ns == before_ns, estimate_ns, scaled)


def _header(
    source: Workload, calendar: Calendar, before: EqualNodes, machine: EqualNodes, method: str, seed: int
) -> tuple[str, ...]:
    facts = {
        "Generator": f"twolevel, like {PurePath(source.source).name}, method {method}, seed {seed}",
        "Note": "by section 7.3 of the AccaSim paper, doi:10.1007/s10586-019-02905-5",
    }
    if calendar.start is not None:
        facts["UnixStartTime"] = f"{int(calendar.start.timestamp())}"
        if isinstance(calendar.zone, ZoneInfo):
            facts["TimeZoneString"] = calendar.zone.key
        elif (offset := calendar.start.utcoffset()) is not None:
            facts["TimeZone"] = f"{int(offset.total_seconds())}"
    facts |= {"MaxNodes": f"{machine.nodes}", "MaxProcs": f"{machine.cores}"}
    facts |= {"CoreGflops": f"{machine.core_gflops!r}", "SourceCoreGflops": f"{before.core_gflops!r}"}
    if machine.cards:
        facts |= {"GpuNodes": f"{machine.gpu_nodes}", "GpusPerNode": f"{machine.cards}"}
        facts["GpuGflops"] = f"{machine.card_gflops!r}"
    return tuple(f"; {name}: {value}" for name, value in facts.items())
