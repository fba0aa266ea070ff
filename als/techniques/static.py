"""STATIC: one block of consecutive tasks a core, in a single round.

With N tasks on P cores the first N mod P blocks are one task longer, the balanced blocks of the field.
Source: two-level paper, section 3; rounding as LB4OMP.
"""

from __future__ import annotations

from typing import Any

from als.techniques.contract import Technique, technique_kernel


@technique_kernel
def _next_chunk(n_tasks: int, n_cores: int, core: int, request: int, remaining: int, memo: Any) -> int:
    if request >= n_cores:
        return 0
    # Cores ask in core order at the start, so the blocks are in core order too.
    return n_tasks // n_cores + (1 if core < n_tasks % n_cores else 0)


STATIC = Technique("static", _next_chunk, source="two-level paper, section 3")
