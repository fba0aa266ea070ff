"""A text trace per simulator: one file for the batch simulator, and one for each application simulator.

docs/how-to/trace-viewers.md describes files, lines and events. An application simulator's file has only its job, the batch
simulator's no tasks; all lines use the same clock, so merging the files by time gives the whole run. At one instant lines are
in the order of the tables below, so that ends precede begins; the two lines of a job or task of length 0 are consecutive.

The two-level paper collects such traces of its batch simulator and of each instance of its application simulator (§5.2).
"""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from traces.base.errors import InputError
from traces.base.written_file import fresh, naming
from traces.compiled import Array
from traces.exporters.shown.rows import BLOCK, JobNames, Rows, blocks, words
from traces.intervals import intervals_texts
from traces.ledger import STATES, WHY, Ledger
from traces.records.events import JobEvents

#: The written folder, the batch simulator's file in it, and the folder of the application simulators' files.
FOLDER, FILE, APPLICATIONS = "text", "batch.txt", "applications"


def _batch_events(events: Iterable[JobEvents]) -> dict[str, tuple[str, ...]]:
    """Return the events of the batch simulator, including the given events of running jobs, and their fields."""
    kinds = [(one.frees, one.event(), ("job", "attempt", *one.numbers_named())) for one in events]
    return {
        "end": ("job", "attempt", "state"),
        **{name: fields for frees, name, fields in kinds if frees},
        "submit": ("job", "attempt", "cores", "estimate_ns", "user"),
        "eligible": ("job", "attempt"),
        "leave": ("job", "attempt", "state"),
        **{name: fields for frees, name, fields in kinds if not frees},
        "pass": ("waiting", "started"),
        "start": ("job", "attempt", "why", "cores"),
    }


def _application_events(events: Iterable[JobEvents]) -> dict[str, tuple[str, ...]]:
    """Return the events of an application simulator, including the given events that free cores, and their fields."""
    return {
        "start": ("cores",),
        "task-end": ("core", "task"),
        "send": ("core", "task", "to_task", "bytes"),
        "receive": ("core", "task", "from_task", "bytes"),
        **{one.event(): ("core",) for one in events if one.frees},
        "task-start": ("core", "task", "chunk"),
        "end": ("state", "tasks", "chunks"),
    }


# The field after a job's number, if the log has names for single jobs.
_NAME = b" name="

_APART = " ="  #: characters that separate fields

#: The first line of each file.
_HEAD = b"# twolevel text trace 1: %s; TIME EVENT KEY=VALUE ..., time in ns\n"


def write_text(ledger: Ledger, directory: Path) -> Path:
    """Write a ledger as files in ``directory / "text"``; equal ledgers give equal bytes. Returns the path of ``batch.txt``.

    One file is open at a time. Besides the ledger it needs some 200 bytes of memory per job, and 40 bytes for each task of a
    block of jobs, or of the largest job. Raises InputError if there is a trace already, or a file cannot be written.
    """
    folder = Path(directory) / FOLDER
    path = folder / FILE
    with fresh(path) as file:
        file.write(_HEAD % b"batch simulator")
        file.writelines(_batch(ledger))
    if ledger.tasks is not None:
        place = folder / APPLICATIONS
        try:
            place.mkdir()
            _write_applications(ledger, place)
        except OSError as error:
            raise InputError(f"{error.filename or place}: cannot be written: {error.strerror or error}") from None
    return path


class _Events(NamedTuple):
    # The instants of some events of one kind, the job of each, and a function that writes the lines of some of them.
    instant_ns: Array
    job: Array
    lines: Callable[[Array], Rows]


def _line(kind: str, instant_ns: Array) -> Rows:
    return Rows(len(instant_ns)).number(instant_ns).put(f" {kind}".encode())


def _numbers(
    kind: str, fields: tuple[str, ...], instant_ns: Array, job: Array, *columns: Array, names: JobNames | None = None
) -> _Events:
    """Return events whose fields are all numbers; with ``names``, the first one is the job's number."""

    def lines(rows: Array) -> Rows:
        found = _line(kind, instant_ns[rows])
        for name, column in zip(fields, columns, strict=True):
            found.put(f" {name}=".encode()).number(column[rows])
            if name == "job" and names is not None:
                names.append(found, job[rows], _NAME)
        return found.put(b"\n")

    return _Events(instant_ns, job, lines)


def _blocks(events: list[_Events], *, by_job: bool) -> Iterator[tuple[Array, Array, bytes]]:
    """Yield lines of events in blocks: by time, then in the order of the list and of its rows; with ``by_job``, by job first.

    Each block is the job of each line, the length of each, and their bytes.
    """
    kind = np.repeat(np.arange(len(events)), [len(one.instant_ns) for one in events])
    row = np.concatenate([np.arange(len(one.instant_ns)) for one in events])
    job = np.concatenate([one.job for one in events])
    keys = (row, kind, np.concatenate([one.instant_ns for one in events]), *([job] if by_job else []))
    order = np.lexsort(keys)
    for at in blocks(len(order)):
        some = order[at]
        built = []
        for which, one in enumerate(events):
            place = np.flatnonzero(kind[some] == which)
            if len(place):
                built.append((place, *one.lines(row[some[place]]).matrix()))
        width = max(out.shape[1] for _, out, _ in built)
        text, there = np.empty((len(some), width), np.uint8), np.zeros((len(some), width), np.bool_)
        for place, out, mask in built:
            text[place, : out.shape[1]], there[place, : out.shape[1]] = out, mask
        yield job[some], there.sum(axis=1), text[there].tobytes()


def _in_order(found: dict[str, _Events], table: Iterable[str], begin: str) -> list[_Events]:
    """Return events in the order of a table; events of length 0, ``both``, precede the kind ``begin``."""
    kinds = [kind for name in table for kind in (("both", name) if name == begin else (name,))]
    return [found[kind] for kind in kinds if kind in found]


def _batch(ledger: Ledger) -> Iterator[bytes]:
    jobs, shown = ledger.jobs, _batch_events(ledger.events)
    row = np.arange(len(jobs))
    ran, first = np.flatnonzero(jobs.started), np.flatnonzero(jobs.attempt == 0)
    left, eligible = np.flatnonzero(~jobs.started), np.flatnonzero(jobs.eligible_ns >= 0)
    states, why, names = words(STATES), words(WHY), JobNames(ledger, apart=_APART)
    allocation = intervals_texts(jobs.allocation_first, jobs.allocation_lo, jobs.allocation_hi)

    def whose(kind: str, instant_ns: Array, job: Array) -> Rows:
        line = names.append(_line(kind, instant_ns).put(b" job=").number(jobs.job_id[job]), job, _NAME)
        return line.put(b" attempt=").number(jobs.attempt[job])

    def ends(kind: str, which: Array, at: Array) -> _Events:
        def lines(rows: Array) -> Rows:
            some = which[rows]
            return whose(kind, at[some], some).put(b" state=").word(states, jobs.state[some]).put(b"\n")

        return _Events(at[which], which, lines)

    held = [""] * len(jobs) if ledger.gpus is None else ledger.gpus.columns_of_jobs()["gpu_allocation"]
    gpus = [f" gpus={text.replace(' ', ',')}" if text else "" for text in held]

    def starts(some: Array) -> Rows:
        found = whose("start", jobs.start_ns[some], some).put(b" why=").word(why, jobs.why[some]).put(b" cores=")
        texts = [allocation.text[allocation.first[k] : allocation.first[k + 1]].tobytes() for k in some.tolist()]
        found.word(words([text.decode().replace(" ", ",") for text in texts]), np.arange(len(some)))
        return found.text(gpus, some).put(b"\n")

    def numbers(kind: str, at: Array, job: Array, *columns: Array) -> _Events:
        fields = (jobs.job_id[job], jobs.attempt[job], *columns)
        return _numbers(kind, shown[kind], at, job, *fields, names=names)

    lasts = jobs.end_ns > jobs.start_ns
    long, short = ran[lasts[ran]], ran[~lasts[ran]]
    of_short = ends("end", short, jobs.end_ns)
    asked = jobs.cores, jobs.estimate_ns, jobs.user
    found = {
        "end": ends("end", long, jobs.end_ns),
        "leave": ends("leave", left, np.where(jobs.left_ns >= 0, jobs.left_ns, jobs.submit_ns)),
        "submit": numbers("submit", jobs.submit_ns[first], first, *(one[first] for one in asked)),
        "eligible": numbers("eligible", jobs.eligible_ns[eligible], eligible),
        "both": _Events(jobs.start_ns[short], short, lambda rows: starts(short[rows]).add(of_short.lines(rows))),
        "start": _Events(jobs.start_ns[long], long, lambda rows: starts(long[rows])),
    }
    for one in ledger.events:
        found[one.event()] = numbers(one.event(), one.at_ns, one.job, *one.numbers(jobs))
    if (passes := ledger.passes) is not None:
        no_job = np.zeros(len(passes), np.int64)
        found["pass"] = _numbers("pass", shown["pass"], passes.now_ns, no_job, passes.waiting, passes.started)
    if len(row):
        yield from (text for _, _, text in _blocks(_in_order(found, shown, "start"), by_job=False))


def _write_applications(ledger: Ledger, folder: Path) -> None:
    """Write the file of each application simulator, in the order of jobs, one block of lines at a time."""
    jobs, names = ledger.jobs, JobNames(ledger, apart=_APART).texts
    written = -1
    for job, lengths, text in _applications(ledger):
        stop = np.concatenate([[0], np.cumsum(lengths)])
        edges = np.concatenate([[0], np.flatnonzero(np.diff(job)) + 1, [len(job)]])
        for lo, hi in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            number, attempt = int(jobs.job_id[job[lo]]), int(jobs.attempt[job[lo]])
            name = f"{number}-{attempt}.txt" if attempt else f"{number}.txt"
            lines = text[stop[lo] : stop[hi]]
            if job[lo] == written:  # continues from the previous block
                _write(folder / name, os.O_APPEND, lines)
                continue
            written = int(job[lo])
            called = f" {names[written]}" if names and names[written] else ""
            head = _HEAD % f"application simulator of job {number}{called}, attempt {attempt}".encode()
            _write(folder / name, os.O_CREAT | os.O_EXCL, head + lines)


def _write(path: Path, how: int, text: bytes) -> None:
    file = os.open(path, os.O_WRONLY | how, 0o666)
    try:
        with naming(path):
            while text:
                text = text[os.write(file, text) :]
    finally:
        os.close(file)


def _applications(ledger: Ledger) -> Iterator[tuple[Array, Array, bytes]]:
    """Yield blocks as :func:`_blocks` for the jobs that ran tasks, by job."""
    jobs, tasks = ledger.jobs, ledger.tasks
    if tasks is None:
        return
    lo = 0
    while lo < len(jobs):
        hi = max(lo + 1, int(np.searchsorted(tasks.first, tasks.first[lo] + BLOCK, side="right")) - 1)
        events = _of_jobs(ledger, lo, min(hi, len(jobs)))
        if events:
            yield from _blocks(events, by_job=True)
        lo = hi


def _of_jobs(ledger: Ledger, lo: int, hi: int) -> list[_Events]:
    """Return the events of the applications of the jobs ``lo`` to ``hi`` - 1, in the order of their table."""
    jobs, tasks, transfers, shown = ledger.jobs, ledger.tasks, ledger.transfers, _application_events(ledger.events)
    assert tasks is not None
    known = lo + np.flatnonzero(jobs.started[lo:hi] & (np.diff(tasks.first[lo : hi + 1]) > 0))
    if not len(known):
        return []
    row = np.arange(tasks.first[lo], tasks.first[hi])
    row = row[tasks.core[row] >= 0]
    job = np.searchsorted(tasks.first[1:], row, side="right")
    number, core = row - tasks.first[job], tasks.core[row]
    states = words(STATES)

    def ends(rows: Array) -> Rows:
        some = known[rows]
        line = _line("end", jobs.end_ns[some]).put(b" state=").word(states, jobs.state[some])
        return line.put(b" tasks=").number(jobs.tasks[some]).put(b" chunks=").number(jobs.chunks[some]).put(b"\n")

    def numbers(kind: str, instant_ns: Array, of: Array, *columns: Array) -> _Events:
        return _numbers(kind, shown[kind], instant_ns, of, *columns)

    def begun(some: Array) -> _Events:
        columns = (core[some], number[some], tasks.chunk[row[some]])
        return numbers("task-start", tasks.start_ns[row[some]], job[some], *columns)

    def done(some: Array) -> _Events:
        return numbers("task-end", tasks.end_ns[row[some]], job[some], core[some], number[some])

    lasts = tasks.end_ns[row] > tasks.start_ns[row]
    long, short = np.flatnonzero(lasts), np.flatnonzero(~lasts)
    begun_short, done_short = begun(short), done(short)
    found = {
        "start": numbers("start", jobs.start_ns[known], known, jobs.cores[known]),
        "task-end": done(long),
        "both": _Events(
            begun_short.instant_ns, job[short], lambda rows: begun_short.lines(rows).add(done_short.lines(rows))
        ),
        "task-start": begun(long),
        "end": _Events(jobs.end_ns[known], known, ends),
    }
    if transfers is not None:
        sent = np.arange(transfers.first[lo], transfers.first[hi])
        of = np.searchsorted(transfers.first[1:], sent, side="right")
        source, target = transfers.source[sent], transfers.target[sent]
        size = np.rint(transfers.bytes[sent]).astype(np.int64)
        cores = [tasks.core[tasks.first[of] + task] for task in (source, target)]
        found["send"] = numbers("send", transfers.sent_ns[sent], of, cores[0], source, target, size)
        found["receive"] = numbers("receive", transfers.arrived_ns[sent], of, cores[1], target, source, size)
    for one in ledger.events:
        if one.frees:
            some = np.flatnonzero(np.isin(one.job, known))
            found[one.event()] = numbers(one.event(), one.at_ns[some], one.job[some], one.named_core[some])
    return _in_order(found, shown, "task-start")
