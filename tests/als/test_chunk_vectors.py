"""Chunk sequences that the literature and other tools give for N tasks on P = 4 cores.

STATIC with balanced blocks: LB4OMP. GSS ⌈R/P⌉: DLS4LB and LoopSim. FAC as FAC2 with ⌈R/(2P)⌉ of what remains at the
start of a batch: LoopSim. SS: by definition.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from als.application import Application
from als.techniques import TECHNIQUES

VECTORS = [
    ("static", 1000, [250] * 4),
    ("static", 1001, [251, 250, 250, 250]),
    ("static", 1003, [251, 251, 251, 250]),
    ("static", 100, [25] * 4),
    ("static", 10, [3, 3, 2, 2]),
    ("static", 3, [1, 1, 1]),
    ("ss", 1000, [1] * 1000),
    ("ss", 100, [1] * 100),
    ("ss", 10, [1] * 10),
    (
        "gss",
        1000,
        [250, 188, 141, 106, 79, 59, 45, 33, 25, 19, 14, 11, 8, 6, 4, 3, 3, 2, 1, 1, 1, 1],
    ),
    ("gss", 100, [25, 19, 14, 11, 8, 6, 5, 3, 3, 2, 1, 1, 1, 1]),
    ("gss", 10, [3, 2, 2, 1, 1, 1]),
    (
        "fac",
        1000,
        [125] * 4 + [63] * 4 + [31] * 4 + [16] * 4 + [8] * 4 + [4] * 4 + [2] * 4 + [1] * 4,
    ),
    ("fac", 100, [13] * 4 + [6] * 4 + [3] * 4 + [2] * 4 + [1] * 4),
    ("fac", 10, [2, 2, 2, 2, 1, 1]),
]


@pytest.mark.parametrize(("technique", "tasks", "sizes"), VECTORS, ids=[f"{v[0]}-{v[1]}" for v in VECTORS])
@pytest.mark.parametrize("speeds", [[1.0] * 4, [4.0, 1.0, 2.0, 0.5]], ids=["equal", "unequal"])
def test_chunks(technique: str, tasks: int, sizes: list[int], speeds: list[float]) -> None:
    """The sizes depend on the order of requests alone, not on who asks, except that STATIC gives one block a core."""
    application = Application([1.0] * tasks, speeds, TECHNIQUES[technique])
    assert application.advance()
    chunk = application.state.chunk.tolist()
    starts = [0] + [at for at in range(1, tasks) if chunk[at] != chunk[at - 1]] + [tasks]
    assert [stop - start for start, stop in pairwise(starts)] == sizes
    assert chunk == sorted(chunk)
    assert application.chunks == len(sizes)
    if technique == "static":
        assert [application.state.core[start] for start in starts[:-1]] == list(range(len(sizes)))
