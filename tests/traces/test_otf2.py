"""The OTF2 writer: the core level, the batch level and messages, as readers see them; and traces of many jobs."""

import os
import re
import resource
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import otf2
import pytest
from batch_traces import check_batch, deepest, job_intervals, of_job, read_batch
from ledgers import Job, ledger, machine, never_started, transfer_records, with_gpus
from nesting import check_nesting
from tables import table_rows
from test_transfers import GRAPH, sound

from bls.engine.features.widths.records import WidthRecords
from traces.base.errors import InputError, TwolevelError
from traces.base.written_file import FullDiskError
from traces.checks.ledger import InvariantError
from traces.compiled import Array
from traces.exporters import EXPORTERS, exporter
from traces.exporters.otf2 import definitions, write_otf2
from traces.exporters.otf2.library import binding, reading
from traces.exporters.shown.batch_level import REGIONS
from traces.ledger import JobRecords, Ledger, PowerRecords, TaskRecords
from traces.tables import read_rows

pytestmark = pytest.mark.whole

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


def test_gpus_are_accelerators_that_their_host_created(tmp_path: Path) -> None:
    """As otf2-print shows them; a share is on a further location. Without jobs there are GPUs, too."""
    shared = [Job(7, 0, 0, 10, [(0, 2), (3, 4)]), Job(9, 0, 5, 12, [(2, 3), (4, 5)])]
    for jobs, held in ((shared, [(0, 0, 500), (0, 2, 250), (1, 2, 500)]), ([], [])):
        of = with_gpus(ledger(machine(2, 1, 2), jobs), [2, 0, 1], held)
        path = write_otf2(of, tmp_path / str(len(jobs)))
        ran = subprocess.run(["otf2-print", "-G", str(path)], capture_output=True, text=True, check=True)
        assert ran.stderr == ""
        groups = re.findall(
            r'^LOCATION_GROUP .*"(.*)" <.*, Type: ACCEL.*"host::(.*)" <.*, Creator: "(.*)" <', ran.stdout, re.M
        )
        assert groups == [(f"host {host} GPUs", f"host {host}", f"host {host}") for host in (0, 2)]
        locations = re.findall(
            r'^LOCATION .*"(.*)" <\d+>, Type: ACCELERATOR_STREAM.* (\d+), Group: "(.*)" <', ran.stdout, re.M
        )
        lanes = [("host 0 gpu 0", len(jobs)), ("host 0 gpu 1", 0), ("host 2 gpu 0", len(jobs))]
        lanes += [("host 2 gpu 0 (2)", 2)] * bool(jobs)
        assert locations == [(name, str(n), f"{name[:6]} GPUs") for name, n in lanes]


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
    """Also with the attributes of commands to running jobs, and where lanes show running jobs alone."""
    because = {0: "all its cores were lost, core 1 last", 2: "all its cores were lost, core 0 last"}
    plain = ledger(machine(2, 1), SMALL)
    told = plain.with_events(WidthRecords(*(np.array([k], np.int64) for k in (0, 5, 2, 1))))
    for number, before in enumerate((plain, told)):
        of = replace(before, cut_because=because)
        paths = [write_otf2(one, tmp_path / f"{number}{k}") for k, one in enumerate((before, of))]
        names = []
        for path in (*paths, write_otf2(of, tmp_path / f"{number}few", most_lanes=0)):
            with reading(path) as trace:
                names.append([one.name for one in trace.definitions.attributes])
        assert names[1] == names[2] == [*names[0], "cut because"]
        if before is plain:
            check_batch(of, paths[1])
        running = [span for lane in read_batch(path)[0]["running jobs"].values() for span in lane]
        said = {span[3]["job"]: span[3].get("cut because") for span in running}
        assert said == {7: because[0], 1542: None, 9: because[2]}


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


def test_a_job_that_never_could_start_is_held(tmp_path: Path) -> None:
    of = ledger(
        machine(1), [Job(1, 0, 0, 9, [(0, 1)]), never_started(2, 3, eligible=-1), never_started(3, 4, eligible=-1)]
    )
    of = replace(of, jobs=replace(of.jobs, left_ns=np.array([-1, 8, 2])))  # one before it came
    path = write_otf2(of, tmp_path)
    check_batch(of, path)
    held = [span[:3] for lane in read_batch(path)[0]["jobs"].values() for span in lane if span[0] == "held"]
    assert sorted(held) == [("held", 3, 8), ("held", 4, 4)]


def test_definitions_of_messages(tmp_path: Path) -> None:
    with reading(write_otf2(sound(), tmp_path)) as trace:
        (comm,) = trace.definitions.comms
        kinds = [str(group.group_type) for group in trace.definitions.groups]
        assert kinds == ["GroupType.COMM_LOCATIONS", "GroupType.COMM_GROUP"]
        names = [f"host {host} core {core}" for host in (0, 1) for core in (0, 1)]
        assert [[one.name for one in group.members] for group in trace.definitions.groups] == [names, names]
        assert comm.group is list(trace.definitions.groups)[1]
        region = list(trace.definitions.regions)[3]
        assert (region.name, str(region.region_role)) == ("wait for data", "RegionRole.POINT2POINT")
        assert len(list(trace.definitions.regions)) == 4 + len(REGIONS)


def test_otf2_print_reads_messages(tmp_path: Path) -> None:
    ran = subprocess.run(["otf2-print", str(write_otf2(sound(), tmp_path))], capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    lines = re.findall(r"^(MPI_SEND|MPI_RECV) +(\d+) +(\d+) +(.*)$", ran.stdout, re.MULTILINE)
    events = [[kind, int(location), int(time)] for kind, location, time, _ in lines]
    assert events == table_rows(__file__, "messages_by_otf2_print")
    assert lines[0][3] == 'Receiver: 1 ("host 0 core 1" <1>), Communicator: "cores" <0>, Tag: 0, Length: 4000000'


def test_without_transfers_the_bytes_are_those_of_a_run_without_network(tmp_path: Path) -> None:
    alone = ledger(machine(2, 2), [GRAPH])
    none = Ledger(alone.machine, alone.jobs, alone.tasks, transfer_records(1, []))
    found = [files_of(write_otf2(of, tmp_path / name).parent) for of, name in ((alone, "a"), (none, "b"))]
    for files in found:
        del files["traces.otf2"]
    assert found[0] == found[1]
    assert b"wait for data" not in found[0]["traces.def"]


def test_a_transfer_that_cannot_have_been_is_not_written(tmp_path: Path) -> None:
    of = ledger(machine(2, 2), [GRAPH])
    wrong = Ledger(of.machine, of.jobs, of.tasks, transfer_records(1, [(0, (0, 9, 1.0, 16, 20))]))
    with pytest.raises(InvariantError, match="job 7, transfer 0 -> 9"):
        write_otf2(wrong, tmp_path / "t")
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize(("sent", "received", "message"), table_rows(__file__, "faults_of_messages_are_named"))
def test_faults_of_messages_are_named(
    tmp_path: Path, sent: list[tuple[int, int, int]], received: list[tuple[int, int, int]], message: str | None
) -> None:
    with otf2.writer.open(str(tmp_path / "t"), timer_resolution=10**9) as trace:
        define = trace.definitions
        host = define.location_group("host", system_tree_parent=define.system_tree_node("node"))
        cores = [define.location(f"core {k}", group=host) for k in range(2)]
        for kind in (otf2.GroupType.COMM_LOCATIONS, otf2.GroupType.COMM_GROUP):
            group = define.group("cores", group_type=kind, paradigm=otf2.Paradigm.MPI, members=cores)
        comm = define.comm("cores", group=group)
        for core, rows in enumerate((sent, received)):
            writer = trace.event_writer_from_location(cores[core])
            for time, tag, size in rows:
                (writer.mpi_recv if core else writer.mpi_send)(time, 1 - core, comm, tag, size)
    path = tmp_path / "t" / "traces.otf2"
    if message is None:
        assert check_nesting(path) == 0
    else:
        with pytest.raises(InvariantError, match=message):
            check_nesting(path)


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
    with pytest.raises(InputError, match=" is of type int; allowed: Exporter"):
        exporter(f"{tmp_path / 'mine.py'}:number")


#: More than fit into one record of any format.
JOBS = 300_000

CORES = 64


def of_many_jobs(n: int) -> Ledger:
    """``n`` jobs of one task each on 64 cores, of two techniques in turn."""
    place = np.arange(n, dtype=np.int64)
    start = place // CORES * 10
    core = place % CORES
    jobs = JobRecords(
        job_id=place + 1,
        submit_ns=start,
        start_ns=start,
        end_ns=start + 10,
        estimate_ns=np.full(n, 10),
        deadline_ns=start + 10,
        cores=np.ones(n, np.int64),
        tasks=np.ones(n, np.int64),
        chunks=np.ones(n, np.int64),
        length_gflop=np.ones(n),
        imbalance=np.zeros(n),
        cov=np.zeros(n),
        allocation_first=np.arange(n + 1),
        allocation_lo=core,
        allocation_hi=core + 1,
    )
    numbers = core.astype(np.int32)
    tasks = TaskRecords(np.arange(n + 1), start, start + 10, numbers, np.zeros(n, np.int32), np.ones(n))
    technique = (place % 2).astype(np.int32)
    return Ledger(machine(32, 32), jobs, tasks, techniques=("gss", "static"), technique=technique)


@contextmanager
def few_files(n: int = 8) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + n, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def begun(text: bytes, *words: str) -> int:
    return sum(text.count(f"\n{word}".encode()) for word in words)


#: Of each format: the number of tasks, or of jobs where it shows no tasks, in what was written.
COUNTS: dict[str, Callable[[Path], int]] = {
    "chrome": lambda path: path.read_bytes().count(b'"cat":"task,'),
    "paje": lambda path: begun(path.read_bytes(), "10 "),
    "csv": lambda path: path.read_bytes().count(b"\n") - 1,
    "text": lambda path: len(os.listdir(path.parent / "applications")),
    "batsim": lambda path: path.read_bytes().count(b"\n") - 1,
    "swf": lambda path: path.read_bytes().count(b" 1 -1 -1 -1"),
    "measured": lambda path: len(read_rows(path.with_name("chunks.parquet"))),
}


@pytest.mark.parametrize(
    ("name", "n"),
    [
        *((name, JOBS) for name in sorted(set(EXPORTERS) - {"otf2", "text"})),
        ("text", 3000),  # a file for each job
        pytest.param("text", JOBS, marks=pytest.mark.release),
    ],
)
def test_a_trace_has_all_jobs(name: str, n: int, tmp_path: Path) -> None:
    with few_files():
        path = exporter(name)(of_many_jobs(n), tmp_path)
    if name in COUNTS:
        assert COUNTS[name](path) == n
    else:  # each task has two packets of more than 10 bytes; what they say: test_trace_formats.py
        assert path.stat().st_size > 20 * n


def test_an_otf2_trace_of_many_jobs_is_written(tmp_path: Path) -> None:
    """Only looked at from outside: the reader makes an object of each definition."""
    with few_files():
        write_otf2(of_many_jobs(JOBS), tmp_path)
    # Each pair of events of a task has 25 bytes at least.
    assert sum((tmp_path / "traces" / f"{core}.evt").stat().st_size for core in range(CORES)) > 25 * JOBS


def test_groups_of_regions_are_split(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(definitions, "GROUP_MEMBERS", 32)
    n = 300
    with reading(write_otf2(of_many_jobs(n), tmp_path)) as trace:
        regions = {region: place for place, region in enumerate(trace.definitions.regions)}
        groups = [(group.name, [regions[one] for one in group.members]) for group in trace.definitions.groups]
    assert Counter(name for name, _ in groups) == dict.fromkeys(("gss", "static"), -(-n // 2 // 32))
    for first, name in enumerate(("gss", "static")):
        assert [one for mine, members in groups if mine == name for one in members] == list(range(first, n, 2))


def test_messages_between_cores_of_a_wide_machine(tmp_path: Path) -> None:
    n = 120_000
    rows = [Job(1, 0, 0, 9, [(0, 1), (n - 1, n)], [(0, 0, 0, 4), (n - 1, 1, 6, 9)])]
    of = replace(ledger(machine(1, n - 1), rows), transfers=transfer_records(1, [(0, (0, 1, 8.0, 4, 5))]))
    with reading(write_otf2(of, tmp_path)) as trace:
        (group,) = (one for one in trace.definitions.groups if str(one.group_type).endswith("COMM_GROUP"))
        assert len(group.members) == 2
        sent = [event for _, event in trace.events if type(event).__name__ == "MpiSend"]
        ends = [sent[0].communicator.group.location(event.receiver).name for event in sent]
    assert ends == [f"host 1 core {n - 2}"]


@pytest.mark.parametrize("length", [16_385, 300_000, 2_000_000])
def test_an_otf2_trace_has_names_longer_than_a_chunk(length: int, tmp_path: Path) -> None:
    of = ledger(machine(1, 1), [Job(1, 0, 0, 4, [(0, 1)])])
    of = replace(of, machine=replace(of.machine, host_names=("h" * length, "host 1")))
    with reading(write_otf2(of, tmp_path)) as trace:
        assert [len(group.name) for group in trace.definitions.location_groups][:2] == [length, 6]


def test_a_name_longer_than_any_chunk_is_one_error(tmp_path: Path) -> None:
    of = ledger(machine(1), [])
    of = replace(of, machine=replace(of.machine, name="c" * binding.CHUNK_SIZE_MAX.value))
    with pytest.raises(TwolevelError, match="OTF2 has no room for a definition of 16777280 bytes"):
        write_otf2(of, tmp_path)
