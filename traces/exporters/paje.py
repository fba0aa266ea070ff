"""Pajé's text format for ViTE, Paje and the pajeng tools (``pj_dump``); times are s since the workload's time 0, nine decimals.

Containers are the cluster, its ``batch scheduler``, hosts, cores that any job held, GPUs, and lanes. States are ``job
<number>`` with the job's name on cores, with the fields ``Task`` and ``Chunk`` (-1 without tasks), and on GPUs, with the
field ``Milli``; ``wait for data``; and the states of jobs on lanes. Links are transfers between cores and causes of starts
between lanes. Events are in the order of time, as the format requires; at one instant states end before others begin.

Source: B. de Oliveira Stein, J. Chassin de Kergommeaux, L. M. Schnorr, "Pajé trace file format" (2013).
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from traces.base.written_file import fresh
from traces.compiled import Array
from traces.exporters.shown.batch_level import REGIONS, Series, ShownBatchLevel, batch_level
from traces.exporters.shown.core_slices import causes
from traces.exporters.shown.part import shown_cores, shown_hosts
from traces.exporters.shown.rows import BLOCK, JobNames, Rows, blocks, merged, words
from traces.exporters.shown.spans import Spans
from traces.holdings import holdings
from traces.intervals import intervals_of
from traces.ledger import STATES, WHY, Ledger, TaskRecords
from traces.waits import waits

#: Numbers of the forms of definitions and of events.
_CONTAINER_TYPE, _STATE_TYPE, _VARIABLE_TYPE, _EVENT_TYPE, _LINK_TYPE, _VALUE, _CONTAINER = range(7)
_PUSH_JOB, _PUSH_LANE, _POP, _VARIABLE, _EVENT, _LINK_START, _LINK_END, _PUSH_GPU = range(10, 18)

_TYPE = "Alias string,Type string"
_VALUED = "Time date,Container string,Type string,Value string"

_FORMS = (
    (_CONTAINER_TYPE, "PajeDefineContainerType", "Alias string,Type string,Name string"),
    (_STATE_TYPE, "PajeDefineStateType", "Alias string,Type string,Name string"),
    (_VARIABLE_TYPE, "PajeDefineVariableType", "Alias string,Type string,Name string,Color color"),
    (_EVENT_TYPE, "PajeDefineEventType", "Alias string,Type string,Name string,Color color"),
    (_LINK_TYPE, "PajeDefineLinkType", f"{_TYPE},StartContainerType string,EndContainerType string,Name string"),
    (_VALUE, "PajeDefineEntityValue", "Alias string,Type string,Name string,Color color"),
    (_CONTAINER, "PajeCreateContainer", "Time date,Alias string,Type string,Container string,Name string"),
    (_PUSH_JOB, "PajePushState", f"{_VALUED},Task int,Chunk int"),
    (_PUSH_LANE, "PajePushState", f"{_VALUED},Job int,Attempt int,Why string,State string"),
    (_POP, "PajePopState", "Time date,Container string,Type string"),
    (_VARIABLE, "PajeSetVariable", "Time date,Container string,Type string,Value double"),
    (_EVENT, "PajeNewEvent", "Time date,Container string,Type string,Value string,Job int"),
    (
        _LINK_START,
        "PajeStartLink",
        "Time date,Container string,Type string,StartContainer string,Value string,Key string,Bytes double",
    ),
    (_LINK_END, "PajeEndLink", "Time date,Container string,Type string,EndContainer string,Value string,Key string"),
)

_OF_GPUS = (_PUSH_GPU, "PajePushState", f"{_VALUED},Milli int")  #: of traces with rows of GPUs

_GREY, _COUNTED = '"0.7 0.7 0.7"', '"0.12 0.47 0.71"'

#: The states on lanes, by index in REGIONS, and their colours. Other regions are events, whose values ViTE wants undefined.
_LANE_STATES = tuple(REGIONS)[:3]
_BATCH = ('"0.8 0.8 0.8"', '"0.99 0.75 0.44"', '"0.2 0.63 0.17"')

_SAMPLE = 64  #: one in this many intervals is sampled to estimate how many begin and end when


class Timed:
    """Intervals, for finding those that begin or end in a window of time.

    The first and last instants of each block of rows are kept: rows such as tasks are roughly in the order of time, so only a
    few blocks are searched for a window. Rows with a start below 0 are ignored.
    """

    def __init__(self, start_ns: Array, end_ns: Array) -> None:
        self.start_ns, self.end_ns = self._columns = (start_ns, end_ns)
        self._spans = [_spans(column) for column in self._columns]

    def sample(self) -> Array:
        """Return some of the instants, evenly chosen."""
        return np.concatenate([column[::_SAMPLE][self._columns[0][::_SAMPLE] >= 0] for column in self._columns])

    def within(self, which: int, since: int, until: int) -> Array:
        """Return the rows that begin (``which`` 0) or end (1) at ``since`` or later, and before ``until``."""
        column, (first, last) = self._columns[which], self._spans[which]
        found = [np.zeros(0, np.int64)]
        for block in np.flatnonzero((first < until) & (last >= since)).tolist():
            at = slice(block * BLOCK, (block + 1) * BLOCK)
            there = (column[at] >= since) & (column[at] < until) & (self._columns[0][at] >= 0)
            found.append(block * BLOCK + np.flatnonzero(there))
        return np.concatenate(found)


def _spans(column: Array) -> tuple[Array, Array]:
    begins = np.arange(0, len(column), BLOCK)
    if not len(begins):
        return begins, begins
    return np.minimum.reduceat(column, begins), np.maximum.reduceat(column, begins)


def boundaries(timed: Sequence[Timed], most: int) -> list[int]:
    """Return ascending instants, from the first to beyond the last, with some ``most`` begins and ends between each two."""
    sample = np.sort(np.concatenate([one.sample() for one in timed] or [np.zeros(0, np.int64)]))
    inner = sample[:: max(1, most // _SAMPLE)]
    least, beyond = 0, int(np.iinfo(np.int64).max)
    return [least, *np.unique(inner[inner > least]).tolist(), beyond]


FILE = "trace.paje"  #: name of the written file
_MOST = 1 << 16  #: number of events sorted by time at once

#: Order of events at one instant; a state of length 0 begins and ends in one row.
_ENDS, _BOTH, _BEGINS, _ALL, _LINK_BEGINS, _LINK_ENDS = range(6)


class _Source(NamedTuple):
    # Intervals, or instants, and functions that write the lines of some of them at their begin and end.
    timed: Timed
    begin: Callable[[Array], tuple[Array, Rows]]
    end: Callable[[Array], tuple[Array, Rows]] | None
    link: bool = False


def write_paje(ledger: Ledger, directory: Path) -> Path:
    """Write a ledger as ``directory / "trace.paje"``; equal ledgers give equal bytes.

    Besides the ledger it needs some 400 bytes of memory per job, and a window of some 65,000 events. Raises InputError if the
    file exists or cannot be written, or a job is submitted before time 0.
    """
    path = Path(directory) / FILE
    batch = batch_level(ledger)
    series = batch.machine_series()
    begin_ns = batch.span_ns[0]
    sources = [*_cores(ledger), *_gpus(batch), *_batch(batch), *_variables(batch, series), *_links(ledger, batch)]
    with fresh(path) as file:
        file.write(_header(_FORMS if batch.gpus is None else (*_FORMS, _OF_GPUS)))
        begin = Rows(1).decimal(np.array([begin_ns]), 9).tobytes().decode()
        file.writelines(_definitions(ledger, batch, series, begin))
        at = boundaries([source.timed for source in sources], _MOST)
        for since, until in pairwise(at):
            if lines := _window(sources, since, until):
                file.write(lines)
    return path


def _window(sources: list[_Source], since: int, until: int) -> bytes:
    groups: list[list[tuple[Array, Rows]]] = [[] for _ in range(6)]
    for source in sources:
        begins = source.timed.within(0, since, until)
        if source.end is None:
            if len(begins):
                groups[_ALL].append(source.begin(begins))
            continue
        ends = source.timed.within(1, since, until)
        if not source.link:
            start_ns, end_ns = source.timed.start_ns, source.timed.end_ns
            empty = start_ns[begins] == end_ns[begins]
            both, begins = begins[empty], begins[~empty]
            ends = ends[start_ns[ends] != end_ns[ends]]
            if len(both):
                at, rows = source.begin(both)
                groups[_BOTH].append((at, rows.add(source.end(both)[1])))
        if len(ends):
            groups[_LINK_ENDS if source.link else _ENDS].append(source.end(ends))
        if len(begins):
            groups[_LINK_BEGINS if source.link else _BEGINS].append(source.begin(begins))
    return merged([one for group in groups for one in group])


def _line(form: int, instant: Array) -> Rows:
    return Rows(len(instant)).put(b"%d " % form).decimal(instant, 9)


def _states(
    start: Array,
    end: Array,
    place: Callable[[Array], Array],
    said: Callable[[Array, Rows], Rows],
    kind: tuple[int, bytes, bytes] = (_PUSH_JOB, b" c", b" S"),
) -> _Source:
    # States on cores, or another kind: form, container and type; ``place`` and ``said`` are called for some rows.
    form, container, of = kind

    def begin(rows: Array) -> tuple[Array, Rows]:
        at = start[rows]
        line = _line(form, at).put(container).number(place(rows)).put(of + b" ")
        return at, said(rows, line).put(b"\n")

    def leave(rows: Array) -> tuple[Array, Rows]:
        at = end[rows]
        return at, _line(_POP, at).put(container).number(place(rows)).put(of + b"\n")

    return _Source(Timed(start, end), begin, leave)


def _cores(ledger: Ledger) -> Iterator[_Source]:
    if ledger.shows != "cores":
        return
    jobs, tasks = ledger.jobs, ledger.tasks
    if tasks is not None:
        yield _of_tasks(tasks)
        if ledger.transfers is not None:
            job, task, since, until = waits(ledger)
            row = tasks.first[job] + task
            yield _states(since, until, lambda rows: tasks.core[row[rows]], lambda rows, line: line.put(b"w -1 -1"))
    # Jobs with unknown tasks, on each core that they held.
    held = holdings(ledger)
    bare = np.ones(len(jobs), np.bool_) if tasks is None else np.diff(tasks.first) == 0
    shown = np.flatnonzero(bare[held.job])
    if not len(shown):
        return
    count, width = held.first[shown + 1] - held.first[shown], held.hi - held.lo
    upto = np.concatenate([[0], np.cumsum(width)])
    cores = upto[held.first[shown + 1]] - upto[held.first[shown]]
    interval = intervals_of(held.first[shown], count)
    core = intervals_of(held.lo[interval], width[interval]).astype(np.int32)
    owner = np.repeat(held.job[shown], cores).astype(np.int32)
    start, end = (np.repeat(column[shown], cores) for column in (held.start_ns, held.end_ns))
    yield _states(
        start, end, lambda rows: core[rows], lambda rows, line: line.put(b"j").number(owner[rows]).put(b" -1 -1")
    )


def _of_tasks(tasks: TaskRecords) -> _Source:
    def said(rows: Array, line: Rows) -> Rows:
        job = np.searchsorted(tasks.first[1:], rows, side="right")
        line.put(b"j").number(job).put(b" ").number(rows - tasks.first[job])
        return line.put(b" ").number(tasks.chunk[rows])

    return _states(tasks.start_ns, tasks.end_ns, lambda rows: tasks.core[rows], said)


def _gpus(batch: ShownBatchLevel) -> Iterator[_Source]:
    if batch.gpus is None:
        return
    spans, location = batch.gpus.spans, batch.gpus.spans.location

    def said(rows: Array, line: Rows) -> Rows:
        return line.put(b"u").number(spans.region[rows]).put(b" ").number(spans.values[spans.row[rows], 0])

    yield _states(spans.start, spans.end, lambda rows: location[rows], said, (_PUSH_GPU, b" g", b" U"))


def _batch(batch: ShownBatchLevel) -> Iterator[_Source]:
    lanes, texts = batch.lanes, words([f'"{text}"' for text in ("", *WHY, *STATES)])
    location = lanes.location

    def begin(rows: Array) -> tuple[Array, Rows]:
        at, values = lanes.start[rows], lanes.values[lanes.row[rows]]
        line = _line(_PUSH_LANE, at).put(b" l").number(location[rows]).put(b" J r").number(lanes.region[rows])
        line.put(b" ").number(values[:, 0]).put(b" ").number(values[:, 4])
        return at, line.put(b" ").word(texts, values[:, 6]).put(b" ").word(texts, values[:, 7]).put(b"\n")

    def end(rows: Array) -> tuple[Array, Rows]:
        at = lanes.end[rows]
        return at, _line(_POP, at).put(b" l").number(location[rows]).put(b" J\n")

    yield _Source(Timed(lanes.start, lanes.end), begin, end)
    names = words([f'"{name}"' for name in batch.regions])
    for name, points in batch.points.items():
        job = np.full(len(points.start), -1) if name == "scheduling passes" else points.values[points.row, 0]

        def happen(rows: Array, points: Spans = points, job: Array = job) -> tuple[Array, Rows]:
            at, region = points.start[rows], points.region[rows]
            return at, _line(_EVENT, at).put(b" b E ").word(names, region).put(b" ").number(job[rows]).put(b"\n")

        yield _Source(Timed(points.start, points.start), happen, None)


def _variables(batch: ShownBatchLevel, series: list[Series]) -> Iterator[_Source]:
    def counted(where: bytes, kind: bytes, one: Series) -> _Source:
        def change(rows: Array) -> tuple[Array, Rows]:
            at, values = one.instant_ns[rows], one.values[rows]
            line = _line(_VARIABLE, at).put(b" %s %s " % (where, kind))
            return at, line.scaled(values, one.exponent).put(b"\n")

        return _Source(Timed(one.instant_ns, one.instant_ns), change, None)

    for place, one in enumerate(series):
        yield counted(b"b", b"V%d" % place, one)
    for host, one in batch.host_series():
        yield counted(b"h%d" % host, b"VH", one)


def _links(ledger: Ledger, batch: ShownBatchLevel) -> Iterator[_Source]:
    def linked(
        kind: str, sent: Array, arrived: Array, ends: Callable[[Array], tuple[Array, Array]], size: Array | None
    ) -> _Source:
        letter, place = (b"D", b"c") if kind == "transfer" else (b"K", b"l")

        def begin(rows: Array) -> tuple[Array, Rows]:
            at = sent[rows]
            line = _line(_LINK_START, at).put(b" m %s %s" % (letter, place)).number(ends(rows)[0])
            line.put(b' "%s" %s' % (kind.encode(), letter)).number(rows).put(b" ")
            line = line.put(b"0") if size is None else line.number(np.rint(size[rows]).astype(np.int64))
            return at, line.put(b"\n")

        def end(rows: Array) -> tuple[Array, Rows]:
            at = arrived[rows]
            line = _line(_LINK_END, at).put(b" m %s %s" % (letter, place)).number(ends(rows)[1])
            return at, line.put(b' "%s" %s' % (kind.encode(), letter)).number(rows).put(b"\n")

        return _Source(Timed(sent, arrived), begin, end, link=True)

    tasks, transfers = ledger.tasks, ledger.transfers
    if tasks is not None and transfers is not None:
        ends = partial(transfers.cores, tasks)
        yield linked("transfer", transfers.sent_ns, transfers.arrived_ns, ends, transfers.bytes)
    found, lane = causes(ledger), batch.lane_of_rows(ledger)
    between = lane[found.cause], lane[found.job]
    yield linked("cause", found.at_ns, found.at_ns, lambda rows: (between[0][rows], between[1][rows]), None)


def _header(forms: Sequence[tuple[int, str, str]]) -> bytes:
    """Return the forms of all events."""
    lines: list[str] = []
    for number, name, fields in forms:
        lines += [f"%EventDef {name} {number}", *(f"%       {field}" for field in fields.split(",")), "%EndEventDef"]
    return "".join(f"{line}\n" for line in lines).encode()


def _palette(row: Array) -> Array:
    """Return a colour for each job row, in thousandths, int64 (n, 3): hues a golden ratio apart, none very light or dark."""
    hue = (row * 0.6180339887498949) % 1.0
    value, chroma = 0.60 + 0.30 * (row % 3) / 2, 0.55
    parts = [(5.0, 0), (3.0, 1), (1.0, 2)]
    colours = np.empty((len(row), 3), np.int64)
    for offset, place in parts:
        k = (offset + hue * 6) % 6
        level = value - value * chroma * np.clip(np.minimum(k, 4 - k), 0, 1)
        colours[:, place] = np.rint(1000 * level)
    return colours


def _name(text: str) -> str:
    # A quote would end the name, and the format has no escapes.
    return '"' + text.replace('"', "'").replace("\n", " ") + '"'


def _definitions(ledger: Ledger, batch: ShownBatchLevel, series: list[Series], begin: str) -> Iterator[bytes]:
    """Yield types, containers and values; ``begin`` is the time of the containers. Only cores that a job held have one."""
    machine = ledger.machine
    lines = [f'{_CONTAINER_TYPE} {alias} {of} "{name}"' for alias, of, name in (
        ("M", "0", "cluster"), ("B", "M", "batch scheduler"), ("H", "M", "host"), ("C", "H", "core"), ("L", "M", "lane")
    )]  # fmt: skip
    lines += [f'{_STATE_TYPE} S C "on the core"', f'{_STATE_TYPE} J L "job"']
    if batch.gpus is not None:
        lines += [f'{_CONTAINER_TYPE} G H "gpu"', f'{_STATE_TYPE} U G "on the GPU"']
    lines += [f'{_VARIABLE_TYPE} V{place} B "{one.name}" {_COUNTED}' for place, one in enumerate(series)]
    lines += [f'{_VARIABLE_TYPE} VH H "busy cores" {_COUNTED}', f'{_EVENT_TYPE} E B "what happens" {_COUNTED}']
    if ledger.transfers is not None:
        lines.append(f'{_LINK_TYPE} D M C C "transfer"')
    lines.append(f'{_LINK_TYPE} K M L L "cause"')
    for place, name in enumerate(_LANE_STATES):
        lines.append(f'{_VALUE} r{place} J "{name}" {_BATCH[place]}')
    lines.append(f'{_VALUE} w S "wait for data" {_GREY}')
    lines += [f"{_CONTAINER} {begin} m M 0 {_name(machine.name)}", f'{_CONTAINER} {begin} b B m "batch scheduler"']
    yield "".join(f"{line}\n" for line in lines).encode()
    rows, job_names = np.arange(len(ledger.jobs)), JobNames(ledger, lambda name: _name(name)[1:-1])
    for alias in (b"j", b"u")[: 1 + (batch.gpus is not None)]:
        for at in blocks(len(rows)):
            some = rows[at]
            value = Rows(len(some)).put(b"%d %s" % (_VALUE, alias)).number(some).put(b" S" if alias == b"j" else b" U")
            job_names.append(value.put(b' "job ').number(ledger.jobs.job_id[some]), some, b" ")
            colours = _palette(some)
            for place in range(3):
                value.put(b'" "' if place == 0 else b" ").decimal(colours[:, place], 3)
            yield value.put(b'"\n').tobytes()
    hosts, cores = shown_hosts(ledger), shown_cores(ledger, used=True)
    yield from _places(begin, "h", "H", "m", [_name(machine.host_names[host]) for host in hosts.tolist()], hosts)
    names = machine.core_names if len(cores) else []
    host = machine.host_of(cores)
    for at in blocks(len(cores)):
        some = cores[at]
        named = words([_name(names[core]) for core in some.tolist()])
        created = Rows(len(some)).put(f"{_CONTAINER} {begin} c".encode()).number(some).put(b" C h")
        created.number(host[at]).put(b" ").word(named, np.arange(len(some)))
        yield created.put(b"\n").tobytes()
    if (gpus := batch.gpus) is not None:
        for lane, (at_host, name) in enumerate(zip(gpus.host.tolist(), gpus.names, strict=True)):
            yield f"{_CONTAINER} {begin} g{lane} G h{at_host} {_name(name)}\n".encode()
    lanes = [f'"lane {lane}"' for lane in range(batch.lanes.n_locations)]
    yield from _places(begin, "l", "L", "m", lanes, np.arange(len(lanes)))


def _places(begin: str, alias: str, kind: str, within: str, names: list[str], number: Array) -> Iterator[bytes]:
    for at in blocks(len(number)):
        some = number[at]
        rows = Rows(len(some)).put(f"{_CONTAINER} {begin} {alias}".encode()).number(some)
        rows.put(f" {kind} {within} ".encode()).word(words(names[at]), np.arange(len(some)))
        yield rows.put(b"\n").tobytes()
