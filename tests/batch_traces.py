"""The batch level in an OTF2 trace, and the expected contents for a ledger, by plain loops."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from nesting import check_nesting

from traces.exporters.otf2.library import reading
from traces.ledger import STATES, WHY, Ledger

#: Locations of counters of the whole machine in the scheduler's group.
COUNTERS = ("batch scheduler", "GPUs")

#: What a location shows: region, begin, end, attributes.
Span = tuple[str, int, int, dict[str, Any]]


def read_batch(path: Path) -> tuple[dict[str, dict[str, list[Span]]], dict[str, list[tuple[int, int]]], dict[str, int]]:
    """Spans by group and location of all but cores, samples of hosts, and the number of events of each location."""
    spans: dict[str, dict[str, list[Span]]] = defaultdict(dict)
    samples: dict[str, list[tuple[int, int]]] = {}
    entered: dict[Any, Any] = {}
    with reading(path) as trace:
        counts = {one.name: one.number_of_events for one in trace.definitions.locations}
        for one in trace.definitions.locations:
            if one.name.endswith(" counters"):
                samples[one.name.removesuffix(" counters")] = []
            elif one.group.name in ("batch scheduler", "jobs", "running jobs") and one.name not in COUNTERS:
                spans[one.group.name][one.name] = []
        for location, event in trace.events:
            here = spans.get(location.group.name, {}).get(location.name)
            if location.name.endswith(" counters"):
                assert [member.name for member in event.metric.members] == ["busy cores"]
                samples[location.name.removesuffix(" counters")].append((event.time, *event.values))
            elif here is not None and type(event).__name__ == "Enter":
                entered[location] = event
            elif here is not None:
                enter = entered.pop(location)
                assert enter.region is event.region
                details = {key.name: value for key, value in enter.attributes.items()}
                here.append((event.region.name, enter.time, event.time, details))
    return spans, samples, counts


def of_job(of: Ledger, row: int) -> dict[str, Any]:
    """Attributes of an attempt."""
    jobs = of.jobs
    names = {"job": "job_id", "cores": "cores", "estimate": "estimate_ns", "user": "user", "attempt": "attempt"}
    details = {name: int(getattr(jobs, column)[row]) for name, column in (names | {"eligible": "eligible_ns"}).items()}
    return details | {"why": WHY[jobs.why[row]], "state": STATES[jobs.state[row]]}


def expected_spans(of: Ledger) -> list[Span]:
    """Expected contents of lanes, by a plain loop over the attempts."""
    found: list[Span] = []
    jobs = of.jobs
    for row in range(len(jobs)):
        details = of_job(of, row)
        begin = int(jobs.submit_ns[row]) if details["attempt"] == 0 else details["eligible"]
        start, end = int(jobs.start_ns[row]), int(jobs.end_ns[row])
        leaves = max(start if start >= 0 else int(jobs.left_ns[row]), begin)
        if details["eligible"] < 0:
            found.append(("held", begin, leaves, details))
            continue
        if details["eligible"] > begin:
            found.append(("held", begin, details["eligible"], details))
        found.append(("queued", details["eligible"], leaves, details))
        if start >= 0:
            because = {"cut because": of.cut_because[row]} if row in of.cut_because else {}
            found.append(("running", start, end, details | because))
    return found


def job_intervals(of: Ledger) -> list[tuple[int, int]]:
    """From when until when each job was there, over all its attempts."""
    over: dict[int, tuple[int, int]] = {}
    for _, begin, end, details in expected_spans(of):
        before = over.get(details["job"], (begin, end))
        over[details["job"]] = min(begin, before[0]), max(end, before[1])
    return list(over.values())


def expected_load(of: Ledger) -> dict[str, list[tuple[int, int]]]:
    """Busy cores of each host wherever they change, core by core."""
    found: dict[str, list[tuple[int, int]]] = {}
    jobs = of.jobs
    for host, name in enumerate(of.machine.host_names):
        cores = range(*of.machine.first_core[host : host + 2].tolist())
        steps: dict[int, int] = defaultdict(int)
        for row in range(len(jobs)):
            held = sum(lo <= core < hi for lo, hi in jobs.allocation(row) for core in cores)
            steps[int(jobs.start_ns[row])] += held
            steps[int(jobs.end_ns[row])] -= held
        found[name], busy = [], 0
        for instant in sorted(steps):
            if steps[instant]:
                busy += steps[instant]
                found[name].append((instant, busy))
    return found


def deepest(intervals: list[tuple[int, int]]) -> int:
    """How many intervals lie over one another: of those that last, at some begin; of no length, within such ones."""
    most = min(1, len(intervals))
    for at, end in intervals:
        over = sum(lo <= at < hi for lo, hi in intervals) if at < end else 1 + sum(lo < at < hi for lo, hi in intervals)
        most = max(most, over)
    return most


def check_batch(of: Ledger, path: Path) -> None:
    """Whether a trace shows the batch level of a ledger."""
    check_nesting(path)
    spans, samples, counts = read_batch(path)
    lanes = spans.get("jobs", {})
    assert "running jobs" not in spans
    key = repr
    assert sorted((span for lane in lanes.values() for span in lane), key=key) == sorted(expected_spans(of), key=key)
    assert list(lanes) == [f"lane {k}" for k in range(deepest(job_intervals(of)))]
    where = {(span[3]["job"], name) for name, lane in lanes.items() for span in lane}
    assert len(where) == len({job for job, _ in where}) == len(job_intervals(of)), "a job is on one lane"
    scheduler = spans["batch scheduler"]
    first = sorted(np.flatnonzero(of.jobs.attempt == 0).tolist(), key=lambda row: (of.jobs.submit_ns[row], row))
    details = [{name: of_job(of, row)[name] for name in ("job", "cores", "estimate", "user")} for row in first]
    instants = of.jobs.submit_ns[first].tolist()
    assert scheduler.pop("submits") == [("submit", at, at, one) for at, one in zip(instants, details, strict=True)]
    if of.passes is not None:
        rows = zip(of.passes.now_ns.tolist(), of.passes.waiting.tolist(), of.passes.started.tolist(), strict=True)
        assert scheduler.pop("scheduling passes") == [
            ("scheduling pass", at, at, {"waiting": waiting, "started": started}) for at, waiting, started in rows
        ]
    assert scheduler == {}
    assert samples == expected_load(of)
    shown = {name: 2 * len(lane) for name, lane in lanes.items()}
    shown |= {f"{name} counters": len(rows) for name, rows in samples.items()} | {"submits": 2 * len(first)}
    assert {name: counts[name] for name in shown} == shown
