"""Loops against SimGrid and formulas, and dispatches whose optima are known by another exhaustive search."""

import gzip
import json
import tomllib
from fractions import Fraction
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from als.application import ApplicationSimulator
from als.chunk_sequence import chunk_sequence
from als.techniques import Technique, technique
from bls.cp import Instance, Parameters, Queue, RunningUnits
from bls.cp.dispatch import plan
from bls.cp.problem import problem_of, select

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


CASES = (
    "1-serial", "2-running", "3-pool-lies", "4-contiguous", "5-gpu", "6-parallel", "7-overdue", "8-now",
)  # fmt: skip

#: The models by the names of their sets of plans.
SETS = {"pool": "hcp19", "nodes": "pcp19", "boxes": "pcp20"}


def instance(case: dict[str, Any]) -> Instance:
    running, queue = case["running"], case["queue"]
    places = [(k, int(node), units) for k, job in enumerate(running) for node, units in job["units_on_node"].items()]

    def column(values: list[int]) -> np.ndarray[Any, Any]:
        return np.array(values, np.int64)

    def table(rows: list[list[int]]) -> np.ndarray[Any, Any]:
        return np.array(rows, np.int64).reshape(len(rows), len(case["resources"]))

    return Instance(
        tuple(case["resources"]),
        table(case["capacity_per_node"]),
        RunningUnits(
            column([job["left"] for job in running]),
            table([job["per_unit"] for job in running]),
            *(column([place[k] for place in places]) for k in range(3)),
        ),
        Queue(
            column([job["id"] for job in queue]),
            column([-job["submit"] for job in queue]),
            column([job["duration"] for job in queue]),
            column([job["units"] for job in queue]),
            table([job["per_unit"] for job in queue]),
        ),
    )


@pytest.mark.parametrize("which", ["all", "fits"])
@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("name", CASES)
def test_optima(name: str, kind: str, which: str, shared: Path) -> None:
    case = json.loads((shared / "oracles" / "cp-dispatch" / f"{name}.json").read_text(encoding="utf-8"))
    made = instance(case)
    chosen = select(made, 100, which)
    if which == "fits":
        assert made.queue.row[chosen].tolist() == case["fit_now_one_by_one"]
        if not case["fit_now_one_by_one"]:
            return
    wanted = case["optimum"][kind]["objective"] if which == "all" else case["optimum_of_these"][kind]
    found = plan(problem_of(made, chosen), SETS[kind], Parameters(limit_s=5.0), row=made.queue.row)
    assert (found.value, found.bound, found.status) == (Fraction(wanted), Fraction(wanted), "optimal")
