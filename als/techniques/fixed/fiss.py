"""FISS, fixed increase self-scheduling: batches of P equal chunks that grow by the same number of tasks, in S stages.

c_0 = ⌊N / ((2 + S) · P)⌋, δ = ⌊4N / ((S + 2) · P · S · (S − 1))⌋; a chunk of stage j is c_0 + jδ, at least 1. In whole
numbers, exactly. LB4OMP raises a c_0 of 0 to the loop's chunk size before it adds jδ.

``stages=S``
    S >= 2. By default P − 1 as LB4OMP, but at least 2: with S = 1 there is no δ.
``rest=run-on|last``
    After stage S − 1: LB4OMP continues with the same rule (default); with ``last`` the last stage, as published, shares out
    the rest, ⌈R/P⌉ of the tasks left at its start.

VISS, variable increase self-scheduling: batches of P equal chunks that grow by decreasing steps.

c_0 = ⌊N/(X · P)⌋; a chunk of batch j is ⌊c_0 · (1 − 0.5^(j+1)) / 0.5⌋ = 2c_0 − ⌈c_0 / 2^j⌉, at least 1: c_0, 1.5c_0,
1.75c_0, … ``x=X`` is P by default, as in LB4OMP. In whole numbers, exactly. If c_0 is 0, LB4OMP assigns nothing.

Source: Philip and Das, "Evaluation of loop scheduling algorithms on distributed memory systems", PDCS 1997; as LB4OMP.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from als.parameters import OneOf, WholeNumber
from als.techniques.arithmetic import clamped
from als.techniques.contract import RuleParameters, Technique, technique_kernel

#: More stages would not fit into 64 bits, and every chunk would be a single task.
MOST_STAGES = 2**20


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


@dataclass(frozen=True)
class FissParameters(RuleParameters):
    """``stages``: S, or None: from P."""

    name: ClassVar[str] = "fiss"
    stages: Annotated[int | None, WholeNumber(2, MOST_STAGES)] = None
    rest: Annotated[str, OneOf("run-on", "last")] = "run-on"

    def technique(self) -> Technique:
        return self.made(_next_chunk, "Philip and Das, PDCS 1997, as LB4OMP", memo_size=1)


FISS = FissParameters().technique()


@technique_kernel
def _next_variable(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    x = n_cores if math.isnan(params[0]) else int(params[0])
    first = n_tasks // n_cores // x  # ⌊N/(XP)⌋ without the product, which could overflow
    half = 1 << min(request // n_cores, 60)
    return clamped(2 * first - (first + half - 1) // half, 1, remaining)


@dataclass(frozen=True)
class VissParameters(RuleParameters):
    """``x``: X, or None: P."""

    name: ClassVar[str] = "viss"
    x: Annotated[int | None, WholeNumber()] = None

    def technique(self) -> Technique:
        return self.made(_next_variable, "Philip and Das, PDCS 1997, as LB4OMP")


VISS = VissParameters().technique()
