"""SS, self-scheduling: one task at a time; with ``chunk=K``, K tasks at a time (OpenMP's ``dynamic,K``).

Source: Tang and Yew 1986; two-level paper, section 3.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from als.parameters import WholeNumber
from als.techniques.contract import RuleParameters, Technique, technique_kernel


@technique_kernel
def _next_chunk(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    return min(int(params[0]), remaining)


@dataclass(frozen=True)
class SsParameters(RuleParameters):
    """``chunk``: size of a chunk."""

    name: ClassVar[str] = "ss"
    chunk: Annotated[int, WholeNumber()] = 1

    def technique(self) -> Technique:
        return self.made(_next_chunk, "Tang and Yew, ICPP 1986")


SS = SsParameters().technique()
