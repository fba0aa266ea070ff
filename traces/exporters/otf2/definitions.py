"""The definitions of an OTF2 archive: machine, locations, the jobs' regions, the scheduler's counters, and the communicator
of messages."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from traces.base.time import NS_PER_S
from traces.compiled import Array
from traces.exporters.otf2 import kernels
from traces.exporters.otf2.batch import HOST_METRICS, POWER_METRICS, SCHEDULER_METRICS, Location, gpu_metrics
from traces.exporters.otf2.kernels import Calls
from traces.exporters.otf2.library import address_of, binding
from traces.exporters.shown.batch_level import ShownBatchLevel
from traces.exporters.shown.rows import JobNames
from traces.ledger import STATES, WHY, Ledger, MachineShape

#: Maximum number of members in a group of regions: a record must not be longer than a chunk of OTF2 (256 KiB).
GROUP_MEMBERS = 1 << 15

# Upper bounds of the length of a 32-bit number in a record, and of a record besides its text or its members.
_NUMBER_BYTES, _RECORD_BYTES = 5, 64


class CoreLocations(NamedTuple):
    """The cores that have a location, in ascending order, and the number of events of each; int64."""

    number: Array
    n_events: Array


class _Definitions:
    """The global definitions of an archive. Strings are numbered in order: 0 is empty, then come the attributes' strings."""

    def __init__(self, call: Calls, archive: Any) -> None:
        self.call, self.writer, self._next = call, binding.Archive_GetGlobalDefWriter(archive), 0

    def write(self, kind: str, *values: Any) -> None:
        getattr(binding, f"GlobalDefWriter_Write{kind}")(self.writer, *values)

    def strings(self, names: Sequence[str]) -> int:
        """Define some strings; return the reference of the first; the others follow."""
        encoded = [name.encode() + b"\0" for name in names]
        text = np.frombuffer(b"".join(encoded), np.uint8)
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(one) for one in encoded], out=offsets[1:])
        first = self._next
        self.call(kernels.write_strings, address_of(self.writer), first, text.ctypes.data, offsets[:-1])
        self._next += len(encoded)
        return first

    def region(self, reference: int, name: int, description: int, role: Any, paradigm: Any) -> None:
        """Write a region without source file."""
        no_file = binding.UNDEFINED_STRING.value
        self.write("Region", reference, name, name, description, role, paradigm, binding.RegionFlag.NONE, no_file, 0, 0)

    def group(self, reference: int, name: int, kind: Any, paradigm: Any, members: Sequence[int]) -> None:
        """Write a group of regions or locations."""
        self.write("Group", reference, name, kind, paradigm, binding.GroupFlag.NONE, members)

    def location_group(self, reference: int, name: int, node: int) -> None:
        """Write the location group of a host, or of the batch scheduler, at a node of the system tree."""
        kind, none = binding.LocationGroupType.PROCESS, binding.UNDEFINED_LOCATION_GROUP
        self.write("LocationGroup", reference, name, kind, node, none)


def longest_definition(ledger: Ledger, batch: ShownBatchLevel, *, messages: bool) -> int:
    """Return an upper bound of the length of the longest definition (bytes); arguments as for :func:`write_definitions`."""
    machine = ledger.machine
    texts = [machine.name, *machine.host_names, *ledger.techniques, *batch.cut_because]
    texts += [f"job {ledger.jobs.job_id.max()} {name}" for name in batch.job_names]
    longest = max(len(text.encode()) for text in texts)
    members = max(machine.n_cores if messages else 0, GROUP_MEMBERS)
    return max(longest, _NUMBER_BYTES * members) + _RECORD_BYTES


def write_definitions(
    call: Calls,
    archive: Any,
    ledger: Ledger,
    cores: CoreLocations,
    batch: ShownBatchLevel,
    further: list[Location],
    *,
    messages: bool,
) -> None:
    """Write all global definitions.

    - ``archive``: the binding's handle; all events are written and their files closed.
    - ``cores``, ``further``: the locations of cores, and those that follow them.
    - ``messages``: whether cores send messages.
    """
    machine, jobs = ledger.machine, ledger.jobs
    made = _Definitions(call, archive)
    first_ns, last_ns = batch.span_ns
    unknown = binding.UNDEFINED_TIMESTAMP.value
    made.write("ClockProperties", NS_PER_S, first_ns, last_ns - first_ns, unknown)
    made.strings(batch.strings)
    _write_attributes(made, batch.attributes)
    _write_machine(made, ledger)

    core_names = machine.core_names if len(cores.number) else []
    names = made.strings([core_names[core] for core in cores.number.tolist()])
    hosts, thread = machine.host_of(cores.number), binding.LocationType.CPU_THREAD.value
    call(kernels.write_locations, address_of(made.writer), names, cores.number, hosts, cores.n_events, thread)
    _write_further(made, machine, further, batch)
    _write_metrics(made, batch)
    names = made.strings(JobNames(ledger).labels(jobs.job_id))
    kinds = (binding.RegionRole.TASK, binding.Paradigm.USER, binding.RegionFlag.NONE, binding.UNDEFINED_STRING)
    descriptions = _describe(made, ledger)
    call(kernels.write_regions, address_of(made.writer), names, descriptions, *(kind.value for kind in kinds))
    _write_techniques(made, ledger, 2 * messages)
    if messages:
        _write_messages(made, cores.number, len(jobs))
    shown = batch.regions
    regions = made.strings([*shown, *shown.values()])
    for place in range(len(shown)):
        description = regions + len(shown) + place
        kind = (binding.RegionRole.CODE, binding.Paradigm.USER)
        made.region(len(jobs) + messages + place, regions + place, description, *kind)
    binding.Archive_CloseGlobalDefWriter(archive, made.writer)


def _write_techniques(made: _Definitions, ledger: Ledger, first_group: int) -> None:
    """Write a group of regions for each technique: the jobs whose tasks it distributed. Further jobs than a group holds are
    in further groups of its name."""
    if ledger.technique is None:
        return
    name = made.strings(ledger.techniques)
    further = first_group + len(ledger.techniques)
    for place in range(len(ledger.techniques)):
        regions = np.flatnonzero(ledger.technique == place).tolist()
        for first in range(0, len(regions), GROUP_MEMBERS):
            reference = further if first else first_group + place
            further += first > 0
            members = regions[first : first + GROUP_MEMBERS]
            made.group(reference, name + place, binding.GroupType.REGIONS, binding.Paradigm.USER, members)


def _write_messages(made: _Definitions, number: Array, region: int) -> None:
    """Write the communicator of all cores that have a location, and the region in which a core waits for data."""
    name, mpi = made.strings(["cores"]), binding.Paradigm.MPI
    made.group(0, name, binding.GroupType.COMM_LOCATIONS, mpi, number.tolist())
    made.group(1, name, binding.GroupType.COMM_GROUP, mpi, range(len(number)))
    made.write("Comm", kernels.COMMUNICATOR, name, 1, binding.UNDEFINED_COMM, binding.CommFlag.NONE)
    name = made.strings(["wait for data", "the core is free, but what its next task needs has not arrived"])
    made.region(region, name, name + 1, binding.RegionRole.POINT2POINT, mpi)


def _describe(made: _Definitions, ledger: Ledger) -> Array:
    """Return the string of each job row that describes its attempt; every text is defined once."""
    jobs = ledger.jobs
    shape = (int(jobs.attempt.max(initial=0)) + 1, len(WHY), len(STATES))
    ways, way = np.unique(np.ravel_multi_index((jobs.attempt, jobs.why, jobs.state), shape), return_inverse=True)
    kinds = np.transpose(np.unravel_index(ways, shape)).tolist()
    texts = [f"attempt {attempt}, {WHY[why]}, {STATES[state]}" for attempt, why, state in kinds]
    return np.asarray(made.strings(texts) + way.reshape(-1), np.int64)


def _write_attributes(made: _Definitions, of_jobs: Sequence[tuple[str, str, Any]]) -> None:
    number = binding.Type.UINT64.value
    of_tasks = [
        ("task", "number of the task within its job", number),
        ("chunk", "number of the chunk that the task was assigned with, within its job", number),
    ]
    for reference, (name, description, kind) in enumerate([*of_tasks, *of_jobs]):
        first = made.strings([name, description])
        made.write("Attribute", reference, first, first + 1, binding.Type(kind))


def _write_machine(made: _Definitions, ledger: Ledger) -> None:
    """Write the system tree (node 0 the cluster, node 1 + h the host h) and one group per host."""
    machine = ledger.machine
    cluster = made.strings([machine.name, "cluster", "host"])
    domain = binding.SystemTreeDomain
    made.write("SystemTreeNode", 0, cluster, cluster + 1, binding.UNDEFINED_SYSTEM_TREE_NODE)
    made.write("SystemTreeNodeDomain", 0, domain.MACHINE)
    names = made.strings(machine.host_names)
    for host in range(machine.n_hosts):
        made.write("SystemTreeNode", 1 + host, names + host, cluster + 2, 0)
        made.write("SystemTreeNodeDomain", 1 + host, domain.SHARED_MEMORY)
        made.location_group(host, names + host, 1 + host)


def _write_further(made: _Definitions, machine: MachineShape, further: list[Location], batch: ShownBatchLevel) -> None:
    """Write the locations after the cores, and the groups of those without a host, of jobs only if there are any."""
    lanes = "jobs" if batch.waiting else "running jobs"
    groups = ["batch scheduler", lanes][: 1 + max(one.group for one in further) - machine.n_hosts]
    name = made.strings(groups)
    for place in range(len(groups)):
        made.location_group(machine.n_hosts + place, name + place, 0)
    for place, host in enumerate([] if batch.gpus is None else np.unique(batch.gpus.host).tolist()):
        name, kind = made.strings([f"{machine.host_names[host]} GPUs"]), binding.LocationGroupType.ACCELERATOR
        made.write("LocationGroup", machine.n_hosts + 2 + place, name, kind, 1 + host, host)
    names = made.strings([one.name for one in further])
    for place, one in enumerate(further):
        kind = binding.LocationType(one.kind)
        made.write("Location", machine.n_cores + place, names + place, kind, one.n_events, one.group)


def _write_metrics(made: _Definitions, batch: ShownBatchLevel) -> None:
    """Write the counters, and classes of them for the scheduler, for hosts, for power and for GPUs, each with the location that
    records it.

    The classes are recorded directly. Instances could say that the scheduler's counters are the whole cluster's, but ViTE
    takes an instance's reference for a class and crashes.
    """
    members, n_load = batch.machine_series(), len(batch.load_series())
    classes = [(SCHEDULER_METRICS, range(n_load)), (HOST_METRICS, [1])]
    if batch.power is not None:
        classes.append((POWER_METRICS, range(n_load, n_load + len(batch.power_series()))))
    if batch.gpu_series:
        classes.append((gpu_metrics(batch), range(len(members) - len(batch.gpu_series), len(members))))
    how = (binding.MetricType.OTHER, binding.MetricMode.ABSOLUTE_NEXT, binding.Type.UINT64, binding.Base.DECIMAL)
    for member, one in enumerate(members):
        first = made.strings([one.name, one.description, one.unit])
        made.write("MetricMember", member, first, first + 1, *how, one.exponent, first + 2)
    for reference, of in classes:
        kinds = (binding.MetricOccurrence.ASYNCHRONOUS, binding.RecorderKind.ABSTRACT)
        made.write("MetricClass", reference, list(of), *kinds)
