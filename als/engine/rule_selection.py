"""What the rule that hands out a loop is told. Which of several does is ``als.engine.features.selection``."""

from __future__ import annotations

import math

from als.engine import state as s
from als.engine.hooks import RANK, SELECT, call_hook
from als.engine.releases import stays
from als.engine.rule_table import LEARNS, MOMENTS, PLACES, SELECTS, memo_size
from als.engine.state import ApplicationState, memo_begin
from als.techniques import contract as f
from traces.compiled import compiled
from traces.kernels.signatures import Floats


@compiled(inner=True)
def tell_cores(state: ApplicationState, step: int) -> float:
    """Tell the rule of the cores and of the time step, as of now; returns the mean speed of a core, GFLOP/s."""
    present, total, messages = 0, 0.0, 0.0
    for c in range(state.speed.size):
        if state.speed[c] > 0.0 and (state.width == 0 or stays(state, c)):
            present += 1
            total += state.speed[c]
            messages += 2.0 * float(state.latency_ns[c])
    state.facts[f.OVERHEAD_S] = (float(state.overhead_ns) + messages / present) / 1e9
    state.facts[f.STEP] = float(step)
    return total / present


@compiled(inner=True)
def tell_moments(state: ApplicationState, lengths: Floats, gflops: float) -> None:
    """Tell the rule mean and deviation of tasks of these lengths on a core of this speed."""
    # Counted from the first task's length, so that equal tasks have exactly σ = 0.
    n, beyond, squares = lengths.size, 0.0, 0.0
    for k in range(n):
        beyond += lengths[k] - lengths[0]
    mean = lengths[0] + beyond / n
    for k in range(n):
        squares += (lengths[k] - mean) * (lengths[k] - mean)
    state.facts[f.MEAN_S] = mean / gflops
    state.facts[f.SIGMA_S] = math.sqrt(squares / n) / gflops


@compiled(inner=True)
def tell(state: ApplicationState, needs: int) -> None:
    """Tell the rule what is known of the loop's remaining tasks, as of now."""
    gflops = tell_cores(state, state.part // state.phases.kind.size)
    if needs & MOMENTS != 0:
        # Where some were put back, the moments of the whole loop are as good.
        first = state.next_task if state.n_holes == 0 else state.part_first[state.part]
        stop = state.part_first[state.part + 1]
        if first < stop:  # else it hands out nothing
            tell_moments(state, state.lengths[first:stop], gflops)


@compiled(inner=True)
def begin_rule(state: ApplicationState, row: int, memo_lo: int) -> None:
    """From now on the rule of this row hands out what is left."""
    flags = state.table.flags[row]
    if state.width > 0:
        call_hook(state.hooks[RANK], (state, 0, 0.0))  # some may be gone since the latest change
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
def prepare(state: ApplicationState, t: int) -> int:
    """Before the request that is served next, at ``t``: tell the rule of its loop, or choose one; returns 0, or the fault of a
    candidate, as from ``als.engine.chunk_dispatch.serve``."""
    rules = state.table
    phase = state.part % state.phases.kind.size
    row = state.phases.rule[phase]
    memo_lo = memo_begin(state.phases, rules, phase, state.speed.size)
    if rules.flags[row] & SELECTS == 0:
        tell(state, rules.flags[row])
        begin_rule(state, row, memo_lo)
        state.choose_ns = s.NEVER
        return 0
    return int(call_hook(state.hooks[SELECT], (state, t, 0.0)))
