"""The figures of a workload, worked out by hand, and their text."""

from __future__ import annotations

import json
import math

import pytest

from bls.description import Spread, describe, header_facts
from bls.platform import HostGroup, Platform
from bls.selection import fit
from bls.workload import Workload
from bls.workloads.swf import parse_swf
from traces.errors import InputError

PLATFORM = Platform((HostGroup(1, 8, 8.0),), name="eight")

TEXT = b"""\
; Computer: Small \x1b[31m
; MaxProcs: 8
; Note: nothing
7 100 -1 10 1 -1 -1 1 20 -1 1 1 1 1 1 1 1 1
8 300 -1 30 5 -1 -1 5 15 -1 1 1 1 1 1 1 1 1
9 200 -1 20 8 -1 -1 8 20 -1 1 1 1 1 1 1 1 1
6 200 -1 20 9 -1 -1 9 20 -1 1 1 1 1 1 1 1 1
5 200 -1 00 9 -1 -1 9 20 -1 1 1 1 1 1 1 1 1
nonsense
"""


def small() -> Workload:
    return fit(parse_swf(TEXT, "small.swf"), PLATFORM.n_cores)


def test_figures() -> None:
    found = describe(small(), PLATFORM)
    assert (found.source, found.lines, found.jobs, found.reordered, found.clamped) == (
        "small.swf",
        6,
        3,
        2,
        0,
    )
    assert {k: v for k, v in found.rejects.items() if v} == {
        "malformed": 1,
        "no run time": 1,
        "wider than the platform": 1,
    }
    assert (found.first_submit_ns, found.span_ns) == (100 * 10**9, 200 * 10**9)
    assert found.cores == Spread(1, 5, 14 / 3, 8)
    assert found.widths == ((1, 1, 1), (2, 2, 0), (3, 4, 0), (5, 8, 2))
    assert found.run_ns == Spread(10e9, 20e9, 20e9, 30e9)
    assert found.estimate_ns == Spread(15e9, 20e9, 55e9 / 3, 20e9)
    assert (found.overestimate.min, found.overestimate.median, found.overestimate.max) == (0.5, 1.0, 2.0)
    assert found.underestimated == 1
    assert (found.busiest_day_ns, found.busiest_day_jobs) == (100 * 10**9, 3)
    assert found.work_core_s == 10 + 150 + 160
    assert found.load == pytest.approx(320 / (8 * 200))
    assert found.header == {"Computer": "Small ?[31m", "MaxProcs": "8"}


def test_text_is_aligned_and_printable() -> None:
    text = str(describe(small(), PLATFORM))
    lines = text.splitlines()
    assert all(line == line.rstrip() and line.isprintable() for line in lines)
    column = lines[0].index("small.swf")
    assert {line[column - 1] for line in lines} == {" "}
    assert all(line[column] != " " for line in lines)
    assert f"{'offered load':<{column}}0.200 on eight (8 cores)" in lines
    assert f"{'  1':<{column}}1  {'#' * 15}" in lines
    assert f"{'  5-8':<{column}}2  {'#' * 30}" in lines


def test_json_can_hold_the_figures() -> None:
    plain = describe(small(), PLATFORM).as_dict()
    again = json.loads(json.dumps(plain, allow_nan=False))
    assert again == plain
    assert again["widths"][0] == [1, 1, 1]
    assert again["cores"]["median"] == 5


def test_without_a_span_there_is_no_load() -> None:
    one = Workload.from_jobs([(1, 5, 10, 2, 20)])
    found = describe(one, PLATFORM)
    assert found.load is None
    assert "undefined" in str(found)


def test_sums_of_times_beyond_int64() -> None:
    century_s = 100 * 365 * 86400
    found = describe(Workload.from_jobs([(k, k, century_s, 8, None) for k in range(9)]), PLATFORM)
    assert math.isclose(found.run_ns.mean, century_s * 1e9)
    assert math.isclose(found.work_core_s, 9 * 8 * century_s)


def test_jobs_cancelled_before_their_start_have_no_run_time() -> None:
    never = {"job_id": 9, "submit_s": 0, "run_s": None, "estimate_s": 99, "cores": 4, "cancel_s": 3}
    found = describe(Workload.from_jobs([(1, 5, 10, 2, 20), never]), PLATFORM)
    assert (found.jobs, found.cancelled, found.underestimated, found.work_core_s) == (2, 1, 0, 20)
    assert (found.run_ns.min, found.overestimate.max, found.cores.max) == (10e9, 2.0, 4)
    assert "1 jobs before their start" in str(found)
    assert "cancelled" not in str(describe(small(), PLATFORM))
    with pytest.raises(InputError, match="every job was cancelled before its start"):
        describe(Workload.from_jobs([never]), PLATFORM)


def test_header_facts() -> None:
    header = [
        "; MaxProcs: 4",
        ";MaxProcs: 5",
        "; Note: x: y",
        "; TimeZone:",
        "; a b: c",
        ";  Queue: 1 [x]",
        "x: y",
    ]
    assert header_facts(header) == {"MaxProcs": "4", "Queue": "1 [x]"}
