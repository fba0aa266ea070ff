"""Chrome's JSON (Trace Event Format): for ``chrome://tracing``, Speedscope, Perfetto and others.

Processes are the batch scheduler, the jobs, and each host; threads are Perfetto's tracks, with the same names. Slices are
complete events ``X``, points of the scheduler instants ``i``, counters ``C``, transfers and causes flows ``s`` and ``f``.
``ts`` and ``dur`` are microseconds since the workload's time 0, with three decimals: exact.

Source: "Trace Event Format", Google (2016).
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from traces.base.written_file import fresh
from traces.compiled import Array
from traces.exporters.shown.batch_level import ShownBatchLevel, batch_level
from traces.exporters.shown.core_slices import KINDS, CoreSlices, causes, core_slices
from traces.exporters.shown.part import shown_cores, shown_hosts
from traces.exporters.shown.rows import JobNames, Rows, Words, blocks, words
from traces.exporters.shown.spans import Spans
from traces.ledger import Ledger
from traces.records.events import STRING

FILE = "trace.json"  #: name of the file that is written
_SCHEDULER, _JOBS, _HOSTS = 1, 2, 3  #: processes: the scheduler, the jobs, then the hosts


def write_chrome(ledger: Ledger, directory: Path) -> Path:
    """Write a ledger as ``directory / "trace.json"``; equal ledgers give equal bytes.

    Besides the ledger it needs 8 bytes of memory per task, some 300 per job, and a block of lines. Raises InputError if the
    file exists or cannot be written, or a job is submitted before time 0; InvariantError if a core does two things at once.
    """
    path = Path(directory) / FILE
    batch = batch_level(ledger)
    with fresh(path) as file:
        file.write(b'{"displayTimeUnit":"ns","traceEvents":[\n')
        techniques = words([_quoted(f",{name}") for name in ledger.techniques] or [""])
        names = JobNames(ledger, _quoted)
        for slices in core_slices(ledger):
            file.write(_cores(ledger, slices, techniques, names))
        for made in (_gpus(ledger, batch, names), _transfers(ledger), _batch(ledger, batch), _counters(batch)):
            file.writelines(made)
        # No comma follows the last entry.
        file.write(",\n".join(_names(ledger, batch)).encode() + b"\n]}\n")
    return path


def _place(rows: Rows, process: Array | int, thread: Array, at_ns: Array) -> Rows:
    if isinstance(process, int):
        rows.put(b',"pid":%d' % process)
    else:
        rows.put(b',"pid":').number(process)
    return rows.put(b',"tid":').number(thread).put(b',"ts":').decimal(at_ns, 3)


def _quoted(text: str) -> str:
    return json.dumps(text)[1:-1]


def _cores(ledger: Ledger, slices: CoreSlices, techniques: Words, names: JobNames) -> bytes:
    n = len(slices.core)
    waits = slices.kind == KINDS.index("wait for data")
    rows = Rows(n).put(b'{"ph":"X","name":"').put(b"wait for data", waits)
    job = names.append(Rows(n).put(b"job ").number(ledger.jobs.job_id[slices.job]), slices.job, b" ")
    rows.add(job, ~waits).put(b'","cat":"')
    rows.word(words(KINDS), slices.kind)
    if ledger.technique is not None:
        rows.word(techniques, ledger.technique[slices.job])
    _place(rows.put(b'"'), _HOSTS + ledger.machine.host_of(slices.core), slices.core, slices.start_ns)
    rows.put(b',"dur":').decimal(slices.end_ns - slices.start_ns, 3)
    known = slices.task >= 0
    of_task = Rows(n).put(b',"args":{"task":').number(slices.task).put(b',"chunk":').number(slices.chunk).put(b"}")
    return rows.add(of_task, None if known.all() else known).put(b"},\n").tobytes()


def _gpus(ledger: Ledger, batch: ShownBatchLevel, names: JobNames) -> Iterator[bytes]:
    # Threads of GPUs follow those of cores.
    if (gpus := batch.gpus) is None:
        return
    spans, lane, keys = gpus.spans, gpus.spans.location, [name for name, _, _ in batch.attributes]
    for at in blocks(len(lane)):
        start, job = spans.start[at], spans.region[at]
        rows = Rows(len(job)).put(b'{"ph":"X","name":"job ').number(ledger.jobs.job_id[job])
        names.append(rows, job, b" ").put(b'","cat":"job"')
        _place(rows, _HOSTS + gpus.host[lane[at]], ledger.machine.n_cores + lane[at], start)
        rows.put(b',"dur":').decimal(spans.end[at] - start, 3).add(_said(spans, at, keys, []))
        yield rows.put(b"},\n").tobytes()


def _flow(
    name: str, ids: Array, begin: tuple[Array | int, Array, Array], end: tuple[Array | int, Array, Array], said: Rows
) -> bytes:
    rows = Rows(len(ids))
    for kind, place in ((b's"', begin), (b'f","bp":"e"', end)):
        rows.put(b'{"ph":"%s,"name":"%s","cat":"%s","id":' % (kind, name.encode(), name.encode())).number(ids)
        _place(rows, *place).put(b',"args":{').add(said).put(b"}},\n")
    return rows.tobytes()


def _transfers(ledger: Ledger) -> Iterator[bytes]:
    tasks, transfers = ledger.tasks, ledger.transfers
    if tasks is None or transfers is None:
        return
    for part in blocks(len(transfers)):
        at = np.arange(part.start, part.stop)
        source, target = transfers.source[at], transfers.target[at]
        said = Rows(len(at)).put(b'"source":').number(source).put(b',"target":').number(target)
        said.put(b',"bytes":').number(np.rint(transfers.bytes[at]).astype(np.int64))
        pairs = zip(transfers.cores(tasks, at), (transfers.sent_ns[at], transfers.arrived_ns[at]), strict=True)
        begin, end = ((_HOSTS + ledger.machine.host_of(core), core, instant) for core, instant in pairs)
        yield _flow("transfer", at, begin, end, said)


def _batch(ledger: Ledger, batch: ShownBatchLevel) -> Iterator[bytes]:
    names = words(list(batch.regions))
    keys = [name for name, _, _ in batch.attributes]
    texts = [_quoted(text) for text in batch.strings]
    lanes = batch.lanes
    location = lanes.location
    for at in blocks(len(location)):
        start = lanes.start[at]
        rows = Rows(len(start)).put(b'{"ph":"X","name":"').word(names, lanes.region[at]).put(b'","cat":"batch"')
        _place(rows, _JOBS, location[at], start).put(b',"dur":').decimal(lanes.end[at] - start, 3)
        yield rows.add(_said(lanes, at, keys, texts)).put(b"},\n").tobytes()
    for thread, points in enumerate((batch.submits, batch.passes, *batch.events.values())):
        for at in blocks(len(points.start)):
            start = points.start[at]
            rows = Rows(len(start)).put(b'{"ph":"i","s":"t","name":"').word(names, points.region[at])
            _place(rows.put(b'","cat":"batch"'), _SCHEDULER, np.full(len(start), thread), start)
            yield rows.add(_said(points, at, keys, texts)).put(b"},\n").tobytes()
    found, lane, numbers = causes(ledger), batch.lane_of_rows(ledger), ledger.jobs.job_id
    for at in blocks(len(found.job)):
        job, cause, at_ns = (column[at] for column in found)
        said = Rows(len(job)).put(b'"job":').number(numbers[cause]).put(b',"waiting job":').number(numbers[job])
        yield _flow("cause", np.arange(at.start, at.stop), (_JOBS, lane[cause], at_ns), (_JOBS, lane[job], at_ns), said)


def _said(spans: Spans, at: slice, keys: list[str], texts: list[str]) -> Rows:
    rows = Rows(len(spans.row[at])).put(b',"args":{')
    for place, (reference, kind) in enumerate(zip(spans.attributes.tolist(), spans.types.tolist(), strict=True)):
        values = spans.values[spans.row[at], place]
        one = Rows(rows.n).put(b"%s%s:" % (b"," * (place > 0), json.dumps(keys[reference - 2]).encode()))
        if kind == STRING:
            one.put(b'"').text(texts, np.maximum(values, 0)).put(b'"')
            rows.add(one, values >= 0)
        else:
            rows.add(one.number(values))
    return rows.put(b"}")


def _counters(batch: ShownBatchLevel) -> Iterator[bytes]:
    of_hosts = ((_HOSTS + host, one) for host, one in batch.host_series())
    for process, one in (*((_SCHEDULER, one) for one in batch.machine_series()), *of_hosts):
        for at in blocks(len(one.instant_ns)):
            instants = one.instant_ns[at]
            rows = Rows(len(instants)).put(b'{"ph":"C","name":"%s"' % one.name.encode())
            _place(rows, process, np.zeros(len(instants), np.int64), instants)
            rows.put(b',"args":{"%s":' % (one.unit or "value").encode()).scaled(one.values[at], one.exponent)
            yield rows.put(b"}},\n").tobytes()


def _names(ledger: Ledger, batch: ShownBatchLevel) -> Iterator[str]:
    machine = ledger.machine

    def named(what: str, process: int, name: str, thread: int = 0) -> Iterator[str]:
        said: list[tuple[str, dict[str, Any]]] = [(f"{what}_name", {"name": name})]
        said.append((f"{what}_sort_index", {"sort_index": thread if what == "thread" else process}))
        for key, value in said:
            event = {"ph": "M", "name": key, "pid": process, "tid": thread, "args": value}
            yield json.dumps(event, separators=(",", ":"))

    yield from named("process", _SCHEDULER, f"{machine.name}: batch scheduler")
    threads = ["submits", "scheduling passes", *(kind.name for kind in batch.events)]
    for thread, name in enumerate(threads):
        yield from named("thread", _SCHEDULER, name, thread)
    yield from named("process", _JOBS, "jobs" if batch.waiting else "running jobs")
    for lane in range(batch.lanes.n_locations):
        yield from named("thread", _JOBS, f"lane {lane}", lane)
    for host in shown_hosts(ledger).tolist():
        yield from named("process", _HOSTS + host, machine.host_names[host])
    cores = shown_cores(ledger)
    core_names = machine.core_names if len(cores) else []
    for core, host in zip(cores.tolist(), ledger.machine.host_of(cores).tolist(), strict=True):
        yield from named("thread", _HOSTS + host, core_names[core], core)
    if (gpus := batch.gpus) is not None:
        for lane, (host, name) in enumerate(zip(gpus.host.tolist(), gpus.names, strict=True)):
            yield from named("thread", _HOSTS + host, name, machine.n_cores + lane)
