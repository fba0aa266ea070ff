"""FSC, fixed-size chunking, from the overhead h and the deviation σ; and mFSC: about as many equal chunks as FAC2 makes,
without h and σ. Formulas, limits and parameters: docs/reference/techniques-nonadaptive.md.

Sources: Kruskal and Weiss, IEEE Transactions on Software Engineering SE-11(10), 1985, doi:10.1109/TSE.1985.231547; Banicescu,
Ciorba and Srivastava, in: Scalable Computing, Wiley 2013.
"""

import math
from typing import Annotated, Any

from als.parameters import OneOf, Positive
from als.techniques.arithmetic import ceiling, flooring, given_or
from als.techniques.contract import OVERHEAD_S, SIGMA_S, RuleParameters, Technique, technique_kernel
from traces.base.time import Seconds
from traces.compiled import compiled


@compiled(inner=True)
def _size(n_tasks: int, n_cores: int, h: float, sigma: float, how: float) -> int:
    """Return the chunk size for an overhead and a deviation in s; ``how`` 0: rounded up."""
    if n_cores == 1 or sigma == 0.0:
        return (n_tasks + n_cores - 1) // n_cores
    exact = (math.sqrt(2.0) * n_tasks * h / (sigma * n_cores * math.sqrt(math.log(n_cores)))) ** (2.0 / 3.0)
    exact = min(exact, float(n_tasks))
    return max(1, ceiling(exact) if how == 0.0 else flooring(exact))


@technique_kernel
def _next_chunk(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    # memo[0]: the size, computed when the loop begins.
    if request == 0:
        h, sigma = given_or(params[0], facts[OVERHEAD_S]), given_or(params[1], facts[SIGMA_S])
        memo[0] = _size(n_tasks, n_cores, h, sigma, params[2])
    return min(int(memo[0]), remaining)


class FscParameters(
    RuleParameters, name="fsc", next_chunk=_next_chunk, memo_size=1, source="Kruskal and Weiss, IEEE TSE 11(10), 1985"
):
    """``h`` and ``sigma`` in s, or None: from the job."""

    h: Annotated[Seconds | None, Positive(or_zero=True)] = None
    sigma: Annotated[Seconds | None, Positive()] = None
    round: Annotated[str, OneOf("ceil", "floor")] = "ceil"


FSC = FscParameters().technique()


@technique_kernel
def _next_modified(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    # memo[0]: the size, computed when the loop begins.
    if request == 0:
        share = (n_tasks + n_cores - 1) // n_cores
        memo[0] = math.floor(0.55 + share * math.log(2.0) / math.log(float(share))) if share > 1 else 1.0
    return min(int(memo[0]), remaining)


MFSC = Technique("mfsc", _next_modified, memo_size=1, source="Banicescu, Ciorba and Srivastava 2013")
