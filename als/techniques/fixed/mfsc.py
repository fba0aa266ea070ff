"""mFSC, modified fixed-size chunking: chunks of one size, about as many of them as FAC2 makes.

With t = ⌈N/P⌉, a chunk has ⌊0.55 + t · ln 2 / ln t⌋ tasks, as LB4OMP, DLS4LB and LoopSim compute it; 1 if t = 1, where
ln t = 0. Unlike FSC it needs neither h nor σ.

Source: Banicescu, Ciorba and Srivastava, "Performance optimization of scientific applications using an autonomic
computing approach", in: Scalable Computing, Wiley 2013.
"""

from __future__ import annotations

import math
from typing import Any

from als.techniques.contract import Technique, technique_kernel


@technique_kernel
def _next_chunk(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    # memo[0]: the size, found as the loop begins.
    if request == 0:
        share = (n_tasks + n_cores - 1) // n_cores
        memo[0] = math.floor(0.55 + share * math.log(2.0) / math.log(float(share))) if share > 1 else 1.0
    return min(int(memo[0]), remaining)


MFSC = Technique("mfsc", _next_chunk, memo_size=1, source="Banicescu, Ciorba and Srivastava 2013")
