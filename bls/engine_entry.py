"""The batch engine as Python enters it: as :func:`bls.engine.advance`, with the functions that it calls in one table.

A co-simulation enters the engine for every job; to hand over five functions each time takes longer than what it does there.
"""

from __future__ import annotations

from bls import engine
from bls.allocators.contract import PLACE
from bls.batch_state import BatchState
from bls.policies.contract import ACCOUNT, DECIDE, SCORE
from bls.wall_clock import CLOCK
from traces.compiled import Array, compiled, value_from

__all__ = ["FUNCTIONS", "advance"]

#: The signatures of the functions of the table, in order.
FUNCTIONS = (PLACE, SCORE, ACCOUNT, CLOCK, DECIDE)

_advance = engine.advance
_place, _score, _account, _clock, _decide = (value_from(signature) for signature in FUNCTIONS)


@compiled(borrows=True)
def advance(state: BatchState, functions: Array, max_ends: int) -> int:
    """Simulate until something is needed from outside; returns what, as :func:`bls.engine.advance`.

    Parameters
    ----------
    state : BatchState
        Changed in place.
    functions : ndarray, shape (5,)
        A :func:`traces.compiled.function_table` of functions of the signatures ``FUNCTIONS``.
    max_ends : int
        Pause after about so many ends.
    """
    return int(
        _advance(
            state,
            _place(functions[0]),
            _score(functions[1]),
            _account(functions[2]),
            _clock(functions[3]),
            _decide(functions[4]),
            max_ends,
        )
    )
