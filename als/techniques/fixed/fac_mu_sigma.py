"""FAC, factoring as published: batches of P chunks, as large as the mean µ and deviation σ of the task times allow. The
formulas: docs/reference/techniques-nonadaptive.md.

mFAC (LB4OMP's ``faca``) has the same chunks, but each core computes them independently: cores share only the number of the
request. Each core keeps its last batch, the batch's chunk c_j and the remaining tasks, and continues from there, R_{j+1} = R_j
− P · c_j from R_0 = N. R_j does not include tasks that return from a lost core; a core for which R_j is used up continues with
the tasks left at its request.

Sources: Hummel, Schonberg and Flynn, Communications of the ACM 35(8), 1992, doi:10.1145/135226.135232; LB4OMP, IEEE TPDS 33(4),
2022, doi:10.1109/TPDS.2021.3107775.
"""

import math
from typing import Annotated, Any

from als.parameters import Positive
from als.techniques.arithmetic import ceiling, given_or
from als.techniques.contract import MEAN_S, SIGMA_S, RuleParameters, Technique, technique_kernel
from traces.base.time import Seconds
from traces.compiled import compiled


@compiled(inner=True)
def _factored(left: int, n_cores: int, sigma: float, mu: float, first: bool) -> int:
    """Return the chunk of a batch that begins with `left` tasks; `first`: whether it is the loop's first batch. At least 1."""
    variation = sigma / mu if sigma > 0.0 else 0.0
    b = n_cores * variation / (2.0 * math.sqrt(left))
    x = 1.0 + b * b + b * math.sqrt(b * b + 2.0) if first else 2.0 + b * b + b * math.sqrt(b * b + 4.0)
    return max(1, ceiling(left / (x * n_cores)))


@technique_kernel
def _next_chunk(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    # memo[0]: the batch's chunk.
    if request % n_cores == 0:
        mu, sigma = given_or(params[0], facts[MEAN_S]), given_or(params[1], facts[SIGMA_S])
        memo[0] = _factored(remaining, n_cores, sigma, mu, request == 0)
    return min(int(memo[0]), remaining)


@technique_kernel
def _next_chunk_alone(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    # memo, for each core: the number of its past batches, the last one's chunk, and the tasks that remained at its start.
    at = 3 * core
    mu, sigma = given_or(params[0], facts[MEAN_S]), given_or(params[1], facts[SIGMA_S])
    through, chunk, left = int(memo[at]), int(memo[at + 1]), int(memo[at + 2])
    if through == 0:
        left = n_tasks
    while through <= request // n_cores:
        left -= n_cores * chunk
        if left <= 0:
            left = remaining
        chunk = _factored(left, n_cores, sigma, mu, through == 0)
        through += 1
    memo[at], memo[at + 1], memo[at + 2] = through, chunk, left
    return min(chunk, remaining)


class FacMuSigmaParameters(
    RuleParameters,
    next_chunk=_next_chunk,
    memo_size=1,
    source="Hummel, Schonberg and Flynn, CACM 35(8), 1992",
):
    """``mu`` and ``sigma`` in s, or None: from the job; for ``fac-mu-sigma`` and ``mfac``."""

    name: str
    mu: Annotated[Seconds | None, Positive()] = None
    sigma: Annotated[Seconds | None, Positive(or_zero=True)] = None

    def technique(self) -> Technique:
        if self.name == "fac-mu-sigma":
            return self.made()
        source = "LB4OMP (faca), IEEE TPDS 33(4), 2022"
        return self.made(next_chunk=_next_chunk_alone, memo_size=0, memo_per_core=3, source=source)


FAC_MU_SIGMA = FacMuSigmaParameters("fac-mu-sigma").technique()
MFAC = FacMuSigmaParameters("mfac").technique()
