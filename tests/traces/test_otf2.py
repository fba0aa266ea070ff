"""The OTF2 writer: what readers find in an archive is what the ledger says."""

from __future__ import annotations

import re
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from ledgers import Job, ledger, ledgers, machine
from trace_readers import naive_counters

from traces.base.errors import InputError, TwolevelError
from traces.base.written_file import FullDiskError
from traces.checks.ledger import check_ledger
from traces.exporters import EXPORTERS, exporter
from traces.exporters.otf2 import write_otf2
from traces.exporters.otf2.checks import check_nesting
from traces.exporters.otf2.library import binding, reading
from traces.ledger import STATES, WHY, Ledger

#: A bar: core, job number, task and chunk (None for a whole job), start and end.
Bar = tuple[int, int, int | None, int | None, int, int]

SMALL = [
    Job(7, 0, 0, 10, [(0, 2)], [(0, 0, 0, 4), (1, 1, 0, 10), (0, 2, 5, 9)]),
    Job(1542, 3, 10, 12, [(1, 3)], [(1, 0, 10, 12), (2, 1, 10, 10), (2, 1, 10, 11)]),
    Job(9, 4, 12, 20, [(0, 1), (2, 3)]),
]


@contextmanager
def fresh() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def expected_bars(of: Ledger) -> list[Bar]:
    bars: list[Bar] = []
    for row, number in enumerate(of.jobs.job_id.tolist()):
        first, stop = (0, 0) if of.tasks is None else map(int, of.tasks.first[row : row + 2])
        for task in range(stop - first):
            at = first + task
            assert of.tasks is not None
            start, end = int(of.tasks.start_ns[at]), int(of.tasks.end_ns[at])
            if start == -1:
                continue
            bars.append((int(of.tasks.core[at]), number, task, int(of.tasks.chunk[at]), start, end))
        if first == stop:
            for lo, hi in of.jobs.allocation(row):
                start, end = int(of.jobs.start_ns[row]), int(of.jobs.end_ns[row])
                bars += [(core, number, None, None, start, end) for core in range(lo, hi)]
    return bars


def read_back(path: Path) -> tuple[list[Bar], list[tuple[int, list[int]]], Any]:
    """Bars of cores and samples of the scheduler as the binding's reader sees them, and the definitions."""
    bars: list[Bar] = []
    samples: list[tuple[int, list[int]]] = []
    entered: dict[int, Any] = {}
    with reading(path) as trace:
        locations = list(trace.definitions.locations)
        scheduler = next(place for place, one in enumerate(locations) if one.name == "batch scheduler")
        core_of = {location: core for core, location in enumerate(locations)}
        for location, event in trace.events:
            kind = type(event).__name__
            if core_of[location] > scheduler:  # of tests/traces/test_otf2_batch.py
                continue
            if kind == "Metric":
                assert location is locations[scheduler]
                samples.append((event.time, list(event.values)))
            elif kind == "Enter":
                entered[core_of[location]] = event
            else:
                assert kind == "Leave"
                enter = entered.pop(core_of[location])
                assert enter.region is event.region
                assert event.attributes is None
                told = {key.name: value for key, value in (enter.attributes or {}).items()}
                number = int(event.region.name.removeprefix("job "))
                bars.append((core_of[location], number, told.get("task"), told.get("chunk"), enter.time, event.time))
        assert entered == {}
        jobs = [region for region in trace.definitions.regions if region.name.startswith("job ")]
        definitions = {
            "clock": trace.definitions.clock_properties,
            "groups": [group.name for group in trace.definitions.location_groups],
            "locations": [(one.name, one.group.name, str(one.type), one.number_of_events) for one in locations],
            "regions": [region.name for region in jobs],
            "ways": [region.description for region in jobs],
            "tree": [
                (node.name, None if node.parent is None else node.parent.name)
                for node in trace.definitions.system_tree_nodes
            ],
        }
    return bars, samples, definitions


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ledgers())
def test_what_is_read_back_is_what_the_ledger_says(of: Ledger) -> None:
    check_ledger(of)
    with fresh() as directory:
        path = write_otf2(of, directory / "trace")
        assert path == directory / "trace" / "traces.otf2"
        bars, samples, definitions = read_back(path)
        check_nesting(path)
    key = repr
    assert sorted(bars, key=key) == sorted(expected_bars(of), key=key)
    counters = naive_counters(of).values()  # each at the same instants
    assert samples == [(row[0][0], [value for _, value in row]) for row in zip(*counters, strict=True)]
    assert definitions["regions"] == [f"job {number}" for number in of.jobs.job_id.tolist()]
    jobs = of.jobs
    assert definitions["ways"] == [
        f"attempt {attempt}, {WHY[why]}, {STATES[state]}"
        for attempt, why, state in zip(jobs.attempt.tolist(), jobs.why.tolist(), jobs.state.tolist(), strict=True)
    ]
    counts = [0] * of.machine.n_cores
    for bar in bars:
        counts[bar[0]] += 2
    assert [one[3] for one in definitions["locations"][: len(counts) + 1]] == [*counts, len(samples)]


def test_definitions(tmp_path: Path) -> None:
    _, _, found = read_back(write_otf2(ledger(machine(2, 1), SMALL), tmp_path))
    assert found["tree"] == [("cluster", None), ("host 0", "cluster"), ("host 1", "cluster")]
    assert found["groups"] == ["host 0", "host 1", "batch scheduler", "jobs"]
    assert found["locations"] == [
        ("host 0 core 0", "host 0", "LocationType.CPU_THREAD", 6),
        ("host 0 core 1", "host 0", "LocationType.CPU_THREAD", 4),
        ("host 1 core 0", "host 1", "LocationType.CPU_THREAD", 6),
        ("batch scheduler", "batch scheduler", "LocationType.METRIC", 6),
        ("submits", "batch scheduler", "LocationType.CPU_THREAD", 6),
        ("host 0 counters", "host 0", "LocationType.METRIC", 3),
        ("host 1 counters", "host 1", "LocationType.METRIC", 2),
        ("lane 0", "jobs", "LocationType.CPU_THREAD", 4),
        ("lane 1", "jobs", "LocationType.CPU_THREAD", 4),
        ("lane 2", "jobs", "LocationType.CPU_THREAD", 4),
    ]
    clock = found["clock"]
    assert (clock.timer_resolution, clock.global_offset, clock.trace_length) == (10**9, 0, 20)


def test_otf2_print_reads_it(tmp_path: Path) -> None:
    path = write_otf2(ledger(machine(2, 1), SMALL), tmp_path)
    ran = subprocess.run(["otf2-print", str(path)], capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    lines = [line.split(maxsplit=3) for line in ran.stdout.splitlines() if re.match(r"ENTER|LEAVE|METRIC", line)]
    seen = [(kind, int(location), int(time), rest) for kind, location, time, rest in lines]
    assert [one[:3] for one in seen if one[0] != "METRIC" and one[1] == 0] == [
        ("ENTER", 0, 0),
        ("LEAVE", 0, 4),
        ("ENTER", 0, 5),
        ("LEAVE", 0, 9),
        ("ENTER", 0, 12),
        ("LEAVE", 0, 20),
    ]
    assert ("ENTER", 1, 10, 'Region: "job 1542" <1>') in seen
    assert '("task" <0>; UINT64; 2), ("chunk" <1>; UINT64; 1)' in ran.stdout
    metrics = [
        (time, re.findall(r"UINT64; (\d+)", rest)) for kind, at, time, rest in seen if (kind, at) == ("METRIC", 3)
    ]
    assert metrics == [
        (0, ["0", "2", "1050"]),  # 21 ns in tasks in 20 ns
        (3, ["1", "2", "1050"]),
        (4, ["2", "2", "1050"]),
        (10, ["1", "2", "1050"]),
        (12, ["0", "2", "1050"]),
        (20, ["0", "0", "0"]),
    ]


def files_of(directory: Path) -> dict[str, bytes]:
    return {str(one.relative_to(directory)): one.read_bytes() for one in directory.rglob("*") if one.is_file()}


def test_the_same_ledger_gives_the_same_bytes_but_for_the_identifier(tmp_path: Path) -> None:
    of = ledger(machine(2, 1), SMALL)
    found = [files_of(write_otf2(of, tmp_path / name).parent) for name in "ab"]
    anchors = [np.frombuffer(files.pop("traces.otf2"), np.uint8) for files in found]
    assert found[0] == found[1]
    assert set(found[0]) == {"traces.def"} | {f"traces/{k}.{kind}" for k in range(10) for kind in ("def", "evt")}
    assert len(anchors[0]) == len(anchors[1])
    assert np.count_nonzero(anchors[0] != anchors[1]) <= 8


def test_more_than_one_chunk_a_file(tmp_path: Path) -> None:
    """An event file longer than OTF2's chunk, and as many definitions."""
    n = 11_000
    jobs = [Job(k, k, k, k + 1, [(0, 1)], [(0, 0, k, k + 1)]) for k in range(n)]
    path = write_otf2(ledger(machine(1), jobs), tmp_path)
    assert (tmp_path / "traces" / "0.evt").stat().st_size > binding.CHUNK_SIZE_MIN.value
    assert (tmp_path / "traces.def").stat().st_size > binding.CHUNK_SIZE_MIN.value
    bars, _, found = read_back(path)
    assert bars == [(0, k, 0, 0, k, k + 1) for k in range(n)]
    assert len(found["regions"]) == n


def test_a_trace_that_exists_is_not_written_over(tmp_path: Path) -> None:
    of = ledger(machine(1), [])
    write_otf2(of, tmp_path)
    with pytest.raises(InputError, match="exists already"):
        write_otf2(of, tmp_path)


def test_times_before_zero_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="job 3 is submitted at -5 ns"):
        write_otf2(ledger(machine(1), [Job(3, -5, 0, 1, [(0, 1)])]), tmp_path / "t")
    assert not (tmp_path / "t").exists()


def test_a_file_in_the_way_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="Not a directory"):
        write_otf2(ledger(machine(1), []), tmp_path / "file" / "t")
    (tmp_path / "traces").write_text("")
    with pytest.raises(TwolevelError, match="OTF2 could not write the trace: EEXIST"):
        write_otf2(ledger(machine(1), []), tmp_path)


@pytest.mark.parametrize("limit", [1_000, 300_000])
def test_a_disk_that_refuses_is_an_error_and_prints_nothing(
    tmp_path: Path, limit: int, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """OTF2 itself returns success when the last of a file cannot be written."""
    jobs = [Job(k, k, k, k + 1, [(0, 1)], [(0, 0, k, k + 1)]) for k in range(10_000)]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # What is imported meanwhile would be kept, cut, as everybody's bytecode.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
        with pytest.raises(FullDiskError, match=r"traces\.otf2: OTF2 could not write the trace: .*File is too large"):
            write_otf2(ledger(machine(1), jobs), tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert capfd.readouterr().err == ""


def test_writers_are_found_by_name_and_by_file(tmp_path: Path) -> None:
    assert exporter("otf2") is EXPORTERS["otf2"]
    with pytest.raises(InputError, match=r"--trace: unknown trace writer 'otf'; known: otf2"):
        exporter("otf", "--trace")
    (tmp_path / "mine.py").write_text(
        "def write(ledger, directory):\n    path = directory / 'jobs'\n    directory.mkdir(parents=True)\n"
        "    path.write_text(str(len(ledger.jobs)))\n    return path\n\nnumber = 3\n"
    )
    path = exporter(f"{tmp_path / 'mine.py'}:write")(ledger(machine(2, 1), SMALL), tmp_path / "out")
    assert path.read_text() == "3"
    with pytest.raises(InputError, match=": int; allowed: Exporter"):
        exporter(f"{tmp_path / 'mine.py'}:number")


@pytest.mark.parametrize("name", sorted(EXPORTERS))
def test_every_writer_takes_every_ledger(name: str, tmp_path: Path) -> None:
    """The contract: a path inside the directory, which need not exist, and nothing beside it."""
    for k, of in enumerate(
        [ledger(machine(2, 1), SMALL), ledger(machine(2, 1), SMALL, with_tasks=False), ledger(machine(1), [])]
    ):
        directory = tmp_path / f"{k}" / "deep"
        path = exporter(name)(of, directory)
        assert path.is_file()
        assert directory in path.parents
        assert list((tmp_path / f"{k}").iterdir()) == [directory]


def test_importing_the_package_does_not_import_the_writers() -> None:
    script = "import sys, traces, traces.exporters; assert not {'otf2', '_otf2', 'matplotlib'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True, cwd=Path(__file__).parent.parent.parent)
