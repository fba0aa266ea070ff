"""Parts of a run, and less detail: at each instant a part shows what the whole shows then, and nothing else."""

import re
import subprocess
import tempfile
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from ledgers import Job, ledger, ledgers, machine, messaging_ledgers, never_started, with_gpus
from nesting import check_nesting
from trace_readers import Shown, expected, read_chrome

from bls.engine.features.releases.records import ReleaseRecords
from bridge.runs.tracing import TraceRequest
from traces.base.errors import InputError
from traces.exporters import WITH_ROWS, exporter
from traces.exporters.otf2 import write_otf2
from traces.exporters.otf2.library import reading
from traces.exporters.shown.part import (
    DETAILS,
    MOST_CORES,
    MOST_HOSTS,
    Excerpt,
    automatic_detail,
    cut_ledger,
    with_detail,
)
from traces.ledger import Ledger, PassRecords, PowerRecords

QUICK = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def shown(of: Ledger) -> Shown:
    with tempfile.TemporaryDirectory() as folder:
        return read_chrome(exporter("chrome")(of, Path(folder)))


def at(found: Shown, now: int) -> tuple[set[object], set[object], set[object]]:
    cores = {(where, what, *numbers) for where, what, begin, end, *numbers in found.cores if begin <= now < end}
    gpus = {(of_gpu(one), what, milli) for one, what, begin, end, milli in found.gpus if begin <= now < end}
    return cores, {(kind, job) for kind, job, begin, end in found.jobs if begin <= now < end}, gpus


def of_gpu(lane: str) -> str:
    """Name of the GPU: in a part, a job may be on another lane."""
    return lane.partition(" (")[0]


def value(rows: list[tuple[int, int]], now: int) -> int:
    return next((value for instant, value in reversed(rows) if instant <= now), 0)


def check_window(of: Ledger, begin: int, end: int) -> None:
    whole = expected(of)
    there = [one for one in whole.jobs if one[2] < end and (one[3] > begin or one[2] == one[3] == begin)]
    if not there:
        with pytest.raises(InputError, match=r"^window "):
            cut_ledger(of, Excerpt((begin, end)))
        return
    cut = cut_ledger(of, Excerpt((begin, end)))
    found = shown(cut)
    waits = "wait for data"
    for now in range(begin, end):
        some, others = at(found, now), at(whole, now)
        # A wait is known by what is received within it, which may have been sent before the window.
        assert {one for one in some[0] if one[1] != waits} == {one for one in others[0] if one[1] != waits}, now
        assert some[1:] == others[1:], now
        assert {one for one in some[0] if one[1] == waits} <= others[0]
        for key, rows in whole.counters.items():
            if key[1] == "computing cores":
                continue  # its means are of other spans
            assert value(found.counters.get(key, []), now) == value(rows, now), (key, now)
    assert all(begin <= one[2] <= one[3] <= end for one in (*found.cores, *found.jobs, *found.gpus))
    assert all(begin <= instant <= end for rows in found.counters.values() for instant, _ in rows)
    assert found.transfers == [one for one in whole.transfers if one[1] >= begin and one[3] < cut.window_ns[1]]  # type: ignore[index]
    with tempfile.TemporaryDirectory() as folder:
        check_nesting(write_otf2(cut, Path(folder) / "trace"))


def test_jobs_without_length_at_the_begin_of_a_window_are_in_it() -> None:
    """They end the run, too."""
    tasks = [(0, 0, 3, 3), (1, 1, 3, 3)]
    rows = [Job(1, 0, 0, 3, [(0, 2)]), Job(2, 0, 3, 3, [(0, 1)]), Job(3, 1, 3, 3, [(0, 2)], tasks)]
    check_window(ledger(machine(2), rows), 3, 5)
    assert {job for _, job, _, _ in shown(cut_ledger(ledger(machine(2), rows), Excerpt((3, 5)))).jobs} == {2, 3}


@QUICK
@given(of=ledgers() | messaging_ledgers(), window=st.tuples(st.integers(0, 90), st.integers(1, 60)))
def test_a_window_shows_its_part_of_the_whole(of: Ledger, window: tuple[int, int]) -> None:
    check_window(of, window[0], window[0] + window[1])


@QUICK
@given(of=ledgers() | messaging_ledgers(), cores=st.sets(st.integers(0, 11), min_size=1))
def test_selected_cores_show_their_events(of: Ledger, cores: set[int]) -> None:
    part = Excerpt(cores=[(core, core + 1) for core in sorted(cores)])
    if max(cores) >= of.machine.n_cores:
        with pytest.raises(InputError, match=r"^cores: \d+ is out of range: the machine has 0-\d+$"):
            cut_ledger(of, part)
        return
    names = [of.machine.core_names[core] for core in sorted(cores)]
    cut = cut_ledger(of, part)
    assert cut.machine.core_names == names
    whole, found = expected(of), shown(cut)
    mine = [one for one in whole.cores if one[0] in names and one[1] != "wait for data"]
    assert [one for one in found.cores if one[1] != "wait for data"] == mine
    held = [
        row
        for row in range(len(of.jobs))
        if any(lo <= core < hi for lo, hi in of.jobs.allocation(row) for core in cores)
    ]
    assert {job for _, job, _, _ in found.jobs} == {int(of.jobs.job_id[row]) for row in held}
    busy = {now: sum(lo <= core < hi for row in held for lo, hi in of.jobs.allocation(row) for core in cores
                     if of.jobs.start_ns[row] <= now < of.jobs.end_ns[row]) for now in range(100)}  # fmt: skip
    assert all(value(found.counters.get(("", "busy cores"), []), now) == busy[now] for now in busy)
    assert found.transfers == [one for one in whole.transfers if {one[0], one[2]} <= set(names)]
    hosts, jobs = {name.partition(" core")[0] for name in names}, {f"job {job}" for _, job, _, _ in found.jobs}
    kept = [one for one in whole.gpus if one[0].partition(" gpu")[0] in hosts and one[1] in jobs]
    assert sorted((of_gpu(one[0]), *one[1:]) for one in found.gpus) == sorted(
        (of_gpu(one[0]), *one[1:]) for one in kept
    )


@QUICK
@given(of=ledgers(), data=st.data())
def test_some_jobs_are_shown_alone(of: Ledger, data: st.DataObject) -> None:
    numbers = sorted(set(of.jobs.job_id.tolist()))
    wanted = data.draw(st.sets(st.sampled_from(numbers or [0])))
    part = Excerpt(jobs=[(job, job + 1) for job in sorted(wanted)] or [(10**7, 10**7 + 1)])
    if not wanted or not numbers:
        with pytest.raises(InputError, match=r"^jobs: there is no such job: \d"):
            cut_ledger(of, part)
        return
    whole, found = expected(of), shown(cut_ledger(of, part))
    assert found.cores == [one for one in whole.cores if int(one[1].removeprefix("job ")) in wanted]
    assert found.jobs == [one for one in whole.jobs if one[1] in wanted]
    kept = [one for one in whole.gpus if int(one[1].removeprefix("job ")) in wanted]
    assert sorted((of_gpu(one[0]), *one[1:]) for one in found.gpus) == sorted(
        (of_gpu(one[0]), *one[1:]) for one in kept
    )


@QUICK
@given(of=ledgers() | messaging_ledgers())
def test_chunks_are_their_tasks_put_together(of: Ledger) -> None:
    assume(not of.jobs.attempt.any())  # a chunk is known by its job's number below
    groups: dict[object, list[tuple[int, int]]] = defaultdict(list)
    alone = []
    for where, what, begin, end, task, chunk in expected(replace(of, transfers=None)).cores:
        if task < 0:
            alone.append((where, what, begin, end, -1, -1))
        else:
            groups[where, what, chunk].append((begin, end))
    found = shown(with_detail(of, "chunk"))
    grouped = [(*key[:2], min(a for a, _ in ends), max(b for _, b in ends), key[2]) for key, ends in groups.items()]  # type: ignore[index]
    assert sorted((*one[:4], one[5]) for one in found.cores) == sorted([*grouped, *((*one[:4], -1) for one in alone)])
    assert found.transfers == []
    for one in found.cores:
        assert one[4] == one[5], "a chunk's row is its number, where one core ran it"


@QUICK
@given(of=ledgers())
def test_jobs_are_shown_on_all_that_they_held(of: Ledger) -> None:
    assert shown(with_detail(of, "job")).cores == expected(replace(of, tasks=None)).cores


def small() -> Ledger:
    rows = [
        Job(1, 0, 0, 20, [(0, 2)], [(0, 0, 0, 6), (0, 0, 6, 12), (1, 1, 0, 9), (1, 0, 9, 14)]),
        Job(2, 3, 20, 30, [(0, 3)], [(2, 0, 20, 30)], eligible=3, why="reserved"),
        Job(3, 4, 30, 40, [(2, 3)], [(2, 0, 30, 40)], eligible=4),
        never_started(4, 8),
    ]
    of = ledger(machine(2, 1), rows)
    passes = PassRecords(*(np.array(column) for column in ([0, 20, 30], [1, 3, 1], [1, 1, 1])))
    power = PowerRecords(np.array([0, 10, 20, 40]), np.array([5, 7, 9, 1]), 100, np.array([-1, 50, -1, -1]))
    technique = np.array([0, 1, 0, 1], np.int32)
    released = ReleaseRecords(*(np.array(column) for column in ([0], [1], [15])))
    return replace(of, passes=passes, power=power, techniques=("a", "b"), technique=technique).with_events(released)


def test_a_window_of_all_that_there_is() -> None:
    cut = cut_ledger(small(), Excerpt((10, 25)))
    assert cut.window_ns == (10, 25)
    assert cut.jobs.job_id.tolist() == [1, 2, 3]
    assert (cut.jobs.start_ns.tolist(), cut.jobs.end_ns.tolist()) == ([10, 20, -1], [20, 25, -1])
    assert cut.jobs.submit_ns.tolist() == [0, 3, 4]
    assert cut.jobs.left_ns.tolist() == [-1, -1, 25]
    assert cut.tasks is not None
    assert cut.tasks.start_ns.tolist() == [-1, 10, -1, 10, 20, -1]
    assert cut.tasks.end_ns.tolist() == [-1, 12, -1, 14, 25, -1]
    assert cut.passes is not None
    assert cut.passes.now_ns.tolist() == [20]
    assert cut.power is not None
    assert (cut.power.instant_ns.tolist(), cut.power.power_mw.tolist()) == ([10, 20], [7, 9])
    releases = cut.of(ReleaseRecords)
    assert releases is not None
    assert releases.released_ns.tolist() == [15]
    assert cut.technique is not None
    assert cut.technique.tolist() == [0, 1, 0]
    found = shown(cut)
    assert found.counters["", "queue length"] == [(10, 2), (15, 2), (20, 1), (25, 0)]
    assert found.counters["", "busy cores"] == [(10, 2), (15, 1), (20, 3), (25, 0)]
    assert ("queued", 3, 10, 25) in found.jobs


def test_details_are_those_of_the_option() -> None:
    from bridge.options.declared import TRACE_DETAIL

    assert TRACE_DETAIL.choices == (TRACE_DETAIL.default, *DETAILS)


def test_nothing_in_a_part() -> None:
    for part, said in (
        (Excerpt((50, 60)), r"^window from 5e-08 s to 6e-08 s: no job is in it; the run: 0 s to 4e-08 s$"),
        (Excerpt(cores=[(7, 9)]), r"^cores: 7-8 is out of range: the machine has 0-2$"),
        (Excerpt(jobs=[(9, 10)]), r"^jobs: there is no such job: 9$"),
    ):
        with pytest.raises(InputError, match=said):
            cut_ledger(small(), part)


def wide() -> Ledger:
    """Two jobs on four cores of two of three hosts, on a machine of more cores than a viewer opens."""
    rows = [Job(1, 0, 0, 10, [(0, 2)], [(0, 0, 0, 3), (1, 1, 0, 4)]), Job(2, 2, 5, 9, [(3000, 3001), (4000, 4001)])]
    return with_gpus(ledger(machine(2, MOST_CORES, 9), rows), [3, 2, 1], [(0, 1, 1000), (1, 4, 250)])


@pytest.mark.parametrize("name", sorted(WITH_ROWS))
@pytest.mark.parametrize(
    ("detail", "cores", "hosts"),
    [
        ("task", {"0 core 0", "0 core 1", "1 core 2998", "1 core 3998"}, True),
        ("job", {"0 core 0", "0 core 1", "1 core 2998", "1 core 3998"}, True),
        ("host", set(), True),
        ("lane", set(), False),
    ],
)
def test_only_used_parts_of_a_wide_machine_have_rows(
    name: str, detail: str, cores: set[str], hosts: bool, tmp_path: Path
) -> None:
    of = wide()
    path = exporter(name)(with_detail(of, detail), tmp_path)
    found = (path.with_suffix(".def") if name == "otf2" else path).read_bytes()
    assert {core.decode() for core in re.findall(rb"host (\d+ core \d+)", found)} == cores
    assert {lane.decode() for lane in re.findall(rb"lane (\d)", found)} == {"0", "1"}
    assert {gpu.decode() for gpu in re.findall(rb"host (\d+ gpu \d+)", found)} == (
        {"0 gpu 1", "1 gpu 1"} if cores else set()
    )
    if name != "otf2":
        assert (b"host 1" in found) == hosts
        assert b"host 2" not in found
        return
    # OTF2 has all hosts in its system tree, but locations only of those that were used.
    with reading(path) as trace:
        names = [one.name for one in trace.definitions.locations]
        events = [location.name for location, _ in trace.events]
    assert [one for one in names if "counters" in one] == [f"host {host} counters" for host in (0, 1)] * hosts
    assert {one for one in names if "core" in one} == {f"host {core}" for core in cores} <= set(events)
    assert len(list((tmp_path / "traces").iterdir())) == 2 * len(names)
    assert subprocess.run(["otf2-print", "--silent", path], check=False).returncode == 0


@pytest.mark.parametrize(
    ("counts", "detail"),
    [
        ((MOST_CORES,), "task"),
        ((MOST_CORES, 1), "host"),
        ((5,) * MOST_HOSTS, "host"),
        ((5,) * (MOST_HOSTS + 1), "lane"),
    ],
)
def test_the_detail_follows_from_the_machine(counts: tuple[int, ...], detail: str) -> None:
    assert automatic_detail(machine(*counts)) == detail
    request = TraceRequest(("csv", "paje"))
    assert (request.note(machine(*counts), "so") is None) == (detail == "task")
    assert request.needs_tasks(machine(*counts))
    assert TraceRequest(("paje", "otf2")).needs_tasks(machine(*counts)) == (detail == "task")
    some = TraceRequest(("paje",), part=Excerpt(cores=[(0, MOST_CORES)]))
    assert some.note(machine(*counts), "so") is None


def test_gpus_are_held_until_the_last_core_of_the_host_is_released() -> None:
    """Job 1 releases core 1 at 15, and has core 0 until 20: in a part with core 1 alone, too. Job 2 leaves host 1 at 25."""
    released = ReleaseRecords(*(np.array(column) for column in ([0, 1], [1, 2], [15, 25])))
    of = with_gpus(small().with_events(released), [2, 1], [(0, 0, 500), (0, 1, 1000), (1, 0, 500), (1, 2, 250)])
    whole = [("host 0 gpu 0", "job 1", 0, 20, 500), ("host 0 gpu 0", "job 2", 20, 30, 500)]
    whole += [("host 0 gpu 1", "job 1", 0, 20, 1000), ("host 1 gpu 0", "job 2", 20, 25, 250)]
    cut = [(name, job, max(begin, 18), min(end, 25), milli) for name, job, begin, end, milli in whole]
    for part, seen in (
        (Excerpt(), whole),
        (Excerpt(cores=[(1, 2)]), whole[:3]),
        (Excerpt(cores=[(2, 3)]), whole[3:]),
        (Excerpt((18, 25)), cut),
        (Excerpt((25, 29)), [(*whole[1][:2], 25, 29, 500)]),
        (Excerpt((18, 25), [(1, 2)], [(1, 2)]), [cut[0], cut[2]]),
        (Excerpt((16, 19), [(0, 1)]), [(*one[:2], 16, 19, one[4]) for one in (whole[0], whole[2])]),
    ):
        assert shown(cut_ledger(of, part)).gpus == seen


def test_gpus_are_counted_until_their_jobs_left_the_host() -> None:
    """By kind of a machine with two, and only in parts whose hosts have both; also without rows of GPUs."""
    released = ReleaseRecords(*(np.array(column) for column in ([0, 1], [1, 2], [15, 25])))
    of = with_gpus(small().with_events(released), [2, 1], [(0, 0, 500), (0, 1, 1000), (1, 0, 500), (1, 2, 250)])
    every = {"busy GPUs": [(0, 1500), (20, 750), (25, 500), (30, 0)]}
    every |= {"busy GPUs a": [(0, 1500), (20, 500), (25, 500), (30, 0)]}
    every |= {"busy GPUs b": [(0, 0), (20, 250), (25, 0), (30, 0)]}
    for part, wanted in (
        (with_detail(of, "lane"), every),
        (cut_ledger(of, Excerpt(cores=[(2, 3)])), {"busy GPUs": [(20, 250), (25, 0)]}),
        (cut_ledger(of, Excerpt((22, 29), None, [(2, 3)])), {"busy GPUs": [(22, 750), (25, 500), (29, 0)]}),
    ):
        counters = shown(part).counters
        found = {name: rows for (_, name), rows in counters.items() if name.startswith("busy GPUs")}
        assert {name: found[name] for name in wanted} == wanted
        assert len(found) == (1 if part.machine.n_hosts == 1 else 3)


def test_jobs_whose_cores_were_released_are_shown_as_they_held_them(tmp_path: Path) -> None:
    of = with_detail(small(), "job")
    slices = [(name, *when) for name, what, *when, _, _ in shown(of).cores if what == "job 1"]
    assert slices == [("host 0 core 0", 0, 20), ("host 0 core 1", 0, 15)]
    check_nesting(write_otf2(of, tmp_path))
