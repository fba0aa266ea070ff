"""SS, self-scheduling: one task at a time; with ``chunk=K``, K tasks at a time (OpenMP's ``dynamic,K``).

Source: Tang and Yew 1986; two-level paper, section 3.
"""

from typing import Annotated, Any

from als.parameters import WholeNumber
from als.techniques.contract import RuleParameters, technique_kernel


@technique_kernel
def _next_chunk(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    return min(int(params[0]), remaining)


class SsParameters(RuleParameters, name="ss", next_chunk=_next_chunk, source="Tang and Yew, ICPP 1986"):
    """``chunk``: size of a chunk."""

    chunk: Annotated[int, WholeNumber()] = 1


SS = SsParameters().technique()
