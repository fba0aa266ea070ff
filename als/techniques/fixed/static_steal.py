"""static-steal: equal shares of chunks; a core that has finished its share steals from another core's.

The rule: docs/reference/techniques-nonadaptive.md. If there are fewer chunks than cores, each core has one block of ⌊N/P⌋ or
⌈N/P⌉ tasks, and no core steals. From an absent core, the last chunk or its block may also be taken.

Source: LLVM OpenMP runtime and LB4OMP, ``kmp_dispatch.cpp``, ``static_steal``.
"""

from typing import Annotated, Any

from als.parameters import WholeNumber
from als.techniques.contract import FIRST, RuleParameters, technique_kernel
from traces.compiled import Array, compiled

# Indices of ``memo`` of each core.
_NEXT = 0  # its next chunk
_STOP = 1  # the chunk after its last one
_VICTIM = 2  # the first core to search
_PER_CORE = 3


@compiled(inner=True)
def _split(n_chunks: int, n_cores: int, memo: Array) -> None:
    """Split the chunks into one piece per core, each with its neighbour as the first victim."""
    share, more = n_chunks // n_cores, n_chunks % n_cores
    for c in range(n_cores):
        memo[c * _PER_CORE + _NEXT] = c * share + min(c, more)
        memo[c * _PER_CORE + _STOP] = (c + 1) * share + min(c + 1, more)
        memo[c * _PER_CORE + _VICTIM] = (c + 1) % n_cores


@compiled(inner=True)
def _steal(n_cores: int, core: int, speed: Array, memo: Array) -> bool:
    """Steal chunks for the core; return whether it has any."""
    mine = core * _PER_CORE
    from_core = int(memo[mine + _VICTIM])
    for k in range(n_cores):
        c = (from_core + k) % n_cores
        theirs = c * _PER_CORE
        left = int(memo[theirs + _STOP] - memo[theirs + _NEXT])
        if c != core and (left >= 2 or (left == 1 and speed[c] == 0.0)):
            taken = left // 4 if left > 3 else 1
            memo[mine + _STOP] = memo[theirs + _STOP]
            memo[theirs + _STOP] -= taken
            memo[mine + _NEXT] = memo[theirs + _STOP]
            memo[mine + _VICTIM] = c
            return True
    return False


@technique_kernel
def _next_chunk(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    size = int(params[0])
    n_chunks = (n_tasks + size - 1) // size
    in_blocks = n_chunks < n_cores  # then every core's only chunk is its block
    if request == 0:
        _split(min(n_tasks, n_cores) if in_blocks else n_chunks, n_cores, memo)
    mine = core * _PER_CORE
    if memo[mine + _NEXT] == memo[mine + _STOP] and not _steal(n_cores, core, speed, memo):
        return 0
    chunk = int(memo[mine + _NEXT])
    memo[mine + _NEXT] += 1.0
    if in_blocks:
        share, more = n_tasks // n_cores, n_tasks % n_cores
        facts[FIRST] = chunk * share + min(chunk, more)
        return share + (1 if chunk < more else 0)
    facts[FIRST] = chunk * size
    return min(size, n_tasks - chunk * size)


class Stealing(
    RuleParameters,
    name="static-steal",
    next_chunk=_next_chunk,
    memo_per_core=_PER_CORE,
    places=True,
    source="LLVM OpenMP runtime and LB4OMP, static_steal",
):
    """Parameters of static-steal."""

    chunk: Annotated[int, WholeNumber()] = 1  # size of a chunk


STATIC_STEAL = Stealing().technique()
