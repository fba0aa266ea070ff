"""FAC, the practical factoring rule FAC2: each batch of P chunks takes half of what remained at its start.

A chunk of the batch is ⌈R/(2P)⌉, R taken at the start of the batch. This is what the two-level paper's section 3 and
many others call FAC; the probabilistic rule of Hummel, Schonberg and Flynn (1992), which needs the mean and the
standard deviation of the task times, is another technique.
"""

from __future__ import annotations

from typing import Any

from als.techniques.contract import Technique, technique_kernel


@technique_kernel
def _next_chunk(n_tasks: int, n_cores: int, core: int, request: int, remaining: int, memo: Any) -> int:
    if request % n_cores == 0:
        memo[0] = (remaining + 2 * n_cores - 1) // (2 * n_cores)
    return min(int(memo[0]), remaining)


FAC = Technique("fac", _next_chunk, memo_size=1, source="two-level paper, section 3 (FAC2 of DLS4LB and LoopSim)")
