"""RND: chunks of random sizes, each whole number from ``low`` to ``high`` as likely as the others.

A size is ``low`` + ⌊u · (``high`` − ``low`` + 1)⌋ with u drawn anew for each request. Not given, ``low`` is 1 and
``high`` ⌈N/P⌉, or ``low`` if that is more. LB4OMP, where the rule comes from, takes the loop's chunk size for the upper
end: its default, 1, makes every chunk 1, and its generator is seeded by the second, so that a thread draws the same
size all the while; neither is copied.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from als.parameters import WholeNumber
from als.techniques.contract import UNIFORM, RuleParameters, Technique, technique_kernel
from traces.base.errors import InputError


@technique_kernel
def _next_chunk(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    low = int(params[0])
    high = max(low, (n_tasks + n_cores - 1) // n_cores) if math.isnan(params[1]) else int(params[1])
    return min(low + int(facts[UNIFORM] * (high - low + 1)), remaining)


@dataclass(frozen=True)
class RndParameters(RuleParameters):
    """``high`` >= ``low``, or None: from the loop."""

    name: ClassVar[str] = "rnd"
    low: Annotated[int, WholeNumber()] = 1
    high: Annotated[int | None, WholeNumber()] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.high is not None and self.high < self.low:
            raise InputError(f"technique {self.name}: high: {self.high}; allowed: {self.low}, which is low, or more")

    def technique(self) -> Technique:
        return self.made(_next_chunk, "LB4OMP, IEEE TPDS 33(4), 2022", random=True)


RND = RndParameters().technique()
