"""``guided`` as in LLVM's OpenMP runtime: ⌊R/(2P)⌋, half of GSS.

Once R < 2P(K + 1) every chunk has K tasks, with ``chunk=K`` from ``schedule(guided, K)`` (default 1); a loop with
N <= (2K + 1)P has such chunks from its start. With one core the whole loop is one chunk.

The runtime multiplies R by the float 0.5/P and truncates, which is sometimes one task less than ⌊R/(2P)⌋ if P is not a power
of two; here the quotient is exact.

Source: LLVM OpenMP runtime, kmp_dispatch.cpp (``kmp_sch_guided_iterative_chunked``).
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from als.parameters import WholeNumber
from als.techniques.contract import RuleParameters, Technique, technique_kernel


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


@dataclass(frozen=True)
class GuidedParameters(RuleParameters):
    """``chunk``: size of the smallest chunk."""

    name: ClassVar[str] = "guided"
    chunk: Annotated[int, WholeNumber()] = 1

    def technique(self) -> Technique:
        return self.made(_next_chunk, "LLVM OpenMP runtime")


GUIDED = GuidedParameters().technique()
