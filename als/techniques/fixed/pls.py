"""PLS, performance-based loop scheduling: a static part in P equal chunks, then guided self-scheduling of the rest.

The first P requests get s = ⌈N · SWR / P⌉ tasks each; request P + i gets ⌈(1 − 1/P)^i · M/P⌉ with M = N − P · s, the
closed form of GSS; at least 1. ``swr`` is the static workload ratio, 0 to 1. As published it is the ratio of the shortest and
the longest task time; its default is 0.5, as in LB4OMP. Before rounding up, values less than 1e-9 above a whole number become
that number (``arithmetic.SLACK``).

Limits: with swr = 1 all is static; with swr = 0 all is guided (LB4OMP first gives P single tasks).

Source: Shih, Yang and Tseng, "A performance-based approach to dynamic workload distribution for master-slave
applications on grid environments", GPC 2006, LNCS 3947; as LB4OMP.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from als.parameters import RealNumber
from als.techniques.arithmetic import ceiling, clamped
from als.techniques.contract import RuleParameters, Technique, technique_kernel


@technique_kernel
def _next_chunk(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    static = ceiling(n_tasks * params[0] / n_cores)
    guided = request - n_cores if static > 0 else request
    if guided < 0:
        return min(static, remaining)
    rest = max(0, n_tasks - n_cores * static)
    return clamped(ceiling((1.0 - 1.0 / n_cores) ** float(guided) * rest / n_cores), 1, remaining)


@dataclass(frozen=True)
class PlsParameters(RuleParameters):
    """``swr``: the static workload ratio."""

    name: ClassVar[str] = "pls"
    swr: Annotated[float, RealNumber(0.0, 1.0)] = 0.5

    def technique(self) -> Technique:
        return self.made(_next_chunk, "Shih, Yang and Tseng 2006, as LB4OMP")


PLS = PlsParameters().technique()
