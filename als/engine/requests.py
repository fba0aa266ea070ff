"""Code shared by loops and graphs: the heap of events, what a rule is told of a chunk, the begin of a chunk, task records."""

from __future__ import annotations

from als.engine.rule_table import RANDOM
from als.engine.state import ApplicationState
from als.streams import CHUNKS as CHUNK_STREAM
from als.streams import fill_words, uniform_from_word
from als.techniques import contract as f
from traces.algorithms.event_heap import heap_drop_top, heap_push, heap_settle
from traces.base.time import MAX_NS
from traces.compiled import compiled


@compiled(merged=True)
def push_event(state: ApplicationState, t: int, key: int) -> None:
    """Put an event at ``t`` into the heap: of a loop, the request of the core ``key``."""
    state.n_asking = heap_push(state.cores.ask_ns, state.cores.ask_core, state.n_asking, t, key)


@compiled(inner=True)
def place_in_heap(state: ApplicationState, c: int, slots: int) -> int:
    """Where the event of core ``c`` is in the heap, -1 if it has none; keys of each kind of event are for ``slots`` cores."""
    for at in range(state.n_asking):
        key = state.cores.ask_core[at]
        if key == c or key == c + slots or key == c + 2 * slots:
            return at
    return -1


@compiled(inner=True)
def drop_event(state: ApplicationState, at: int) -> None:
    """Remove the event at a place of the heap, if that is not -1."""
    if at >= 0:
        heap_settle(state.cores.ask_ns, state.cores.ask_core, state.n_asking, at, -1)
        state.n_asking = heap_drop_top(state.cores.ask_ns, state.cores.ask_core, state.n_asking)


@compiled(merged=True)
def tell_request(state: ApplicationState, flags: int, t: int, chunks: int) -> None:
    """Tell a rule when a core asks, and what is random."""
    state.facts[f.NOW_NS] = float(t)
    if flags & RANDOM != 0:
        fill_words(state.words, state.keys, chunks, CHUNK_STREAM)
        state.facts[f.UNIFORM] = uniform_from_word(state.words[0])


@compiled(merged=True)
def tell_chunk(state: ApplicationState, c: int, work_ns: int, idle_ns: int) -> None:
    """Tell a rule of the last chunk of core ``c``, which it has worked on for ``work_ns``, up to ``idle_ns``."""
    cores, facts, size = state.cores, state.facts, state.cores.held_size[c]
    cores.held_size[c] = 0
    facts[f.LAST_SIZE] = float(size)
    facts[f.LAST_WORK_NS] = float(work_ns)
    facts[f.LAST_TOTAL_NS] = float(idle_ns - cores.asked_ns[c])
    beyond = float(work_ns) - float(size) * float(cores.shift_ns[c])
    facts[f.LAST_SQUARES] = max(0.0, state.cores.squares[c] - beyond * beyond / size)


@compiled(merged=True)
def begin_ns(state: ApplicationState, t: int, latency: int, overhead: int, master: bool) -> int:
    """When the tasks of a chunk begin whose request arrives at ``t``; ``MAX_NS`` if that is beyond all time."""
    begin = max(t, state.master_free_ns) if master else t
    if begin >= MAX_NS - overhead:
        return MAX_NS
    begin += overhead
    if master:
        state.master_free_ns = begin
    return int(begin + latency)


@compiled(inner=True)
def forget(state: ApplicationState, first: int, stop: int) -> None:
    """The tasks from ``first`` up to ``stop`` never ran; where no records are kept, nothing says otherwise."""
    state.start_ns[first:stop] = state.end_ns[first:stop] = -1
    state.core[first:stop] = state.chunk[first:stop] = -1
