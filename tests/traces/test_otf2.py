"""The OTF2 writer: what readers find in an archive is what the ledger says."""

from __future__ import annotations

import re
import resource
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ledgers import Job, ledger, machine

from traces.base.errors import InputError, TwolevelError
from traces.base.written_file import FullDiskError
from traces.exporters import EXPORTERS, exporter
from traces.exporters.otf2 import write_otf2
from traces.exporters.otf2.library import binding, reading

SMALL = [
    Job(7, 0, 0, 10, [(0, 2)], [(0, 0, 0, 4), (1, 1, 0, 10), (0, 2, 5, 9)]),
    Job(1542, 3, 10, 12, [(1, 3)], [(1, 0, 10, 12), (2, 1, 10, 10), (2, 1, 10, 11)]),
    Job(9, 4, 12, 20, [(0, 1), (2, 3)]),
]


def test_definitions(tmp_path: Path) -> None:
    again = Job(9, 4, 20, 30, [(0, 1)], attempt=1, why="reserved", state="killed", eligible=20)
    jobs = [*SMALL[:2], replace(SMALL[2], state="requeued"), again]
    with reading(write_otf2(ledger(machine(2, 1), jobs), tmp_path)) as trace:
        found = trace.definitions
        tree = [(node.name, None if node.parent is None else node.parent.name) for node in found.system_tree_nodes]
        assert tree == [("cluster", None), ("host 0", "cluster"), ("host 1", "cluster")]
        assert [group.name for group in found.location_groups] == ["host 0", "host 1", "batch scheduler", "jobs"]
        thread, metric = "LocationType.CPU_THREAD", "LocationType.METRIC"
        assert [(one.name, one.group.name, str(one.type)) for one in found.locations] == [
            *((f"host 0 core {core}", "host 0", thread) for core in (0, 1)),
            ("host 1 core 0", "host 1", thread),
            ("batch scheduler", "batch scheduler", metric),
            ("submits", "batch scheduler", thread),
            *((f"host {host} counters", f"host {host}", metric) for host in (0, 1)),
            *((f"lane {lane}", "jobs", thread) for lane in range(3)),
        ]
        assert [(one.name, one.description) for one in found.regions if one.name.startswith("job ")] == [
            ("job 7", "attempt 0, head, completed"),
            ("job 1542", "attempt 0, head, completed"),
            ("job 9", "attempt 0, head, requeued"),
            ("job 9", "attempt 1, reserved, killed"),
        ]
        clock = found.clock_properties
        assert (clock.timer_resolution, clock.global_offset, clock.trace_length) == (10**9, 0, 30)


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
    with reading(path) as trace:
        seen = [(event.time, event.region.name) for at, event in trace.events if at.name == "host 0 core 0"]
        assert sum(one.name.startswith("job ") for one in trace.definitions.regions) == n
    assert seen == [(at, f"job {k}") for k in range(n) for at in (k, k + 1)]


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
