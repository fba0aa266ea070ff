"""``guided`` as in LLVM's OpenMP runtime: ⌊R/(2P)⌋, half of GSS, and in the end chunks of K tasks; see
docs/reference/techniques-nonadaptive.md.

A loop with N <= (2K + 1)P has chunks of K from its start.

Source: LLVM OpenMP runtime, kmp_dispatch.cpp (``kmp_sch_guided_iterative_chunked``).
"""

from typing import Annotated, Any

from als.parameters import WholeNumber
from als.techniques.contract import RuleParameters, technique_kernel


@technique_kernel
def _next_chunk(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    # A chunk of more than N tasks is one of N; the products below then stay small.
    chunk = min(int(params[0]), n_tasks)
    if n_cores == 1:
        return remaining
    if n_tasks <= (2 * chunk + 1) * n_cores or remaining < 2 * n_cores * (chunk + 1):
        return min(chunk, remaining)
    return remaining // (2 * n_cores)


class GuidedParameters(RuleParameters, name="guided", next_chunk=_next_chunk, source="LLVM OpenMP runtime"):
    """``chunk``: size of the smallest chunk."""

    chunk: Annotated[int, WholeNumber()] = 1


GUIDED = GuidedParameters().technique()
