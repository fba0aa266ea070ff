"""SS, self-scheduling: one task at a time. Source: Tang and Yew 1986; two-level paper, section 3."""

from __future__ import annotations

from typing import Any

from als.techniques.contract import Technique, technique_kernel


@technique_kernel
def _next_chunk(n_tasks: int, n_cores: int, core: int, request: int, remaining: int, memo: Any) -> int:
    return 1


SS = Technique("ss", _next_chunk, source="Tang and Yew, ICPP 1986")
