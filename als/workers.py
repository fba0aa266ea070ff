"""Workers of an application that are no cores, such as GPUs: their kinds, as users declare them, and the slots that they take.

A slot of an application is a core, or a stream of a device (``als.engine.devices``). A device is driven by a core for each of
its streams, which computes nothing else: the device takes its slots. ``drivers=no`` adds slots instead.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any

import numpy as np

from als.engine.devices import CORE, FIRST_HOST, HOST_LINK, ROUTE_ROOM, Devices, DeviceSlots
from als.graphs.task_graph import CORES
from als.network.routes import add_costs
from als.network.state import NO_NETWORK, NONE, NetworkState
from als.options import LATENCY, OVERHEAD
from als.parameters import Checked, OneOf, Positive, RealNumber, TrueOrFalse, WholeNumber
from als.streams import fill_round_keys
from traces.base.errors import InputError, shown
from traces.base.options import LINK_BANDWIDTH
from traces.base.plugins import with_parameters
from traces.base.time import MAX_NS
from traces.compiled import Array, compiled, own
from traces.kernels.signatures import Floats, Ints

MAX_NAME = 40  #: longest name of a kind
MAX_KINDS = 32  #: most kinds of workers of an application, besides cores
_BYTES = RealNumber(0.0, 1e18)


class WorkerKind(Checked, kw_only=True):
    """A kind of workers: ``gpu:count=4,speed=20,launch=10us,in_bytes=8e6,bandwidth_gbps=200``.

    A chunk of n tasks waits ``launch_ns`` on a device, then ``link_latency_ns`` and the time of n·``in_bytes`` on a link of
    ``bandwidth_gbps`` Gbit/s, then its tasks run one after another, and then n·``out_bytes`` take as long on the way back;
    nothing is transferred if the bytes are 0. Each direction of the link carries one chunk at a time. Data on another host take
    the route between the hosts and the link in one transfer: the latencies add up, and the lowest bandwidth counts.
    """

    noun = "workers"
    name: str = "gpu"  #: letters, digits, ``.``, ``-`` and ``_``
    #: devices of a job; None: those of this kind that the batch level has allocated to it
    count: Annotated[int | None, WholeNumber(0, 2**20)] = 1
    speed: Annotated[float, Positive()] = 1.0  #: how many times as fast as the core that drives it
    launch_ns: Annotated[int, WholeNumber(0, OVERHEAD.highest)] = 0  #: time before each chunk
    in_bytes: Annotated[float, _BYTES] = 0.0  #: data of a task, before it runs
    out_bytes: Annotated[float, _BYTES] = 0.0  #: data of a task, after the last one of its chunk
    #: bandwidth of the link in each direction, Gbit/s; by default PCI Express 4.0 with 16 lanes
    bandwidth_gbps: Annotated[float, RealNumber(LINK_BANDWIDTH.lowest, LINK_BANDWIDTH.highest)] = 252.0
    link_latency_ns: Annotated[int, WholeNumber(0, LATENCY.highest)] = 0  #: latency of a transfer
    #: Where the data are: in the memory of the device's host, or of the application's first host.
    data: Annotated[str, OneOf("host", "first")] = "host"
    #: Whether each device has a link, or all devices of the kind on a host share one.
    link: Annotated[str, OneOf("device", "host")] = "device"
    #: Chunks that a device holds at once: with 2, one chunk's transfer overlaps another's work. Each asks as a worker.
    streams: Annotated[int, WholeNumber(1, 64)] = 1
    #: Each task's work on this kind is its length times a lognormal factor with mean 1 and this standard deviation.
    variation: Annotated[float, RealNumber(0.0, 10.0)] = 0.0
    #: Whether its drivers compute nothing; otherwise they are further cores.
    drivers: Annotated[bool, TrueOrFalse()] = True

    def __post_init__(self) -> None:
        plain = isinstance(self.name, str) and re.sub("[._-]", "", self.name).isalnum()
        if not plain or len(self.name) > MAX_NAME:
            allowed = f"allowed as a name: up to {MAX_NAME} letters, digits, ., - and _, as gpu"
            raise InputError(f"workers: {shown(self.name)}; {allowed}")
        if self.name == CORES:
            raise InputError("workers: cores; allowed: the name of another kind of workers")
        super().__post_init__()

    @property
    def slots(self) -> int:
        """The number of slots that its devices take; 0 if it depends on the job."""
        return (self.count or 0) * self.streams

    @property
    def places(self) -> int:
        """``als.engine.devices.Devices.places``; 0 if its costs depend on no hosts."""
        return FIRST_HOST * (self.data == "first") | HOST_LINK * (self.link == "host")

    @property
    def changes_chunks(self) -> bool:
        """Whether a chunk on it is not just faster than on a core."""
        costs = self.launch_ns, self.in_bytes, self.out_bytes, self.variation
        return any(costs) or self.streams > 1

    def given(self) -> dict[str, Any]:
        """Return the count, if there is one, and the parameters that are not the default ones, for a table."""
        found = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "name"}
        changed = {key: value for key, value in found.items() if value != getattr(_DEFAULT, key)}
        return {
            key.removesuffix("_ns"): f"{value}ns" if key.endswith("_ns") else value for key, value in changed.items()
        }


_DEFAULT = WorkerKind(count=None)


def worker_kinds(given: object, where: str, count: int | None = 1) -> tuple[WorkerKind, ...]:
    """Return the kinds of workers of texts, such as ``gpu:count=4``, or of a table by name, such as ``{gpu = {count = 4}}``;
    ``count``: of those without.

    Raises InputError, which begins with ``where``, if a parameter is unknown or out of range, or a kind is given twice."""
    if isinstance(given, Mapping):
        texts = [_text(str(name), table, f"{where}.{name}") for name, table in given.items()]
    elif isinstance(given, Sequence) and not isinstance(given, str):
        texts = [str(one) for one in given]
    else:
        raise InputError(f"{where}: {shown(given)}; allowed: a table of kinds, as {{ gpu = {{ count = 4 }} }}")
    found: list[WorkerKind] = []
    for text in texts:
        name, _, parameters = (word.strip() for word in text.partition(":"))
        try:
            kind = WorkerKind(name=name, count=count)
            kind = with_parameters(kind, parameters, where, "workers") if parameters else kind
        except InputError as error:
            raise InputError(error.text if error.text.startswith(where) else f"{where}: {error.text}") from None
        if any(one.name == kind.name for one in found):
            raise InputError(f"{where}: {kind.name} is given twice")
        found.append(kind)
    if len(found) > MAX_KINDS:
        raise InputError(f"{where}: {len(found)} kinds; allowed: up to {MAX_KINDS}")
    return tuple(found)


def _text(name: str, table: object, where: str) -> str:
    if not isinstance(table, Mapping):
        raise InputError(f"{where}: {shown(table)}; allowed: a table, as {{ count = 4, speed = 20 }}")
    for key, value in table.items():
        if not isinstance(value, bool | int | float | str) or (isinstance(value, str) and "," in value):
            raise InputError(f"{where}.{key}: {shown(value)}; allowed: a number, a text or true or false")
    words = (f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in table.items())
    return f"{name}:{','.join(words)}" if table else name


def n_slots(kinds: Sequence[WorkerKind]) -> int:
    """Return the number of slots that the devices of all kinds take."""
    return sum(kind.slots for kind in kinds)


def kinds_mask(on: str, kinds: Sequence[WorkerKind], where: str) -> int:
    """Return the kinds of a text, such as ``gpu`` or ``cores+gpu``, as bits: bit 0 for cores, bit k for ``kinds[k - 1]``; all
    if it is empty. Raises InputError if a kind is unknown."""
    names = [CORES, *(kind.name for kind in kinds)]
    mask = 0
    for name in on.split("+") if on else names:
        if name.strip() not in names:
            several = f", or several, as {'+'.join(names)}" if kinds else ""
            raise InputError(f"{where}: {shown(name.strip())}; allowed: {', '.join(names)}{several}")
        mask |= 1 << names.index(name.strip())
    return mask


def kind_columns(kinds: Sequence[WorkerKind]) -> dict[str, Array]:
    """Return the columns of ``als.engine.devices.Devices`` for these kinds, after that of cores."""
    from als.network import BYTES_PER_GBIT  # not needed by applications on cores

    ns_per_byte = [0.0, *(1e9 / (kind.bandwidth_gbps * BYTES_PER_GBIT) for kind in kinds)]
    return {
        "streams": np.array([1, *(kind.streams for kind in kinds)]),
        "launch_ns": np.array([0, *(kind.launch_ns for kind in kinds)]),
        "link_ns": np.array([0, *(kind.link_latency_ns for kind in kinds)]),
        "in_ns": np.array([0.0, *(kind.in_bytes for kind in kinds)]) * ns_per_byte,
        "out_ns": np.array([0.0, *(kind.out_bytes for kind in kinds)]) * ns_per_byte,
        "byte_ns": np.array(ns_per_byte),
        "places": np.array([0, *(kind.places for kind in kinds)]),
        "spread": np.array([0.0, *(math.sqrt(math.log1p(kind.variation**2)) for kind in kinds)]),
    }


@compiled()
def place_devices(slots: DeviceSlots, streams: Ints, count: Ints) -> None:
    """Make the last slots devices: ``count[k]`` of each kind k after 0."""
    c = slots.kind.size
    for k in range(count.size - 1, 0, -1):
        slots.kind[c - count[k] * streams[k] : c] = k
        c -= count[k] * streams[k]
    slots.kind[:c] = 0


@compiled()
def place_held(
    slots: DeviceSlots,
    streams: Ints,
    kind_of: Ints,
    core: Ints,
    host_of: Ints,
    gpus: Ints,
    gpu_host: Ints,
    gpu_kind: Ints,
) -> None:
    """Make slots devices: the GPUs that a job holds (``gpus``, ascending; a shared one once for each part).

    On each host, the last of the job's cores (``core``, ascending) drive the lowest GPUs; its first core drives none. GPUs for
    which no cores remain there are left out. ``kind_of``: the kind of workers of each kind of GPUs, 0 for none; ``gpu_kind``:
    the kind of the GPUs of each host.
    """
    slots.kind[:] = 0
    k = first = 0
    while first < core.size:
        host, stop, n = host_of[core[first]], first, 0
        while stop < core.size and host_of[core[stop]] == host:
            stop += 1
        while k < gpus.size and gpu_host[gpus[k]] <= host:
            n += gpu_host[gpus[k]] == host
            k += 1
        kind = kind_of[gpu_kind[host]]
        if kind > 0:
            n = min(n, (stop - max(first, 1)) // streams[kind])
            slots.kind[stop - n * streams[kind] : stop] = kind
        first = stop


@compiled()
def begin_devices(slots: DeviceSlots, streams: Ints, factor: Floats, on: Ints, found: Ints, speed: Floats) -> None:
    """Number the devices of slots of known kinds, one after another, multiply the slots' speeds by ``factor`` of their kinds,
    and write to ``found`` the kinds that take part in each phase: those of ``on``; the cores, if no slot is of these."""
    device, left, there = 0, 0, 1
    for c in range(slots.kind.size):
        kind = slots.kind[c]
        if kind > 0 and left == 0:
            device, left = device + 1, streams[kind]
        slots.device[c] = device - 1 if kind > 0 else -1
        left -= kind > 0
        there |= 1 << kind
        speed[c] *= factor[kind]
    for phase in range(on.size):
        able = on[phase] & there != 0 or on[phase] >> streams.size != 0  # unknown kinds are refused later
        found[phase] = on[phase] if able else 1


@compiled(inner=True)
def _find_route(devices: Devices, kind: int, source: int, target: int, net: NetworkState) -> None:
    """Set ``costs`` to the latency of the route between two hosts, ns, and to how many times as long as on a device's link a
    byte takes on the slower one of both."""
    costs = devices.costs
    costs[:] = 0.0
    add_costs(net, source, target, devices.keys, costs)
    costs[0] = min(np.rint(1e9 * costs[0]), float(MAX_NS))
    costs[1] = max(1.0, 1e9 * costs[1] / devices.byte_ns[kind])


@compiled()
def place_links(devices: Devices, core: Ints, host_of: Ints, net: NetworkState) -> None:
    """Set the link of each numbered device, and the costs of transfers over it. A device is on the host of its first slot.
    ``core``: of each slot; their hosts ascend."""
    slots, costs, master = devices.slots, devices.costs, host_of[core[0]]
    for c in range(slots.kind.size):
        kind, device = slots.kind[c], slots.device[c]
        if kind == CORE or (c > 0 and slots.device[c - 1] == device):
            continue
        slots.link[device], before, host = device, c - 1, host_of[core[c]]
        while devices.places[kind] & HOST_LINK != 0 and before >= 0 and host_of[core[before]] == host:
            first = before == 0 or slots.device[before - 1] != slots.device[before]
            if first and slots.kind[before] == kind:
                slots.link[device] = slots.link[slots.device[before]]
                break
            before -= 1
        slots.in_link_ns[device] = slots.out_link_ns[device] = devices.link_ns[kind]
        slots.in_task_ns[device], slots.out_task_ns[device] = devices.in_ns[kind], devices.out_ns[kind]
        if net.kind == NONE or devices.places[kind] & FIRST_HOST == 0 or host == master:
            continue
        _find_route(devices, kind, master, host, net)
        slots.in_link_ns[device] += int(costs[0])
        slots.in_task_ns[device] *= costs[1]
        _find_route(devices, kind, host, master, net)
        slots.out_link_ns[device] += int(costs[0])
        slots.out_task_ns[device] *= costs[1]


@dataclass(frozen=True, eq=False)
class WorkerSlots:
    """The slots of an application: cores, and streams of devices. Raises InputError if the attributes do not fit together."""

    kinds: tuple[WorkerKind, ...]
    kind: Array  #: int64 (P,): 0 for a core, k for ``kinds[k - 1]``
    device: Array  #: int64 (P,): number of the device, from 0, whose stream the slot is; -1 for a core
    #: int64 (phases,): kinds that take part in each phase, as bits (:func:`kinds_mask`); None: all. Serial parts and graphs
    #: need bit 0, and all bits.
    on: Array | None = None
    #: float64 (kinds + 1, N): work of each task on cores and on each kind, GFLOP; inf: it cannot run there, which only
    #: planners respect. None: that of cores, but for ``variation``.
    gflop: Array | None = None

    def __post_init__(self) -> None:
        kind, device = own(self.kind, np.int64), own(self.device, np.int64)
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "device", device)
        most = len(self.kinds)
        if kind.ndim != 1 or kind.shape != device.shape or not ((kind >= 0) & (kind <= most)).all():
            raise InputError(f"workers: kind, device: allowed: one number a slot, 0 to {most}")
        if not (((device < 0) == (kind == 0)) & (device < len(kind))).all():
            raise InputError(f"workers: device: allowed: -1 for cores, 0 to {len(kind) - 1} for others")
        for number in np.unique(device[device >= 0]).tolist():
            of = np.unique(kind[device == number]).tolist()
            if len(of) != 1 or (device == number).sum() != self.kinds[of[0] - 1].streams:
                raise InputError(f"workers: device {number}: allowed: as many slots of one kind as it has streams")

    def check(self, n_slots: int) -> None:
        """Raise InputError if there is another number of slots."""
        if len(self.kind) != n_slots:
            raise InputError(f"workers: {len(self.kind)} slots; allowed: one for each of {n_slots} speeds")

    @property
    def fixed(self) -> bool:
        """Whether a device's chunks or tasks that some kinds cannot run forbid changes of the slots."""
        return bool((self.kind > 0).any())

    def state(
        self,
        n_phases: int,
        n_tasks: int,
        *,
        keep_tasks: bool,
        core_host: Array | list[int] | None = None,
        network: NetworkState = NO_NETWORK,
    ) -> Devices:
        """Return the state for the engine; ``core_host``: host of each slot in the network, default 0. Raises InputError if
        there are other phases or tasks, or hosts on which costs depend are not there or do not ascend."""
        host = np.zeros(len(self.kind), np.int64)
        if core_host is not None and any(kind.places for kind in self.kinds):
            host, last = own(core_host, np.int64), (network.n_hosts or 2**24) - 1
            if host.shape != self.kind.shape or (np.diff(host, prepend=0, append=last) < 0).any():
                raise InputError(
                    f"core_host: allowed: a host for each of {len(self.kind)} slots, ascending, 0 to {last}"
                )
        if self.on is not None and len(self.on) != n_phases:
            raise InputError(f"workers: on: {len(self.on)} numbers; allowed: one for each of {n_phases} phases")
        here = set(self.kind.tolist())
        for phase, mask in enumerate(() if self.on is None else self.on.tolist()):
            if not any(mask >> kind & 1 for kind in here):
                raise InputError(f"workers: on: phase {phase}: {mask}; allowed: bits of kinds that there are")
        if self.gflop is not None and self.gflop.shape != (len(self.kinds) + 1, n_tasks):
            raise InputError(f"workers: gflop: {self.gflop.shape}; allowed: {(len(self.kinds) + 1, n_tasks)}")
        if self.gflop is not None and not (self.gflop >= 0).all():
            raise InputError("workers: gflop: allowed: from 0 on; inf where a task cannot run")
        sizes = {
            "device_slots": len(self.kind),
            "kinds": len(self.kinds) + 1,
            "device_phases": 0 if self.on is None else n_phases,
            "kind_tasks": 0 if self.gflop is None else self.gflop.size,
            "device_records": n_tasks if keep_tasks else 0,
            **ROUTE_ROOM,
        }
        given: dict[str, Any] = kind_columns(self.kinds)
        given["slots"] = DeviceSlots.new(sizes, kind=self.kind, device=self.device)
        given["on"] = () if self.on is None else self.on
        given["gflop"] = () if self.gflop is None else self.gflop.ravel()
        found = Devices.new(sizes, **given)
        place_links(found, np.arange(len(host)), host, network)
        return found


def with_devices(
    kinds: Sequence[WorkerKind],
    speed_gflops: Array,
    *,
    drives: Array | None = None,
    on: Array | None = None,
    gflop: Array | None = None,
) -> tuple[Array, WorkerSlots]:
    """Make slots of an application devices.

    Parameters
    ----------
    kinds : sequence of WorkerKind
    speed_gflops : float64 (P,)
        Speeds of the cores in the slots, GFLOP/s.
    drives : int (P,), optional
        The kind of workers that the core of each slot drives, as :func:`place_held` finds it; 0: none. Default: the last cores
        drive the devices, by their ``count``.
    on, gflop
        As for :class:`WorkerSlots`; a phase without its workers runs on cores.

    Returns
    -------
    speed_gflops : float64 (P,)
        Speeds of the slots: a stream has its part of its device's.
    workers : WorkerSlots

    Raises
    ------
    InputError
        If no slot would be a core.
    """
    if drives is None and n_slots(kinds) >= len(speed_gflops):
        raise InputError(f"workers: {n_slots(kinds)} cores drive devices, of {len(speed_gflops)}; allowed: fewer")
    speed, masks = np.array(speed_gflops, np.float64), np.zeros(0, np.int64) if on is None else on
    slots, (streams, count, factor) = DeviceSlots.new({"device_slots": len(speed)}), placing_columns(kinds)
    if drives is None:
        place_devices(slots, streams, count)
    else:
        slots.kind[:] = drives
    found = np.empty_like(masks)
    begin_devices(slots, streams, factor, masks, found, speed)
    took_part = None if on is None else found
    return speed, WorkerSlots(tuple(kinds), slots.kind.copy(), slots.device.copy(), took_part, gflop)


def works_of_tasks(
    kinds: Sequence[WorkerKind], gflop: Array, given: Mapping[str, Array], seed: int, job: int = 0
) -> Array:
    """Return the work of each task on cores and on each kind, float64 (kinds + 1, N), GFLOP.

    ``gflop``: on cores. ``given``: on some kinds, by name; on ``cores`` if some tasks cannot run there. On others it is that on
    cores times the factors of ``variation`` that devices in loops have, from the streams of (``seed``, ``job``)."""
    from als.engine.features.devices import multiply_by_factors  # not needed by applications on cores

    keys, words = np.empty(20, np.uint64), np.empty(4, np.uint64)
    fill_round_keys(keys, np.uint64(seed), np.uint64(job))
    rows = [given.get(CORES, gflop)]
    spreads = kind_columns(kinds)["spread"][1:].tolist()
    for number, (kind, spread) in enumerate(zip(kinds, spreads, strict=True), start=1):
        row = given.get(kind.name, gflop).copy()
        if spread > 0.0 and kind.name not in given:
            multiply_by_factors(row, keys, words, number, spread)
        rows.append(row)
    return np.array(rows, np.float64)


def placing_columns(kinds: Sequence[WorkerKind]) -> tuple[Array, Array, Array]:
    """Return the streams, the number and the speed of a stream of each kind, for :func:`place_devices`."""
    streams = np.array([1, *(kind.streams for kind in kinds)])
    factor = np.array([1.0, *(kind.speed / kind.streams for kind in kinds)])
    return streams, np.array([0, *(kind.count or 0 for kind in kinds)]), factor
