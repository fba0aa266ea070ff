"""PLS, performance-based loop scheduling: a static part in P equal chunks, then guided self-scheduling of the rest, in its
closed form. See docs/reference/techniques-nonadaptive.md.

Source: Shih, Yang and Tseng, GPC 2006, LNCS 3947; as LB4OMP.
"""

from typing import Annotated, Any

from als.parameters import RealNumber
from als.techniques.arithmetic import ceiling, clamped
from als.techniques.contract import RuleParameters, technique_kernel


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


class PlsParameters(RuleParameters, name="pls", next_chunk=_next_chunk, source="Shih, Yang and Tseng 2006, as LB4OMP"):
    """``swr``: the static workload ratio."""

    swr: Annotated[float, RealNumber(0.0, 1.0)] = 0.5


PLS = PlsParameters().technique()
