"""Chunk sequences that the literature and other tools give for N tasks on P = 4 cores that ask in turn.

Each is known from the rule's formula; most were also seen by running LB4OMP, DLS4LB or LoopSim: which of them rounds as
the parameters say is written in the techniques' modules.
"""

from __future__ import annotations

from itertools import groupby

import pytest

from als.chunk_sequence import chunk_sequence
from als.techniques import technique

#: N, the technique, the sizes; ``63x4`` is four chunks of 63.
VECTORS = [
    # N = 1003
    (1003, "static", "251x3 250"),
    # N = 1001
    (1001, "static", "251 250x3"),
    # N = 1000
    (1000, "static", "250x4"),
    (1000, "static:round=ceil", "250x4"),
    (1000, "ss", "1x1000"),
    (1000, "fsc:h=1,sigma=1,round=ceil", "45x22 10"),
    (1000, "fsc:h=1,sigma=1,round=floor", "44x22 32"),
    (1000, "fsc:h=2,sigma=1,round=ceil", "72x13 64"),
    (1000, "fsc:h=2,sigma=1,round=floor", "71x14 6"),
    (1000, "fsc:h=10,sigma=1,round=ceil", "209x4 164"),
    (1000, "fsc:h=10,sigma=1,round=floor", "208x4 168"),
    (1000, "fsc:h=0.1,sigma=1,round=ceil", "10x100"),
    (1000, "fsc:h=0.1,sigma=1,round=floor", "9x111 1"),
    (1000, "mfsc", "31x32 8"),
    (1000, "gss", "250 188 141 106 79 59 45 33 25 19 14 11 8 6 4 3x2 2 1x4"),
    (1000, "gss:round=closed", "250 188 141 106 80 60 45 34 26 19 15 11 8 6 5 4 2"),
    (1000, "gss:round=floor", "250 187 140 105 79 59 45 33 25 19 14 11 8 6 4 3x2 2 1x7"),
    (1000, "guided", "125 109 95 83 73 64 56 49 43 37 33 29 25 22 19 17 15 13 11 10 9 7x2 6 5 4x2 3x3 2x3 1x15"),
    (1000, "tss", "125 117 109 101 93 85 77 69 61 53 45 37 28"),
    (1000, "tss:step=real,first_round=ceil", "125 116 108 100 91 83 75 67 58 50 42 34 25 17 9"),
    (1000, "tss:first_round=ceil,steps=floor", "125 117 109 101 93 85 77 69 61 53 45 37 28"),
    (1000, "fac-mu-sigma:mu=1,sigma=1", "229x4 9x4 5x4 3x4 2x4 1x8"),
    (1000, "fac-mu-sigma:mu=1,sigma=0.5", "240x4 5x4 2x8 1x4"),
    (1000, "fac-mu-sigma:mu=1,sigma=0.1", "248x4 1x8"),
    (1000, "fac-mu-sigma:mu=1,sigma=0", "250x4"),
    (1000, "fac", "125x4 63x4 31x4 16x4 8x4 4x4 2x4 1x4"),
    (1000, "fac:rule=closed", "125x4 63x4 32x4 16x4 8x4 4x4 2x4"),
    (1000, "fac:rule=halving", "125x4 63x4 32x4 16x4 8x4 4x4 2x4"),
    (1000, "fac2:round=floor", "125x4 62x4 31x4 16x4 8x4 4x4 2x4 1x8"),
    (1000, "fac:round=half-even", "125x4 62x4 32x4 16x4 8x4 4x4 2x4 1x4"),
    (1000, "tfss", "113x4 81x4 49x4 17 11"),
    (1000, "fiss", "50x4 83x4 116x4 4"),
    (1000, "viss", "62x4 93x4 108x3 56"),
    (1000, "pls", "125x5 94 71 53 40 30 23 17 13 10 8 6 4 3x2"),
    (1000, "tap:mu=1,sigma=1", "229 174 133 102 78 60 46 36 28 22 17 14 11 8 7 6 4x2 3 2x3 1x12"),
    (1000, "tap:mu=1,sigma=0.5", "239 181 137 104 79 60 46 35 27 20 16 12 9 7 6 4x2 3 2x2 1x7"),
    (1000, "tap:mu=1,sigma=0.1", "248 187 140 105 79 60 45 34 25 19 14 11 8 6 5 4 3 2x2 1x3"),
    (1000, "wf:weights=1.6/.8/.8/.8", "200 100x3 101 51x3 50 25x3 26 13x3 12 6x3 7 4x3 2 1x3 2"),
    (1000, "wf:weights=2/1/.5/.5", "250 125 63x2 126 63 32x2 62 31 16x2 32 16 8x2 16 8 4x2 8 4 2x2 4 2 1x3"),
    (1000, "guided:chunk=10", "125 109 95 83 73 64 56 49 43 37 33 29 25 22 19 17 15 13 11 10x8 2"),
    (1000, "fac:min=4,merge=true", "125x4 63x4 31x4 16x4 8x4 4 4 8 4 8"),
    (1000, "fac:merge=true", "125x4 63x4 31x4 16x4 8x4 4x4 2x4 1 1 2"),
    (1000, "fiss:rest=last", "50x4 83x4 117x4"),
    # N = 100
    (100, "static", "25x4"),
    (100, "ss", "1x100"),
    (100, "gss", "25 19 14 11 8 6 5 3 3 2 1x4"),
    (100, "gss:round=closed", "25 19 15 11 8 6 5 4 3 2 2"),
    (100, "gss:round=floor", "25 18 14 10 8 6 4 3 3 2 1x7"),
    (100, "guided", "12 11 9 8 7 6 5 5 4 4 3 3 2x4 1x15"),
    (100, "tss", "12x8 4"),
    (100, "tss:first_round=ceil,steps=floor", "13x7 9"),
    (100, "tss:step=real,first_round=ceil", "13 12 11 10 9 8 7 7 6 5 4 3 2 1x3"),
    (100, "fsc:h=1,sigma=1", "10x10"),
    (100, "mfsc", "5x20"),
    (100, "fac-mu-sigma:mu=1,sigma=1", "19x4 2x8 1x8"),
    (100, "fac", "13x4 6x4 3x4 2x4 1x4"),
    (100, "fac:rule=closed", "13x4 7x4 4x4 2 2"),
    (100, "tfss", "13x7 9"),
    (100, "fiss", "5x4 8x4 11x4 4"),
    (100, "viss", "6x4 9x4 10x4"),
    (100, "pls", "13x4 12 9 7 6 4 3 3 2 2"),
    # N = 10
    (10, "static", "3x2 2x2"),
    (10, "static:round=ceil", "3x3 1"),
    (10, "ss", "1x10"),
    (10, "fsc:h=1,sigma=1,round=ceil", "3x3 1"),
    (10, "fsc:h=1,sigma=1,round=floor", "2x5"),
    (10, "fsc:h=2,sigma=1,round=ceil", "4x2 2"),
    (10, "fsc:h=2,sigma=1,round=floor", "3x3 1"),
    (10, "fsc:h=10,sigma=1,round=ceil", "10"),
    (10, "fsc:h=10,sigma=1,round=floor", "9 1"),
    (10, "fsc:h=0.1,sigma=1,round=ceil", "1x10"),
    (10, "fsc:h=0.1,sigma=1,round=floor", "1x10"),
    (10, "mfsc", "2x5"),
    (10, "gss", "3 2x2 1x3"),
    (10, "gss:round=closed", "3 2x3 1"),
    (10, "gss:round=floor", "2x2 1x6"),
    (10, "guided", "1x10"),
    (10, "tss", "1x10"),
    (10, "tss:step=real,first_round=ceil", "2 1x8"),
    (10, "tss:first_round=ceil,steps=floor", "2x5"),
    (10, "fac-mu-sigma:mu=1,sigma=1", "2x4 1x2"),
    (10, "fac-mu-sigma:mu=1,sigma=0.5", "2x4 1x2"),
    (10, "fac-mu-sigma:mu=1,sigma=0.1", "3x3 1"),
    (10, "fac-mu-sigma:mu=1,sigma=0", "3x3 1"),
    (10, "fac", "2x4 1x2"),
    (10, "fac:rule=closed", "2x4 1x2"),
    (10, "fac:rule=halving", "2x4 1x2"),
    (10, "fac2:round=floor", "1x10"),
    (10, "fac:round=half-even", "1x10"),
    (10, "tfss", "2x5"),
    (10, "fiss", "1x10"),
    (10, "viss", "1x10"),
    (10, "pls", "2x4 1x2"),
    (10, "tap:mu=1,sigma=1", "1x10"),
    (10, "tap:mu=1,sigma=0.5", "2x2 1x6"),
    (10, "tap:mu=1,sigma=0.1", "3 2x2 1x3"),
    (10, "wf:weights=1.6/.8/.8/.8", "4 2x3"),
    (10, "wf:weights=2/1/.5/.5", "4 2 1x2 2"),
    # N = 3
    (3, "static", "1x3"),
    # OpenMP's schedules; OMP_SCHEDULE may have capitals and spaces
    (10, "static,3", "3x3 1"),
    (10, "dynamic", "1x10"),
    (10, "dynamic,4", "4x2 2"),
    (10, "monotonic:dynamic,4", "4x2 2"),
    (10, "NonMonotonic : Dynamic , 2", "2x5"),
    (100, "GUIDED,8", "12 11 9 8x8 4"),
    (10, "schedule(dynamic, 4)", "4x2 2"),
    (10, "static_steal", "1x10"),
    (10, "trapezoidal", "1x10"),
]


def sizes(text: str) -> list[int]:
    """The sizes in turn."""
    return [
        int(size) for part in text.split() for size, _, times in [part.partition("x")] for _ in range(int(times or 1))
    ]


def compact(chunks: list[int]) -> str:
    """Sizes as :data:`VECTORS` has them, which a failure shows better than hundreds of numbers."""
    runs = [(size, len(list(same))) for size, same in groupby(chunks)]
    return " ".join(f"{size}x{times}" if times > 1 else f"{size}" for size, times in runs)


@pytest.mark.parametrize(("tasks", "name", "expected"), VECTORS, ids=[f"{tasks}-{name}" for tasks, name, _ in VECTORS])
def test_chunks(tasks: int, name: str, expected: str) -> None:
    assert compact(chunk_sequence(technique(name), tasks, 4)) == compact(sizes(expected))
    assert sum(sizes(expected)) == tasks


@pytest.mark.parametrize("tasks", [1, 3, 10, 100, 1000])
@pytest.mark.parametrize("sigma", [0, 0.1, 0.5, 1, 3])
def test_mfac_has_the_chunks_of_fac_mu_sigma(tasks: int, sigma: float) -> None:
    parameters = f"mu=1,sigma={sigma}"
    expected = chunk_sequence(technique(f"fac-mu-sigma:{parameters}"), tasks, 4)
    assert chunk_sequence(technique(f"mfac:{parameters}"), tasks, 4) == expected
