"""TAP, tapering: GSS with smaller chunks if the task times vary more; parameters: docs/reference/techniques-nonadaptive.md.

With T = R/P and v = alpha · σ/µ a chunk has ⌈T + v²/2 − v · √(2T + v²/4)⌉ tasks, computed as T(T − v²) / (T + v²/2 + v · √(2T +
v²/4)) without loss of precision for large v.

Source: Lucco, PLDI 1992, doi:10.1145/143095.143134.
"""

import math
from typing import Annotated, Any

from als.parameters import Positive
from als.techniques.arithmetic import ceiling, clamped, given_or
from als.techniques.contract import MEAN_S, SIGMA_S, RuleParameters, technique_kernel
from traces.base.time import Seconds


@technique_kernel
def _next_chunk(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    mu, sigma = given_or(params[0], facts[MEAN_S]), given_or(params[1], facts[SIGMA_S])
    v = float(params[2]) * sigma / mu if sigma > 0.0 else 0.0
    share = remaining / n_cores
    if share <= v * v:
        return 1
    exact = share * (share - v * v) / (share + v * v / 2.0 + v * math.sqrt(2.0 * share + v * v / 4.0))
    return clamped(ceiling(exact), 1, remaining)


class TapParameters(RuleParameters, name="tap", next_chunk=_next_chunk, source="Lucco, PLDI 1992"):
    """``mu`` and ``sigma`` in s, or None: from the job."""

    mu: Annotated[Seconds | None, Positive()] = None
    sigma: Annotated[Seconds | None, Positive(or_zero=True)] = None
    alpha: Annotated[float, Positive(or_zero=True)] = 1.0


TAP = TapParameters().technique()
