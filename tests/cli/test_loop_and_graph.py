"""``twolevel loop`` and ``twolevel graph``: what is written of one loop or graph, by hand."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from command_line import everything_in, succeeds, twolevel
from pages import ROOT, blocks, section, table

from als.metrics import GRAPH_METRICS
from als.metrics.loops import LOOP_METRICS
from bridge.single.graph_options import GraphOptions
from bridge.single.graph_source import GraphSource
from traces.base.errors import InputError
from traces.ledger_tables import TASKS, TRANSFERS

SECOND = 10**9

#: GFLOP; on two cores of 1 GFLOP/s, ss gives core 0 the tasks 0, 3 and 4, and core 1 the tasks 1 and 2.
LENGTHS = "# five tasks\n4\n3.0\n2e0\n\n1\n1\n"
TWO_CORES = ("--cores", 2, "--core-speed", 1, "--als", "ss")


@pytest.fixture
def loop_file(here: Path) -> Path:
    """The five tasks, in the current folder."""
    (here / "l.txt").write_text(LENGTHS)
    return here / "l.txt"


def ran(*words: object) -> tuple[dict[str, Any], list[list[float]]]:
    """The record of a loop, and of each task its core, begin and end in s."""
    succeeds("loop", *words, "--out", "r", "--force")
    tasks = pd.read_parquet("r/tasks.parquet")
    seconds = tasks[["start_ns", "end_ns"]] / SECOND
    record: dict[str, Any] = json.loads(Path("r/run.json").read_text())
    return record, [list(row) for row in zip(tasks.core, seconds.start_ns, seconds.end_ns, strict=True)]


def test_five_tasks_on_two_cores_by_hand(loop_file: Path) -> None:
    record, tasks = ran("l.txt", *TWO_CORES)
    assert tasks == [[0, 0, 4], [1, 0, 3], [1, 3, 5], [0, 4, 5], [0, 5, 6]]
    assert (record["makespan_ns"], record["tasks"], record["chunks"]) == (6 * SECOND, 5, 5)
    assert record["length_gflop"] == 11.0
    assert list(record["metrics"]) == [name for name, _ in LOOP_METRICS]
    assert record["metrics"]["imbalance"] == pytest.approx(6 / 5.5 - 1)
    assert record["metrics"]["efficiency"] == pytest.approx(11 / 12)
    assert record["metrics"]["max_minus_mean_ns"] == pytest.approx(0.5 * SECOND)
    assert record["metrics"]["length_cov"] == pytest.approx(1.36**0.5 / 2.2)
    assert record["metrics"]["rounds"] == 5
    assert record["metrics"]["scheduling_ns"] == 0
    assert record["arguments"]["core_speed_gflops"] == 1.0
    assert record["arguments"]["als"] == "ss"
    assert (record["chosen"], record["ahead_chunks"]) == ({}, 0)


def test_the_tables(loop_file: Path) -> None:
    ran("l.txt", "--cores", 2, "--core-speed", 1, "--als", "gss", "--overhead", SECOND)
    tasks, chunks = pd.read_parquet("r/tasks.parquet"), pd.read_parquet("r/chunks.parquet")
    assert tuple(tasks.columns) == TASKS.columns
    assert [str(kind) for kind in tasks.dtypes] == ["int64", "int64", "int32", "int32", "int64", "int64", "float64"]
    assert tasks.length_gflop.tolist() == [4, 3, 2, 1, 1]
    # gss: three tasks, one, one; core 1 is done with the fourth at 2 s, and asks again.
    rows = [[0, 0, 0, 0, 3, 0, 1, 10], [1, 0, 1, 3, 1, 0, 1, 2], [2, 0, 1, 4, 1, 2, 3, 4]]
    names = ["chunk", "step", "core", "first", "size", "request_ns", "begin_ns", "end_ns"]
    assert list(chunks.columns) == names
    chunks[names[-3:]] //= SECOND
    assert chunks.to_numpy().tolist() == rows


def test_the_page_says_what_is_written(loop_file: Path) -> None:
    record, _ = ran("l.txt", *TWO_CORES)
    page = ROOT / "docs" / "reference/loop.md"
    keys = [name for row in table(section(page, "run.json")) for name in re.findall(r"`(\w+)`", row[0])]
    assert keys == [*record]
    columns = pq.read_schema("r/chunks.parquet")
    rows = table(section(page, "chunks.parquet"))
    assert [row[0] for row in rows] == [f"`{name}`" for name in columns.names]
    assert [row[1] for row in rows] == [str(column.type) for column in columns]
    assert all((row[2] == "ns") == row[0].endswith("_ns`") for row in rows)


@pytest.mark.parametrize(
    ("options", "tasks", "scheduling_s"),
    [
        ((), [[0, 1, 5], [1, 1, 4], [1, 5, 7], [0, 6, 7], [0, 8, 9]], 5.0),
        (("--hosts", 2, "--latency", SECOND // 2), [[0, 1, 5], [1, 2, 5], [0, 6, 8], [1, 7, 8], [0, 9, 10]], 7.0),
        # Requests arrive at 0, 0.5, 5, 6 and 8 s, and are served until 1, 2, 6, 7 and 9 s.
        (
            ("--hosts", 2, "--latency", SECOND // 2, "--assignment", "master"),
            [[0, 1, 5], [1, 2.5, 5.5], [0, 6, 8], [1, 7.5, 8.5], [0, 9, 10]],
            7.5,
        ),
    ],
)
def test_what_a_chunk_costs_by_hand(
    loop_file: Path, options: tuple[object, ...], tasks: list[list[float]], scheduling_s: float
) -> None:
    record, found = ran("l.txt", *TWO_CORES, "--overhead", SECOND, *options)
    assert found == tasks
    assert record["metrics"]["scheduling_ns"] == scheduling_s * SECOND
    chunks = pd.read_parquet("r/chunks.parquet")
    assert (chunks.begin_ns - chunks.request_ns).sum() == scheduling_s * SECOND


def test_time_steps_have_a_barrier_between_them(loop_file: Path) -> None:
    record, tasks = ran("l.txt", *TWO_CORES, "--steps", 3)
    once = [[0, 0, 4], [1, 0, 3], [1, 3, 5], [0, 4, 5], [0, 5, 6]]
    assert tasks == [[core, begin + at, end + at] for at in (0, 6, 12) for core, begin, end in once]
    assert record["makespan_ns"] == 18 * SECOND
    assert [(step["start_ns"] // SECOND, step["end_ns"] // SECOND) for step in record["steps"]] == [
        (0, 6),
        (6, 12),
        (12, 18),
    ]
    assert [step["imbalance"] for step in record["steps"]] == [pytest.approx(6 / 5.5 - 1)] * 3
    chunks = pd.read_parquet("r/chunks.parquet")
    assert chunks.step.tolist() == [0] * 5 + [1] * 5 + [2] * 5
    assert chunks.request_ns[chunks.step == 1].min() == 6 * SECOND
    assert chunks["first"].tolist() == list(range(15))


def test_speeds_of_their_own(loop_file: Path) -> None:
    record, tasks = ran("l.txt", "--core-speed", "2,1", "--als", "static")
    assert tasks == [[0, 0, 2], [0, 2, 3.5], [0, 3.5, 4.5], [1, 0, 1], [1, 1, 2]]
    assert record["arguments"]["core_speed_gflops"] == [2.0, 1.0]
    assert record["metrics"]["efficiency"] == pytest.approx(11 / (4.5 * 3))
    assert record["machine"] == {"host_names": ["host 0"], "first_core": [0, 2]}


#: Twice as fast as a core; a task's data take 1 s in, and half a second out.
DEVICE = "gpu:speed=2,in_bytes=125e6,out_bytes=62.5e6,bandwidth_gbps=1"


@pytest.mark.parametrize(
    "words", [("--cores", 2, "--workers", DEVICE), ("--cores", 1, "--workers", f"{DEVICE},drivers=no")]
)
def test_a_device_beside_a_core_by_hand(loop_file: Path, words: tuple[object, ...]) -> None:
    record, tasks = ran("l.txt", *words, "--core-speed", 1, "--als", "ss")
    assert tasks == [[0, 0, 4], [1, 1, 2.5], [1, 4, 5], [0, 4, 5], [0, 5, 6]]
    assert record["makespan_ns"] == 6 * SECOND
    assert record["machine"]["first_core"] == [0, 2]
    assert record["arguments"]["workers"] == [words[-1]]
    assert record["metrics"]["computing_ns"] == 8.5 * SECOND
    assert record["metrics"]["efficiency"] == pytest.approx(11 / (6 * 3))
    chunks = pd.read_parquet("r/chunks.parquet").set_index("chunk")
    times = chunks[["request_ns", "begin_ns", "end_ns"]] / SECOND
    assert times[chunks.core == 1].to_numpy().tolist() == [[0, 1, 3], [3, 4, 5.5]]


def test_a_step_ends_when_all_data_are_out(here: Path) -> None:
    Path("l.txt").write_text("1\n1\n")
    record, _ = ran("l.txt", "--cores", 2, "--core-speed", 1, "--als", "ss", "--steps", 2, "--workers", DEVICE)
    assert [(step["start_ns"], step["end_ns"]) for step in record["steps"]] == [
        (0, 2 * SECOND),
        (2 * SECOND, 4 * SECOND),
    ]
    assert record["steps"][0]["imbalance"] == pytest.approx(2 / 1.5 - 1)


def test_a_plain_loop_has_no_word_of_devices(loop_file: Path) -> None:
    assert "workers" not in ran("l.txt", *TWO_CORES)[0]["arguments"]


def test_drawn_lengths(here: Path) -> None:
    even, tasks = ran("--n", 6, "--mean", 3, "--cores", 2, "--core-speed", 1)
    assert [end - begin for _, begin, end in tasks] == [3.0] * 6
    assert even["metrics"]["length_cov"] == 0.0
    varied, tasks = ran("--n", 500, "--cores", 4, "--variation", 0.25, "--seed", 7)
    assert len(tasks) == 500
    assert varied["metrics"]["length_cov"] == pytest.approx(0.25, abs=0.03)
    assert varied["length_gflop"] == pytest.approx(500, rel=1e-12)
    of_paper, _ = ran("--n", 500, "--cores", 4, "--lengths", "normal:cov=0.25,draw=paper", "--seed", 7)
    assert of_paper["length_gflop"] != pytest.approx(500, rel=1e-12)
    assert varied["seed"] == 7
    again, same = ran("--n", 500, "--cores", 4, "--lengths", "normal:cov=0.25", "--seed", 7)
    assert same == tasks
    other, _ = ran("--n", 500, "--cores", 4, "--variation", 0.25, "--seed", 8)
    assert other["makespan_ns"] != again["makespan_ns"] == varied["makespan_ns"]


def test_files_and_output(loop_file: Path) -> None:
    words = ("loop", "l.txt", "--cores", 3, "--als", "fac", "--hosts", 2, "--overhead", 10**7)
    found = succeeds(*words, "--out", "a/b", "--trace")
    assert "results: a/b" in found.err
    assert "makespan" in found.out
    assert "seed" in found.out
    files = everything_in(Path("a/b"))
    assert {"run.json", "tasks.parquet", "chunks.parquet", "loop.png", "trace/traces.otf2"} <= set(files)
    assert not any(name.startswith(".") for name in everything_in(Path("a")))
    succeeds(*words, "--out", "c")
    assert set(everything_in(Path("c"))) == {"run.json", "tasks.parquet", "chunks.parquet", "loop.png"}
    for name in ("tasks.parquet", "chunks.parquet", "loop.png"):
        assert Path("a/b", name).read_bytes() == Path("c", name).read_bytes()
    refused = twolevel(*words, "--out", "c")
    assert (refused.code, refused.out) == (2, "")
    assert "--force" in refused.err
    succeeds(*words, "--out", "c", "--force")
    succeeds("gantt", "c", "-o", "g.png")


def test_chunk_sizes_on_one_line(here: Path) -> None:
    found = twolevel("loop", "--chunks", "--n", 1000, "--cores", 4, "--als", "gss")
    assert (found.code, found.err) == (0, "")
    assert found.out == "250 188 141 106 79 59 45 33 25 19 14 11 8 6 4 3 3 2 1 1 1 1\n"
    assert everything_in(here) == {}


PAGE = ROOT / "docs" / "reference/graphs.md"

#: a sends 1 GB to b and to c, b 0.5 GB to d; d only waits for c.
RING = blocks(PAGE, "dot")[0]

ON_TWO_HOSTS = ("--hosts", 2, "--cores", 4, "--core-speed", 1)
LINKED = ("--network", "hockney", "--bandwidth", 8)

DAX = (
    '<adag xmlns="http://pegasus.isi.edu/schema/DAX" version="2.1"><job id="a" name="x" runtime="2"/>'
    '<job id="b" name="x" runtime="1"/><child ref="b"><parent ref="a"/></child></adag>'
)


@pytest.fixture
def ring(here: Path) -> Path:
    """The graph of the page, in the current folder."""
    (here / "ring.dot").write_text(RING)
    return here / "ring.dot"


def test_a_mapped_graph_by_hand_and_what_is_written(ring: Path) -> None:
    words = ("graph", "ring.dot", *ON_TWO_HOSTS, "--als", "mapped", *LINKED)
    found = twolevel(*words, "--out", "a/b", "--trace")
    assert (found.code, found.err) == (0, "results: a/b\n"), found.err
    assert re.search(r"^makespan +5.5 s \(5500001000 ns\)$", found.out, re.MULTILINE)
    assert re.search(r"^scheduler, seed +mapped, 0$", found.out, re.MULTILINE)
    files = set(everything_in(Path("a/b")))
    plain = {"run.json", "tasks.parquet", "transfers.parquet", "graph.png", "schedule.png"}
    assert plain | {"trace/traces.otf2"} <= files
    tasks, sent = pd.read_parquet("a/b/tasks.parquet"), pd.read_parquet("a/b/transfers.parquet")
    assert tuple(tasks.columns) == (*TASKS.columns, "name")
    assert tasks.name.tolist() == ["a", "b", "c", "d"]
    assert tasks.core.tolist() == [0, 2, 3, 0]
    moved = 3 * SECOND + 500
    assert tasks.start_ns.tolist() == [0, moved, moved, moved + SECOND + SECOND // 2 + 500]
    assert tuple(sent.columns) == TRANSFERS.columns
    assert sent.arrived_ns.tolist() == [moved, moved, moved + SECOND + SECOND // 2 + 500]
    record = json.loads(Path("a/b/run.json").read_text())
    assert (record["tasks"], record["edges"], record["chunks"]) == (4, 4, 4)
    assert record["makespan_ns"] == 5_500_001_000
    assert (record["length_gflop"], record["bytes"]) == (5.0, 2.5e9)
    assert record["critical_path"] == ["a", "b", "d"]
    assert list(record["metrics"]) == [name for name, _ in (*LOOP_METRICS, *GRAPH_METRICS)]
    assert record["arguments"]["core_speed_gflops"] == 1.0
    assert record["arguments"]["graph"] == "ring.dot"
    assert record["arguments"]["topology"] == "full"
    keys = [name for row in table(section(PAGE, "run.json")) for name in re.findall(r"`(\w+)`", row[0])]
    assert keys == [*record]
    columns = pq.read_schema("a/b/transfers.parquet")
    rows = table(section(ROOT / "docs" / "reference/results.md", "transfers.parquet"))
    assert [row[0] for row in rows] == [f"`{name}`" for name in columns.names]
    assert [row[1] for row in rows] == [str(column.type) for column in columns]

    succeeds(*words, "--out", "c")
    assert set(everything_in(Path("c"))) == plain
    for name in plain - {"run.json"}:
        assert Path("a/b", name).read_bytes() == Path("c", name).read_bytes(), name
    refused = twolevel(*words, "--out", "c")
    assert (refused.code, refused.out) == (2, "")
    assert "--force" in refused.err
    succeeds("gantt", "c", "-o", "g.png")


def test_without_a_network_there_are_no_transfers(ring: Path) -> None:
    found = succeeds("graph", "ring.dot", *ON_TWO_HOSTS, "--als", "gss", "--order", "rank", "--out", "r")
    assert set(everything_in(Path("r"))) == {"run.json", "tasks.parquet", "graph.png", "schedule.png"}
    assert "transfers" not in found.out
    assert "gss, order rank, 0" in found.out
    again = twolevel("graph", "ring.dot", "--cores", 1, "--core-speed", 1, "--als", "ss", "--out", "r", "--force")
    assert re.search(r"^makespan +5 s", again.out, re.MULTILINE)


def test_the_examples_output_is_the_pages(here: Path) -> None:
    (command,) = [line for line in blocks(PAGE, "bash")[0].splitlines() if line]
    found = succeeds(*command.split()[1:])
    assert found.out in blocks(PAGE, "")


def test_a_files_run_times(here: Path) -> None:
    Path("w.dax").write_text(DAX)
    options = GraphOptions("heft", (46.875,))
    assert GraphSource("w.dax").read(options).gflop.tolist() == [2 * 46.875, 46.875]
    assert GraphSource("w.dax", core_gflops=3.0).read(options).gflop.tolist() == [6.0, 3.0]
    assert GraphSource("w.dax", format="dax").names()["core_gflops"] == 46.875


def test_times_on_kinds_of_workers(here: Path) -> None:
    """The example of the page: 1.1 ms and 0.4 ms on a worker of the kind w0; the second task cannot run on a core."""
    (text,) = (text for text in blocks(ROOT / "docs/reference/graph-files.md", "text") if "JobId" in text)
    Path("t.rec").write_text(text)
    for als in ("heft", "peft", "min-min", "dmda"):
        succeeds("graph", "t.rec", "--als", als, "--cores", 2, "--workers", "w0", "--out", "r", "--force")
        assert json.loads(Path("r/run.json").read_text())["makespan_ns"] == 1_500_000
        metrics = json.loads(Path("r/run.json").read_text())["metrics"]
        assert (metrics["slr"], metrics["speedup"], metrics["critical_path_ns"]) == pytest.approx((1, 1, 1.5e6))
    assert (
        "t: task '3' cannot run on cores; allowed: --workers, as w0:count=2"
        in twolevel("graph", "t.rec", "--als", "heft", "--cores", 2, "--out", "r", "--force").err
    )
    asked = twolevel("graph", "t.rec", "--als", "ss", "--cores", 2, "--workers", "w0", "--out", "r", "--force")
    assert "t: ss: task 1 cannot run on cores; allowed: a planner" in asked.err


def test_a_file_may_be_called_like_a_generator(here: Path) -> None:
    Path("chain").write_text(RING)
    assert GraphSource("./chain").read(GraphOptions("ss", (1.0,))).names == ("a", "b", "c", "d")
    assert GraphSource("chain").read(GraphOptions("ss", (1.0,))).names == ()


def test_a_generator_of_ones_own(here: Path) -> None:
    (block,) = [
        text for text in blocks(ROOT / "docs" / "reference/graph-generators.md", "python") if "# mine.py" in text
    ]
    Path("mine.py").write_text(block)
    found = GraphSource("mine.py:MINE:ratio=3", tasks=6).read(GraphOptions("ss", (1.0,)))
    assert found.n_tasks == 6
    assert np.unique(found.gflop).tolist() == pytest.approx([0.5, 1.5])


def test_speeds_of_cores_by_host() -> None:
    options = GraphOptions("ss", (1.0,) * 7, hosts=3, latency_ns=9)
    assert options.first_core.tolist() == [0, 3, 5, 7]
    assert options.latencies_ns.tolist() == [0, 0, 0, 9, 9, 9, 9]
    with pytest.raises(InputError, match="core_speed"):
        GraphOptions("ss", (1.0, 0.0))
