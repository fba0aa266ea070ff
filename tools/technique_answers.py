"""The known answers of ``docs/reference/techniques-answers.md``: the chunks of each rule, for ``tools.technique_study``."""

from __future__ import annotations

from itertools import groupby

from als.chunk_sequence import chunk_sequence
from als.techniques import Technique, technique

__all__ = ["ANSWERS", "answers"]

#: The rows of the table of known answers, and where these were seen.
ANSWERS = {
    "static": "a library",
    "ss": "",
    "fsc:h=1,sigma=1": "DLS4LB, LoopSim",
    "fsc:h=1,sigma=1,round=floor": "LB4OMP",
    "fsc:h=2,sigma=1,round=floor": "LB4OMP",
    "mfsc": "a library",
    "gss": "DLS4LB, LoopSim",
    "gss:min=10": "Sun's C manual",
    "gss:round=floor": "",
    "gss:round=closed": "",
    "guided": "LLVM, LB4OMP",
    "guided:chunk=10": "LLVM, LB4OMP",
    "tss": "LB4OMP, DLS4LB, LoopSim",
    "tss:step=real,first_round=ceil": "",
    "tfss": "LB4OMP",
    "fac": "LoopSim",
    "fac2": "LoopSim",
    "fac:rule=closed": "LB4OMP",
    "fac:rule=halving": "LB4OMP",
    "fac:round=floor": "",
    "fac:round=half-even": "",
    "fac:merge=true": "DLS4LB",
    "fac:min=4,merge=true": "DLS4LB",
    "wf:weights=1.6/.8/.8/.8": "",
    "wf:weights=2/1/.5/.5": "",
    "fiss": "LB4OMP",
    "fiss:rest=last": "",
    "viss": "LB4OMP",
    "pls": "LB4OMP",
    "rnd": "",
    "static-steal:chunk=100": "",
    "fac-mu-sigma:mu=1,sigma=1": "LB4OMP",
    "fac-mu-sigma:mu=1,sigma=0.5": "LB4OMP",
    "fac-mu-sigma:mu=1,sigma=0.1": "LB4OMP",
    "fac-mu-sigma:mu=1,sigma=0": "",
    "mfac:mu=1,sigma=1": "",
    "tap:mu=1,sigma=1": "LB4OMP",
    "tap:mu=1,sigma=0.5": "LB4OMP",
    "bold:mu=1,sigma=1,h=1": "",
    "awf": "",
    "awf-b:start=tenth": "LoopSim",
    "awf-d:start=tenth": "LoopSim",
    "awf-c:round=half": "DLS4LB",
    "awf-e:round=half": "DLS4LB",
    "awf-c:start=tenth": "LoopSim",
    "af:round=down": "LoopSim",
    "af:mu=known,sigma=0.5,start=none,spread=deviation,round=half,cap=true": "DLS4LB",
    "maf": "",
}


def answers() -> list[str]:
    """The chunks of each rule, 1000 tasks on 4 cores that ask in turn."""
    lines = ["| `--als` | chunks | seen |", "|---|---|---|"]
    for name, seen in ANSWERS.items():
        rule = technique(name)
        assert isinstance(rule, Technique)
        runs = [(size, len(list(same))) for size, same in groupby(chunk_sequence(rule, 1000, 4))]
        sizes = " ".join(f"{size}×{times}" if times > 1 else f"{size}" for size, times in runs)
        lines.append(f"| `{name}` | {sizes} | {seen} |")
    return lines
