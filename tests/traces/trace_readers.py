"""Traces read back, each by its format's own rules, into one form; and that form of a ledger, by plain loops."""

import csv
import json
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import otf2
from batch_traces import COUNTERS, expected_load, expected_spans, read_batch
from nesting import check_nesting
from perfetto.protos.perfetto.trace import perfetto_trace_pb2
from test_transfers import naive_waits

from traces.exporters.otf2.library import reading
from traces.ledger import Ledger, MachineShape

#: Where, what, from when, to when, task, chunk.
Slice = tuple[str, str, int, int, int, int]
#: From where, when, to where, when.
Flow = tuple[str, int, str, int]


class Shown(NamedTuple):
    """Contents of a trace: slices on cores; events of jobs, (kind, job, begin, end); counters by place and name; flows; slices
    on GPUs, (lane, what, begin, end, thousandths)."""

    cores: list[Slice]
    jobs: list[tuple[str, int, int, int]]
    counters: dict[tuple[str, str], list[tuple[int, int]]]
    transfers: list[Flow]
    causes: list[tuple[int, int, int]]
    submits: list[tuple[int, int]]
    gpus: list[tuple[str, str, int, int, int]]


def nothing() -> Shown:
    return Shown([], [], defaultdict(list), [], [], [], [])


def naive_gpus(of: Ledger) -> list[tuple[str, str, int, int, int]]:
    """Jobs on GPUs: by begin, then by end, each on the first lane of the GPU that is free then."""
    machine, jobs, gpus = of.machine, of.jobs, of.gpus
    if gpus is None:
        return []
    found = []
    for host, name in enumerate(machine.host_names):
        for gpu in range(*machine.first_gpu[host : host + 2].tolist()):
            rows = [
                (int(jobs.start_ns[row]), int(jobs.end_ns[row]), row, int(milli))
                for row, one, milli in zip(gpus.job.tolist(), gpus.gpu, gpus.milli, strict=True)
                if one == gpu
            ]
            busy: list[int] = []
            for begin, end, row, milli in sorted(rows):
                lane = next((k for k, until in enumerate(busy) if until <= begin), len(busy))
                busy[lane : lane + 1] = [end]
                called = f"{name} gpu {gpu - machine.first_gpu[host]}" + (f" ({lane + 1})" if lane else "")
                found.append((called, f"job {jobs.job_id[row]}", begin, end, milli))
    return sorted(found)


def expected(of: Ledger) -> Shown:
    """Expected trace of a ledger without power and without released cores."""
    names, jobs, tasks = of.machine.core_names, of.jobs, of.tasks
    cores: list[Slice] = []
    for row, number in enumerate(jobs.job_id.tolist()):
        rows = range(0) if tasks is None else range(int(tasks.first[row]), int(tasks.first[row + 1]))
        for task, at in enumerate(rows):
            if tasks.core[at] >= 0:
                when = int(tasks.start_ns[at]), int(tasks.end_ns[at])
                cores.append((names[tasks.core[at]], f"job {number}", *when, task, int(tasks.chunk[at])))
        if not len(rows):
            for lo, hi in jobs.allocation(row):
                when = int(jobs.start_ns[row]), int(jobs.end_ns[row])
                cores += [(names[core], f"job {number}", *when, -1, -1) for core in range(lo, hi)]
    transfers: list[Flow] = []
    if of.transfers is not None:
        cores += [(names[core], "wait for data", begin, end, -2, -2) for core, begin, end, _, _ in naive_waits(of)]
        for row in range(len(jobs)):
            for k in range(int(of.transfers.first[row]), int(of.transfers.first[row + 1])):
                ends = [
                    names[tasks.core[tasks.first[row] + side[k]]] for side in (of.transfers.source, of.transfers.target)
                ]
                transfers.append((ends[0], int(of.transfers.sent_ns[k]), ends[1], int(of.transfers.arrived_ns[k])))
    spans = [(kind, args["job"], begin, end) for kind, begin, end, args in expected_spans(of)]
    counters = {(host, "busy cores"): rows for host, rows in expected_load(of).items() if rows}
    counters |= {("", name): rows for name, rows in naive_counters(of).items() if rows}
    first = np.flatnonzero(jobs.attempt == 0)
    submits = list(zip(jobs.submit_ns[first].tolist(), jobs.job_id[first].tolist(), strict=True))
    flows = sorted(transfers), naive_causes(of), sorted(submits)
    return Shown(sorted(cores), sorted(spans), counters, *flows, naive_gpus(of))


def naive_counters(of: Ledger) -> dict[str, list[tuple[int, int]]]:
    """Queue length and busy cores, at each instant at which one of them changes; and, in thousandths, cores inside tasks."""
    jobs, steps = of.jobs, defaultdict(lambda: np.zeros(2, np.int64))
    for row in np.flatnonzero(jobs.started).tolist():
        held = sum(hi - lo for lo, hi in jobs.allocation(row))
        for at, change in ((jobs.eligible_ns, (1, 0)), (jobs.start_ns, (-1, held)), (jobs.end_ns, (0, -held))):
            steps[int(at[row])] += change
    instants = [at for at in sorted(steps) if steps[at].any()]
    values = np.cumsum([np.zeros(2, np.int64), *(steps[at] for at in instants)], axis=0)[1:].T.tolist()
    found = {name: list(zip(instants, of_name, strict=True)) for name, of_name in zip(NAMES, values, strict=True)}
    if of.tasks is not None:
        found["computing cores"] = naive_computing(of, found["busy cores"])
    return found | naive_busy_gpus(of)


def naive_busy_gpus(of: Ledger) -> dict[str, list[tuple[int, int]]]:
    """Thousandths of GPUs that jobs hold, and by kind if there are two, at each instant at which one of them changes."""
    if of.gpus is None:
        return {}
    machine, found = of.machine, defaultdict(list)
    there = [kind for kind, n in zip(machine.gpu_kinds, np.diff(machine.first_gpu), strict=True) for _ in range(n)]
    names = {"busy GPUs": {*there}} | ({f"busy GPUs {kind}": {kind} for kind in "ab"} if len({*there}) > 1 else {})
    held = [
        (int(of.jobs.start_ns[row]), int(of.jobs.end_ns[row]), there[gpu], milli)
        for row, gpu, milli in zip(of.gpus.job.tolist(), of.gpus.gpu.tolist(), of.gpus.milli.tolist(), strict=True)
    ]
    before = [0] * len(names)
    for at in sorted({one for begin, end, *_ in held for one in (begin, end)}):
        inside = [(kind, milli) for begin, end, kind, milli in held if begin <= at < end]
        now = [sum(milli for kind, milli in inside if kind in kinds) for kinds in names.values()]
        if now != before:
            for name, value in zip(names, now, strict=True):
                found[name].append((at, value))
        before = now
    return dict(found)


NAMES = ("queue length", "busy cores")


def naive_computing(of: Ledger, busy: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Cores inside tasks until the busy cores change next, in thousandths, task by task at each of their instants."""
    assert of.tasks is not None
    tasks = list(zip(of.tasks.start_ns.tolist(), of.tasks.end_ns.tolist(), strict=True))
    changes = [at for (at, now), before in zip(busy, [0, *(cores for _, cores in busy)], strict=False) if now != before]
    found = []
    for at, _ in busy:
        since = max((one for one in changes if one <= at), default=0)
        until = min((one for one in changes if one > at), default=0)
        inside = 0
        if since <= at < until and at >= changes[0]:
            inside = sum(max(0, min(end, until) - max(start, since)) for start, end in tasks if start >= 0)
        found.append((at, round(1000 * inside / max(1, until - since))))
    return found


def naive_causes(of: Ledger) -> list[tuple[int, int, int]]:
    jobs, found = of.jobs, []
    cores = [{core for lo, hi in jobs.allocation(row) for core in range(lo, hi)} for row in range(len(jobs))]
    for row in np.flatnonzero(jobs.started & (jobs.eligible_ns < jobs.start_ns)).tolist():
        for other in np.flatnonzero(jobs.started & (jobs.end_ns > jobs.start_ns)).tolist():
            if jobs.end_ns[other] == jobs.start_ns[row] and cores[row] & cores[other]:
                found.append((int(jobs.job_id[row]), int(jobs.job_id[other]), int(jobs.start_ns[row])))
    return sorted(found)


def counted(name: str, value: float) -> int:
    return round(1000 * value) if name == "computing cores" or name.startswith("busy GPUs") else round(value)


def read_perfetto(path: Path) -> Shown:
    """Through the definitions of the package ``perfetto``: what its trace processor would make of the packets."""
    trace = perfetto_trace_pb2.Trace.FromString(path.read_bytes())
    texts: dict[str, dict[int, Any]] = defaultdict(dict)
    tracks: dict[int, Any] = {}
    events: list[tuple[int, int, Any]] = []
    for place, packet in enumerate(trace.packet):
        assert packet.trusted_packet_sequence_id == 1
        assert packet.sequence_flags == (1 if place == 0 else 2)
        for name in ("event_names", "event_categories", "debug_annotation_names", "debug_annotation_string_values"):
            for entry in getattr(packet.interned_data, name):
                assert entry.iid not in texts[name]
                texts[name][entry.iid] = entry.str.decode() if name.endswith("values") else entry.name
        if packet.HasField("track_descriptor"):
            assert packet.track_descriptor.uuid not in tracks
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        if packet.HasField("track_event"):
            events.append((packet.timestamp, place, packet.track_event))

    def path_of(uuid: int) -> list[str]:
        own = tracks[uuid]
        return [*(path_of(own.parent_uuid) if own.parent_uuid else []), own.name]

    def said(event: Any) -> dict[str, Any]:
        return {
            texts["debug_annotation_names"][one.name_iid]: one.int_value
            if one.HasField("int_value")
            else texts["debug_annotation_string_values"][one.string_value_iid]
            for one in event.debug_annotations
        }

    shown = nothing()
    open_on: dict[int, list[tuple[int, Any]]] = defaultdict(list)
    flows: dict[int, tuple[str, int, int]] = {}
    kinds = perfetto_trace_pb2.TrackEvent
    for at, _, event in sorted(events, key=lambda one: one[:2]):
        where = path_of(event.track_uuid)
        if event.type == kinds.TYPE_COUNTER:
            if where[-1] == "utilisation":
                continue
            host = where[1] if where[1] != "batch scheduler" else ""
            now = event.double_counter_value if event.HasField("double_counter_value") else event.counter_value
            shown.counters[host, where[-1]].append((at, counted(where[-1], now)))
            continue
        if event.type == kinds.TYPE_SLICE_BEGIN:
            assert not open_on[event.track_uuid], f"{where} does two things at {at}"
            open_on[event.track_uuid].append((at, event))
            continue
        if event.type == kinds.TYPE_SLICE_END:
            begun, begin = open_on[event.track_uuid].pop()
            name, args = texts["event_names"][begin.name_iid], said(begin)
            categories = [texts["event_categories"][one] for one in begin.category_iids]
            if where[1] in ("jobs", "running jobs"):
                assert categories == ["batch"]
                shown.jobs.append((name, args["job"], begun, at))
            elif " gpu " in where[-1]:
                assert categories == ["job"]
                shown.gpus.append((where[-1], name, begun, at, args["gpu_milli"]))
            else:
                numbers = (-2, -2) if name == "wait for data" else (args.get("task", -1), args.get("chunk", -1))
                assert categories[0] == (
                    "wait for data" if name == "wait for data" else "task" if "task" in args else "job"
                )
                shown.cores.append((where[-1], name, begun, at, *numbers))
            continue
        assert event.type == kinds.TYPE_INSTANT
        args = said(event)
        if texts["event_names"][event.name_iid] == "submit":
            shown.submits.append((at, args["job"]))
        for flow in event.flow_ids:
            assert flow not in flows
            flows[flow] = where[-1], at, args.get("job", -1)
        for flow in event.terminating_flow_ids:
            begun_on, begun, cause = flows.pop(flow)
            if "bytes" in args:
                shown.transfers.append((begun_on, begun, where[-1], at))
            else:
                assert begun == at
                shown.causes.append((args["waiting job"], cause, at))
    assert not any(open_on.values())
    assert not flows
    return _sorted(shown)


def read_chrome(path: Path) -> Shown:
    shown = nothing()
    events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    places = {(one["pid"], one["tid"]): one["args"]["name"] for one in events if one["name"] == "thread_name"}
    hosts = {one["pid"]: one["args"]["name"] for one in events if one["name"] == "process_name"}
    begun: dict[Any, Any] = {}

    def ns(us: float) -> int:
        return round(1000 * us)

    for one in events:
        kind, where = one["ph"], places.get((one["pid"], one.get("tid", 0)), "")
        args = one.get("args", {})
        if kind == "X":
            when = ns(one["ts"]), ns(one["ts"]) + ns(one["dur"])
            if one["pid"] == 2:
                shown.jobs.append((one["name"], args["job"], *when))
            elif " gpu " in where:
                assert where.startswith(hosts[one["pid"]])
                shown.gpus.append((where, one["name"], *when, args["gpu_milli"]))
            else:
                numbers = (-2, -2) if one["name"] == "wait for data" else (args.get("task", -1), args.get("chunk", -1))
                shown.cores.append((where, one["name"], *when, *numbers))
        elif kind == "C":
            host = hosts[one["pid"]] if one["pid"] > 1 else ""
            shown.counters[host, one["name"]].append((ns(one["ts"]), counted(one["name"], next(iter(args.values())))))
        elif kind == "i" and one["name"] == "submit":
            shown.submits.append((ns(one["ts"]), args["job"]))
        elif kind == "s":
            begun[one["cat"], one["id"]] = where, ns(one["ts"])
        elif kind == "f":
            since = begun.pop((one["cat"], one["id"]))
            if one["cat"] == "transfer":
                shown.transfers.append((*since, where, ns(one["ts"])))
            else:
                shown.causes.append((args["waiting job"], args["job"], ns(one["ts"])))
    assert not begun
    return _sorted(shown)


def read_csv(path: Path, machine: MachineShape) -> Shown:
    """Through Python's reader of CSV, which has cores and GPUs by number, and no lanes of GPUs."""
    names = machine.core_names
    tables = {
        one.stem: list(csv.DictReader(one.read_text(encoding="utf-8").splitlines())) for one in path.parent.iterdir()
    }
    shown = nothing()
    for row in tables["cores"]:
        wait = row["kind"] == "wait for data"
        numbers = (-2, -2) if wait else tuple(int(row[name] or -1) for name in ("task", "chunk"))
        what = row["kind"] if wait else f"job {row['job']}"
        assert names[int(row["core"])].startswith(row["host"] + " core ")
        shown.cores.append((names[int(row["core"])], what, int(row["start_ns"]), int(row["end_ns"]), *numbers))
    for row in tables["jobs"]:
        shown.jobs.append((row["kind"], int(row["job"]), int(row["start_ns"]), int(row["end_ns"])))
    for row in tables.get("gpus", []):
        host, numbers = (
            machine.host_names.index(row["host"]),
            [int(row[name]) for name in ("start_ns", "end_ns", "milli")],
        )
        assert row["gpu_kind"] == machine.gpu_kinds[host]
        called = f"{row['host']} gpu {int(row['gpu']) - machine.first_gpu[host]}"
        shown.gpus.append((called, f"job {row['job']}", *numbers))
    for row in tables["counters"]:
        host = "" if row["where"] == "cluster" else row["where"]
        shown.counters[host, row["counter"]].append((int(row["instant_ns"]), int(row["value"].replace(".", ""))))
    for row in tables["transfers"]:
        ends = [
            (names[int(row[f"{side}_core"])], int(row[at]))
            for side, at in (("source", "sent_ns"), ("target", "arrived_ns"))
        ]
        shown.transfers.append((*ends[0], *ends[1]))
    shown.causes.extend((int(row["job"]), int(row["cause"]), int(row["at_ns"])) for row in tables["causes"])
    return _sorted(shown)


def read_paje(path: Path) -> Shown:
    """Through ``pj_dump``, which keeps the format's rules; submits have their fields in the text alone."""
    ran = subprocess.run(
        ["pj_dump", "--user-defined", "--float-precision=9", str(path)], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    shown = nothing()
    rows = [[cell.strip() for cell in line.split(",")] for line in ran.stdout.splitlines()]

    def ns(text: str) -> int:
        return round(1e9 * float(text))

    for row in rows:
        if row[0] == "State" and row[2] == "on the core":
            assert row[6].startswith("0.")  # nothing lies within another
            fields = (-2, -2) if row[7] == "wait for data" else tuple(map(int, row[8:10]))
            shown.cores.append((row[1], row[7], ns(row[3]), ns(row[4]), *fields))
        elif row[0] == "State" and row[2] == "on the GPU":
            assert row[6].startswith("0.")
            shown.gpus.append((row[1], row[7], ns(row[3]), ns(row[4]), int(row[8])))
        elif row[0] == "State":
            shown.jobs.append((row[7], int(row[8]), ns(row[3]), ns(row[4])))
        elif row[0] == "Event" and row[4] == "submit":
            shown.submits.append((ns(row[3]), int(row[5])))
        elif row[0] == "Link" and row[2] == "transfer":
            shown.transfers.append((row[7], ns(row[3]), row[8], ns(row[4])))
        elif row[0] == "Link":
            assert row[3] == row[4]
            shown.causes.append((-1, -1, ns(row[3])))
    _paje_variables(path, shown)
    return _sorted(shown)


def _paje_variables(path: Path, shown: Shown) -> None:
    # pj_dump prints intervals of variables, of which those without length are not there.
    names: dict[str, str] = {}
    last = (0.0, 0)
    for line in path.read_text(encoding="utf-8").splitlines():
        words = line.split(" ", 3)
        if words[0] in ("2", "6"):
            at = 2 if words[0] == "2" else 5
            rest = line.split(" ", at + 1)
            alias = rest[1] if words[0] == "2" else rest[2]
            names[alias] = line.split('"')[1]
        if words[0].isdigit() and int(words[0]) >= 10:
            now = float(words[1])
            assert now >= last[0], "events are in the order of time"
            last = (now, 0)
        if words[0] == "13":
            _, at, where, kind, value = line.split()
            host = "" if where == "b" else names[where]
            shown.counters[host, names[kind]].append((round(1e9 * float(at)), counted(names[kind], float(value))))


def read_otf2(path: Path) -> Shown:
    """Through the reader of OTF2's binding; it has no causes."""
    shown = nothing()
    check_nesting(path)
    spans, samples, _ = read_batch(path)
    shown.jobs.extend((kind, args["job"], *when) for lane in spans["jobs"].values() for kind, *when, args in lane)
    shown.submits.extend(
        (at, args["job"]) for kind, at, _, args in spans["batch scheduler"]["submits"] if kind == "submit"
    )
    shown.counters.update({(host, "busy cores"): rows for host, rows in samples.items() if rows})
    events: dict[Any, list[Any]] = defaultdict(list)
    with reading(path) as trace:
        locations = list(trace.definitions.locations)
        for location, event in trace.events:
            events[location].append(event)
        assert [len(events[one]) for one in locations] == [one.number_of_events for one in locations]
        scheduler = next(place for place, one in enumerate(locations) if one.name == "batch scheduler")
        counters = [one for one in locations[scheduler:] if one.name in COUNTERS]
        for event in (event for one in counters for event in events[one]):
            for member, value in zip(event.metric.members, event.values, strict=True):
                shown.counters["", member.name].append((event.time, value))
        for location in locations[scheduler:]:
            if location.type == otf2.LocationType.ACCELERATOR_STREAM:
                group = location.group
                assert (group.name, group.location_group_type) == (
                    f"{group.creating_location_group.name} GPUs",
                    otf2.LocationGroupType.ACCELERATOR,
                )
                assert location.name.startswith(f"{group.system_tree_parent.name} gpu ")
                for enter, leave in zip(events[location][::2], events[location][1::2], strict=True):
                    (milli,) = (value for key, value in enter.attributes.items() if key.name == "gpu_milli")
                    shown.gpus.append((location.name, enter.region.name, enter.time, leave.time, milli))
        sent: dict[int, tuple[str, int, int]] = {}
        received: dict[int, tuple[str, int, int]] = {}
        for location in locations[:scheduler]:
            _in_order(events[location])
            entered: Any = None
            for event in events[location]:
                match type(event).__name__:
                    case "Enter":
                        entered = event
                    case "Leave":
                        assert entered.region is event.region
                        args = {key.name: value for key, value in (entered.attributes or {}).items()}
                        wait = event.region.name == "wait for data"
                        numbers = (-2, -2) if wait else (args.get("task", -1), args.get("chunk", -1))
                        shown.cores.append((location.name, event.region.name, entered.time, event.time, *numbers))
                    case "MpiSend":
                        assert event.communicator.location(event.receiver) is locations[event.receiver]
                        sent[event.msg_tag] = location.name, event.time, event.msg_length
                    case "MpiRecv":
                        assert location.name != locations[event.sender].name
                        received[event.msg_tag] = location.name, event.time, event.msg_length
        assert sent.keys() == received.keys()
        shown.transfers.extend((*sent[tag][:2], *received[tag][:2]) for tag in sent)
        assert all(sent[tag][2] == received[tag][2] for tag in sent)
    return _sorted(shown)


def _in_order(events: list[Any]) -> None:
    """A core receives before it enters what starts then, and sends after it has left what ended then."""
    for k, event in enumerate(events):
        later = [type(one).__name__ for one in events[k + 1 :] if one.time == event.time]
        if type(event).__name__ == "Enter":
            assert "MpiRecv" not in later
        elif type(event).__name__ == "MpiSend":
            entered = 0  # of tasks of no duration
            for what in later:
                entered += {"Enter": 1, "Leave": -1}.get(what, 0)
                assert entered >= 0


def _sorted(shown: Shown) -> Shown:
    rows = {name: sorted(one) for name, one in shown._asdict().items() if name != "counters"}
    return shown._replace(**rows, counters=dict(shown.counters))
