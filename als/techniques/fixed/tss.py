"""TSS, trapezoid self-scheduling: chunks that shrink by the same number of tasks from the first to the last.

First chunk f, last chunk l, n = ⌈2N/(f + l)⌉ chunks, step δ = (f − l)/(n − 1); chunk i has f − iδ tasks, and at least
l.

``first=``, ``last=``
    f and l; not given, f = N/(2P) rounded by ``first_round`` and l = 1. An l above f is f.
``first_round=floor|ceil``
    LB4OMP and LLVM ⌊N/(2P)⌋ (default), DLS4LB and LoopSim ⌈N/(2P)⌉; at least 1.
``steps=ceil|floor``
    How n is rounded: LB4OMP, LLVM and the publication up (default), DLS4LB's C code and LoopSim down; at least 2.
``step=integer|real``
    δ as a whole number, rounded down, as all three have it (default), or real as published, chunks then rounded down.

A whole δ is 0 where N/(2P) is small, and TSS then is a fixed-size rule. All is computed in whole numbers, exactly.

Source: Tzen and Ni, IEEE Transactions on Parallel and Distributed Systems 4(1), 1993, doi:10.1109/71.205655.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from als.techniques.arithmetic import clamped
from als.techniques.contract import Technique, technique_kernel
from als.techniques.parameter_checks import Checked, chosen, count
from traces.base.errors import InputError

_STEP = ("integer", "real")
_FIRST_ROUND = ("floor", "ceil")
_STEPS = ("ceil", "floor")


@technique_kernel
def _next_chunk(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    # memo: f, l and n, found as the loop begins.
    if request == 0:
        if not math.isnan(params[1]):
            first = min(int(params[1]), n_tasks)
        elif params[3] == 0.0:
            first = max(1, n_tasks // (2 * n_cores))
        else:
            first = (n_tasks + 2 * n_cores - 1) // (2 * n_cores)
        last = min(first, int(params[2]))
        steps = 2 * n_tasks // (first + last)
        if params[4] == 0.0 and steps * (first + last) < 2 * n_tasks:
            steps += 1
        memo[0] = first
        memo[1] = last
        memo[2] = max(2, steps)
    first, last, steps = int(memo[0]), int(memo[1]), int(memo[2])
    if params[0] == 0.0:
        size = first - request * ((first - last) // (steps - 1))
    else:  # ⌊f − x⌋ = f − ⌈x⌉
        size = first - (request * (first - last) + steps - 2) // (steps - 1)
    return clamped(size, last, remaining)


@dataclass(frozen=True)
class TssParameters(Checked):
    """As the module says; ``first`` and ``last`` >= 1, ``last`` <= ``first``."""

    name: ClassVar[str] = "tss"
    step: str = "integer"
    first: int | None = None
    last: int = 1
    first_round: str = "floor"
    steps: str = "ceil"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.first is not None and self.first < self.last:
            raise InputError(f"technique {self.name}: last: {self.last}; allowed: 1 to {self.first}, the first chunk")

    def technique(self) -> Technique:
        return Technique(
            self.name,
            _next_chunk,
            memo_size=3,
            source="Tzen and Ni, IEEE TPDS 4(1), 1993",
            params=(
                chosen(self.name, "step", self.step, _STEP),
                count(self.name, "first", self.first),
                count(self.name, "last", self.last),
                chosen(self.name, "first_round", self.first_round, _FIRST_ROUND),
                chosen(self.name, "steps", self.steps, _STEPS),
            ),
            parameters=self,
        )


TSS = TssParameters().technique()
