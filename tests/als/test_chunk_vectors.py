"""Chunk sequences for cores that ask in turn: chunks.csv has those of the literature and of other tools, then limits.

Each is known from the rule's formula; most were also seen by running LB4OMP, DLS4LB or LoopSim: which of them rounds as
the parameters say is written in the techniques' modules.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest

from als.chunk_sequence import chunk_sequence
from als.techniques import technique

#: Tasks, cores, the technique and the sizes; ``63x4`` is four chunks of 63.
VECTORS = [
    row.split("|") for row in (Path(__file__).parent / "chunks.csv").read_text(encoding="utf-8").splitlines()[1:]
]


def sizes(text: str) -> list[int]:
    return [
        int(size) for part in text.split() for size, _, times in [part.partition("x")] for _ in range(int(times or 1))
    ]


def compact(chunks: list[int]) -> str:
    """Sizes as :data:`VECTORS` has them, which a failure shows better than hundreds of numbers."""
    runs = [(size, len(list(same))) for size, same in groupby(chunks)]
    return " ".join(f"{size}x{times}" if times > 1 else f"{size}" for size, times in runs)


@pytest.mark.parametrize(("tasks", "cores", "name", "expected"), VECTORS)
def test_chunks(tasks: str, cores: str, name: str, expected: str) -> None:
    assert compact(chunk_sequence(technique(name), int(tasks), int(cores))) == expected
    assert sum(sizes(expected)) == int(tasks)


@pytest.mark.parametrize("tasks", [1, 3, 10, 100, 1000])
@pytest.mark.parametrize("sigma", [0, 0.1, 0.5, 1, 3])
def test_mfac_has_the_chunks_of_fac_mu_sigma(tasks: int, sigma: float) -> None:
    parameters = f"mu=1,sigma={sigma}"
    expected = chunk_sequence(technique(f"fac-mu-sigma:{parameters}"), tasks, 4)
    assert chunk_sequence(technique(f"mfac:{parameters}"), tasks, 4) == expected
