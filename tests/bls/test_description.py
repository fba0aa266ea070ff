"""The figures of a workload, worked out by hand, and their text."""

from __future__ import annotations

import math

import pytest

from bls.analysis.description import Spread, describe, header_facts
from bls.machine.platform import HostGroup, Platform
from bls.workloads.readers.swf import parse_swf
from bls.workloads.selection import fit
from bls.workloads.workload import Workload
from traces.base.errors import InputError

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
    counts = (found.source, found.lines, found.jobs, found.reordered, found.clamped)
    assert counts == ("small.swf", 6, 3, 2, 0)
    rejects = {reason: n for reason, n in found.rejects.items() if n}
    assert rejects == {"malformed": 1, "no run time": 1, "wider than the platform": 1}
    assert (found.first_submit_ns, found.span_ns) == (100 * 10**9, 200 * 10**9)
    assert found.cores == Spread(1, 5, 14 / 3, 8)
    assert found.widths == ((1, 1, 1), (2, 2, 0), (3, 4, 0), (5, 8, 2))
    assert (found.run_ns, found.estimate_ns) == (Spread(10e9, 20e9, 20e9, 30e9), Spread(15e9, 20e9, 55e9 / 3, 20e9))
    assert (found.overestimate.min, found.overestimate.median, found.overestimate.max) == (0.5, 1.0, 2.0)
    assert found.underestimated == 1
    assert (found.busiest_day_ns, found.busiest_day_jobs) == (100 * 10**9, 3)
    assert (found.heaviest_day_ns, found.heaviest_day_core_s) == (100 * 10**9, 320)
    assert found.work_core_s == 10 + 150 + 160
    assert found.load == pytest.approx(320 / (8 * 200))
    assert found.header == {"Computer": "Small ?[31m", "MaxProcs": "8"}
    lines = str(found).splitlines()
    column = lines[0].index("small.swf")
    assert f"{'offered load':<{column}}0.200 on eight (8 cores)" in lines
    assert f"{'  1':<{column}}1  {'#' * 15}" in lines
    assert f"{'  5-8':<{column}}2  {'#' * 30}" in lines


def test_unusual_workloads() -> None:
    one = describe(Workload.from_jobs([(1, 5, 10, 2, 20)]), PLATFORM)
    assert one.load is None, "there is no span"
    assert "undefined" in str(one)
    century_s = 100 * 365 * 86400
    found = describe(Workload.from_jobs([(k, k, century_s, 8, None) for k in range(9)]), PLATFORM)
    assert math.isclose(found.run_ns.mean, century_s * 1e9), "a sum of times beyond int64"
    assert math.isclose(found.work_core_s, 9 * 8 * century_s)
    found = describe(Workload.from_jobs([(cores, 0, 1, cores, 1) for cores in (1, 2, 3, 6, 7, 8)]), PLATFORM)
    assert (found.serial, found.powers_of_two) == (1, 2)


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
    header = ["; MaxProcs: 4", ";MaxProcs: 5", "; Note: x: y", "; TimeZone:", "; a b: c", ";  Queue: 1 [x]", "x: y"]
    assert header_facts(header) == {"MaxProcs": "4", "Queue": "1 [x]"}
    assert header_facts([";    http://www.example.org/", "; Information: http://x/"]) == {"Information": "http://x/"}


LOG = b"""\
; Computer: Seth
; UnixStartTime: 1027839845
; TimeZoneString: Europe/Stockholm
; Queue: 1 batch
1        0  5 3600 4 -1  2000 4 7200 -1 1 1 1 1 1 -1 -1 -1
2     3600 -1 1800 1 -1    -1 1 1800 -1 0 1 1 1 1 -1 -1 -1
3   864000 10 7300 8 -1 -1000 8 7200 -1 5 2 1 1 2 -1 -1 -1
4  2592000 15 7200 1 -1  4000 1 7200 -1 1 3 2 1 2 -1 -1 -1
"""


def test_what_the_log_says_of_time_people_and_classes() -> None:
    found = describe(fit(parse_swf(LOG, "seth.swf"), PLATFORM.n_cores), PLATFORM)
    # Sunday, 28 July 2002, 9:04 in Stockholm.
    assert (found.arrivals.start, found.arrivals.by_weekday) == ("2002-07-28T09:04:05+02:00", (0, 1, 1, 0, 0, 0, 2))
    assert (found.arrivals.by_hour[9], found.arrivals.by_hour[10]) == (3, 1)
    assert [(month.start, month.jobs) for month in found.months] == [("2002-07-01", 2), ("2002-08-01", 2)]
    # Less than half of July lies in the log; 26.3 days of August do.
    assert found.months[0].load is None
    assert found.months[1].load == pytest.approx((8 * 7300 + 7200) / (8 * (2_592_000 - 3 * 86_400 - 53_755)))
    assert (found.step, len(found.timeline)) == ("day", 31)
    assert (found.serial, found.powers_of_two) == (2, 2)
    assert list(found.width_work_core_s) == [9000, 0, 14400, 58400]
    assert sum(found.width_work_core_s) == found.work_core_s
    assert (found.estimates.exact, found.estimates.at_limit, found.underestimated) == (2, 2, 1)
    assert found.wait_ns == Spread(5e9, 10e9, 10e9, 15e9)
    assert found.users is not None
    assert (found.users.users, found.users.groups, found.users.half) == (3, 2, 1)
    assert [(one.number, one.name, one.jobs) for one in found.queues] == [(1, "batch", 2), (2, "", 2)]
    assert [(one.name, one.jobs) for one in found.statuses] == [("completed", 2), ("failed", 1), ("cancelled", 1)]
    assert (found.partitions, found.qos) == ((), ())
    assert found.memory_kb == Spread(2000, 3000, 3000, 4000)
    assert found.memory_known == 2


def test_text_of_time_people_and_classes() -> None:
    text = str(describe(fit(parse_swf(LOG, "seth.swf"), PLATFORM.n_cores), PLATFORM))
    lines = text.splitlines()
    column = lines[0].index("seth.swf")
    rows = [(line[:column].rstrip(), line[column:]) for line in lines]
    assert all(line == line.rstrip() and line.isprintable() and len(line) < 150 for line in lines)
    assert {line[column - 1] for line in lines} == {" "}
    assert all(line[column] != " " for line in lines)
    said = dict(rows)
    expected = {
        "first submit": "0 s (2002-07-28 09:04)",
        "last submit": "30 d 00 h (2002-08-27 09:04)",
        "arrivals": "by the clocks of Europe/Stockholm",
        "at the limit": "50.0 % of jobs ran for 99 % to 101 % of their estimate, 50.0 % exactly",
        "  frequent": "2 h 00 min (75.0 %)   30 min 00 s (25.0 %)",
        "": "50.0 % of jobs have one core, 50.0 % another power of two",
        "users": "3 in 2 groups; 1 submit half of the jobs",
        "  1 batch": "2 jobs (50.0 %), 19.8 % of the work",
        "  5 cancelled": "1 jobs (25.0 %), 71.4 % of the work",
    }
    assert {name: said[name] for name in expected} == expected
    assert said["round estimates"].endswith("75.0 % of an hour; 2 different ones")
    assert said["memory per core"].endswith("max 4 MB   (50.0 % of jobs)")
    counts = (said[name].split() for name in ("  6-11 h", "  Mon-Sun", "  Jul-Dec"))
    assert ["".join(row) for row in counts] == ["000310", "0110002", "220000"]
    assert said["  by month"].split()[6:8] == ["Jul", "Aug"]
    assert said["  2002"].split() == [*"......", "-", "0.004", *"...."]
    assert said["  2002"].index("0.004") == said["  by month"].index("Aug")
    assert "qos" not in said


@pytest.mark.parametrize(
    ("days", "step"),
    [(0, "hour"), (19, "hour"), (20, "day"), (139, "day"), (140, "week"), (600, "month"), (7300, "year")],
)
def test_the_step_of_the_time_line(days: int, step: str) -> None:
    found = describe(Workload.from_jobs([(1, 0, 1, 1, 1), (2, 86_400 * days, 1, 1, 1)]), PLATFORM)
    assert found.step == step
    assert sum(one.jobs for one in found.timeline) == 2
