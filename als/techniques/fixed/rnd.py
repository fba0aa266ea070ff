"""RND: chunks of random sizes, uniformly distributed whole numbers from ``low`` to ``high``; see
docs/reference/techniques-nonadaptive.md.

LB4OMP, the source of the rule, takes the loop's chunk size as the upper end, and seeds its generator with the current second.
Neither is reproduced.
"""

import math
from typing import Annotated, Any

from als.parameters import WholeNumber
from als.techniques.contract import UNIFORM, RuleParameters, technique_kernel
from traces.base.errors import InputError


@technique_kernel
def _next_chunk(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    low = int(params[0])
    high = max(low, (n_tasks + n_cores - 1) // n_cores) if math.isnan(params[1]) else int(params[1])
    return min(low + int(facts[UNIFORM] * (high - low + 1)), remaining)


class RndParameters(
    RuleParameters, name="rnd", next_chunk=_next_chunk, source="LB4OMP, IEEE TPDS 33(4), 2022", random=True
):
    """``high`` >= ``low``, or None: from the loop."""

    low: Annotated[int, WholeNumber()] = 1
    high: Annotated[int | None, WholeNumber()] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.high is not None and self.high < self.low:
            raise InputError(f"technique {self.name}: high: {self.high}; allowed: {self.low}, which is low, or more")


RND = RndParameters().technique()
