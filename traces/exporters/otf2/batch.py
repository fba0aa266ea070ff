"""The batch level in OTF2."""

from typing import Any, NamedTuple

import numpy as np

from traces.compiled import Array, compiled
from traces.exporters.otf2.kernels import NO_WRITER, Calls, write_metrics
from traces.exporters.otf2.library import AddAttribute, CloseEvtWriter, Enter, GetEvtWriter, Leave, address_of, binding
from traces.exporters.shown.batch_level import ShownBatchLevel
from traces.exporters.shown.spans import Spans
from traces.ledger import Ledger
from traces.records.events import STRING

#: References of the classes of metrics: counters of the scheduler, of a host, and the power draw of the machine.
SCHEDULER_METRICS, HOST_METRICS, POWER_METRICS = 0, 1, 2


def gpu_metrics(batch: ShownBatchLevel) -> int:
    """The reference of the class of busy GPUs: the next one, since otf2-print warns of gaps."""
    return POWER_METRICS + (batch.power is not None)


@compiled()
def write_spans(
    archive: int,
    attributes: int,
    first_location: int,
    first_region: int,
    spans: Spans,
    get_writer: GetEvtWriter,
    close_writer: CloseEvtWriter,
    add: AddAttribute,
    enter: Enter,
    leave: Leave,
) -> int:
    """Write an Enter, with attributes, and a Leave for each span; ``attributes`` is an empty attribute list."""
    first, start, end, region, row = spans.first, spans.start, spans.end, spans.region, spans.row
    values, references, types = spans.values, spans.attributes, spans.types
    for location in range(len(first) - 1):
        writer = get_writer(archive, first_location + location)
        if writer == 0:
            return NO_WRITER
        for k in range(first[location], first[location + 1]):
            code: int = 0
            for place in range(len(types)):
                if types[place] == STRING and values[row[k], place] < 0:
                    continue
                code = add(attributes, references[place], types[place], values[row[k], place])
                if code != 0:
                    return code
            code = enter(writer, attributes, start[k], first_region + region[k])
            if code == 0:
                code = leave(writer, 0, end[k], first_region + region[k])
            if code != 0:
                return code
        code = close_writer(archive, writer)
        if code != 0:
            return code
    return 0


class Location(NamedTuple):
    """A location to define: its name, the index of its type in ``binding.LocationType``, and its number of events.

    ``group`` is the host to whose group it belongs or, after the last host, the scheduler, the jobs, or the GPUs of one of
    the hosts that have any.
    """

    name: str
    kind: int
    n_events: int
    group: int


def write_batch(
    call: Calls, attributes: Any, batch: ShownBatchLevel, ledger: Ledger, first_region: int, *, all_hosts: bool
) -> list[Location]:
    """Write the events of all locations except cores: the first has the number of cores as its reference, the others follow.

    ``attributes`` is the binding's handle of an empty attribute list, ``first_region`` the reference of the first of
    :data:`REGIONS`. With ``all_hosts``, hosts without events also have a location.
    """
    machine = ledger.machine
    load, hosts, lanes = batch.load, batch.hosts, batch.lanes
    thread, metric = binding.LocationType.CPU_THREAD.value, binding.LocationType.METRIC.value
    scheduler, jobs = machine.n_hosts, machine.n_hosts + 1
    found: list[Location] = []

    def counters(metrics: int, first: Array, stop: Array, instant_ns: Array, values: Array) -> None:
        types = np.full(values.shape[1], binding.Type.UINT64.value, np.uint8)
        columns = (np.ascontiguousarray(column, np.int64) for column in (first, stop, instant_ns))
        call(
            *(write_metrics, call.archive, machine.n_cores + len(found), metrics, *columns),
            *(len(types), types.ctypes.data, values.ctypes.data),
        )

    def spans(one: Spans, region: int = first_region) -> None:
        call(write_spans, call.archive, address_of(attributes), machine.n_cores + len(found), region, one)

    counted = np.column_stack([one.values for one in batch.load_series()])
    counters(SCHEDULER_METRICS, np.zeros(1), np.full(1, len(load)), load.instant_ns, counted)
    found += [Location("batch scheduler", metric, len(load), scheduler)]
    for name, points in batch.points.items():
        spans(points)
        found += [Location(name, thread, 2 * len(points.start), scheduler)]
    if (power := batch.power) is not None:
        drawn = np.column_stack([one.values for one in batch.power_series()])
        counters(POWER_METRICS, np.zeros(1), np.full(1, len(power)), power.instant_ns, drawn)
        found += [Location("power", metric, len(power), scheduler)]
    if batch.gpu_series:
        at, held = batch.gpu_series[0].instant_ns, np.column_stack([one.values for one in batch.gpu_series])
        counters(gpu_metrics(batch), np.zeros(1), np.full(1, len(at)), at, held)
        found += [Location("GPUs", metric, len(at), scheduler)]
    shown = np.arange(machine.n_hosts) if all_hosts else np.flatnonzero(hosts.stop > hosts.first)
    first, stop = hosts.first[shown], hosts.stop[shown]
    counters(HOST_METRICS, first, stop, hosts.instant_ns, hosts.busy_cores[:, None])
    rows = zip(shown.tolist(), (stop - first).tolist(), strict=True)
    found += [Location(f"{machine.host_names[host]} counters", metric, n, host) for host, n in rows]
    spans(lanes)
    found += [Location(f"lane {k}", thread, 2 * n, jobs) for k, n in enumerate(np.diff(lanes.first).tolist())]
    if (gpus := batch.gpus) is not None:
        spans(gpus.spans, 0)  # the regions of jobs
        stream, group = binding.LocationType.ACCELERATOR_STREAM.value, np.searchsorted(np.unique(gpus.host), gpus.host)
        lanes_of_gpus = zip(gpus.names, (2 * np.diff(gpus.spans.first)).tolist(), group.tolist(), strict=True)
        found += [Location(name, stream, n, jobs + 1 + one) for name, n, one in lanes_of_gpus]
    return found
