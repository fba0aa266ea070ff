"""SS, self-scheduling: one task at a time; with ``chunk=K``, K tasks at a time (OpenMP's ``dynamic,K``).

Source: Tang and Yew 1986; two-level paper, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from als.techniques.contract import Technique, technique_kernel
from als.techniques.parameter_checks import Checked, count


@technique_kernel
def _next_chunk(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    return min(int(params[0]), remaining)


@dataclass(frozen=True)
class SsParameters(Checked):
    """``chunk``: tasks of a chunk, >= 1."""

    name: ClassVar[str] = "ss"
    chunk: int = 1

    def technique(self) -> Technique:
        return Technique(
            self.name,
            _next_chunk,
            source="Tang and Yew, ICPP 1986",
            params=(count(self.name, "chunk", self.chunk),),
            parameters=self,
        )


SS = SsParameters().technique()
