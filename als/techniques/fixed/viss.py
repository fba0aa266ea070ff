"""VISS, variable increase self-scheduling: batches of P equal chunks that grow by ever less.

c_0 = ⌊N/(X · P)⌋; a chunk of batch j is ⌊c_0 · (1 − 0.5^(j+1)) / 0.5⌋ = 2c_0 − ⌈c_0 / 2^j⌉, at least 1: c_0, 1.5c_0,
1.75c_0, … ``x=X`` is P if not given, as LB4OMP has it. In whole numbers, exactly. Where c_0 is 0 LB4OMP assigns nothing.

Source: Philip and Das, "Evaluation of loop scheduling algorithms on distributed memory systems", PDCS 1997; as LB4OMP.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from als.techniques.arithmetic import clamped
from als.techniques.contract import Technique, technique_kernel
from als.techniques.parameter_checks import Checked, count


@technique_kernel
def _next_chunk(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    x = n_cores if math.isnan(params[0]) else int(params[0])
    first = n_tasks // n_cores // x  # as ⌊N/(XP)⌋, but for the product that could overflow
    half = 1 << min(request // n_cores, 60)
    return clamped(2 * first - (first + half - 1) // half, 1, remaining)


@dataclass(frozen=True)
class VissParameters(Checked):
    """``x``: X, a whole number >= 1, or None: P."""

    name: ClassVar[str] = "viss"
    x: int | None = None

    def technique(self) -> Technique:
        return Technique(
            self.name,
            _next_chunk,
            source="Philip and Das, PDCS 1997, as LB4OMP",
            params=(count(self.name, "x", self.x),),
            parameters=self,
        )


VISS = VissParameters().technique()
