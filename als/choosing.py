"""Which rule hands out a loop: the one that was asked for, or of several the one that does best in a simulation ahead."""

from __future__ import annotations

import math

from als import engine_state as s
from als.engine_state import ApplicationState
from als.rule_table import (
    CANDIDATES,
    EVERY_NS,
    FLAGS,
    LEARNS,
    MOMENTS,
    PLACES,
    SELECTS,
    memo_size,
)
from als.serving import OVERFLOW, PART_DONE, serve
from als.techniques import contract as f
from traces.compiled import compiled

__all__ = ["prepare"]

_ApplicationState = s.ApplicationState


@compiled(inner=True)
def _tell(state: ApplicationState, needs: int) -> None:
    # What is known of the loop's remaining tasks, as of now.
    counters, speed, facts = state.counters, state.speed, state.facts
    present, total, messages = 0, 0.0, 0.0
    for c in range(speed.size):
        if speed[c] > 0.0:
            present += 1
            total += speed[c]
            messages += 2.0 * float(state.latency_ns[c])
    facts[f.OVERHEAD_S] = (float(counters[s.OVERHEAD]) + messages / present) / 1e9
    facts[f.STEP] = float(counters[s.PART] // state.phases.shape[0])
    if needs & MOMENTS == 0:
        return
    first, stop = counters[s.NEXT], state.part_first[counters[s.PART] + 1]
    if counters[s.HOLES] > 0:  # some were put back: the moments of the whole loop are as good
        first = state.part_first[counters[s.PART]]
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
def _begin_rule(state: ApplicationState, row: int, memo_lo: int) -> None:
    # From now on the rule of this row hands out what is left.
    counters = state.counters
    flags = state.table.rules[row, FLAGS]
    counters[s.RULE], counters[s.MEMO_LO] = row, memo_lo
    counters[s.MEMO_HI] = memo_lo + memo_size(state.table.rules, row, state.speed.size)
    counters[s.REQUESTS], counters[s.TASKS], counters[s.BASE] = 0, counters[s.LEFT], counters[s.NEXT]
    if flags & LEARNS == 0:
        state.memo[counters[s.MEMO_LO] : counters[s.MEMO_HI]] = 0.0
    if counters[s.HOLES] > 0:
        counters[s.LOWEST] = state.part_first[counters[s.PART]]
    if flags & PLACES != 0:
        counters[s.HOLES] = counters[s.LEFT]
        counters[s.LOWEST] = counters[s.NEXT]
        counters[s.NEXT] = state.part_first[counters[s.PART] + 1]


@compiled()
def _predicted_ns(state: ApplicationState, row: int, memo_lo: int, going_on: bool) -> int:
    """When the last task of the present loop would end under a rule; minus the fault if the rule is at fault, and
    ``NEVER`` if the end is beyond time."""
    ahead, n = state.ahead, state.speed.size
    ahead.counters[:] = state.counters
    ahead.ask_ns[:n] = state.ask_ns
    ahead.ask_core[:n] = state.ask_core
    ahead.cores[:, :n] = state.cores[:, :n]
    ahead.amounts[:, :n] = state.amounts[:, :n]
    ahead.facts[:] = state.facts
    ahead.facts[f.AHEAD] = 1.0
    ahead.finish_ns[:n] = 0
    first, stop = state.part_first[state.counters[s.PART]], state.part_first[state.counters[s.PART] + 1]
    ahead.taken[first:stop] = state.taken[first:stop]
    ahead.memo[: state.memo.size] = state.memo
    other = _ApplicationState(
        ahead.counters,
        state.lengths,
        state.part_first,
        state.phases,
        state.table,
        state.speed,
        state.core_number,
        state.latency_ns,
        ahead.ask_ns[:n],
        ahead.ask_core[:n],
        ahead.finish_ns[:n],
        ahead.busy_ns[:n],
        ahead.cores,
        ahead.amounts,
        ahead.taken,
        ahead.facts,
        ahead.memo[: state.memo.size],
        state.keys,
        state.words,
        state.chosen,
        ahead,
        state.start_ns[:0],
        state.end_ns[:0],
        state.core[:0],
        state.chunk[:0],
        state.graph,
    )
    if not going_on:
        _begin_rule(other, row, memo_lo)
    ahead.counters[s.CHOOSE_NS] = s.NEVER
    status = serve(other, s.NEVER)
    state.counters[s.AHEAD_CHUNKS] += ahead.counters[s.CHUNKS] - state.counters[s.CHUNKS]
    if status == OVERFLOW:
        return s.NEVER
    if status != PART_DONE:
        # Nobody must choose around a rule that is wrong.
        state.counters[s.RULE], state.counters[s.ANSWER] = row, ahead.counters[s.ANSWER]
        state.counters[s.LEFT] = ahead.counters[s.LEFT]
        return -int(status)
    end = ahead.finish_ns[0]
    for c in range(n):
        end = max(end, ahead.finish_ns[c])
    return int(end)


@compiled()
def prepare(state: ApplicationState, t: int) -> int:
    """Before the request that is served next, at ``t``: tell the rule of its loop, or choose one.

    Returns
    -------
    int
        0, or the fault of a candidate, as from ``als.serving.serve``.
    """
    counters, rules = state.counters, state.table.rules
    phase = counters[s.PART] % state.phases.shape[0]
    row = state.phases[phase, s.PHASE_RULE]
    n_cores = state.speed.size
    memo_lo = 0
    for earlier in range(phase):
        if state.phases[earlier, s.KIND] != s.SERIAL:
            memo_lo += memo_size(rules, state.phases[earlier, s.PHASE_RULE], n_cores)
    begins = counters[s.REQUESTS] == 0 and counters[s.CHOOSE_NS] == 0
    if rules[row, FLAGS] & SELECTS == 0:
        _tell(state, rules[row, FLAGS])
        _begin_rule(state, row, memo_lo)
        counters[s.CHOOSE_NS] = s.NEVER
        return 0
    counters[s.CHOOSE_NS] = (
        s.NEVER if rules[row, EVERY_NS] == 0 else min(t, s.NEVER - rules[row, EVERY_NS]) + rules[row, EVERY_NS]
    )
    if counters[s.LEFT] == 0:
        return 0
    needs = 0
    for candidate in range(row + 1, row + 1 + rules[row, CANDIDATES]):
        needs |= rules[candidate, FLAGS]
    _tell(state, needs)
    best_row, best_lo, best_ns = -1, 0, s.NEVER
    for candidate in range(row + 1, row + 1 + rules[row, CANDIDATES]):
        going_on = not begins and candidate == counters[s.RULE]
        # One that chooses its tasks must know where those are that are left.
        able = going_on or counters[s.HOLES] == 0 or rules[candidate, FLAGS] & PLACES == 0
        if able:
            end = _predicted_ns(state, candidate, memo_lo, going_on)
            if end < 0:
                return -end
            if best_row < 0 or end < best_ns:
                best_row, best_lo, best_ns = candidate, memo_lo, end
        memo_lo += memo_size(rules, candidate, n_cores)
    state.chosen[best_row] += 1
    if begins or best_row != counters[s.RULE]:
        _begin_rule(state, best_row, best_lo)
    return 0
