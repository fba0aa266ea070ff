"""TSS, trapezoid self-scheduling: chunks that shrink linearly from the first to the last; and TFSS, trapezoid factoring:
batches of P equal chunks, each the mean of P chunks of TSS. Everything is computed in whole numbers, exactly. Formulas and
parameters: docs/reference/techniques-nonadaptive.md.

Sources: Tzen and Ni, IEEE TPDS 4(1), 1993, doi:10.1109/71.205655; Chronopoulos, Andonie, Benche and Grosu, IEEE CLUSTER 2001,
doi:10.1109/CLUSTR.2001.959989.
"""

import math
from typing import Annotated, Any

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
        memo[0], memo[1], memo[2] = first, last, max(2, steps)
    first, last, steps = int(memo[0]), int(memo[1]), int(memo[2])
    if params[0] == 0.0:
        size = first - request * ((first - last) // (steps - 1))
    else:  # ⌊f − x⌋ = f − ⌈x⌉
        size = first - (request * (first - last) + steps - 2) // (steps - 1)
    return clamped(size, last, remaining)


class TssParameters(
    RuleParameters, name="tss", next_chunk=_next_chunk, memo_size=3, source="Tzen and Ni, IEEE TPDS 4(1), 1993"
):
    """Parameters of TSS, with ``last`` <= ``first``; see the module."""

    step: Annotated[str, OneOf("integer", "real")] = "integer"
    first: Annotated[int | None, WholeNumber()] = None
    last: Annotated[int, WholeNumber()] = 1
    first_round: Annotated[str, OneOf("floor", "ceil")] = "floor"
    steps: Annotated[str, OneOf("ceil", "floor")] = "ceil"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.first is not None and self.first < self.last:
            raise InputError(f"technique {self.name}: last: {self.last}; allowed: 1 to {self.first}, the first chunk")


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
