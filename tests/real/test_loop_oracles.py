"""The application level against other tools: SimGrid's finishing times, and chunk sequences by formula.

SimGrid labels tied cores as it likes, so finishing times are compared sorted; and it rounds nothing to nanoseconds, so each
core may be off by a nanosecond a task.
"""

from __future__ import annotations

import gzip
import json
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
import pytest

from als.application import Application
from als.techniques import TECHNIQUES

SIMGRID = {"STATIC_BAL": "static", "SS": "ss", "GSS": "gss", "FAC2": "fac"}
FORMULAS = {"STATIC_block": "static", "SS": "ss", "GSS_ceil": "gss", "FAC2_remaining_ceil": "fac"}


@pytest.mark.parametrize("theirs", SIMGRID)
def test_core_finishing_times_are_simgrids(shared: Path, theirs: str) -> None:
    compared = 0
    for path in sorted((shared / "oracles" / "simgrid" / "als").glob("c*.json.gz")):
        case = json.loads(gzip.decompress(path.read_bytes()))
        lengths = np.loadtxt(path.with_name(path.name.replace(".json.gz", ".lengths.txt")), ndmin=1)
        assert len(lengths) == case["T"]
        expected = case["techniques"][theirs]
        application = Application(lengths, [case["core_gflops"]] * case["P"], TECHNIQUES[SIMGRID[theirs]])
        assert application.advance()
        assert application.chunks == expected["n_chunks"], path.name
        finish = np.sort(application.state.finish_ns)
        apart = np.abs(finish - np.sort(expected["core_finish"]) * 1e9)
        assert apart.max() <= max(expected["core_tasks"]) + 1, path.name
        assert application.end_ns == pytest.approx(expected["makespan"] * 1e9, abs=len(lengths) + 1)
        # The sizes of the chunks too, in the order in which they were assigned.
        sizes = [len(list(group)) for _, group in groupby(application.state.chunk.tolist())]
        by_first = sorted(expected["chunks"], key=lambda chunk: chunk[1])
        assert sizes == [size for _, _, size, _ in by_first], path.name
        compared += 1
    assert compared >= 9


@pytest.mark.parametrize("theirs", FORMULAS)
def test_chunks_are_those_of_the_formulas(shared: Path, theirs: str) -> None:
    vectors = json.loads((shared / "oracles" / "loop-chunks.json").read_text(encoding="utf-8"))
    assert len(vectors) >= 2
    for setting, sequences in vectors.items():
        tasks, cores = (int(part.split("=")[1]) for part in setting.split(","))
        application = Application([1.0] * tasks, [1.0] * cores, TECHNIQUES[FORMULAS[theirs]])
        assert application.advance()
        chunk = application.state.chunk
        starts = [0, *(np.flatnonzero(np.diff(chunk)) + 1).tolist(), tasks]
        sizes = [stop - start for start, stop in pairwise(starts)]
        assert [[size, len(list(same))] for size, same in groupby(sizes)] == sequences[theirs], setting
