"""STATIC: one block of consecutive tasks a core, in a single round.

``round=block`` (the default): ⌊N/P⌋ tasks, one more for each of the first N mod P cores; the balanced blocks of the
field and of LB4OMP. ``round=ceil``: ⌈N/P⌉ tasks until none are left, as DLS4LB and LoopSim have it; the last block is
shorter, and there may be cores without one.

A core that has had its block gets nothing more, unless all blocks were given and tasks came back from a core that was
lost: of them it gets ⌈R/P⌉.

Source: two-level paper, section 3; roundings as LB4OMP and DLS4LB.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from als.techniques.contract import Technique, technique_kernel
from als.techniques.parameter_checks import chosen

__all__ = ["STATIC", "StaticParameters"]

_ROUNDS = ("block", "ceil")


@technique_kernel
def _next_chunk(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    """The rule; see the module."""
    # memo[core]: whether it has had its block.
    if params[0] == 0.0:
        # Cores ask in core order at the start, so the blocks are in core order too.
        size = n_tasks // n_cores + (1 if core < n_tasks % n_cores else 0)
        blocks = min(n_tasks, n_cores)
    else:
        size = (n_tasks + n_cores - 1) // n_cores
        blocks = (n_tasks + size - 1) // size
    if memo[core] == 0.0 and size > 0:
        memo[core] = 1.0
        return min(size, remaining)
    return (remaining + n_cores - 1) // n_cores if request >= blocks else 0


@dataclass(frozen=True)
class StaticParameters:
    """``round``: ``block`` or ``ceil``."""

    name: ClassVar[str] = "static"
    round: str = "block"

    def __post_init__(self) -> None:
        chosen(self.name, "round", self.round, _ROUNDS)

    def technique(self) -> Technique:
        """STATIC with these parameters."""
        return Technique(
            self.name,
            _next_chunk,
            memo_per_core=1,
            source="two-level paper, section 3",
            params=(chosen(self.name, "round", self.round, _ROUNDS),),
            parameters=self,
        )


STATIC = StaticParameters().technique()
