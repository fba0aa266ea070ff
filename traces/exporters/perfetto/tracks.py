"""Interned names, and the hierarchy of a trace's tracks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from traces.compiled import Array
from traces.exporters.perfetto.wire import interned, message, packet, text, varint
from traces.exporters.shown.batch_level import ATTRIBUTES, CUT, JOB_NAME, REGIONS, WORDS, Series, ShownBatchLevel
from traces.exporters.shown.core_slices import KINDS
from traces.exporters.shown.part import shown_cores, shown_hosts
from traces.exporters.shown.rows import JobNames, Rows, blocks
from traces.exporters.shown.spans import GPU_MILLI
from traces.ledger import Ledger

# Fields of InternedData.
_CATEGORIES, _EVENTS, _ANNOTATIONS, _STRINGS = b"\x0a", b"\x12", b"\x1a", b"\xea\x01"

_FURTHER = ("wait for data", "send", "receive", "frees", "freed")


def _iids(*names: str) -> dict[str, int]:
    return {name: iid for iid, name in enumerate(dict.fromkeys(names), 1)}


#: iids of categories; followed by those of techniques.
CATEGORIES = _iids(*KINDS, "batch", "transfer", "cause")
TECHNIQUES = 1 + len(CATEGORIES)


def write_names(tracks: Tracks, ledger: Ledger, batch: ShownBatchLevel) -> Iterator[bytes]:
    """Yield all packets that intern something; strings of the batch level's attributes keep their numbers."""
    # The first packet of the sequence: nothing was interned before.
    yield b"\x0a\x04\x50\x01\x68\x01"
    yield interned(_EVENTS, 1, text(b"\x12", list(tracks.events))).tobytes()
    yield interned(_CATEGORIES, 1, text(b"\x12", [*CATEGORIES, *ledger.techniques])).tobytes()
    annotations = [name for name in tracks.annotations if name != JOB_NAME[0] or batch.job_names]
    yield interned(_ANNOTATIONS, 1, text(b"\x12", annotations)).tobytes()
    known = [*WORDS, *batch.cut_because]
    yield interned(_STRINGS, 1, text(b"\x12", known)).tobytes()
    for at in blocks(len(batch.job_names)):
        yield interned(_STRINGS, 1 + len(known) + at.start, text(b"\x12", batch.job_names[at])).tobytes()
    numbers, of_jobs = ledger.jobs.job_id, JobNames(ledger)
    for at in blocks(len(numbers)):
        some = np.asarray(numbers[at], np.int64)
        label = of_jobs.append(Rows(len(some)).put(b"job ").number(some), np.arange(at.start, at.stop), b" ")
        yield interned(_EVENTS, tracks.first_job + at.start, message(b"\x12", label)).tobytes()


_DESCRIPTOR = b"\xe2\x03"


class Tracks(NamedTuple):
    """The uuids of tracks, and the iids of names that depend on the kinds of events of running jobs."""

    # the machine, and in it the batch scheduler and the jobs' lanes
    cluster: int
    scheduler: int
    jobs: int
    points: dict[str, int]  # in the scheduler, by name: ``submits``, and the others
    counters: int  # the first of the machine's series; the others follow
    # the first host, its counter, the first core, the first lane, the first lane of a GPU; the others follow
    hosts: int
    host_counters: int
    cores: int
    lanes: int
    gpus: int
    # of event names: the batch level's, and those of cores besides tasks; followed by those of jobs, by row
    events: dict[str, int]
    first_job: int
    annotations: dict[str, int]

    @classmethod
    def of(cls, ledger: Ledger, batch: ShownBatchLevel, series: Sequence[Series]) -> Tracks:
        """Return the tracks of a run; the counter of the share of busy cores follows the machine's series."""
        machine, kinds = ledger.machine, ledger.kinds
        events = _iids(*REGIONS, *(kind.event() for kind in kinds), *_FURTHER)
        annotations = _iids(
            *("task", "chunk", "bytes", "source", "target"),
            *(name for name, _, _ in (*ATTRIBUTES, CUT)),
            *(name for kind in kinds for name, _, _ in kind.attributes),
            "waiting job",  # of causes, also without a kind that has it
            *(() if batch.gpus is None else GPU_MILLI[:1]),
            JOB_NAME[0],  # the last one, since it is written only if jobs have names
        )
        points = {name: 4 + place for place, name in enumerate(batch.points)}
        counters = 4 + len(points)
        hosts = counters + len(series) + 1
        host_counters = hosts + machine.n_hosts
        cores = host_counters + machine.n_hosts
        lanes = cores + machine.n_cores
        uuids = (1, 2, 3, points, counters, hosts, host_counters, cores, lanes, lanes + batch.lanes.n_locations)
        return cls(*uuids, events, 1 + len(events), annotations)


def write_tracks(tracks: Tracks, ledger: Ledger, batch: ShownBatchLevel, series: Sequence[Series]) -> Iterator[bytes]:
    """Yield the TrackDescriptors: the cluster; in it the batch scheduler with its counters, hosts with their cores and GPUs,
    lanes."""
    machine = ledger.machine
    top = [(machine.name, tracks.cluster, 0), ("batch scheduler", tracks.scheduler, tracks.cluster)]
    top += [("jobs" if batch.waiting else "running jobs", tracks.jobs, tracks.cluster)]
    top += [(name, uuid, tracks.scheduler) for name, uuid in tracks.points.items()]
    yield _tracks([name for name, _, _ in top], *np.array([row[1:] for row in top], np.int64).T).tobytes()
    for place, (name, unit) in enumerate([*((one.name, one.unit) for one in series), ("utilisation", "")]):
        yield _counters([name], np.array([tracks.counters + place]), np.array([tracks.scheduler]), unit).tobytes()
    hosts = shown_hosts(ledger)
    for at in blocks(len(hosts)):
        some = hosts[at]
        names = [machine.host_names[host] for host in some.tolist()]
        yield _tracks(names, tracks.hosts + some, np.full(len(some), tracks.cluster), 1 + some).tobytes()
        busy = ["busy cores"] * len(some)
        yield _counters(busy, tracks.host_counters + some, tracks.hosts + some, "cores").tobytes()
    cores = shown_cores(ledger)
    core_names = machine.core_names if len(cores) else []
    for at in blocks(len(cores)):
        core = cores[at]
        parent = tracks.hosts + machine.host_of(core)
        yield _tracks([core_names[one] for one in core.tolist()], tracks.cores + core, parent, 1 + core).tobytes()
    for at in blocks(batch.lanes.n_locations):
        lane = np.arange(at.start, at.stop)
        named = [f"lane {one}" for one in lane.tolist()]
        yield _tracks(named, tracks.lanes + lane, np.full(len(lane), tracks.jobs), 1 + lane).tobytes()
    if (gpus := batch.gpus) is not None:
        lane = np.arange(len(gpus.names))
        rank = 1 + machine.n_cores + lane
        yield _tracks(gpus.names, tracks.gpus + lane, tracks.hosts + gpus.host, rank).tobytes()


def _descriptor(names: Sequence[str], uuid: Array, parent: Array) -> Rows:
    rows = varint(Rows(len(names)).put(b"\x08"), uuid).add(text(b"\x12", names))
    # A top track has no parent; siblings of the same name stay separate tracks.
    return rows.add(varint(Rows(len(names)).put(b"\x28"), parent), parent > 0).put(b"\x78\x02")


def _tracks(names: Sequence[str], uuid: Array, parent: Array, rank: Array | None = None) -> Rows:
    # Children are shown in the order of their ranks.
    order = varint(Rows(len(names)).put(b"\x58\x03\x60"), np.arange(len(names)) if rank is None else rank)
    return packet(message(_DESCRIPTOR, _descriptor(names, uuid, parent).add(order)))


def _counters(names: Sequence[str], uuid: Array, parent: Array, unit: str) -> Rows:
    counter = Rows(len(names))
    if unit:
        counter.add(text(b"\x32", [unit] * len(names)))
    content = _descriptor(names, uuid, parent).add(message(b"\x42", counter)).put(b"\x60\x00")
    return packet(message(_DESCRIPTOR, content))
