"""STATIC: one block of consecutive tasks per core, in a single round; or chunks of K tasks, dealt to the cores in turn: chunk i
belongs to core i mod P, whenever that core requests it. Parameters: docs/reference/techniques-nonadaptive.md.

A core gets one block only, unless all blocks were given and tasks returned from a lost core: then it gets ⌈R/P⌉ of these.

Source: two-level paper, section 3; ``chunk`` as the OpenMP API specification 5.2, section 11.5.3.
"""

from typing import Annotated, Any

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


class StaticParameters(
    RuleParameters, name="static", next_chunk=_next_chunk, memo_per_core=1, source="two-level paper, section 3"
):
    """Parameters of static; only one may be given."""

    round: Annotated[str, OneOf("block", "ceil")] = "block"  # how N/P is rounded
    # size of a chunk, if chunks are dealt in turn; None: one block per core
    chunk: Annotated[int | None, WholeNumber()] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.chunk is not None and self.round != "block":
            raise InputError(f"technique {self.name}: round={self.round} applies to blocks, not to chunk={self.chunk}")

    def numbers(self) -> tuple[float, ...]:
        # No loop has 2**40 tasks; with that bound the products above fit into 64 bits.
        return super().numbers()[:1] if self.chunk is None else (float(min(self.chunk, 2**40)),)

    def technique(self) -> Technique:
        if self.chunk is None:
            return self.made()
        return self.made(next_chunk=_next_dealt, places=True, source="OpenMP API specification 5.2, section 11.5.3")


STATIC = StaticParameters().technique()
