"""BOLD: chunks as large as the expected end of the loop allows, from µ and σ of the task times and the overhead h of a chunk.

The formulas, from LB4OMP's ``kmp_sch_bold``, and the parameters: docs/reference/techniques-nonadaptive.md. Here R is the number
of unassigned tasks, M the number of tasks not known to be done, N an estimate of the tasks not done, and Q = R/P. A lost core
counts as if it continued until it requests again, and M is at least R.

Source: Hagerup, Journal of Parallel and Distributed Computing 47(2), 1997, doi:10.1006/jpdc.1997.1411.
"""

import math
from typing import Annotated, Any

from als.parameters import OneOf, Positive
from als.techniques.arithmetic import ceiling, clamped, flooring, given_or
from als.techniques.contract import MEAN_S, NOW_NS, OVERHEAD_S, SIGMA_S, RuleParameters, technique_kernel
from traces.base.time import Seconds
from traces.compiled import compiled

# memo: M, N, the expected tasks per second of all chunks under way, and when N was updated; then for each core's chunk its
# size, its tasks per second and the instant of its request.
_M, _N, _RATE, _AT_NS, _CORES = 0, 1, 2, 3, 4


@compiled(inner=True)
def _size(left: int, n_cores: int, m: float, n: float, mu: float, sigma: float, h: float) -> float:
    """Return k of the module's text, for Q > 1."""
    r = max(float(left), n)
    t = r / n_cores
    variation = sigma / mu if sigma > 0.0 else 0.0
    if variation < 1e-75:  # outside these bounds squares overflow or underflow; the limits are reached long before
        return t
    c2 = math.sqrt(2.0 * math.pi) * h / (mu * math.log(2.0))
    if variation > 1e75 or c2 < 1e-300:
        return 0.0
    a = 2.0 * variation * variation
    b = 8.0 * a * math.log(8.0 * a)
    q = left / n_cores
    v = q / (b + q)
    d = left / (1.0 + 1.0 / math.log(q) - v)
    if d <= c2:
        return t
    s = a * (math.log(d) - math.log(c2)) * (1.0 + m / (r * n_cores))
    w = math.log(v * math.log(q)) + math.log(b) if b > 0.0 else math.log(math.log(q))
    # t²/(…) equals t + s/2 − √(s(t + s/4)), which loses precision if s is large.
    k = max(0.0, c2 / math.sqrt(2.0 * math.pi) * w) + t * t / (t + s / 2.0 + math.sqrt(s * (t + s / 4.0)))
    return min(t, k)


@technique_kernel
def _next_chunk(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    mu = given_or(params[0], facts[MEAN_S])
    sigma = given_or(params[1], facts[SIGMA_S])
    h = given_or(params[2], facts[OVERHEAD_S])
    now_ns = facts[NOW_NS]
    if request == 0:
        memo[_M], memo[_N] = n_tasks, n_tasks
    memo[_N] -= (now_ns - memo[_AT_NS]) * 1e-9 * memo[_RATE]
    memo[_AT_NS] = now_ns
    mine = _CORES + 3 * core
    if memo[mine] > 0.0:
        memo[_M] -= memo[mine]
        memo[_N] -= memo[mine] - (now_ns - memo[mine + 2]) * 1e-9 * memo[mine + 1]
        memo[_RATE] -= memo[mine + 1]
    # The tasks of a lost core are not assigned again, but count as done when the core returns.
    m = max(memo[_M], float(remaining))

    size = 1
    if remaining > n_cores:
        exact = min(_size(remaining, n_cores, m, memo[_N], mu, sigma, h), float(remaining))
        size = clamped(flooring(exact) if params[3] == 0.0 else ceiling(exact), 1, remaining)

    memo[mine] = size
    expected_s = size * mu + h
    memo[mine + 1] = size / expected_s if expected_s > 0.0 else 0.0
    memo[mine + 2] = now_ns
    memo[_RATE] += memo[mine + 1]
    return size


class BoldParameters(
    RuleParameters,
    name="bold",
    next_chunk=_next_chunk,
    memo_size=4,
    memo_per_core=3,
    source="Hagerup, JPDC 47(2), 1997, as LB4OMP",
):
    """``mu``, ``sigma`` and ``h`` in s, or None: from the job."""

    mu: Annotated[Seconds | None, Positive()] = None
    sigma: Annotated[Seconds | None, Positive(or_zero=True)] = None
    h: Annotated[Seconds | None, Positive(or_zero=True)] = None
    round: Annotated[str, OneOf("floor", "ceil")] = "floor"


BOLD = BoldParameters().technique()
