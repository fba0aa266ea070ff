"""static-steal: equal shares of chunks; a core that has finished its share steals from another core's.

The ⌈N/K⌉ chunks of K tasks are split blockwise, with one more for each of the first cores if they do not divide evenly; a core
takes its own chunks in order. A core without chunks searches for a victim round-robin, at first from the next core on, later
from the core that it stole from last. A victim has at least two chunks left. If it has more than three, the thief takes the
last quarter of them, rounded down, else the last one; it runs the first of these, and the rest is its own. Without a victim, it
is done.

If there are fewer chunks than cores, each core has one block of ⌊N/P⌋ or ⌈N/P⌉ tasks, and no core steals.

From an absent core, the last chunk or its block may also be taken.

LLVM's runtime inspects P - 1 cores from the remembered one on, possibly including the thief, and so may miss the last one; here
all other cores are inspected.

Parameters: ``chunk``, K; default 1.

Source: LLVM OpenMP runtime and LB4OMP, ``kmp_dispatch.cpp``, ``static_steal``.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from als.parameters import WholeNumber
from als.techniques.contract import FIRST, RuleParameters, Technique, technique_kernel
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
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any,
) -> int:  # fmt: skip
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


@dataclass(frozen=True)
class Stealing(RuleParameters):
    """Parameters of static-steal."""

    name: ClassVar[str] = "static-steal"
    chunk: Annotated[int, WholeNumber()] = 1  # size of a chunk

    def technique(self) -> Technique:
        source = "LLVM OpenMP runtime and LB4OMP, static_steal"
        return self.made(_next_chunk, source, memo_per_core=_PER_CORE, places=True)


STATIC_STEAL = Stealing().technique()
