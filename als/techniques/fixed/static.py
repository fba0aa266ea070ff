"""STATIC: one block of consecutive tasks per core, in a single round.

``round=block`` (the default): ⌊N/P⌋ tasks, one more for each of the first N mod P cores; the usual balanced blocks, also of
LB4OMP. ``round=ceil``: ⌈N/P⌉ tasks until none are left, as DLS4LB and LoopSim; the last block is shorter, and some cores may
get none.

``chunk=K``: chunks of K tasks, dealt to the cores in turn, as OpenMP's ``schedule(static, K)`` does: chunk i belongs to core
i mod P, whenever that core requests it.

Without ``chunk``, a core gets one block only, unless all blocks were given and tasks returned from a lost core: then it gets
⌈R/P⌉ of these.

Source: two-level paper, section 3; roundings as LB4OMP and DLS4LB; ``chunk`` as the OpenMP API specification 5.2, section
11.5.3.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from als.parameters import OneOf, WholeNumber
from als.techniques.contract import FIRST, RuleParameters, Technique, technique_kernel
from traces.base.errors import InputError


@technique_kernel
def _next_chunk(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    # memo[core]: whether it has had its block.
    if params[0] == 0.0:
        # Cores request in core order at the start, so the blocks are in core order too.
        size = n_tasks // n_cores + (1 if core < n_tasks % n_cores else 0)
        blocks = min(n_tasks, n_cores)
    else:
        size = (n_tasks + n_cores - 1) // n_cores
        blocks = (n_tasks + size - 1) // size
    if memo[core] == 0.0 and size > 0:
        memo[core] = 1.0
        return min(size, remaining)
    return (remaining + n_cores - 1) // n_cores if request >= blocks else 0


@technique_kernel
def _next_dealt(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    """Return the next of the core's own chunks; see the module."""
    # memo[core]: the number of its chunks that the core has received.
    size = int(params[0])
    rounds, in_round = n_tasks // (size * n_cores), n_tasks % (size * n_cores)
    if memo[core] >= rounds + (1 if core * size < in_round else 0):
        return 0
    first = (int(memo[core]) * n_cores + core) * size
    memo[core] += 1.0
    facts[FIRST] = first
    return min(size, n_tasks - first)


@dataclass(frozen=True)
class StaticParameters(RuleParameters):
    """Parameters of static; only one may be given."""

    name: ClassVar[str] = "static"
    round: Annotated[str, OneOf("block", "ceil")] = "block"  # how N/P is rounded
    chunk: Annotated[int | None, WholeNumber()] = (
        None  # size of a chunk, if chunks are dealt in turn; None: one block per core
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.chunk is not None and self.round != "block":
            raise InputError(f"technique {self.name}: round={self.round} applies to blocks, not to chunk={self.chunk}")

    def numbers(self) -> tuple[float, ...]:
        # No loop has 2**40 tasks; with that bound the products above fit into 64 bits.
        return super().numbers()[:1] if self.chunk is None else (float(min(self.chunk, 2**40)),)

    def technique(self) -> Technique:
        if self.chunk is not None:
            source = "OpenMP API specification 5.2, section 11.5.3"
            return self.made(_next_dealt, source, memo_per_core=1, places=True)
        return self.made(_next_chunk, "two-level paper, section 3", memo_per_core=1)


STATIC = StaticParameters().technique()
