"""The batch level in OTF2: spans of jobs on lanes, submits, scheduling passes and counters of hosts: as readers see them."""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import otf2
import pytest
from batch_traces import check_batch, deepest, job_intervals, of_job, read_batch
from ledgers import Job, ledger, machine, never_started
from test_otf2 import SMALL

from traces.compiled import Array
from traces.exporters.otf2 import write_otf2
from traces.exporters.otf2.library import reading
from traces.exporters.shown.detail import with_detail
from traces.ledger import PowerRecords, WidthRecords


def test_definitions_are_bounded_and_refer_to_classes_of_metrics(tmp_path: Path) -> None:
    """ViTE takes a reference of an instance for one of a class, and crashes."""
    path = write_otf2(ledger(machine(2, 1), SMALL), tmp_path)
    ran = subprocess.run(["otf2-print", "-G", str(path)], capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    assert "METRIC_INSTANCE" not in ran.stdout
    classes = re.findall(r"^METRIC_CLASS +(\d+) .*, (\d) Members?: (.*)$", ran.stdout, re.MULTILINE)
    of_machine = '"queue length" <0>, "busy cores" <1>, "computing cores" <2>'
    assert classes == [("0", "3", of_machine), ("1", "1", '"busy cores" <1>')]
    ran = subprocess.run(["otf2-print", str(path)], capture_output=True, text=True, check=True)
    recorded = set(re.findall(r"^METRIC +(\d+) +\d+ +Metric: (\d+),", ran.stdout, re.MULTILINE))
    assert recorded == {("3", "0"), ("5", "1"), ("6", "1")}
    with reading(path) as trace:
        regions = [region.name for region in trace.definitions.regions]
    assert regions == ["job 7", "job 1542", "job 9", "held", "queued", "running", "submit", "scheduling pass"]


def test_otf2_print_reads_it(tmp_path: Path) -> None:
    jobs = [*SMALL, never_started(11, 15, asked=3)]
    path = write_otf2(ledger(machine(2, 1), jobs), tmp_path)
    ran = subprocess.run(["otf2-print", str(path)], capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    seen = re.findall(r'^(ENTER|LEAVE) +(\d+) +(\d+) +Region: "(\w+)" <\d+>', ran.stdout, re.MULTILINE)
    lanes: dict[int, list[tuple[str, int, str]]] = defaultdict(list)
    for kind, location, time, region in seen:
        lanes[int(location)].append((kind, int(time), region))
    assert lanes[7] == [  # job 7, which starts at once, then job 11, which is cancelled as it comes
        *[("ENTER", 0, "queued"), ("LEAVE", 0, "queued"), ("ENTER", 0, "running"), ("LEAVE", 10, "running")],
        *[("ENTER", 15, "queued"), ("LEAVE", 15, "queued")],
    ]
    assert lanes[8] == [
        *[("ENTER", 3, "queued"), ("LEAVE", 10, "queued"), ("ENTER", 10, "running"), ("LEAVE", 12, "running")]
    ]
    assert (
        '("job" <2>; INT64; 1542), ("cores" <3>; UINT64; 2), ("estimate" <4>; INT64; 2), ("user" <5>; INT64; -1), '
        in (ran.stdout)
    )
    assert (
        re.search(r'\("why" <8>; STRING; "head" <\d+>\), \("state" <9>; STRING; "cancelled" <\d+>\)', ran.stdout)
        is None
    )
    assert re.search(r'\("why" <8>; STRING; "never" <\d+>\), \("state" <9>; STRING; "cancelled" <\d+>\)', ran.stdout)


def test_jobs_that_are_too_many_to_show_from_their_submits_on(tmp_path: Path) -> None:
    """Six jobs wait at once, of which two run at once: two lanes of running ones, without what waits."""
    jobs = [Job(k, k, 10 * k, 10 * k + (15 if k == 2 else 10), [(k % 2, k % 2 + 1)]) for k in range(7)]
    of = ledger(machine(2), [*jobs, never_started(9, 3)])
    assert deepest(job_intervals(of)) == 7
    check_batch(of, write_otf2(of, tmp_path / "all", most_lanes=7))
    spans, _, _ = read_batch(write_otf2(of, tmp_path / "few", most_lanes=6))
    lanes = spans["running jobs"]
    assert "jobs" not in spans
    assert [[span[:3] for span in lane] for lane in lanes.values()] == [
        [("running", 10 * k, 10 * k + (15 if k == 2 else 10)) for k in (0, 1, 2, 4, 5, 6)],
        [("running", 30, 40)],
    ]
    assert lanes["lane 1"][0][3] == of_job(of, 3)
    assert len(spans["batch scheduler"]["submits"]) == 8


def test_attempts_that_were_cut_say_why_and_others_have_no_such_attribute(tmp_path: Path) -> None:
    """Also behind the attributes of what running jobs are told, and where lanes show running jobs alone."""
    because = {0: "all its cores were lost, core 1 last", 2: "all its cores were lost, core 0 last"}
    plain = ledger(machine(2, 1), SMALL)
    told = replace(plain, widths=WidthRecords(*(np.array([k], np.int64) for k in (0, 5, 2, 1))))
    for number, before in enumerate((plain, told)):
        of = replace(before, cut_because=because)
        paths = [write_otf2(one, tmp_path / f"{number}{k}") for k, one in enumerate((before, of))]
        few = write_otf2(of, tmp_path / f"{number}few", most_lanes=0)
        names = []
        for path in (*paths, few):
            with reading(path) as trace:
                names.append([one.name for one in trace.definitions.attributes])
        assert names[1] == names[2] == [*names[0], "cut because"]
        if before is plain:
            check_batch(of, paths[1])
        spans = [read_batch(path)[0] for path in paths]
        assert spans[1]["batch scheduler"] == spans[0]["batch scheduler"]
        running = [span for lane in read_batch(few)[0]["running jobs"].values() for span in lane]
        assert {span[3]["job"]: span[3].get("cut because") for span in running} == {
            7: because[0],
            1542: None,
            9: because[2],
        }


#: Busy cores change at 0, 10, 14 and 20; one task spans all of it, others begin and end within and at the changes.
COMPUTES = [
    Job(1, 0, 0, 20, [(0, 1)], [(0, 0, 0, 20)]),
    Job(2, 0, 0, 10, [(1, 3)], [(1, 0, 0, 3), (1, 1, 4, 10), (2, 2, 2, 7)]),
    Job(3, 5, 14, 20, [(1, 2)], [(1, 0, 15, 16)]),
]


@pytest.mark.parametrize(
    ("detail", "tasks", "thousandths"),
    [
        ("task", True, [2400, 2400, 1000, 1167, 0]),  # (10 + 3 + 6 + 5) / 10, 4 / 4, (6 + 1) / 6
        ("chunk", True, [2400, 2400, 1000, 1167, 0]),
        ("job", True, None),
        ("lane", True, None),
        ("task", False, None),
    ],
)
def test_computing_cores(detail: str, tasks: bool, thousandths: list[int] | None, tmp_path: Path) -> None:
    """The mean of cores inside tasks until the busy cores change next; no counter where no tasks are traced."""
    of = ledger(machine(2, 1), COMPUTES)
    path = write_otf2(with_detail(of if tasks else replace(of, tasks=None), detail), tmp_path)
    with reading(path) as trace:
        events = [event for at, event in trace.events if at.name == "batch scheduler"]
        shown = [(one.name, one.unit, one.exponent) for one in events[0].metric.members]
    assert [event.time for event in events] == [0, 5, 10, 14, 20]
    assert [event.values[1] for event in events] == [3, 3, 1, 2, 0]
    assert shown[2:] == ([] if thousandths is None else [("computing cores", "cores", -3)])
    assert [event.values[2:] for event in events] == [(one,) for one in thousandths or ()] or [()] * 5


INSTANTS, DRAWN = np.array([0, 3, 10]), np.array([4_000, 9_500, 4_000])
LIMIT, LEVEL = np.array([-1, 8_000, -1]), np.array([0, 1, 0])


@pytest.mark.parametrize(
    ("further", "members", "values"),
    [
        ({"limit_mw": LIMIT}, ["power", "limit"], [[4000, 12_000], [9500, 8000], [4000, 12_000]]),
        (
            {"limit_mw": LIMIT, "level": LEVEL},
            ["power", "limit", "level"],
            [[4000, 12_000, 0], [9500, 8000, 1], [4000, 12_000, 0]],
        ),
    ],
)
def test_power(further: dict[str, Array], members: list[str], values: list[list[int]], tmp_path: Path) -> None:
    """In W, as whole mW; where there is no limit, all that the machine may draw is; no counter of what there never is."""
    of = replace(ledger(machine(2, 1), SMALL), power=PowerRecords(INSTANTS, DRAWN, 12_000, **further))
    path = write_otf2(of, tmp_path)
    with reading(path) as trace:
        events = [event for at, event in trace.events if at.name == "power"]
        shown = [(one.name, one.unit, one.exponent, one.base) for one in events[0].metric.members]
    found = [(event.time, list(event.values)) for event in events]
    assert found == list(zip(INSTANTS.tolist(), values, strict=True))
    units = {"power": ("W", -3), "limit": ("W", -3), "level": ("#", 0)}
    assert shown == [(name, *units[name], otf2.Base.DECIMAL) for name in members]
    ran = subprocess.run(["otf2-print", "-G", str(path)], capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    pattern = r'^METRIC_MEMBER .*Name: "(power|limit|level)".*, Base: (\w+), Exponent: (-?\d+), Unit: "(.+?)"'
    printed = re.findall(pattern, ran.stdout, re.MULTILINE)
    assert printed == [(name, "DECIMAL", str(units[name][1]), units[name][0]) for name in members]
    ran = subprocess.run(["otf2-print", str(path)], capture_output=True, text=True, check=True)
    read = re.findall(r"^METRIC +\d+ +(\d+) +Metric: 2,(.*)$", ran.stdout, re.MULTILINE)
    assert [(int(at), [int(one) for one in re.findall(r"UINT64; (\d+)", rest)]) for at, rest in read] == found


def test_a_job_that_never_could_start_is_held(tmp_path: Path) -> None:
    of = ledger(
        machine(1), [Job(1, 0, 0, 9, [(0, 1)]), never_started(2, 3, eligible=-1), never_started(3, 4, eligible=-1)]
    )
    of = replace(of, jobs=replace(of.jobs, left_ns=np.array([-1, 8, 2])))  # one before it came
    path = write_otf2(of, tmp_path)
    check_batch(of, path)
    held = [span[:3] for lane in read_batch(path)[0]["jobs"].values() for span in lane if span[0] == "held"]
    assert sorted(held) == [("held", 3, 8), ("held", 4, 4)]
