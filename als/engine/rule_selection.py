"""What the rule that hands out a loop is told. Which of several does is ``als.engine.features.selection``."""

from __future__ import annotations

import math

from als.engine import state as s
from als.engine.hooks import RANK, SELECT, call_hook
from als.engine.releases import released
from als.engine.rule_table import LEARNS, MOMENTS, PLACES, SELECTS, memo_size
from als.engine.state import ApplicationState
from als.techniques import contract as f
from traces.compiled import compiled

__all__ = ["begin_rule", "memo_begin", "prepare", "tell"]


@compiled(inner=True)
def tell(state: ApplicationState, needs: int) -> None:
    """Tell the rule what is known of the loop's remaining tasks, as of now."""
    speed, facts = state.speed, state.facts
    present, total, messages = 0, 0.0, 0.0
    resized = state.width > 0
    for c in range(speed.size):
        goes = resized and (released(state, c) or state.cores.wanted[c] == s.TO_LEAVE)
        if speed[c] > 0.0 and not goes:
            present += 1
            total += speed[c]
            messages += 2.0 * float(state.latency_ns[c])
    facts[f.OVERHEAD_S] = (float(state.overhead_ns) + messages / present) / 1e9
    facts[f.STEP] = float(state.part // state.phases.kind.size)
    if needs & MOMENTS == 0:
        return
    first, stop = state.next_task, state.part_first[state.part + 1]
    if state.n_holes > 0:  # some were put back: the moments of the whole loop are as good
        first = state.part_first[state.part]
    n = stop - first
    # Counted from the first task's length, so that equal tasks have exactly σ = 0.
    beyond = 0.0
    for k in range(first, stop):
        beyond += state.lengths[k] - state.lengths[first]
    mean = state.lengths[first] + beyond / n
    squares = 0.0
    for k in range(first, stop):
        squares += (state.lengths[k] - mean) * (state.lengths[k] - mean)
    a_core = total / present
    facts[f.MEAN_S] = mean / a_core
    facts[f.SIGMA_S] = math.sqrt(squares / n) / a_core


@compiled(inner=True)
def begin_rule(state: ApplicationState, row: int, memo_lo: int) -> None:
    """From now on the rule of this row hands out what is left."""
    flags = state.table.flags[row]
    if state.width > 0:
        call_hook(state.hooks[RANK], (state, 0, 0.0))
    state.rule, state.memo_lo = row, memo_lo
    state.memo_hi = memo_lo + memo_size(state.table, row, state.speed.size)
    state.n_requests, state.rule_tasks, state.rule_base = 0, state.n_left, state.next_task
    if flags & LEARNS == 0:
        state.memo[state.memo_lo : state.memo_hi] = 0.0
    if state.n_holes > 0:
        state.lowest_hole = state.part_first[state.part]
    if flags & PLACES != 0:
        state.n_holes = state.n_left
        state.lowest_hole = state.next_task
        state.next_task = state.part_first[state.part + 1]


@compiled(inner=True)
def memo_begin(state: ApplicationState, phase: int) -> int:
    """Where the memo of a phase begins."""
    memo_lo = 0
    for earlier in range(phase):
        if state.phases.kind[earlier] != s.SERIAL:
            memo_lo += memo_size(state.table, state.phases.rule[earlier], state.speed.size)
    return int(memo_lo)


@compiled(inner=True)
def prepare(state: ApplicationState, t: int) -> int:
    """Before the request that is served next, at ``t``: tell the rule of its loop, or choose one.

    Returns
    -------
    int
        0, or the fault of a candidate, as from ``als.engine.chunk_dispatch.serve``.
    """
    rules = state.table
    phase = state.part % state.phases.kind.size
    row = state.phases.rule[phase]
    memo_lo = memo_begin(state, phase)
    if rules.flags[row] & SELECTS == 0:
        tell(state, rules.flags[row])
        begin_rule(state, row, memo_lo)
        state.choose_ns = s.NEVER
        return 0
    return int(call_hook(state.hooks[SELECT], (state, t, 0.0)))
