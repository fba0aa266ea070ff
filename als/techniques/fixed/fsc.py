"""FSC, fixed-size chunking: chunks of K = (√2 · N · h / (σ · P · √(ln P)))^(2/3) tasks.

N tasks, P cores, ``h`` the overhead of a chunk and ``sigma`` the standard deviation of the task times, both in s. By default
they are the run's: the cost of a chunk besides its tasks, and the deviation of the loop's own task times. ``round=ceil`` (the
default, DLS4LB and LoopSim): ⌈K⌉; ``round=floor``: ⌊K⌋, as LB4OMP truncates. At least 1.

Limits: with P = 1, where ln P = 0, and with the job's σ = 0, K has no bound and a chunk has ⌈N/P⌉ tasks; with h = 0 and σ > 0
it has one task. Giving a ``sigma`` of 0 is an error.

Source: Kruskal and Weiss, IEEE Transactions on Software Engineering SE-11(10), 1985, doi:10.1109/TSE.1985.231547.

mFSC, modified fixed-size chunking: chunks of one size, about as many of them as FAC2 makes.

With t = ⌈N/P⌉, a chunk has ⌊0.55 + t · ln 2 / ln t⌋ tasks, as LB4OMP, DLS4LB and LoopSim compute it; 1 if t = 1, where
ln t = 0. Unlike FSC it needs neither h nor σ.

Source: Banicescu, Ciorba and Srivastava, "Performance optimization of scientific applications using an autonomic
computing approach", in: Scalable Computing, Wiley 2013.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

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


@dataclass(frozen=True)
class FscParameters(RuleParameters):
    """``h`` and ``sigma`` in s, or None: from the job."""

    name: ClassVar[str] = "fsc"
    h: Annotated[Seconds | None, Positive(or_zero=True)] = None
    sigma: Annotated[Seconds | None, Positive()] = None
    round: Annotated[str, OneOf("ceil", "floor")] = "ceil"

    def technique(self) -> Technique:
        source = "Kruskal and Weiss, IEEE TSE 11(10), 1985"
        return self.made(_next_chunk, source, memo_size=1, moments=self.sigma is None)


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
