"""FAC, the practical factoring rule FAC2: each batch of P chunks takes half of the tasks that remained at its start. The three
rules and the parameters: docs/reference/techniques-nonadaptive.md.

It is called FAC in the two-level paper's section 3, in DLS4LB, LoopSim and many papers. The rule as published is technique
``fac-mu-sigma``.
"""

from typing import Annotated, Any

from als.parameters import OneOf, TrueOrFalse, WholeNumber
from als.techniques.arithmetic import ROUNDINGS, clamped, rounded_ratio
from als.techniques.contract import RuleParameters, technique_kernel

# From this batch on N/P · 0.5^(j+1) is below one half for every N that fits into memory, and the product fits into 64 bits.
_LAST_BATCH = 40


@technique_kernel
def _next_chunk(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    # memo[0]: the batch's chunk; memo[1]: with merge, the number of its unassigned tasks.
    how, rule, smallest, merge = int(params[0]), params[1], int(params[2]), params[3] != 0.0
    if (memo[1] <= 0.0) if merge else (request % n_cores == 0):
        if rule == 0.0:
            size = rounded_ratio(remaining, 2 * n_cores, how)
        elif rule == 1.0:
            size = rounded_ratio(n_tasks, n_cores << (min(request // n_cores, _LAST_BATCH) + 1), how)
        elif request == 0:
            size = rounded_ratio(n_tasks, 2 * n_cores, how)
        else:
            size = rounded_ratio(int(memo[0]), 2, how)
        memo[0] = max(1, size)
        memo[1] = min(n_cores * clamped(size, smallest, remaining), remaining)
    size = clamped(int(memo[0]), smallest, remaining)
    if merge:
        left = int(memo[1])
        size = min(size, left)
        left -= size
        if left <= smallest:
            size += left
            left = 0
        memo[1] = left
    return size


class FacParameters(
    RuleParameters,
    next_chunk=_next_chunk,
    memo_size=2,
    source="two-level paper, section 3 (FAC2 of DLS4LB and LoopSim)",
):
    """Parameters of FAC; see the module."""

    name: str = "fac"
    round: Annotated[str, OneOf(*ROUNDINGS)] = "ceil"
    rule: Annotated[str, OneOf("remaining", "closed", "halving")] = "remaining"
    min: Annotated[int, WholeNumber()] = 1
    merge: Annotated[bool, TrueOrFalse()] = False


FAC = FacParameters().technique()
FAC2 = FacParameters(name="fac2").technique()
