"""AWF, adaptive weighted factoring: weighted factoring with weights learned during the loop, and its variants B to E.

The rule, its parameters and what the published codes do differently: docs/reference/techniques-adaptive.md.

=======  ==================  =========================================
variant  weights change      measured time of a chunk
=======  ==================  =========================================
awf      at each time step   its tasks
awf-b    at each batch       its tasks
awf-c    at each chunk       its tasks
awf-d    at each batch       from the request on, with overhead
awf-e    at each chunk       from the request on, with overhead
=======  ==================  =========================================

A core that was measured, is absent when the weights change, and returns before the next change has 1/π_p times the same factor,
from its earlier measurements. 10⁻⁹ is subtracted before rounding up, since a weight of 1 may be computed as 1 + 2·10⁻¹⁶, which
would add a task.

Sources: Banicescu, Velusamy and Devaprasad, Cluster Computing 6, 2003, doi:10.1023/A:1023588520138; Cariño and Banicescu, J.
Supercomputing 44, 2008, doi:10.1007/s11227-007-0148-y.
"""

import math
from typing import Annotated, Any, ClassVar

from als.parameters import OneOf, WholeNumber
from als.techniques import contract as f
from als.techniques.contract import RuleParameters, technique_kernel
from traces.compiled import Array, compiled

_SOURCE = (
    "Banicescu, Velusamy and Devaprasad, Cluster Computing 6, 2003; Cariño and Banicescu, J. Supercomputing 44, 2008"
)

_EPSILON = 1e-9

# Indices of ``params``. _UPDATE: when weights change. _CLOCK: the measured time in ``facts``. _START to _NEAREST: flags.
_UPDATE, _CLOCK, _START, _SKIP, _HALVING, _NEAREST, _MIN = range(7)

# When weights change.
_BY_STEP, _BY_BATCH, _BY_CHUNK = 0, 1, 2

# Indices of ``memo``: of the loop, then of each core.
_BASE = 0
_LEARNED = 1  # 1 after the first weights
_HEAD = 2
_COUNT = 0  # k of the core's last chunk
_TIME = 1  # Σ k·t
_TASKS = 2  # Σ k·n
_RATE = 3  # 1/π; 0 if it has finished no chunk
_WEIGHT = 4  # if weights change by batch or step; 0: 1
_PER_CORE = 5


@compiled(inner=True)
def _share(speed: Array, memo: Array, skips: bool) -> float:
    """Return the factor between a core's rate and its weight; 0 if there are no weights yet."""
    total, count = 0.0, 0
    for c in range(speed.size):
        if speed[c] > 0.0:
            rate = memo[_HEAD + c * _PER_CORE + _RATE]
            if rate > 0.0:
                total += rate
                count += 1
            elif not skips:
                return 0.0
    return count / total if count > 0 else 0.0


@compiled(inner=True)
def _record_chunk(core: int, facts: Array, params: Array, memo: Array) -> None:
    mine = _HEAD + core * _PER_CORE
    if params[_UPDATE] == _BY_STEP:
        memo[mine + _COUNT] = facts[f.STEP] + 1.0
    else:
        memo[mine + _COUNT] += 1.0
    memo[mine + _TIME] += memo[mine + _COUNT] * facts[int(params[_CLOCK])]
    memo[mine + _TASKS] += memo[mine + _COUNT] * facts[f.LAST_SIZE]
    memo[mine + _RATE] = memo[mine + _TASKS] / memo[mine + _TIME]


@technique_kernel
def _next_chunk(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    if facts[f.LAST_SIZE] > 0.0:
        _record_chunk(core, facts, params, memo)
    if remaining == 0:
        return 0
    update = params[_UPDATE]
    mine = _HEAD + core * _PER_CORE
    in_batches = update != _BY_CHUNK
    begins = not in_batches or request % n_cores == 0  # a batch begins
    changes = request == 0 if update == _BY_STEP else begins
    weight = memo[mine + _WEIGHT]
    if changes:
        share = _share(speed, memo, params[_SKIP] > 0.0 or memo[_LEARNED] > 0.0)
        if share > 0.0:
            memo[_LEARNED] = 1.0
        if in_batches:
            for c in range(n_cores):
                memo[_HEAD + c * _PER_CORE + _WEIGHT] = share * memo[_HEAD + c * _PER_CORE + _RATE]
        weight = share * memo[mine + _RATE]
    if weight == 0.0:
        weight = 1.0
    if begins:
        base = (remaining + 2 * n_cores - 1) // (2 * n_cores)
        if params[_START] > 0.0 and memo[_LEARNED] == 0.0:
            base = (n_tasks + 10 * n_cores - 1) // (10 * n_cores)
        elif params[_HALVING] > 0.0:
            base = (n_tasks + 2 * n_cores - 1) // (2 * n_cores) if request == 0 else (int(memo[_BASE]) + 1) // 2
        memo[_BASE] = base
    exact = weight * memo[_BASE]
    size = math.floor(exact + 0.55 + _EPSILON) if params[_NEAREST] > 0.0 else math.ceil(exact - _EPSILON)
    return int(min(max(size, int(params[_MIN])), remaining))


class _Weights(
    RuleParameters, next_chunk=_next_chunk, memo_size=_HEAD, memo_per_core=_PER_CORE, learns=True, source=_SOURCE
):
    """Parameters of all variants; ``when``: when the weights of each change."""

    when: ClassVar = {"awf": _BY_STEP, "awf-b": _BY_BATCH, "awf-c": _BY_CHUNK, "awf-d": _BY_BATCH, "awf-e": _BY_CHUNK}

    def numbers(self) -> tuple[float, ...]:
        total = self.name in ("awf-d", "awf-e") or getattr(self, "time", "work") == "total"
        words = {"start": "tenth", "unmeasured": "skip", "base": "halving", "round": "half"}
        flags = [float(getattr(self, field, "") == word) for field, word in words.items()]
        return self.when[self.name], f.LAST_TOTAL_NS if total else f.LAST_WORK_NS, *flags, getattr(self, "min", 1)


class StepWeights(_Weights, name="awf"):
    """Parameters of AWF."""

    time: Annotated[str, OneOf("work", "total")] = "work"
    base: Annotated[str, OneOf("remaining", "halving")] = "remaining"
    round: Annotated[str, OneOf("up", "half")] = "up"
    min: Annotated[int, WholeNumber()] = 1


class ChunkWeights(_Weights):
    """Parameters of AWF-C and AWF-E, which compute a base at each request."""

    name: str
    start: Annotated[str, OneOf("half", "tenth")] = "half"
    unmeasured: Annotated[str, OneOf("wait", "skip")] = "wait"
    round: Annotated[str, OneOf("up", "half")] = "up"
    min: Annotated[int, WholeNumber()] = 1


class BatchWeights(ChunkWeights):
    """Parameters of AWF-B and AWF-D."""

    base: Annotated[str, OneOf("remaining", "halving")] = "remaining"


AWF = StepWeights().technique()
AWF_B = BatchWeights("awf-b").technique()
AWF_C = ChunkWeights("awf-c").technique()
AWF_D = BatchWeights("awf-d").technique()
AWF_E = ChunkWeights("awf-e").technique()
