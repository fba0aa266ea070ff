"""The definitions at the beginning of a Pajé trace: forms of events, types, containers, values with colours."""

from collections.abc import Iterator

import numpy as np

from traces.compiled import Array
from traces.exporters.shown.batch_level import REGIONS, Series, ShownBatchLevel
from traces.exporters.shown.part import shown_cores, shown_hosts
from traces.exporters.shown.rows import JobNames, Rows, blocks, words
from traces.ledger import Ledger

_CONTAINER_TYPE, _STATE_TYPE, _VARIABLE_TYPE, _EVENT_TYPE, _LINK_TYPE, _VALUE, _CONTAINER = range(7)

PUSH_JOB, PUSH_LANE, POP, VARIABLE, EVENT, LINK_START, LINK_END = range(10, 17)  #: numbers of the event forms

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
    (PUSH_JOB, "PajePushState", f"{_VALUED},Task int,Chunk int"),
    (PUSH_LANE, "PajePushState", f"{_VALUED},Job int,Attempt int,Why string,State string"),
    (POP, "PajePopState", "Time date,Container string,Type string"),
    (VARIABLE, "PajeSetVariable", "Time date,Container string,Type string,Value double"),
    (EVENT, "PajeNewEvent", "Time date,Container string,Type string,Value string,Job int"),
    (
        LINK_START,
        "PajeStartLink",
        "Time date,Container string,Type string,StartContainer string,Value string,Key string,Bytes double",
    ),
    (LINK_END, "PajeEndLink", "Time date,Container string,Type string,EndContainer string,Value string,Key string"),
)

_GREY, _COUNTED = '"0.7 0.7 0.7"', '"0.12 0.47 0.71"'

#: The states on lanes, by index in REGIONS, and their colours. Other regions are events, whose values ViTE wants undefined.
LANE_STATES = tuple(REGIONS)[:3]
_BATCH = ('"0.8 0.8 0.8"', '"0.99 0.75 0.44"', '"0.2 0.63 0.17"')


def header() -> bytes:
    """Return the forms of all events."""
    lines: list[str] = []
    for number, name, fields in _FORMS:
        lines += [f"%EventDef {name} {number}", *(f"%       {field}" for field in fields.split(",")), "%EndEventDef"]
    return "".join(f"{line}\n" for line in lines).encode()


def palette(row: Array) -> Array:
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


def write_definitions(ledger: Ledger, batch: ShownBatchLevel, series: list[Series], begin: str) -> Iterator[bytes]:
    """Yield types, containers and values; ``begin`` is the time of the containers. Only cores that a job held have one."""
    machine = ledger.machine
    lines = [f'{_CONTAINER_TYPE} {alias} {of} "{name}"' for alias, of, name in (
        ("M", "0", "cluster"), ("B", "M", "batch scheduler"), ("H", "M", "host"), ("C", "H", "core"), ("L", "M", "lane")
    )]  # fmt: skip
    lines += [f'{_STATE_TYPE} S C "on the core"', f'{_STATE_TYPE} J L "job"']
    lines += [f'{_VARIABLE_TYPE} V{place} B "{one.name}" {_COUNTED}' for place, one in enumerate(series)]
    lines += [f'{_VARIABLE_TYPE} VH H "busy cores" {_COUNTED}', f'{_EVENT_TYPE} E B "what happens" {_COUNTED}']
    if ledger.transfers is not None:
        lines.append(f'{_LINK_TYPE} D M C C "transfer"')
    lines.append(f'{_LINK_TYPE} K M L L "cause"')
    for place, name in enumerate(LANE_STATES):
        lines.append(f'{_VALUE} r{place} J "{name}" {_BATCH[place]}')
    lines.append(f'{_VALUE} w S "wait for data" {_GREY}')
    lines += [f"{_CONTAINER} {begin} m M 0 {_name(machine.name)}", f'{_CONTAINER} {begin} b B m "batch scheduler"']
    yield "".join(f"{line}\n" for line in lines).encode()
    rows, job_names = np.arange(len(ledger.jobs)), JobNames(ledger, lambda name: _name(name)[1:-1])
    for at in blocks(len(rows)):
        some = rows[at]
        value = Rows(len(some)).put(b"%d j" % _VALUE).number(some).put(b' S "job ').number(ledger.jobs.job_id[some])
        job_names.append(value, some, b" ")
        colours = palette(some)
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
    lanes = [f'"lane {lane}"' for lane in range(batch.lanes.n_locations)]
    yield from _places(begin, "l", "L", "m", lanes, np.arange(len(lanes)))


def _places(begin: str, alias: str, kind: str, within: str, names: list[str], number: Array) -> Iterator[bytes]:
    for at in blocks(len(number)):
        some = number[at]
        rows = Rows(len(some)).put(f"{_CONTAINER} {begin} {alias}".encode()).number(some)
        rows.put(f" {kind} {within} ".encode()).word(words(names[at]), np.arange(len(some)))
        yield rows.put(b"\n").tobytes()
