"""FISS and VISS, fixed and variable increase self-scheduling: batches of P equal chunks that grow by the same number of tasks,
or by decreasing steps. In whole numbers, exactly. Formulas and parameters: docs/reference/techniques-nonadaptive.md.

Source: Philip and Das, "Evaluation of loop scheduling algorithms on distributed memory systems", PDCS 1997; as LB4OMP.
"""

import math
from typing import Annotated, Any

from als.parameters import OneOf, WholeNumber
from als.techniques.arithmetic import clamped
from als.techniques.contract import RuleParameters, technique_kernel

_SOURCE = "Philip and Das, PDCS 1997, as LB4OMP"

MOST_STAGES = 2**20  #: more stages would not fit into 64 bits, and every chunk would be a single task


@technique_kernel
def _next_chunk(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    # memo[0]: the stage's chunk.
    if request % n_cores == 0:
        stages = max(2, n_cores - 1) if math.isnan(params[0]) else int(params[0])
        stage = request // n_cores
        if params[1] != 0.0 and stage >= stages - 1:
            memo[0] = (remaining + n_cores - 1) // n_cores
        else:
            # ⌊⌊a/b⌋/c⌋ is ⌊a/(b·c)⌋, and the whole product could overflow.
            step = 4 * n_tasks // ((stages + 2) * n_cores) // (stages * (stages - 1))
            memo[0] = n_tasks // ((2 + stages) * n_cores) + stage * step
    return clamped(int(memo[0]), 1, remaining)


class FissParameters(RuleParameters, name="fiss", next_chunk=_next_chunk, memo_size=1, source=_SOURCE):
    """``stages``: S, or None: from P."""

    stages: Annotated[int | None, WholeNumber(2, MOST_STAGES)] = None
    rest: Annotated[str, OneOf("run-on", "last")] = "run-on"


FISS = FissParameters().technique()


@technique_kernel
def _next_variable(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    x = n_cores if math.isnan(params[0]) else int(params[0])
    first = n_tasks // n_cores // x  # ⌊N/(XP)⌋ without the product, which could overflow
    half = 1 << min(request // n_cores, 60)
    return clamped(2 * first - (first + half - 1) // half, 1, remaining)


class VissParameters(RuleParameters, name="viss", next_chunk=_next_variable, source=_SOURCE):
    """``x``: X, or None: P."""

    x: Annotated[int | None, WholeNumber()] = None


VISS = VissParameters().technique()
