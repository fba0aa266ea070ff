"""``twolevel graph``: what is written of one graph, and wrong command lines."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from command_line import everything_in, twolevel
from pages import ROOT, blocks, section, table

from als.engine.dag.metrics import GRAPH_METRICS
from als.engine.metrics import LOOP_METRICS
from bridge.single.graph_options import GraphOptions
from bridge.single.graph_source import GraphSource
from traces.base.errors import InputError
from traces.ledger_tables import TASKS, TRANSFERS

SECOND = 10**9
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

    assert twolevel(*words, "--out", "c").code == 0
    assert set(everything_in(Path("c"))) == plain
    for name in plain - {"run.json"}:
        assert Path("a/b", name).read_bytes() == Path("c", name).read_bytes(), name
    refused = twolevel(*words, "--out", "c")
    assert (refused.code, refused.out) == (2, "")
    assert "--force" in refused.err
    assert twolevel("gantt", "c", "-o", "g.png").code == 0


def test_without_a_network_there_are_no_transfers(ring: Path) -> None:
    found = twolevel("graph", "ring.dot", *ON_TWO_HOSTS, "--als", "gss", "--order", "rank", "--out", "r")
    assert found.code == 0, found.err
    assert set(everything_in(Path("r"))) == {"run.json", "tasks.parquet", "graph.png", "schedule.png"}
    assert "transfers" not in found.out
    assert "gss, order rank, 0" in found.out
    again = twolevel("graph", "ring.dot", "--cores", 1, "--core-speed", 1, "--als", "ss", "--out", "r", "--force")
    assert re.search(r"^makespan +5 s", again.out, re.MULTILINE)


def test_the_examples_output_is_the_pages(here: Path) -> None:
    (command,) = [line for line in blocks(PAGE, "bash")[0].splitlines() if line]
    found = twolevel(*command.split()[1:])
    assert found.code == 0, found.err
    assert found.out in blocks(PAGE, "")


def test_a_files_run_times(here: Path) -> None:
    Path("w.dax").write_text(DAX)
    options = GraphOptions("heft", (46.875,))
    assert GraphSource("w.dax").read(options).gflop.tolist() == [2 * 46.875, 46.875]
    assert GraphSource("w.dax", core_gflops=3.0).read(options).gflop.tolist() == [6.0, 3.0]
    assert GraphSource("w.dax", format="dax").names()["core_gflops"] == 46.875


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
    with pytest.raises(InputError, match="--core-speed"):
        GraphOptions("ss", (1.0, 0.0))
