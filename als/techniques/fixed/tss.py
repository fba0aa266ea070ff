"""TSS, trapezoid self-scheduling: chunks that shrink linearly from the first to the last.

First chunk f, last chunk l, n = ⌈2N/(f + l)⌉ chunks, step δ = (f − l)/(n − 1); chunk i has f − iδ tasks, and at least
l.

``first=``, ``last=``
    f and l; by default f = N/(2P) rounded by ``first_round`` and l = 1. If l exceeds f, it is f.
``first_round=floor|ceil``
    LB4OMP and LLVM ⌊N/(2P)⌋ (default), DLS4LB and LoopSim ⌈N/(2P)⌉; at least 1.
``steps=ceil|floor``
    How n is rounded: LB4OMP, LLVM and the publication up (default), DLS4LB's C code and LoopSim down; at least 2.
``step=integer|real``
    δ as a whole number, rounded down, as in all three (default), or real as published, with chunks rounded down.

A whole δ is 0 if N/(2P) is small, and TSS then has chunks of fixed size. Everything is computed in whole numbers, exactly.

Source: Tzen and Ni, IEEE Transactions on Parallel and Distributed Systems 4(1), 1993, doi:10.1109/71.205655.

TFSS, trapezoid factoring self-scheduling: batches of P equal chunks, each the mean of P chunks of TSS.

f = ⌈N/(2P)⌉, n = ⌈2N/(f + 1)⌉, δ = ⌊(f − 1)/(n − 1)⌋ as in LB4OMP; a chunk of batch j is the mean of f − (jP + k)δ for
k = 0 … P−1, rounded down; at least 1. If f − jPδ is below 0, f − (n − 1)δ replaces it, also as in LB4OMP. In whole numbers,
exactly.

Source: Chronopoulos, Andonie, Benche and Grosu, "A class of loop self-scheduling for heterogeneous clusters", IEEE
CLUSTER 2001, doi:10.1109/CLUSTR.2001.959989.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from als.parameters import OneOf, WholeNumber
from als.techniques.arithmetic import clamped
from als.techniques.contract import RuleParameters, Technique, technique_kernel
from traces.base.errors import InputError


@technique_kernel
def _next_chunk(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    # memo: f, l and n, computed when the loop begins.
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
class TssParameters(RuleParameters):
    """Parameters of TSS, with ``last`` <= ``first``; see the module."""

    name: ClassVar[str] = "tss"
    step: Annotated[str, OneOf("integer", "real")] = "integer"
    first: Annotated[int | None, WholeNumber()] = None
    last: Annotated[int, WholeNumber()] = 1
    first_round: Annotated[str, OneOf("floor", "ceil")] = "floor"
    steps: Annotated[str, OneOf("ceil", "floor")] = "ceil"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.first is not None and self.first < self.last:
            raise InputError(f"technique {self.name}: last: {self.last}; allowed: 1 to {self.first}, the first chunk")

    def technique(self) -> Technique:
        return self.made(_next_chunk, "Tzen and Ni, IEEE TPDS 4(1), 1993", memo_size=3)


TSS = TssParameters().technique()


@technique_kernel
def _next_factored(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    # memo[0]: the batch's chunk.
    if request % n_cores == 0:
        first = (n_tasks + 2 * n_cores - 1) // (2 * n_cores)
        steps = max(2, (2 * n_tasks + first) // (first + 1))
        step = (first - 1) // (steps - 1)
        top = first - request * step
        if top < 0:
            top = first - (steps - 1) * step
        memo[0] = top - (step * (n_cores - 1) + 1) // 2
    return clamped(int(memo[0]), 1, remaining)


TFSS = Technique("tfss", _next_factored, memo_size=1, source="Chronopoulos, Andonie, Benche and Grosu, CLUSTER 2001")
