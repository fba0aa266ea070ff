"""Programs made of measurements: planted lengths are found, and what the maps say is simulated."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from measurements import RECORD, SMALL

import bridge
from als.chunk_sequence import chunk_sequence
from als.schedulers import loop_technique
from bls import HostGroup, Platform
from bridge.measure.folder import MeasurementRecord, read_measurement, write_measurement
from bridge.measure.program import measured_program, write_program
from traces.base.errors import InputError


def planted(lengths: list[int], techniques: list[str], steps: int, event_ns: int = 0) -> dict[str, dict[str, Any]]:
    """A run by each technique of a loop in each step, on two threads that take chunks in turn, with 70 ns between loops."""
    tables: dict[str, dict[str, Any]] = {name: {column: [] for column in SMALL[name]} for name in SMALL}
    tables["regions"] = {"region": [0], "name": ["sweep"], "kind": ["loop"]}

    def row(table: str, *values: Any) -> None:
        for column, value in zip(tables[table], values, strict=True):
            tables[table][column].append(value)

    for run, technique in enumerate(techniques):
        found = loop_technique(technique)
        now = 70
        for step in range(steps):
            begin, first, free = now, 0, [now, now]
            for n in chunk_sequence(found, len(lengths), 2):  # type: ignore[arg-type]
                thread = int(free[1] < free[0])
                end = free[thread] + sum(lengths[first : first + n]) + event_ns
                row("chunks", run, step, thread, first, n, 1, free[thread], end)
                free[thread], first = end, first + n
            now = max(free)
            row("loops", run, step, 0, "dynamic", len(lengths), 2, begin, now)
            now += 70
        row("runs", run, "", 2, run, 0, now, -1, 0)
    return tables


def written(folder: Path, tables: dict[str, dict[str, Any]], **overhead: float) -> Path:
    folder.mkdir()
    write_measurement(folder, MeasurementRecord("openmp", ["./app"], overhead=overhead), tables)
    return folder


def test_planted_lengths_are_found(tmp_path: Path) -> None:
    """From chunks of one iteration where there are any, without what the measurement costs."""
    lengths = np.random.default_rng(1).integers(100, 900, 40).tolist()
    folder = written(tmp_path / "m", planted(lengths, ["static", "ss", "gss"], 3, event_ns=30), event_ns=30.0)
    found = measured_program(read_measurement(folder))
    assert (found.steps, found.threads, found.sequence) == (3, 2, ((0, 40),))
    assert found.parts[0, 40].lengths_ns.tolist() == lengths
    # 70 ns before each loop and after the last, in three steps.
    assert found.gaps_ns == pytest.approx((4 * 70 / 3, 0.0))


def test_lengths_of_chunks_of_several_iterations_are_their_means(tmp_path: Path) -> None:
    folder = written(tmp_path / "m", planted([10, 30, 50, 70, 90, 110], ["ss:chunk=2"], 1))
    assert measured_program(read_measurement(folder)).parts[0, 6].lengths_ns.tolist() == [20, 20, 60, 60, 100, 100]


@pytest.mark.parametrize("name", ["measured", "fitted"])
def test_maps_are_simulated(name: str, tmp_path: Path) -> None:
    """A job of as many cores as the measured run had threads takes its time, if loops are balanced as they were."""
    lengths = np.random.default_rng(2).integers(10**8, 9 * 10**8, 200).tolist()
    folder = written(tmp_path / "m", planted(lengths, ["ss"], 2))
    write_program(measured_program(read_measurement(folder)), folder)
    log = tmp_path / "one.swf"
    log.write_text("1 0 -1 60 2 -1 -1 2 60 -1 1 1 1 1 1 1 -1 -1\n")
    maps = str(folder / f"{name}.toml")
    result = bridge.simulate(str(log), als="ss", applications=maps, platform=Platform((HostGroup(1, 2, 10.0),)))
    row = result.jobs.iloc[0]
    assert row["end_ns"] - row["start_ns"] == pytest.approx(60e9, rel=0.02)
    assert row["tasks"] == 2 * (200 + 1)


def test_tasks_become_a_graph(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    write_measurement(tmp_path / "m", RECORD, SMALL)
    found = measured_program(read_measurement(tmp_path / "m"))
    part = found.parts[1, 0]
    assert (part.kind, part.lengths_ns.tolist(), part.edges) == ("tasks", [60.0, 90.0], ((0, 1),))
    assert found.gaps_ns == (100.0 + 100.0, 100.0, 0.0)
    write_program(found, tmp_path / "m", Path("elsewhere"))
    text = (tmp_path / "m" / "measured.toml").read_text()
    assert 'graph = "file:elsewhere/tasks-1.dot"' in text
    assert json.loads((tmp_path / "m" / "measurement.json").read_text())["source"] == "openmp"


def test_what_is_no_program(tmp_path: Path) -> None:
    folder = written(tmp_path / "m", planted([5, 5], ["ss"], 1))
    measured = read_measurement(folder)
    with pytest.raises(InputError, match=r"^region main is not in the measurement; it has sweep$"):
        measured_program(measured, region="main")
    nothing = written(tmp_path / "n", {"runs": SMALL["runs"]})
    with pytest.raises(InputError, match=r"^the measurement has no loops and no tasks$"):
        measured_program(read_measurement(nothing))


def test_written_lengths_of_a_chunk_take_its_time_together(tmp_path: Path) -> None:
    folder = written(tmp_path / "m", planted([1, 1, 2, 3, 3, 4], ["ss:chunk=3"], 1))
    write_program(measured_program(read_measurement(folder)), folder)
    lengths = [int(line) for line in (folder / "lengths-0.txt").read_text().splitlines()[1:]]
    assert (sum(lengths[:3]), sum(lengths[3:]), min(lengths)) == (4, 10, 1)


def test_merged_chunks_say_nothing_of_single_iterations(tmp_path: Path) -> None:
    """A row of two merged chunks is no iteration, although it looks as small as one."""
    tables = planted([10, 20, 30, 40], ["ss"], 1)
    chunks = tables["chunks"]
    merged = {"run": 0, "loop": 0, "thread": 0, "first": 0, "iterations": 1, "chunks": 2, "begin_ns": 0, "end_ns": 2}
    for column, value in merged.items():
        chunks[column].append(value)
    folder = written(tmp_path / "m", tables)
    assert measured_program(read_measurement(folder)).parts[0, 4].lengths_ns.tolist() == [10, 20, 30, 40]
