"""Draw ``docs/images/techniques.png`` and ``docs/images/techniques-learning.png``: what the chunks of the techniques look like.

    python -m tools.technique_pictures

The first has the sizes that the rules give where cores ask in turn: N = 1000 tasks, P = 4 cores. The second is simulated: the
techniques that look at speeds or learn them, on a core that is twice as fast as the other three.
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

import numpy as np

from als.application import Application
from als.chunk_sequence import chunk_sequence
from als.techniques import Technique, technique
from tools.plain_tool import only
from traces.figures.application.chunk_owners import chunk_owners_figure
from traces.figures.application.chunk_sizes import chunk_sizes_figure
from traces.figures.drawing.canvas import save

__all__ = ["IN_TURN", "LEARNING", "SPEEDS", "learned", "main", "sizes"]

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"

N, P = 1000, 4

#: The first picture's panels, and what they show, as ``--als`` has it.
IN_TURN = {
    "static": "static",
    "ss": "ss",
    "fsc, h = σ": "fsc:h=1,sigma=1",
    "mfsc": "mfsc",
    "gss": "gss",
    "guided": "guided",
    "tss": "tss",
    "tfss": "tfss",
    "fac": "fac",
    "wf, core 0 twice as fast": "wf:weights=1.6/.8/.8/.8",
    "fac-mu-sigma, σ = µ": "fac-mu-sigma:mu=1,sigma=1",
    "tap, σ = µ": "tap:mu=1,sigma=1",
    "bold, h = σ = µ": "bold:mu=1,sigma=1,h=1",
    "pls": "pls",
    "fiss": "fiss",
    "viss": "viss",
    "rnd": "rnd",
    "static-steal:chunk=20": "static-steal:chunk=20",
    "awf-b:start=tenth": "awf-b:start=tenth",
    "awf-c": "awf-c",
}

#: The second picture's panels; σ is a quarter of µ, h a tenth.
LEARNING = ("gss", "fac", "wf", "awf-b", "awf-c", "af")

#: GFLOP/s.
SPEEDS = [2.0, 1.0, 1.0, 1.0]


def _named(name: str) -> Technique:
    found = technique(name)
    assert isinstance(found, Technique)
    return found


def sizes(name: str) -> list[int]:
    """The chunks of a rule, cores asking in turn."""
    return chunk_sequence(_named(name), N, P)


def learned(name: str) -> tuple[list[int], list[int]]:
    """Sizes and cores of the chunks of a simulated loop, in the order of assignment."""
    lengths = np.random.Generator(np.random.Philox(1)).normal(1.0, 0.25, N).clip(0.01)
    application = Application(lengths, SPEEDS, _named(name), overhead_ns=10**8)
    application.advance()
    state = application.state
    order = np.argsort(state.chunk, kind="stable")  # a chunk's tasks need not follow each other in the loop's order
    chunks = [(chunk, len(list(same))) for chunk, same in groupby(state.chunk[order].tolist())]
    first = dict(zip(state.chunk.tolist()[::-1], state.core.tolist()[::-1], strict=True))
    return [size for _, size in chunks], [first[chunk] for chunk, _ in chunks]


def main() -> int:
    """Write the pictures."""
    pictures = {
        "techniques.png": chunk_sizes_figure({label: sizes(name) for label, name in IN_TURN.items()}),
        "techniques-learning.png": chunk_owners_figure({name: learned(name) for name in LEARNING}, marked=0),
    }
    for name, figure in pictures.items():
        sys.stdout.write(f"{save(figure, IMAGES / name)}\n")
    return 0


if __name__ == "__main__":
    only(__doc__)
    sys.exit(main())
