"""AWF, adaptive weighted factoring: weighted factoring with weights learned during the loop, and its variants B to E.

A core's chunk is its weight times a base: half of the remaining tasks divided by P. The weights are measured. In its k-th
chunk, or in time step k, core p has needed t(p,k) for n(p,k) tasks; recent chunks count more::

    π_p = Σ_k k·t(p,k) / Σ_k k·n(p,k)           weighted time per task
    w_p = P·(1/π_p) / Σ_q (1/π_q)

The variants differ in when the weights change and in which time they measure:

=======  ==================  =========================================
awf      at each time step   time of the tasks
awf-b    at each batch       time of the tasks
awf-c    at each chunk       time of the tasks
awf-d    at each batch       from the request on, with overhead
awf-e    at each chunk       from the request on, with overhead
=======  ==================  =========================================

In AWF itself the weights change from one time step to the next, k is the step, and weights are constant within a step: a loop
without time steps is scheduled like FAC2.

All weights are 1 until every present core has finished one chunk; a core that appears later has weight 1 until it has finished
one. When the weights change, their sum over the present cores is the number of these cores. A core that was measured, is absent
at that moment, and returns before the next change has 1/π_p times the same factor, from its earlier measurements.

The base of AWF and the batch variants is ⌈R/(2P)⌉ at each P-th request, and constant in between; the base of the chunk variants
is ⌈R/(2P)⌉ at each request. A chunk is ⌈w·base⌉, after subtracting 10⁻⁹ (adding it if it is rounded down), since a weight of 1
may be computed as 1 + 2·10⁻¹⁶, which would add a task.

Parameters for differences of the published codes:

``time``
    for AWF: ``work`` (default: the tasks only) or ``total`` (from each request on, with overhead; LB4OMP takes all the time
    from the loop's start until the core leaves it).
``start``
    for the variants: ``half`` (default): nothing special until there are weights; ``tenth``: chunks of ⌈N/(10P)⌉ until then
    (LoopSim).
``unmeasured``
    for the variants: ``wait`` (default): as above; ``skip``: a core's weight counts as soon as it has finished a chunk,
    relative to the cores that have (LB4OMP).
``base``
    for AWF and the batch variants: ``remaining`` (default), or ``halving``, ⌈N/(2P)⌉ and then ⌈base/2⌉ per batch (LB4OMP).
``round``
    ``up`` (default), or ``half``: ⌊w·base + 0.55⌋ (DLS4LB).
``min``
    Minimum chunk size, except for the last chunk.

Not reproduced: LB4OMP computes the requesting core's weight at each of its requests, also in the batch variants, and each
core's first chunk in the chunk variants is ⌈N/(2P)⌉, whatever is left by then. DLS4LB's first chunks have ``min`` tasks, and a
core without measurements gets the shortest measured time per task.

Sources: Banicescu, Velusamy and Devaprasad, "On the scalability of dynamic scheduling scientific applications with adaptive
weighted factoring", Cluster Computing 6, 2003, doi:10.1023/A:1023588520138; Cariño and Banicescu, "Dynamic load balancing
with adaptive factoring methods in scientific applications", J. Supercomputing 44, 2008, doi:10.1007/s11227-007-0148-y; the
roundings from the codes of LB4OMP, DLS4LB and LoopSim.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from als.parameters import OneOf, WholeNumber
from als.techniques import contract as f
from als.techniques.contract import RuleParameters, Technique, technique_kernel
from traces.compiled import Array, compiled

_SOURCE = (
    "Banicescu, Velusamy and Devaprasad, Cluster Computing 6, 2003; Cariño and Banicescu, J. Supercomputing 44, 2008"
)

_EPSILON = 1e-9

# Indices of ``params``.
_UPDATE = 0
_CLOCK = 1  # index in ``facts`` of the measured time
_START = 2
_SKIP = 3
_HALVING = 4
_NEAREST = 5
_MIN = 6

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
    """Add the core's last chunk to its measurements."""
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
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any,
) -> int:  # fmt: skip
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


def _technique(
    of: StepWeights | BatchWeights | ChunkWeights, update: int, clock: int, start: str, unmeasured: str, base: str
) -> Technique:
    words = start == "tenth", unmeasured == "skip", base == "halving", of.round == "half"
    return Technique(
        of.name,
        _next_chunk,
        memo_size=_HEAD,
        memo_per_core=_PER_CORE,
        source=_SOURCE,
        params=(update, clock, *words, of.min),
        learns=True,
        parameters=of,
    )


@dataclass(frozen=True)
class StepWeights(RuleParameters):
    """Parameters of AWF; see the module."""

    name: ClassVar[str] = "awf"
    time: Annotated[str, OneOf("work", "total")] = "work"
    base: Annotated[str, OneOf("remaining", "halving")] = "remaining"
    round: Annotated[str, OneOf("up", "half")] = "up"
    min: Annotated[int, WholeNumber()] = 1

    def technique(self) -> Technique:
        clock = f.LAST_TOTAL_NS if self.time == "total" else f.LAST_WORK_NS
        return _technique(self, _BY_STEP, clock, "half", "wait", self.base)


@dataclass(frozen=True)
class BatchWeights(RuleParameters):
    """Parameters of AWF-B and AWF-D."""

    name: str
    start: Annotated[str, OneOf("half", "tenth")] = "half"
    unmeasured: Annotated[str, OneOf("wait", "skip")] = "wait"
    base: Annotated[str, OneOf("remaining", "halving")] = "remaining"
    round: Annotated[str, OneOf("up", "half")] = "up"
    min: Annotated[int, WholeNumber()] = 1

    def technique(self) -> Technique:
        clock = f.LAST_WORK_NS if self.name == "awf-b" else f.LAST_TOTAL_NS
        return _technique(self, _BY_BATCH, clock, self.start, self.unmeasured, self.base)


@dataclass(frozen=True)
class ChunkWeights(RuleParameters):
    """Parameters of AWF-C and AWF-E, which compute a base at each request."""

    name: str
    start: Annotated[str, OneOf("half", "tenth")] = "half"
    unmeasured: Annotated[str, OneOf("wait", "skip")] = "wait"
    round: Annotated[str, OneOf("up", "half")] = "up"
    min: Annotated[int, WholeNumber()] = 1

    def technique(self) -> Technique:
        clock = f.LAST_WORK_NS if self.name == "awf-c" else f.LAST_TOTAL_NS
        return _technique(self, _BY_CHUNK, clock, self.start, self.unmeasured, "remaining")


AWF = StepWeights().technique()
AWF_B = BatchWeights("awf-b").technique()
AWF_C = ChunkWeights("awf-c").technique()
AWF_D = BatchWeights("awf-d").technique()
AWF_E = ChunkWeights("awf-e").technique()
