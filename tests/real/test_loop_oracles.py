"""The application level against other tools: SimGrid's tasks and cores, and chunk sequences by formula.

SimGrid labels tied cores as it likes, so finishing times are compared sorted; and it rounds nothing to nanoseconds, so a time
may be off by a nanosecond for each task that its core has run.
"""

import gzip
import json
import tomllib
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from als.application import ApplicationSimulator
from als.chunk_sequence import chunk_sequence
from als.techniques import Technique, technique

_TABLES = tomllib.loads((Path(__file__).parent / "tables" / "loop_oracles.toml").read_text("utf-8"))

#: What SimGrid has run, and rules whose sequences are known by formula: as they are called here.
SIMGRID, FORMULAS = _TABLES["simgrid"], _TABLES["formulas"]


def named(name: str) -> Technique:
    found = technique(name)
    assert isinstance(found, Technique)
    return found


def runs(values: list[int]) -> list[list[int]]:
    return [[value, len(list(same))] for value, same in groupby(values)]


def cases(shared: Path) -> dict[str, tuple[dict[str, Any], np.ndarray]]:
    found = {}
    for path in sorted((shared / "oracles" / "simgrid" / "als").glob("c*.json.gz")):
        name = path.name.removesuffix(".json.gz")
        lengths = np.loadtxt(path.with_name(f"{name}.lengths.txt"), ndmin=1)
        found[name] = json.loads(gzip.decompress(path.read_bytes())), lengths
        assert len(lengths) == found[name][0]["T"]
    assert len(found) >= 9
    return found


@pytest.mark.parametrize("theirs", SIMGRID)
def test_tasks_and_cores_are_simgrids(shared: Path, theirs: str) -> None:
    for name, (case, lengths) in cases(shared).items():
        expected = case["techniques"][theirs]
        application = ApplicationSimulator(lengths, [case["core_gflops"]] * case["P"], named(SIMGRID[theirs]))
        assert application.advance()
        state = application.state
        assert application.chunks == expected["n_chunks"], name

        # The sizes of the chunks in the order in which they were assigned, and when each task ran: one after the other from
        # the instant at which its chunk was assigned.
        chunks = sorted(expected["chunks"], key=lambda chunk: chunk[1])
        sizes = [len(list(group)) for _, group in groupby(state.chunk.tolist())]
        assert sizes == [size for _, _, size, _ in chunks], name
        start, end = np.zeros(len(lengths)), np.zeros(len(lengths))
        for _, first, size, assigned in chunks:
            work = np.cumsum(lengths[first : first + size]) / case["core_gflops"]
            end[first : first + size] = assigned + work
            start[first : first + size] = assigned + np.append(0.0, work[:-1])
        ran = np.zeros(len(lengths))  # how many tasks its core has run by the end of each
        for c in range(case["P"]):
            mine = np.flatnonzero(state.core == c)
            ran[mine] = np.arange(len(mine)) + 1
        assert (np.abs(state.start_ns - start * 1e9) <= ran).all(), name
        assert (np.abs(state.end_ns - end * 1e9) <= ran).all(), name

        finish = np.sort(state.cores.finish_ns)
        apart = np.abs(finish - np.sort(expected["core_finish"]) * 1e9)
        assert apart.max() <= max(expected["core_tasks"]), name
        assert sorted(np.bincount(state.core, minlength=case["P"]).tolist()) == sorted(expected["core_tasks"]), name
        assert abs(application.end_ns - expected["makespan"] * 1e9) <= max(expected["core_tasks"]), name


def test_every_technique_that_simgrid_ran_is_compared(shared: Path) -> None:
    for case, _ in cases(shared).values():
        assert set(case["techniques"]) == set(SIMGRID)


def vectors(shared: Path) -> dict[str, dict[str, list[list[int]]]]:
    found: dict[str, dict[str, list[list[int]]]] = json.loads(
        (shared / "oracles" / "loop-chunks.json").read_text(encoding="utf-8")
    )
    assert len(found) >= 2
    return found


@pytest.mark.parametrize("theirs", FORMULAS)
def test_chunks_are_those_of_the_formulas(shared: Path, theirs: str) -> None:
    compared = 0
    for setting, sequences in vectors(shared).items():
        tasks, cores = (int(part.split("=")[1]) for part in setting.split(","))
        rule = named(FORMULAS[theirs])
        assert runs(chunk_sequence(rule, tasks, cores)) == sequences[theirs], setting
        compared += 1
        if rule.name == "wf":  # its cores do not ask in turn where chunks end as they do in a run
            continue
        application = ApplicationSimulator([1.0] * tasks, [1.0] * cores, rule)
        assert application.advance()
        chunk = application.state.chunk
        starts = [0, *(np.flatnonzero(np.diff(chunk)) + 1).tolist(), tasks]
        assert runs([stop - start for start, stop in pairwise(starts)]) == sequences[theirs], setting
    assert compared >= 2


def test_every_formula_is_compared(shared: Path) -> None:
    for setting, sequences in vectors(shared).items():
        assert set(sequences) == set(FORMULAS), setting
