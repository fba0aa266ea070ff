"""GSS, guided self-scheduling: a share 1/P of the R remaining tasks; roundings and parameters:
docs/reference/techniques-nonadaptive.md.

Source: Polychronopoulos and Kuck, IEEE Transactions on Computers C-36(12), 1987, doi:10.1109/TC.1987.5009495.
"""

from typing import Annotated, Any

from als.parameters import OneOf, WholeNumber
from als.techniques.arithmetic import ceiling, clamped
from als.techniques.contract import RuleParameters, technique_kernel


@technique_kernel
def _next_chunk(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    how = params[0]
    if how == 0.0:
        size = (remaining + n_cores - 1) // n_cores
    elif how == 1.0:
        size = remaining // n_cores
    else:
        size = ceiling((1.0 - 1.0 / n_cores) ** float(request) * n_tasks / n_cores)
    return clamped(size, int(params[1]), remaining)


class GssParameters(
    RuleParameters, name="gss", next_chunk=_next_chunk, source="Polychronopoulos and Kuck, IEEE ToC 36(12), 1987"
):
    """``min``: size of the smallest chunk."""

    round: Annotated[str, OneOf("ceil", "floor", "closed")] = "ceil"
    min: Annotated[int, WholeNumber()] = 1


GSS = GssParameters().technique()
