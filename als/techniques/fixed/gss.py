"""GSS, guided self-scheduling: the P-th part of the R remaining tasks.

``round=ceil`` (the default, DLS4LB and LoopSim; GCC's ``schedule(guided,K)`` and Sun's C compiler with ``min=K``): ⌈R/P⌉.
``round=floor`` (the Sun Fortran manual): ⌊R/P⌋.
``round=closed``: ⌈(1 − 1/P)^i · N/P⌉ for the i-th request, which needs no R and so no lock, used where cores compute
their chunks by themselves. The three differ: with N = 1000, P = 4 they give 22, 25 and 17 chunks. Every chunk has at
``round=closed``: ⌈(1 − 1/P)^i · N/P⌉ for the i-th request, which needs neither R nor a lock, used if cores compute their own
chunks. The three differ: with N = 1000, P = 4 they give 22, 25 and 17 chunks. Every chunk has at least ``min`` tasks, if
enough are left.

Source: Polychronopoulos and Kuck, IEEE Transactions on Computers C-36(12), 1987, doi:10.1109/TC.1987.5009495.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from als.parameters import OneOf, WholeNumber
from als.techniques.arithmetic import ceiling, clamped
from als.techniques.contract import RuleParameters, Technique, technique_kernel


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


@dataclass(frozen=True)
class GssParameters(RuleParameters):
    """``min``: size of the smallest chunk."""

    name: ClassVar[str] = "gss"
    round: Annotated[str, OneOf("ceil", "floor", "closed")] = "ceil"
    min: Annotated[int, WholeNumber()] = 1

    def technique(self) -> Technique:
        return self.made(_next_chunk, "Polychronopoulos and Kuck, IEEE ToC 36(12), 1987")


GSS = GssParameters().technique()
