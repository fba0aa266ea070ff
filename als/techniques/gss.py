"""GSS, guided self-scheduling: ⌈R/P⌉ of the R remaining tasks. Source: Polychronopoulos and Kuck 1987."""

from __future__ import annotations

from typing import Any

from als.techniques.contract import Technique, technique_kernel


@technique_kernel
def _next_chunk(n_tasks: int, n_cores: int, core: int, request: int, remaining: int, memo: Any) -> int:
    return (remaining + n_cores - 1) // n_cores


GSS = Technique("gss", _next_chunk, source="Polychronopoulos and Kuck, IEEE ToC 36(12), 1987")
