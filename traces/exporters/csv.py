"""Comma-separated values: the contents of a trace as plain tables, for R, spreadsheets, awk.

docs/how-to/trace-viewers.md describes the files and their columns. Instants are whole nanoseconds since the workload's time
0, numbers are exact, texts without a comma are not quoted, and missing values are empty. Rows are sorted by core or lane,
then by time.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from traces.base.written_file import fresh
from traces.exporters.shown.batch_level import REGIONS, ShownBatchLevel, batch_level
from traces.exporters.shown.core_slices import KINDS, causes, core_slices
from traces.exporters.shown.rows import Rows, blocks, words
from traces.holdings import held_gpus
from traces.ledger import STATES, WHY, Ledger

FOLDER = "csv"  #: name of the written folder, and of its files

COLUMNS = {
    "cores.csv": "core,host,kind,job,attempt,technique,task,chunk,start_ns,end_ns",
    "jobs.csv": "lane,kind,job,cores,estimate_ns,user,attempt,eligible_ns,why,state,start_ns,end_ns",
    "counters.csv": "where,counter,unit,instant_ns,value",
    "transfers.csv": "job,attempt,source,target,source_core,target_core,bytes,sent_ns,arrived_ns",
    "gpus.csv": "gpu,host,gpu_kind,job,attempt,milli,start_ns,end_ns",
    "causes.csv": "job,attempt,cause,cause_attempt,at_ns",
}


def write_csv(ledger: Ledger, directory: Path) -> Path:
    """Write a ledger as files in ``directory / "csv"``; equal ledgers give equal bytes. Returns the path of ``cores.csv``.

    Besides the ledger it needs 8 bytes of memory per task, some 300 per job, and a block of lines. Raises InputError if a
    file exists or cannot be written, or a job is submitted before time 0; InvariantError if a core does two things at once.
    """
    folder = Path(directory) / FOLDER
    batch = batch_level(ledger)
    files = {
        "cores.csv": _cores(ledger),
        "jobs.csv": _jobs(batch),
        "counters.csv": _counters(ledger, batch),
        "transfers.csv": _transfers(ledger),
        "causes.csv": _causes(ledger),
    }
    if batch.gpus is not None:
        files["gpus.csv"] = _gpus(ledger)
    for name, made in files.items():
        with fresh(folder / name) as file:
            further = ",name" if name == "jobs.csv" and batch.job_names else ""
            file.write(f"{COLUMNS[name]}{further}\n".encode())
            file.writelines(made)
    return folder / "cores.csv"


def quoted(text: str) -> str:
    """Return a field, in quotes if it needs them."""
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\r\n') else text


def _cores(ledger: Ledger) -> Iterator[bytes]:
    machine, jobs = ledger.machine, ledger.jobs
    hosts, kinds = words([quoted(name) for name in machine.host_names]), words(KINDS)
    techniques = words([quoted(name) for name in ledger.techniques] or [""])
    for one in core_slices(ledger):
        n, known = len(one.core), one.task >= 0
        rows = Rows(n).number(one.core).put(b",").word(hosts, machine.host_of(one.core))
        rows.put(b",").word(kinds, one.kind).put(b",").numbers(jobs.job_id[one.job], jobs.attempt[one.job])
        if ledger.technique is not None:
            rows.word(techniques, ledger.technique[one.job])
        rows.put(b",").add(Rows(n).number(one.task), known).put(b",").add(Rows(n).number(one.chunk), known)
        yield rows.put(b",").numbers(one.start_ns).number(one.end_ns).put(b"\n").tobytes()


def _gpus(ledger: Ledger) -> Iterator[bytes]:
    if (held := held_gpus(ledger)) is None:
        return
    machine, jobs = ledger.machine, ledger.jobs
    hosts = words([quoted(name) for name in machine.host_names])
    kinds = words(list(held.kinds) or [""] * machine.n_hosts)
    order = np.lexsort((held.end_ns, held.start_ns, held.gpu))
    for at in blocks(len(order)):
        some = order[at]
        job, gpu = held.job[some], held.gpu[some]
        host = machine.host_of_gpu(gpu)
        rows = Rows(len(some)).number(gpu).put(b",").word(hosts, host).put(b",").word(kinds, host).put(b",")
        rows.numbers(jobs.job_id[job], jobs.attempt[job], held.milli[some], held.start_ns[some])
        yield rows.number(held.end_ns[some]).put(b"\n").tobytes()


def _jobs(batch: ShownBatchLevel) -> Iterator[bytes]:
    lanes = batch.lanes
    location = lanes.location
    regions, texts = words(list(REGIONS)), words(["", *WHY, *STATES])
    strings = [quoted(text) for text in batch.strings]
    for at in blocks(len(location)):
        values = lanes.values[lanes.row[at]]
        rows = Rows(len(values)).number(location[at]).put(b",").word(regions, lanes.region[at])
        for place in range(6):
            rows.put(b",").number(values[:, place])
        for place in (6, 7):
            rows.put(b",").word(texts, values[:, place])
        rows.put(b",").number(lanes.start[at]).put(b",").number(lanes.end[at])
        if batch.job_names:
            rows.put(b",").text(strings, np.maximum(values[:, 8], 0))
        yield rows.put(b"\n").tobytes()


def _counters(ledger: Ledger, batch: ShownBatchLevel) -> Iterator[bytes]:
    machine = ledger.machine
    of_hosts = ((machine.host_names[host], one) for host, one in batch.host_series())
    for where, one in (*((machine.name, one) for one in batch.machine_series()), *of_hosts):
        named = f"{quoted(where)},{one.name},{one.unit},".encode()
        for at in blocks(len(one.instant_ns)):
            rows = Rows(len(one.instant_ns[at])).put(named).numbers(one.instant_ns[at])
            yield rows.scaled(one.values[at], one.exponent).put(b"\n").tobytes()


def _transfers(ledger: Ledger) -> Iterator[bytes]:
    tasks, transfers, jobs = ledger.tasks, ledger.transfers, ledger.jobs
    if tasks is None or transfers is None:
        return
    for part in blocks(len(transfers)):
        at = np.arange(part.start, part.stop)
        job = np.searchsorted(transfers.first[1:], at, side="right")
        rows = Rows(len(at)).numbers(jobs.job_id[job], jobs.attempt[job], transfers.source[at], transfers.target[at])
        rows.numbers(*transfers.cores(tasks, at))
        # Sizes are real numbers, but nearly always whole ones, which need no decimals.
        size = transfers.bytes[at]
        if (size == np.rint(size)).all():
            rows.number(size.astype(np.int64))
        else:
            texts = [repr(one) for one in size.tolist()]
            rows.word(words(texts), np.arange(len(at)))
        yield rows.put(b",").numbers(transfers.sent_ns[at]).number(transfers.arrived_ns[at]).put(b"\n").tobytes()


def _causes(ledger: Ledger) -> Iterator[bytes]:
    found, jobs = causes(ledger), ledger.jobs
    for at in blocks(len(found.job)):
        job, cause, at_ns = (column[at] for column in found)
        rows = Rows(len(job)).numbers(*(column[row] for row in (job, cause) for column in (jobs.job_id, jobs.attempt)))
        yield rows.number(at_ns).put(b"\n").tobytes()
