"""The definitions of an OTF2 archive: machine, locations, the jobs' regions, the scheduler's counters, and the communicator of
messages."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from traces.base.time import NS_PER_S
from traces.compiled import Array
from traces.exporters.otf2 import kernels
from traces.exporters.otf2.batch import HOST_METRICS, POWER_METRICS, SCHEDULER_METRICS, Location
from traces.exporters.otf2.kernels import Calls
from traces.exporters.otf2.library import address_of, binding
from traces.exporters.shown.batch_level import COMPUTING, ShownBatchLevel, power_counters
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


class _Strings:
    """String definitions, numbered in order; string 0 is empty, then come the attributes' strings."""

    def __init__(self, call: Calls, writer: Any, strings: Sequence[str]) -> None:
        self._call, self._writer, self._next = call, address_of(writer), 0
        self.add(strings)

    def add(self, names: Sequence[str]) -> int:
        """Define some strings; return the reference of the first; the others follow."""
        encoded = [name.encode() + b"\0" for name in names]
        text = np.frombuffer(b"".join(encoded), np.uint8)
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(one) for one in encoded], out=offsets[1:])
        first = self._next
        self._call(kernels.write_strings, self._writer, first, text.ctypes.data, offsets[:-1])
        self._next += len(encoded)
        return first


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
    - ``ledger``: the machine and the jobs.
    - ``cores``: the locations of cores.
    - ``batch``: the batch level.
    - ``further``: list of Location, the locations that follow the cores.
    - ``messages``: whether cores send messages.
    """
    machine, jobs = ledger.machine, ledger.jobs
    writer = binding.Archive_GetGlobalDefWriter(archive)
    first_ns, last_ns = batch.span_ns
    binding.GlobalDefWriter_WriteClockProperties(
        writer, NS_PER_S, first_ns, last_ns - first_ns, binding.UNDEFINED_TIMESTAMP.value
    )
    strings = _Strings(call, writer, batch.strings)
    _write_attributes(writer, strings, batch.attributes)
    _write_machine(writer, strings, ledger)

    core_names = machine.core_names if len(cores.number) else []
    call(
        kernels.write_locations,
        address_of(writer),
        strings.add([core_names[core] for core in cores.number.tolist()]),
        cores.number,
        np.searchsorted(machine.first_core[1:], cores.number, side="right"),
        cores.n_events,
        binding.LocationType.CPU_THREAD.value,
    )
    _write_further(writer, strings, machine, further, "jobs" if batch.waiting else "running jobs")
    _write_metrics(writer, strings, batch)
    call(
        kernels.write_regions,
        address_of(writer),
        strings.add(JobNames(ledger).labels(jobs.job_id)),
        _describe(strings, ledger),
        binding.RegionRole.TASK.value,
        binding.Paradigm.USER.value,
        binding.RegionFlag.NONE.value,
        binding.UNDEFINED_STRING.value,
    )
    _write_techniques(writer, strings, ledger, 2 * messages)
    if messages:
        _write_communicator(writer, strings, cores.number)
        _write_wait(writer, strings, len(jobs))
    shown = batch.regions
    regions = strings.add([*shown, *shown.values()])
    for place in range(len(shown)):
        binding.GlobalDefWriter_WriteRegion(
            *(writer, len(jobs) + messages + place, regions + place, regions + place, regions + len(shown) + place),
            *(binding.RegionRole.CODE, binding.Paradigm.USER, binding.RegionFlag.NONE),
            *(binding.UNDEFINED_STRING.value, 0, 0),
        )
    binding.Archive_CloseGlobalDefWriter(archive, writer)


def _write_techniques(writer: Any, strings: _Strings, ledger: Ledger, first_group: int) -> None:
    """Write groups of regions for each technique: the jobs whose tasks it distributed.

    A technique with more jobs than a group holds has several groups of its name, in the order of the jobs.
    """
    if ledger.technique is None:
        return
    name = strings.add(ledger.techniques)
    further = first_group + len(ledger.techniques)
    for place in range(len(ledger.techniques)):
        regions = np.flatnonzero(ledger.technique == place).tolist()
        for first in range(0, len(regions), GROUP_MEMBERS):
            reference = further if first else first_group + place
            further += first > 0
            binding.GlobalDefWriter_WriteGroup(
                *(writer, reference, name + place),
                *(binding.GroupType.REGIONS, binding.Paradigm.USER, binding.GroupFlag.NONE),
                regions[first : first + GROUP_MEMBERS],
            )


def _write_communicator(writer: Any, strings: _Strings, number: Array) -> None:
    """Write the communicator of all cores that have a location, in ascending order."""
    name = strings.add(["cores"])
    kinds = binding.GroupType
    for reference, (kind, members) in enumerate(
        [(kinds.COMM_LOCATIONS, number.tolist()), (kinds.COMM_GROUP, range(len(number)))]
    ):
        binding.GlobalDefWriter_WriteGroup(
            writer, reference, name, kind, binding.Paradigm.MPI, binding.GroupFlag.NONE, members
        )
    binding.GlobalDefWriter_WriteComm(
        writer, kernels.COMMUNICATOR, name, 1, binding.UNDEFINED_COMM, binding.CommFlag.NONE
    )


def _write_wait(writer: Any, strings: _Strings, reference: int) -> None:
    """Write the region in which a core waits for data."""
    name = strings.add(["wait for data", "the core is free, but what its next task needs has not arrived"])
    undefined = binding.UNDEFINED_STRING.value
    role, paradigm = binding.RegionRole.POINT2POINT, binding.Paradigm.MPI
    flags = binding.RegionFlag.NONE
    binding.GlobalDefWriter_WriteRegion(writer, reference, name, name, name + 1, role, paradigm, flags, undefined, 0, 0)


def _describe(strings: _Strings, ledger: Ledger) -> Array:
    """Return the string of each job row that describes its attempt; every text is defined once."""
    jobs = ledger.jobs
    ways, way = np.unique((jobs.attempt * len(WHY) + jobs.why) * len(STATES) + jobs.state, return_inverse=True)
    texts = []
    for key in ways.tolist():
        attempt_and_why, state = divmod(key, len(STATES))
        attempt, why = divmod(attempt_and_why, len(WHY))
        texts.append(f"attempt {attempt}, {WHY[why]}, {STATES[state]}")
    return np.asarray(strings.add(texts) + way.reshape(-1), np.int64)


def _write_attributes(writer: Any, strings: _Strings, of_jobs: Sequence[tuple[str, str, Any]]) -> None:
    for reference, (name, description, kind) in enumerate(
        [
            ("task", "number of the task within its job", binding.Type.UINT64.value),
            ("chunk", "number of the chunk that the task was assigned with, within its job", binding.Type.UINT64.value),
            *of_jobs,
        ]
    ):
        first = strings.add([name, description])
        binding.GlobalDefWriter_WriteAttribute(writer, reference, first, first + 1, binding.Type(kind))


def _write_machine(writer: Any, strings: _Strings, ledger: Ledger) -> None:
    """Write the system tree (node 0 the cluster, node 1 + h the host h) and one group per host."""
    machine = ledger.machine
    cluster = strings.add([machine.name, "cluster", "host"])
    domain = binding.SystemTreeDomain
    binding.GlobalDefWriter_WriteSystemTreeNode(writer, 0, cluster, cluster + 1, binding.UNDEFINED_SYSTEM_TREE_NODE)
    binding.GlobalDefWriter_WriteSystemTreeNodeDomain(writer, 0, domain.MACHINE)
    names = strings.add(machine.host_names)
    for host in range(machine.n_hosts):
        binding.GlobalDefWriter_WriteSystemTreeNode(writer, 1 + host, names + host, cluster + 2, 0)
        binding.GlobalDefWriter_WriteSystemTreeNodeDomain(writer, 1 + host, domain.SHARED_MEMORY)
        binding.GlobalDefWriter_WriteLocationGroup(
            writer, host, names + host, binding.LocationGroupType.PROCESS, 1 + host, binding.UNDEFINED_LOCATION_GROUP
        )


def _write_further(writer: Any, strings: _Strings, machine: MachineShape, further: list[Location], lanes: str) -> None:
    """Write the locations after the cores, and the groups of those without a host; the group ``lanes`` if there are any."""
    groups = ["batch scheduler", lanes][: 1 + max(one.group for one in further) - machine.n_hosts]
    name = strings.add(groups)
    for place in range(len(groups)):
        binding.GlobalDefWriter_WriteLocationGroup(
            writer,
            machine.n_hosts + place,
            name + place,
            binding.LocationGroupType.PROCESS,
            0,
            binding.UNDEFINED_LOCATION_GROUP,
        )
    names = strings.add([one.name for one in further])
    for place, one in enumerate(further):
        kind = binding.LocationType(one.kind)
        binding.GlobalDefWriter_WriteLocation(
            writer, machine.n_cores + place, names + place, kind, one.n_events, one.group
        )


def _write_metrics(writer: Any, strings: _Strings, batch: ShownBatchLevel) -> None:
    """Write the counters, and classes of them for the scheduler, for hosts, and for power, each with the location that records
    it.

    The classes are recorded directly. Instances could say that the scheduler's counters are the whole cluster's, but ViTE takes
    an instance's reference for a class and crashes.
    """
    members = [
        ("queue length", "jobs that wait for their start", "jobs", 0),
        ("busy cores", "cores allocated to jobs", "cores", 0),
        *([] if batch.computing is None else [COMPUTING]),
    ]
    classes = [(SCHEDULER_METRICS, list(range(len(members)))), (HOST_METRICS, [1])]
    if batch.power is not None:
        drawn = [one[:4] for one in power_counters(batch.power)]
        classes.append((POWER_METRICS, list(range(len(members), len(members) + len(drawn)))))
        members += drawn
    for member, (name, description, unit, exponent) in enumerate(members):
        first = strings.add([name, description, unit])
        binding.GlobalDefWriter_WriteMetricMember(
            writer,
            member,
            first,
            first + 1,
            binding.MetricType.OTHER,
            binding.MetricMode.ABSOLUTE_NEXT,
            binding.Type.UINT64,
            binding.Base.DECIMAL,
            exponent,
            first + 2,
        )
    for reference, of in classes:
        binding.GlobalDefWriter_WriteMetricClass(
            writer, reference, of, binding.MetricOccurrence.ASYNCHRONOUS, binding.RecorderKind.ABSTRACT
        )
