"""Applications that run and may be reached, in the inline coupling: each is kept as it was at an instant that has passed.

Each is a slab of memory (:mod:`traces.kernels.slabs`) within one column that all have in common. What is sure of it happens
there, in place: :func:`enter` lets the application that runs be this one, :func:`leave` the one in the room that all others
share. To be run ahead of what is sure, its slab is copied (:func:`copy_out`), and what becomes of the copy is forgotten.
"""

from __future__ import annotations

from typing import Any

from als.engine import state as app
from bls.engine.state import BatchState
from bridge.couplings.inline_kept import PUT_DOWN, Running
from bridge.couplings.inline_state import InlineState
from bridge.couplings.inline_widths import show
from traces.compiled import compiled, copy_columns, copy_words, lay_out, relocate, reset_numbers, slab_words, state_at
from traces.kernels.slabs import CHANGING, WHOLE

__all__ = ["copy_out", "enter", "keep", "leave", "running_of", "settle"]

_whole_memo = app.whole_memo
_CHANGING, _WHOLE = CHANGING, WHOLE


@compiled(inner=True)
def _measure(state: BatchState, inline: InlineState, job: int) -> int:
    """How many words the application that runs, which is the job's, needs, however wide it may be; ``sizes`` says of what."""
    run, sizes = inline.app, inline.saved.sizes
    # The most cores that it may have at once, or had and has released.
    n_cores = max(state.jobs.cores[job], state.jobs.max_cores[state.jobs.origin[job]])
    reset_numbers(sizes)
    sizes.tasks, sizes.bounds, sizes.cores = run.lengths.size, run.part_first.size, n_cores
    sizes.memo, sizes.rules = _whole_memo(run.phases, inline.table.rules, n_cores), run.chosen.size
    sizes.records, sizes.wishes, sizes.wished = run.start_ns.size, run.wishes.size, run.wished_ns.size
    sizes.put_down = PUT_DOWN if inline.costs.directs != 0 else 0
    graph = run.graph
    if graph.exists == 1:
        sizes.edge_bounds, sizes.edges = graph.edge_first.size, graph.edge_first[graph.edge_first.size - 1]
        sizes.hosts, sizes.pools = graph.host_number.size, max(1, graph.host_number.size)
        sizes.nodes, sizes.node_bounds, sizes.graph_cores = run.lengths.size, run.lengths.size + 1, n_cores
    return int(slab_words(inline.shared, sizes))


@compiled(inner=True)
def keep(state: BatchState, inline: InlineState, job: int) -> bool:
    """Let the application that runs, which is the job's, have a slab, and be there; False if there is no room for it."""
    saved, slots = inline.saved, inline.app.speed.size
    saved.wanted = _measure(state, inline, job)
    if saved.used + saved.wanted > saved.words.size or saved.wanted > saved.ahead.size:
        return False
    at = saved.used
    lay_out(inline.shared, saved.words, at, saved.sizes)
    saved.first[job] = at
    saved.used += saved.wanted
    running = state_at(inline.shared, saved.words, at)
    copy_columns(running, inline.shared, app.NEVER)
    running.reached_ns, running.master_host = state.jobs.start_ns[job], inline.master_host
    running.fastest = 0.0
    for c in range(slots):
        running.fastest = max(running.fastest, running.app.speed[c])
    enter(state, inline, job)
    show(inline, slots)
    return True


@compiled(inner=True)
def running_of(inline: InlineState, job: int) -> Any:
    """What is kept of a job: a ``Running``."""
    return state_at(inline.shared, inline.saved.words, inline.saved.first[job])


@compiled(inner=True)
def _be(inline: InlineState, running: Running) -> None:
    """Let the application that runs be this one."""
    inline.running, inline.app = running, running.app
    inline.base_gflops, inline.next_ns = running.base_gflops, running.next_ns


@compiled(inner=True)
def _is_of(state: BatchState, inline: InlineState, job: int) -> None:
    """The application that runs is a job's."""
    inline.started_ns, inline.master_host = state.jobs.start_ns[job], inline.running.master_host
    inline.fastest[0] = inline.running.fastest


@compiled(inner=True)
def enter(state: BatchState, inline: InlineState, job: int) -> None:
    """Let the application that runs be a job's, in place."""
    _be(inline, running_of(inline, job))
    _is_of(state, inline, job)


@compiled(inner=True)
def copy_out(state: BatchState, inline: InlineState, job: int) -> None:
    """Let the application that runs be a copy of a job's."""
    saved = inline.saved
    first = saved.first[job]
    changing = saved.words[first + _CHANGING]
    copy_words(saved.ahead, 0, saved.words, first, changing)
    relocate(inline.shared, saved.ahead, 0, changing)
    _be(inline, state_at(inline.shared, saved.ahead, 0))
    _is_of(state, inline, job)


@compiled(inner=True)
def leave(inline: InlineState) -> None:
    """Let the application that runs be in the room that all share again; what one at fault says of that is there, too."""
    if inline.fault_status != 0:
        copy_columns(inline.shared, inline.running, app.NEVER)
    _be(inline, inline.shared)


@compiled()
def settle(inline: InlineState) -> None:
    """What is kept has moved."""
    saved = inline.saved
    for job in range(saved.first.size):
        if saved.first[job] >= 0:
            relocate(inline.shared, saved.words, saved.first[job], saved.words[saved.first[job] + _WHOLE])
