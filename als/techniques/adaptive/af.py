"""AF, adaptive factoring: chunks by each core's own mean and standard deviation of task times, measured during the loop.

The rule, its parameters and what the published codes do differently: docs/reference/techniques-adaptive.md. A whole size that
binary rounding errors have increased or decreased by up to 10⁻⁹ counts as that size. A core that appears later gets chunks of
the first size until it has finished one; D and T then include it.

mAF (LB4OMP's ``af_a``) is AF with the time of a chunk measured from its request, and spread evenly over its tasks.

Sources: Banicescu and Liu, HPC Symposium 2000; Chan, Golub and LeVeque, The American Statistician 37(3), 1983,
doi:10.1080/00031305.1983.10483115 (combining the moments of chunks).
"""

import math
from typing import Annotated, Any

from als.parameters import OneOf, RealNumber, TrueOrFalse, WholeNumber
from als.techniques import contract as f
from als.techniques.contract import RuleParameters, Technique, technique_kernel
from traces.base.errors import InputError, shown
from traces.base.time import Seconds
from traces.compiled import Array, compiled

_EPSILON = 1e-9
_NS = 1e9  # times here are in s: D by the deviation depends on the unit

# Indices of ``params``. _SIGMA: s; NaN: from the tasks. _FIRST: NaN: by ``start``. _CLOCK: a chunk's time in ``facts``.
_SIGMA, _KNOWN, _START, _FIRST, _OWN, _DEVIATION, _ROUND, _CAP, _MIN, _CLOCK = range(10)

_TENTH, _HALF, _NONE = 0, 1, 2
_UP, _DOWN = 0, 1

# Indices of ``memo``: of the loop, then of each core.
_SPEED = 0  # mean speed of the present cores when the loop began
_LEARNED = 1  # 1 after every core was measured
_HEAD = 2
_COUNT = 0  # tasks measured
_MEAN = 1  # their mean time, s
_SQUARES = 2  # sum of (time - mean)², s²
_PER_CORE = 3


@compiled(inner=True)
def _record_chunk(core: int, facts: Array, params: Array, memo: Array) -> None:
    """Add the core's last chunk to its measurements, by Chan's formula."""
    mine = _HEAD + core * _PER_CORE
    before, more = memo[mine + _COUNT], facts[f.LAST_SIZE]
    count = before + more
    apart = facts[int(params[_CLOCK])] / _NS / more - memo[mine + _MEAN]
    memo[mine + _COUNT] = count
    memo[mine + _MEAN] += apart * more / count
    memo[mine + _SQUARES] += facts[f.LAST_SQUARES] / (_NS * _NS) + apart * apart * before * more / count


@compiled(inner=True)
def _mean(c: int, facts: Array, speed: Array, params: Array, memo: Array) -> float:
    """Return µ of a core, s; 0 if nothing was measured."""
    if params[_KNOWN] > 0.0:
        return float(facts[f.MEAN_S] * memo[_SPEED] / speed[c])
    return float(memo[_HEAD + c * _PER_CORE + _MEAN])


@compiled(inner=True)
def _spread(c: int, facts: Array, speed: Array, params: Array, memo: Array) -> float:
    """Return σ² of a core, s²; σ, s, if the deviation is used."""
    if not math.isnan(params[_SIGMA]):
        variance = params[_SIGMA] ** 2
    elif params[_KNOWN] > 0.0:
        variance = (facts[f.SIGMA_S] * memo[_SPEED] / speed[c]) ** 2
    else:
        mine = _HEAD + c * _PER_CORE
        variance = memo[mine + _SQUARES] / (memo[mine + _COUNT] - 1.0) if memo[mine + _COUNT] > 1.0 else 0.0
    return math.sqrt(variance) if params[_DEVIATION] > 0.0 else float(variance)


@compiled(inner=True)
def _begin_loop(n_cores: int, speed: Array, memo: Array) -> None:
    """Store the mean speed of the present cores, GFLOP/s."""
    total, count = 0.0, 0
    for c in range(n_cores):
        if speed[c] > 0.0:
            total += speed[c]
            count += 1
    memo[_SPEED] = total / count if count > 0 else 0.0


@technique_kernel
def _next_chunk(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    known = params[_KNOWN] > 0.0
    if facts[f.LAST_SIZE] > 0.0 and not known:
        _record_chunk(core, facts, params, memo)
    if remaining == 0:
        return 0
    if request == 0 and known:
        _begin_loop(n_cores, speed, memo)
    mean = _mean(core, facts, speed, params, memo)
    spread = _spread(core, facts, speed, params, memo)
    lowest = int(params[_MIN])
    spreads, rates = 0.0, 0.0  # D and 1/T
    ready = mean > 0.0 and (not known or request >= n_cores or params[_START] == _NONE)
    if ready:
        for c in range(n_cores):
            if speed[c] > 0.0:
                other = _mean(c, facts, speed, params, memo)
                if other > 0.0:
                    spreads += _spread(c, facts, speed, params, memo) / other
                    rates += 1.0 / other
                elif params[_OWN] > 0.0:
                    spreads += spread / mean
                    rates += 1.0 / mean
                elif memo[_LEARNED] == 0.0:
                    ready = False
                    break
    if not ready:
        if params[_FIRST] > 0.0:
            size = int(params[_FIRST])
        elif params[_START] == _HALF:
            size = (remaining + 2 * n_cores - 1) // (2 * n_cores)
        else:
            size = (n_tasks + 10 * n_cores - 1) // (10 * n_cores)
        return min(max(size, lowest), remaining)
    memo[_LEARNED] = 1.0
    ideal = remaining / rates  # T·R
    exact = (spreads + 2.0 * ideal - math.sqrt(spreads * (spreads + 4.0 * ideal))) / (2.0 * mean)
    if params[_ROUND] == _UP:
        size = math.ceil(exact - _EPSILON)
    elif params[_ROUND] == _DOWN:
        size = math.floor(exact + _EPSILON)
    else:
        size = math.floor(exact + 0.55 + _EPSILON)
    if params[_CAP] > 0.0:
        size = min(size, (n_tasks + 2 * n_cores - 1) // (2 * n_cores))
    return min(max(size, lowest), remaining)


class AdaptiveFactoring(
    RuleParameters,
    next_chunk=_next_chunk,
    memo_size=_HEAD,
    memo_per_core=_PER_CORE,
    source="Banicescu and Liu, HPC Symposium 2000",
):
    """Parameters of AF and mAF; see the module."""

    name: str
    sigma: Annotated[Seconds | None, RealNumber(0.0, 1e9)] = None
    mu: Annotated[str, OneOf("measured", "known")] = "measured"
    start: Annotated[str, OneOf("tenth", "half", "none")] = "tenth"
    first: Annotated[int | None, WholeNumber()] = None
    unmeasured: Annotated[str, OneOf("wait", "own")] = "wait"
    spread: Annotated[str, OneOf("variance", "deviation")] = "variance"
    round: Annotated[str, OneOf("up", "down", "half")] = "up"
    cap: Annotated[bool, TrueOrFalse()] = False
    min: Annotated[int, WholeNumber()] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.start == "none" and self.mu == "measured":
            where = f"technique {self.name}: start"
            raise InputError(f"{where}: {shown(self.start)}; allowed: tenth, half, as mu is measured")

    def numbers(self) -> tuple[float, ...]:
        return (*super().numbers(), float(f.LAST_TOTAL_NS if self.name == "maf" else f.LAST_WORK_NS))

    def technique(self) -> Technique:
        known = self.mu == "known"
        return self.made(moments=known, learns=not known)


AF = AdaptiveFactoring("af").technique()
MAF = AdaptiveFactoring("maf").technique()
