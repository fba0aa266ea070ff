"""Simulated loops and runs as measurements, and back: the same makespan to the ns where the schedule is fixed."""

from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from command_line import succeeds
from hypothesis import given, settings
from hypothesis import strategies as st
from small_scenarios import KINDS, expected

from als.lengths.fixed import read_lengths
from bridge.measure import MeasurementTables, read_measurement
from bridge.measure.program import measured_program, write_program
from bridge.single.loop_run import LoopOptions, LoopResult, simulate_loop
from traces import exporter
from traces.ledger import Ledger


def exported(ledger: Ledger, folder: Path) -> MeasurementTables:
    return read_measurement(exporter("measured")(ledger, folder).parent)


def again(measured: MeasurementTables, folder: Path, options: LoopOptions) -> LoopResult:
    """The loop of the measured program, simulated from the file of its lengths."""
    folder.mkdir()
    write_program(measured_program(measured), folder)
    return simulate_loop(read_lengths(folder / "lengths-0.txt", "ns"), options)


@settings(max_examples=60, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 10_000), min_size=1, max_size=40),
    speeds=st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=1, max_size=5),
    technique=st.sampled_from(["static", "static:chunk=1", "static:chunk=3", "static:chunk=7"]),
    overhead=st.sampled_from([0, 1, 250]),
    steps=st.integers(1, 3),
)
def test_the_makespan_returns(
    lengths: list[int], speeds: list[float], technique: str, overhead: int, steps: int
) -> None:
    """Chunks include their overhead, and have the times of their cores: equal cores without overhead take as long."""
    options = LoopOptions(technique, tuple(speeds), overhead_ns=overhead, steps=steps)
    first = simulate_loop(np.array(lengths) * 1e-9, options)
    with TemporaryDirectory() as name:
        folder = Path(name)
        measured = exported(first.ledger, folder / "first")
        program = measured_program(measured)
        second = again(measured, folder / "program", LoopOptions(technique, (1.0,) * len(speeds), steps=steps))
        back = exported(second.ledger, folder / "again")
    assert (program.steps, program.gaps_ns) == (steps, (0.0, 0.0))
    assert second.makespan_ns == first.makespan_ns == measured.runs.end_ns[0]
    assert measured.runs.schedule.tolist() == [technique]
    for table in ("runs", "regions", "loops", "chunks", "waits"):
        assert getattr(measured, table).equals(getattr(back, table)), table


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("variant", range(6))
def test_runs_have_their_chunks_and_tasks(kind: str, variant: int, tmp_path: Path) -> None:
    """Compared with a plain list of chunks: in each job and core, tasks in a row with the same number of a chunk."""
    ledger = expected(kind, variant, True).ledger
    jobs, tasks, transfers = ledger.jobs, ledger.tasks, ledger.transfers
    assert tasks is not None
    measured = exported(ledger, tmp_path)
    graphs = set() if transfers is None else set(transfers.job.tolist())
    chunks: list[tuple[int, ...]] = []
    of_graphs: list[tuple[int, ...]] = []
    for job in range(len(jobs)):
        on_core = defaultdict(list)
        for row in range(tasks.first[job], tasks.first[job + 1]):
            if tasks.start_ns[row] >= 0:
                on_core[int(tasks.core[row])].append((int(tasks.start_ns[row]), int(tasks.end_ns[row]), row))
        first = [core for lo, hi in jobs.allocation(job) for core in range(lo, hi)]
        threads = first + sorted(set(on_core) - set(first))
        for core, rows in on_core.items():
            place, free = threads.index(core), int(jobs.start_ns[job]) if core in first else min(rows)[0]
            last = (-1, -1)
            for begin, end, row in sorted(rows):
                number = row - int(tasks.first[job])
                if job in graphs:
                    of_graphs.append((int(jobs.start_ns[job]), row, place, begin, end))
                elif last == (number - 1, int(tasks.chunk[row])):
                    chunks[-1] = (*chunks[-1][:3], chunks[-1][3] + 1, chunks[-1][4], end)
                else:
                    chunks.append((int(jobs.start_ns[job]), place, number, 1, free, end))
                last, free = (number, int(tasks.chunk[row])), end
    loops = measured.loops.set_index("loop")
    found = measured.chunks[["thread", "first", "iterations", "begin_ns", "end_ns"]].to_numpy()
    at = loops.begin_ns.loc[measured.chunks.loop].tolist()
    assert sorted((start, *row) for start, row in zip(at, found.tolist(), strict=True)) == sorted(chunks)
    found = measured.tasks[["created_ns", "task", "thread", "begin_ns", "end_ns"]].to_numpy()
    assert sorted(map(tuple, found.tolist())) == sorted(of_graphs)
    assert len(measured.dependences) == (0 if transfers is None else len(transfers))
    assert loops.begin_ns.is_monotonic_increasing
    # Each thread waits from its last chunk until the end of its loop.
    assert len(measured.waits) == measured.loops.threads.sum()
    keys = ["loop", "thread"]
    last_end = measured.chunks.groupby(keys).end_ns.max()
    waits = measured.waits.set_index(keys)
    assert (waits.begin_ns.loc[last_end.index] == last_end).all()
    assert (waits.end_ns == loops.end_ns.loc[waits.index.get_level_values(0)].to_numpy()).all()


@pytest.mark.whole
def test_stored_loops_and_graphs_are_converted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lengths-0.txt").write_text("5000\n700\n30\n9000\n1100\n", encoding="utf-8")
    loop = ("lengths-0.txt", "--unit", "ns", "--als", "static,2", "--cores", "2", "--steps", "2")
    network = ("cholesky:tiles=4", "--cores", "4", "--hosts", "2", "--network", "lv08")
    for command, words in (("loop", loop), ("graph", network), ("graph", network[:3])):
        succeeds(command, *words, "--trace", "measured,csv", "--out", "r", "--force")
        succeeds("trace", "convert", "r", "--trace", "measured,csv", "--out", command + words[-1])
        written = list(Path("r/trace").rglob("*.*"))
        assert {path.suffix for path in written} == {".json", ".parquet", ".csv"}
        for path in written:
            assert path.read_bytes() == Path(command + words[-1], path.relative_to("r/trace")).read_bytes(), path
    measured = read_measurement("graphlv08/measured")
    assert measured.regions.kind.tolist() == ["tasks"]
    assert measured.record.remarks == ["dependences are the transfers between cores; others are not known"]
    assert len(measured.tasks) == 20
