"""Perfetto's protobuf, for `ui.perfetto.dev`_ and its trace processor; timestamps are ns since the workload's time 0.

Tracks are nested like the machine: hosts with their cores and GPUs; ``batch scheduler`` with counters and tracks of instants
(``submits``, ``scheduling passes`` and the events of running jobs); ``jobs`` with lanes. A slice of a core or GPU is ``job
<number>`` with the job's name, and has one colour per job. Its category is ``task`` or ``job``, and that of ``wait for data``
its name; the second category of slices of cores is the technique. A transfer is instants ``send`` and ``receive`` with a
flow; a cause of a start, ``frees`` and ``freed`` (:mod:`traces.exporters.shown.core_slices`). Attributes are annotations with
the names of OTF2.

.. _ui.perfetto.dev: https://ui.perfetto.dev
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from traces.base.written_file import fresh
from traces.compiled import Array
from traces.exporters.perfetto import tracks as layout
from traces.exporters.perfetto.tracks import CATEGORIES, Tracks
from traces.exporters.perfetto.wire import BEGIN, COUNTER, END, INSTANT, annotation, event, varint
from traces.exporters.shown.batch_level import Series, ShownBatchLevel, batch_level
from traces.exporters.shown.core_slices import KINDS, CoreSlices, causes, core_slices
from traces.exporters.shown.rows import Rows, blocks
from traces.exporters.shown.spans import Spans
from traces.ledger import Ledger
from traces.records.events import STRING

FILE = "trace.perfetto-trace"  #: name of the written file
_CAUSES = 1 << 62  #: ids of flows of causes begin here; ids of transfers are below


def write_perfetto(ledger: Ledger, directory: Path) -> Path:
    """Write a ledger as ``directory / "trace.perfetto-trace"``; equal ledgers give equal bytes.

    Besides the ledger it needs 8 bytes of memory per task, some 300 per job, and a block of packets. Raises InputError if the
    file exists or cannot be written, or a job is submitted before time 0; InvariantError if a core does two things at once.
    """
    path = Path(directory) / FILE
    batch = batch_level(ledger)
    series = batch.machine_series()
    tracks = Tracks.of(ledger, batch, series)
    with fresh(path) as file:
        file.writelines(layout.write_names(tracks, ledger, batch))
        file.writelines(layout.write_tracks(tracks, ledger, batch, series))
        file.writelines(_cores(tracks, ledger, slices) for slices in core_slices(ledger))
        file.writelines(_transfers(tracks, ledger))
        file.writelines(_batch(tracks, ledger, batch))
        file.writelines(_counters(tracks, ledger, batch, series))
    return path


def _cores(tracks: Tracks, ledger: Ledger, slices: CoreSlices) -> bytes:
    """Write a begin and an end of each slice in sequence, so that a core leaves a slice before it enters the next."""
    track, waits = tracks.cores + slices.core, slices.kind == KINDS.index("wait for data")
    name = np.where(waits, tracks.events["wait for data"], tracks.first_job + slices.job)
    said = varint(Rows(len(track)).put(b"\x18"), slices.kind + CATEGORIES[KINDS[0]])
    if ledger.technique is not None:
        varint(said.put(b"\x18"), layout.TECHNIQUES + ledger.technique[slices.job])
    varint(said.put(b"\x50"), name)
    known = slices.task >= 0
    for key in ("task", "chunk"):
        of_task = annotation(tracks.annotations[key], np.maximum(getattr(slices, key), 0))
        said.add(of_task, None if known.all() else known)
    rows = event(BEGIN, slices.start_ns, track, said)
    return rows.add(event(END, slices.end_ns, track)).tobytes()


def _flow(tag: bytes, ids: Array) -> Rows:
    return Rows(len(ids)).put(tag).put(np.ascontiguousarray(ids, "<u8").view(np.uint8).reshape(-1, 8))


_Two = tuple[Array, Array]


def _pair(iids: tuple[int, int], category: str, instants: _Two, tracks: _Two, flow: Array, said: Rows) -> bytes:
    """Write two instants, the first with a flow to the second."""
    rows = Rows(len(flow))
    for iid, instant, track, tag in zip(iids, instants, tracks, (b"\xf9\x02", b"\x81\x03"), strict=True):
        content = Rows(len(flow)).put(bytes([0x18, CATEGORIES[category], 0x50, iid])).add(_flow(tag, flow))
        rows.add(event(INSTANT, instant, track, content.add(said)))
    return rows.tobytes()


def _transfers(tracks: Tracks, ledger: Ledger) -> Iterator[bytes]:
    tasks, transfers = ledger.tasks, ledger.transfers
    if tasks is None or transfers is None:
        return
    for part in blocks(len(transfers)):
        at = np.arange(part.start, part.stop)
        source, target = (tracks.cores + core.astype(np.int64) for core in transfers.cores(tasks, at))
        said = annotation(tracks.annotations["bytes"], np.rint(transfers.bytes[at]).astype(np.int64))
        for name in ("source", "target"):
            said.add(annotation(tracks.annotations[name], getattr(transfers, name)[at]))
        instants, both = (
            (transfers.sent_ns[at], transfers.arrived_ns[at]),
            (tracks.events["send"], tracks.events["receive"]),
        )
        yield _pair(both, "transfer", instants, (source, target), 1 + at, said)


def _batch(tracks: Tracks, ledger: Ledger, batch: ShownBatchLevel) -> Iterator[bytes]:
    iids = np.array([tracks.events[name] for name in batch.regions])
    keys = [tracks.annotations[name] for name, _, _ in batch.attributes]
    yield from _spans(batch.lanes, tracks.lanes, iids, "batch", keys)
    if batch.gpus is not None:
        yield from _spans(batch.gpus.spans, tracks.gpus, tracks.first_job + np.arange(len(ledger.jobs)), "job", keys)
    for name, uuid in tracks.points.items():
        points = batch.points[name]
        for at in blocks(len(points.start)):
            said = _named(iids[points.region[at]]).add(_said(points, at, keys))
            yield event(INSTANT, points.start[at], np.full(said.n, uuid), said).tobytes()
    found = causes(ledger)
    lane = batch.lane_of_rows(ledger)
    for at in blocks(len(found.job)):
        job, cause, at_ns = (column[at] for column in found)
        ends = tracks.lanes + lane[cause], tracks.lanes + lane[job]
        said = annotation(tracks.annotations["job"], ledger.jobs.job_id[cause])
        said.add(annotation(tracks.annotations["waiting job"], ledger.jobs.job_id[job]))
        both, flow = (tracks.events["frees"], tracks.events["freed"]), _CAUSES + np.arange(at.start, at.stop)
        yield _pair(both, "cause", (at_ns, at_ns), ends, flow, said)


def _spans(spans: Spans, first_track: int, iids: Array, category: str, keys: list[int]) -> Iterator[bytes]:
    location = spans.location
    for at in blocks(len(location)):
        track = first_track + location[at]
        said = _named(iids[spans.region[at]], category).add(_said(spans, at, keys))
        yield event(BEGIN, spans.start[at], track, said).add(event(END, spans.end[at], track)).tobytes()


def _named(name: Array, category: str = "batch") -> Rows:
    return varint(Rows(len(name)).put(bytes([0x18, CATEGORIES[category], 0x50])), name)


def _said(spans: Spans, at: slice, keys: list[int]) -> Rows:
    rows = Rows(len(spans.row[at]))
    for place, (reference, kind) in enumerate(zip(spans.attributes.tolist(), spans.types.tolist(), strict=True)):
        values = spans.values[spans.row[at], place]
        name = keys[reference - 2]
        if kind == STRING:  # OTF2 also counts the empty string
            rows.add(annotation(name, np.maximum(values, 0), string=True), values >= 0 if (values < 0).any() else None)
        else:
            rows.add(annotation(name, values))
    return rows


def _counters(tracks: Tracks, ledger: Ledger, batch: ShownBatchLevel, series: list[Series]) -> Iterator[bytes]:
    for place, one in enumerate(series):
        yield from _counter(tracks.counters + place, one)
    busy = next(one for one in series if one.name == "busy cores")
    share = busy.values / max(ledger.machine.n_cores, 1)
    yield from _counter(tracks.counters + len(series), busy, share)
    for host, one in batch.host_series():
        yield from _counter(tracks.host_counters + host, one)


def _counter(uuid: int, series: Series, real: Array | None = None) -> Iterator[bytes]:
    if real is None and series.exponent:
        real = series.values * 10.0**series.exponent
    for at in blocks(len(series.instant_ns)):
        n = len(series.instant_ns[at])
        if real is None:
            value = varint(Rows(n).put(b"\xf0\x01"), series.values[at])
        else:
            value = Rows(n).put(b"\xe1\x02").put(np.ascontiguousarray(real[at], "<f8").view(np.uint8).reshape(-1, 8))
        yield event(COUNTER, series.instant_ns[at], np.full(n, uuid), value).tobytes()
