"""WF, weighted factoring: the chunks of FAC2, times the weight of the requesting core. A batch is P requests, from any cores.
Parameters: docs/reference/techniques-nonadaptive.md.

Source: Hummel, Schmidt, Uma and Wein, SPAA 1996, doi:10.1145/237502.237576.
"""

import math
from typing import Annotated, Any

from als.parameters import OneOf
from als.techniques.arithmetic import ceiling, clamped, flooring
from als.techniques.contract import RuleParameters, Technique, technique_kernel
from traces.base.errors import InputError, parse_real, shown


@technique_kernel
def _next_chunk(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    # memo[0]: the batch's base; memo[1:]: the weights, computed when the loop begins.
    if request == 0:
        total = 0.0
        for other in range(n_cores):
            total += speed[other]
        for other in range(n_cores):
            memo[1 + other] = params[2 + other] if len(params) > 2 else n_cores * speed[other] / total
    if request % n_cores == 0:
        base = int(memo[0]) if request > 0 and params[0] != 0.0 else -(-remaining // n_cores)
        memo[0] = (base + 1) // 2
    exact = min(memo[1 + core] * memo[0], float(remaining))
    return clamped(ceiling(exact) if params[1] == 0.0 else flooring(exact), 1, remaining)


class WfParameters(
    RuleParameters,
    name="wf",
    next_chunk=_next_chunk,
    memo_size=1,
    memo_per_core=1,
    source="Hummel, Schmidt, Uma and Wein, SPAA 1996",
):
    """``weights``: P numbers >= 0 with the sum P, separated by ``/``, or "": from the speeds."""

    weights: str = ""
    rule: Annotated[str, OneOf("remaining", "halving")] = "remaining"
    round: Annotated[str, OneOf("ceil", "floor")] = "ceil"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._weights()

    def _weights(self) -> tuple[float, ...]:
        if not self.weights:
            return ()
        where = f"technique {self.name}: weights"
        weights = []
        for word in self.weights.split("/"):
            try:
                weight = parse_real(word.strip())
            except ValueError:
                weight = math.nan
            if not 0 <= weight < math.inf:
                raise InputError(f"{where}: {shown(word.strip())}; allowed: numbers of 0 or more with / between them")
            weights.append(weight)
        if abs(math.fsum(weights) - len(weights)) > 1e-6 * len(weights):
            raise InputError(
                f"{where}: the {len(weights)} weights sum to {math.fsum(weights):.9g}; allowed: {len(weights)}, their number"
            )
        return tuple(weights)

    def numbers(self) -> tuple[float, ...]:
        words = (("remaining", "halving").index(self.rule), ("ceil", "floor").index(self.round))
        return (*map(float, words), *self._weights())

    def technique(self) -> Technique:
        return self.made(only_cores=len(self._weights()) or None)


WF = WfParameters().technique()
