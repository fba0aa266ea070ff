"""TFSS, trapezoid factoring self-scheduling: batches of P equal chunks, each the mean of P chunks of TSS.

f = ⌈N/(2P)⌉, n = ⌈2N/(f + 1)⌉, δ = ⌊(f − 1)/(n − 1)⌋ as LB4OMP has them; a chunk of batch j is the mean of f − (jP +
k)δ for k = 0 … P−1, rounded down; at least 1. Where f − jPδ is below 0, f − (n − 1)δ stands in its place, also as
LB4OMP. In whole numbers, exactly.

Source: Chronopoulos, Andonie, Benche and Grosu, "A class of loop self-scheduling for heterogeneous clusters", IEEE
CLUSTER 2001, doi:10.1109/CLUSTR.2001.959989.
"""

from __future__ import annotations

from typing import Any

from als.techniques.arithmetic import clamped
from als.techniques.contract import Technique, technique_kernel


@technique_kernel
def _next_chunk(
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


TFSS = Technique("tfss", _next_chunk, memo_size=1, source="Chronopoulos, Andonie, Benche and Grosu, CLUSTER 2001")
