"""Selection among several techniques for a loop: the one with the earliest end in a simulation ahead."""

from als.engine import state as s
from als.engine.chunk_dispatch import serve
from als.engine.codes import CHOOSE, OVERFLOW, PART_DONE
from als.engine.hooks import HOOK
from als.engine.loop import end_ns as end_of
from als.engine.requests import begin_rule, set_loop_facts
from als.engine.rule_table import PLACES, memo_size
from als.engine.state import ApplicationState, memo_begin
from als.techniques import contract as f
from traces.algorithms.copying import copy_first
from traces.compiled import compiled, copy_columns, keep_numbers, put_numbers


@compiled(inner=True)
def _predicted_ns(state: ApplicationState, row: int, memo_lo: int, going_on: bool) -> int:
    """The end of the present loop under a rule; minus the status if the rule is at fault; ``NEVER`` beyond the end of time."""
    ahead, n = state.ahead, state.speed.size
    keep_numbers(state, ahead.numbers, 0)
    copy_columns(ahead.cores, state.cores, n)
    copy_columns(ahead.devices, state.devices.slots, state.devices.slots.kind.size)
    copy_first(ahead.facts, state.facts, state.facts.size)
    ahead.facts[f.AHEAD] = 1.0
    ahead.cores.finish_ns[:n] = 0
    first, stop = state.part_first[state.part], state.part_first[state.part + 1]
    copy_first(ahead.taken[first:], state.taken[first:], stop - first)
    copy_first(ahead.memo, state.memo, state.memo.size)
    facts, memo, cores, taken = state.facts, state.memo, state.cores, state.taken
    start_ns, end_ns, core, chunk = state.start_ns, state.end_ns, state.core, state.chunk
    # Simulate ahead on copies of the changing columns.
    state.facts, state.memo, state.cores, state.taken = ahead.facts, ahead.memo[: memo.size], ahead.cores, ahead.taken
    state.start_ns, state.end_ns, state.core, state.chunk = start_ns[:0], end_ns[:0], core[:0], chunk[:0]
    if not going_on:
        begin_rule(state, row, memo_lo)
    state.choose_ns = s.NEVER
    status = serve(state, s.NEVER)
    while status == CHOOSE:  # the last core was to leave but stays: the rule begins again
        set_loop_facts(state, state.table.flags[row])
        begin_rule(state, row, memo_lo)
        state.choose_ns = s.NEVER
        status = serve(state, s.NEVER)
    chunks, answer, left, end = state.n_chunks, state.answer, state.n_left, end_of(state)
    put_numbers(state, ahead.numbers, 0)
    copy_columns(state.devices.slots, ahead.devices, ahead.devices.kind.size)
    state.facts, state.memo, state.cores, state.taken = facts, memo, cores, taken
    state.start_ns, state.end_ns, state.core, state.chunk = start_ns, end_ns, core, chunk
    state.ahead_chunks += chunks - state.n_chunks
    if status == OVERFLOW:
        return s.NEVER
    if status != PART_DONE:
        # A faulty rule is an error even if it would not be chosen.
        state.rule, state.answer, state.n_left = row, answer, left
        return -int(status)
    return int(end)


@compiled(HOOK)
def select(state: ApplicationState, t: int, _speed: float) -> int:
    """Choose a technique before the next request, at ``t``; returns 0 or the fault of a candidate."""
    rules, n_cores, phase = state.table, state.speed.size, state.part % state.phases.kind.size
    row = state.phases.rule[phase]
    memo_lo = memo_begin(state.phases, rules, phase, n_cores)
    begins = state.n_requests == 0 and state.choose_ns == 0
    every_ns = rules.every_ns[row]
    state.choose_ns = s.NEVER if every_ns == 0 else min(t, s.NEVER - every_ns) + every_ns
    if state.n_left == 0:
        return 0
    needs = 0
    for candidate in range(row + 1, row + 1 + rules.candidates[row]):
        needs |= rules.flags[candidate]
    set_loop_facts(state, needs)
    best_row, best_lo, best_ns = -1, 0, s.NEVER
    for candidate in range(row + 1, row + 1 + rules.candidates[row]):
        going_on = not begins and candidate == state.rule
        # A technique that chooses its tasks needs all tasks from the next one on.
        able = going_on or state.n_holes == 0 or rules.flags[candidate] & PLACES == 0
        if able:
            end = _predicted_ns(state, candidate, memo_lo, going_on)
            if end < 0:
                return -end
            if best_row < 0 or end < best_ns:
                best_row, best_lo, best_ns = candidate, memo_lo, end
        memo_lo += memo_size(rules, candidate, n_cores)
    state.chosen[best_row] += 1
    if begins or best_row != state.rule:
        begin_rule(state, best_row, best_lo)
    return 0
