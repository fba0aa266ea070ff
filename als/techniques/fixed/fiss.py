"""FISS, fixed increase self-scheduling: batches of P equal chunks that grow by the same number of tasks, in S stages.

c_0 = ⌊N / ((2 + S) · P)⌋, δ = ⌊4N / ((S + 2) · P · S · (S − 1))⌋; a chunk of stage j is c_0 + jδ, at least 1. In whole
numbers, exactly. LB4OMP raises a c_0 of 0 to the loop's chunk size before it adds jδ.

``stages=S``
    S >= 2. Not given, P − 1 as LB4OMP, or 2 if that is less: with S = 1 there is no δ.
``rest=run-on|last``
    What follows stage S − 1: LB4OMP goes on by the same rule (default); with ``last`` the last stage, as published,
    shares out the rest, ⌈R/P⌉ of what remains at its start.

Source: Philip and Das, "Evaluation of loop scheduling algorithms on distributed memory systems", PDCS 1997; as LB4OMP.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from als.techniques.arithmetic import clamped
from als.techniques.contract import Technique, technique_kernel
from als.techniques.parameter_checks import Checked, chosen
from traces.base.errors import whole

_REST = ("run-on", "last")

#: More stages would be more than 64 bits have room for, and every chunk a single task.
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
class FissParameters(Checked):
    """``stages``: S, 2 to ``MOST_STAGES``, or None: from P; ``rest``: ``run-on`` or ``last``."""

    name: ClassVar[str] = "fiss"
    stages: int | None = None
    rest: str = "run-on"

    def _params(self) -> tuple[float, ...]:
        stages = math.nan
        if self.stages is not None:
            stages = float(whole(f"technique {self.name}: stages", self.stages, 2, MOST_STAGES))
        return stages, chosen(self.name, "rest", self.rest, _REST)

    def technique(self) -> Technique:
        return Technique(
            self.name,
            _next_chunk,
            memo_size=1,
            source="Philip and Das, PDCS 1997, as LB4OMP",
            params=self._params(),
            parameters=self,
        )


FISS = FissParameters().technique()
