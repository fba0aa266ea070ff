"""The loop of the inline coupling where running jobs are told something: as ``bridge.couplings.inline_kernel``, and reaches.

It is another loop than that of all other runs, which are to pay nothing for it.
"""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.state import BatchState
from bls.engine.status import BatchStatus
from bridge.couplings.inline_journal import note
from bridge.couplings.inline_kernel import run_application
from bridge.couplings.inline_state import (
    BATCH_ADVANCE,
    ENGINES,
    NOTED,
    REACHED_AT,
    REACHING,
    InlineState,
)
from bridge.couplings.inline_status import InlineStatus
from traces.compiled import caller, compiled

__all__ = ["drive_and_reach"]

_PAUSED = int(BatchStatus.PAUSED)  # a kernel that returns members of two enumerations has no type
_batch_advance, _batch_take_back = caller(ENGINES[BATCH_ADVANCE][1]), caller(REACHING[0][1])


@compiled(inner=True)
def _keep_lengths(inline: InlineState, job: int) -> None:
    """Keep the lengths of a job's tasks with their records."""
    row, drawn = inline.first[job], inline.application.lengths
    for k in range(inline.n_rows[job]):
        inline.lengths[row + k] = drawn[k]


@compiled(inner=True)
def _reach(state: BatchState, inline: InlineState, keep_tasks: bool) -> int:
    """Tell running jobs what there is to tell, and simulate their applications again; returns 0, or an ``InlineStatus``."""
    cursor, sizes = inline.cursor, state.sizes
    while cursor[REACHED_AT] < sizes[b.N_REACHED]:
        job = state.reached[cursor[REACHED_AT]]
        if cursor[NOTED] == cursor[REACHED_AT]:
            if not note(state, inline, job):
                return InlineStatus.JOURNAL_FULL
            _batch_take_back(inline.reaching[0], (state, job))
            cursor[NOTED] += 1
        need = run_application(state, inline, job, keep_tasks, True)
        if need != 0:
            return int(need)
        cursor[REACHED_AT] += 1
    sizes[b.N_REACHED] = cursor[REACHED_AT] = cursor[NOTED] = 0
    return 0


@compiled()
def drive_and_reach(state: BatchState, inline: InlineState, max_ends: int) -> int:
    """Run both levels until the end, a pause, a fault, or more room is needed; returns which."""
    keep_tasks = inline.lengths.size > 0
    sizes = state.sizes
    pause_at = sizes[b.ENDED] + max_ends
    while True:
        need = _reach(state, inline, keep_tasks)
        if need != 0:
            return int(need)
        while sizes[b.ANSWERED] < sizes[b.N_STARTED]:
            job = state.started[sizes[b.ANSWERED]]
            if job >= inline.n_rows.size:
                return InlineStatus.ROWS_SHORT
            need = run_application(state, inline, job, keep_tasks, False)
            if need != 0:
                return int(need)
            if keep_tasks:
                _keep_lengths(inline, job)
        status = _batch_advance(inline.engines[BATCH_ADVANCE], (state, max_ends))
        if status != BatchStatus.STARTED and status != BatchStatus.REACHED:
            return int(status)
        if sizes[b.ENDED] >= pause_at:
            return _PAUSED  # what has started is answered for when it goes on
