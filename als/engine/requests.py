"""Requests of loops and graphs: the heap of events, the facts that a rule receives at its begin and for each chunk, and task
records. ``als.engine.features.selection`` selects among several rules."""

import math

from als.engine import state as s
from als.engine.hooks import RANK, SELECT, call_hook
from als.engine.releases import stays
from als.engine.rule_table import LEARNS, MOMENTS, PLACES, RANDOM, SELECTS, memo_size
from als.engine.state import ApplicationState, memo_begin
from als.streams import CHUNKS as CHUNK_STREAM
from als.streams import fill_words, uniform_from_word
from als.techniques import contract as f
from traces.algorithms.event_heap import heap_drop_top, heap_push, heap_settle
from traces.base.time import MAX_NS
from traces.compiled import compiled
from traces.kernels.signatures import Floats


@compiled(merged=True)
def push_event(state: ApplicationState, t: int, key: int) -> None:
    """Put an event at ``t`` into the heap; in a loop, ``key`` is the core that asks."""
    state.n_asking = heap_push(state.cores.ask_ns, state.cores.ask_core, state.n_asking, t, key)


@compiled(inner=True)
def place_in_heap(state: ApplicationState, c: int, slots: int) -> int:
    """The place of core ``c``'s event in the heap, -1 if it has none; each kind of event has ``slots`` keys."""
    for at in range(state.n_asking):
        key = state.cores.ask_core[at]
        if key == c or key == c + slots or key == c + 2 * slots:
            return at
    return -1


@compiled(inner=True)
def drop_event(state: ApplicationState, at: int) -> None:
    """Remove the event at a place of the heap; -1: none."""
    if at >= 0:
        heap_settle(state.cores.ask_ns, state.cores.ask_core, state.n_asking, at, -1)
        state.n_asking = heap_drop_top(state.cores.ask_ns, state.cores.ask_core, state.n_asking)


@compiled(merged=True)
def set_request_facts(state: ApplicationState, flags: int, t: int, chunks: int) -> None:
    """Set the facts of a request: its instant, and a random number."""
    state.facts[f.NOW_NS] = float(t)
    if flags & RANDOM != 0:
        fill_words(state.words, state.keys, chunks, CHUNK_STREAM)
        state.facts[f.UNIFORM] = uniform_from_word(state.words[0])


@compiled(merged=True)
def set_chunk_facts(state: ApplicationState, c: int, work_ns: int, idle_ns: int) -> None:
    """Set the facts of core ``c``'s last chunk: ``work_ns`` of work, up to ``idle_ns``."""
    cores, facts, size = state.cores, state.facts, state.cores.held_size[c]
    cores.held_size[c] = 0
    facts[f.LAST_SIZE] = float(size)
    facts[f.LAST_WORK_NS] = float(work_ns)
    facts[f.LAST_TOTAL_NS] = float(idle_ns - cores.asked_ns[c])
    beyond = float(work_ns) - float(size) * float(cores.shift_ns[c])
    facts[f.LAST_SQUARES] = max(0.0, state.cores.squares[c] - beyond * beyond / size)


@compiled(merged=True)
def begin_ns(state: ApplicationState, t: int, latency: int, overhead: int, master: bool) -> int:
    """The begin of the tasks of a chunk whose request arrives at ``t``; ``MAX_NS`` beyond the end of time."""
    begin = max(t, state.master_free_ns) if master else t
    if begin >= MAX_NS - overhead:
        return MAX_NS
    begin += overhead
    if master:
        state.master_free_ns = begin
    return int(begin + latency)


@compiled(inner=True)
def forget(state: ApplicationState, first: int, stop: int) -> None:
    """Clear the records of the tasks from ``first`` to ``stop``, which never ran."""
    state.start_ns[first:stop] = state.end_ns[first:stop] = -1
    state.core[first:stop] = state.chunk[first:stop] = -1


@compiled(inner=True)
def set_core_facts(state: ApplicationState, step: int) -> float:
    """Set the facts about the cores and the time step; returns the mean speed of a core, GFLOP/s."""
    present, total, messages = 0, 0.0, 0.0
    for c in range(state.speed.size):
        if state.speed[c] > 0.0 and (state.width == 0 or (stays(state, c) and state.cores.rank[c] >= 0)):
            present += 1
            total += state.speed[c]
            messages += 2.0 * float(state.latency_ns[c])
    state.facts[f.OVERHEAD_S] = (float(state.overhead_ns) + messages / present) / 1e9
    state.facts[f.STEP] = float(step)
    return total / present


@compiled(inner=True)
def set_moment_facts(state: ApplicationState, lengths: Floats, gflops: float) -> None:
    """Set the facts of mean and deviation of tasks of these lengths on a core of this speed."""
    # Relative to the first task's length, so that equal tasks have exactly σ = 0.
    n, beyond, squares = lengths.size, 0.0, 0.0
    for k in range(n):
        beyond += lengths[k] - lengths[0]
    mean = lengths[0] + beyond / n
    for k in range(n):
        squares += (lengths[k] - mean) * (lengths[k] - mean)
    state.facts[f.MEAN_S] = mean / gflops
    state.facts[f.SIGMA_S] = math.sqrt(squares / n) / gflops


@compiled(inner=True)
def set_loop_facts(state: ApplicationState, needs: int) -> None:
    """Set the facts about the loop's remaining tasks."""
    gflops = set_core_facts(state, state.part // state.phases.kind.size)
    if needs & MOMENTS != 0:
        # If some were put back, use the whole loop.
        first = state.next_task if state.n_holes == 0 else state.part_first[state.part]
        stop = state.part_first[state.part + 1]
        if first < stop:
            set_moment_facts(state, state.lengths[first:stop], gflops)


@compiled(inner=True)
def begin_rule(state: ApplicationState, row: int, memo_lo: int) -> None:
    """Let the rule of this row assign the remaining tasks from now on."""
    flags = state.table.flags[row]
    if state.width > 0:
        call_hook(state.hooks[RANK], (state, 0, 0.0))  # cores may have gone since the latest change
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
    """Prepare or choose the rule before the next request, at ``t``; returns 0, or the fault of a candidate as from
    ``als.engine.chunk_dispatch.serve``."""
    rules = state.table
    phase = state.part % state.phases.kind.size
    row = state.phases.rule[phase]
    memo_lo = memo_begin(state.phases, rules, phase, state.speed.size)
    if rules.flags[row] & SELECTS == 0:
        set_loop_facts(state, rules.flags[row])
        begin_rule(state, row, memo_lo)
        state.choose_ns = s.NEVER
        return 0
    return int(call_hook(state.hooks[SELECT], (state, t, 0.0)))
