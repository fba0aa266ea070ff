"""Saved states of running applications that may receive commands in the inline coupling.

A saved state is a slab of memory (:mod:`traces.kernels.slabs`) in one shared column, at a past instant. It advances in place as
far as no command can intervene (:func:`running_of`). To simulate further ahead, the slab is copied (:func:`copy_out`).
"""

from typing import Any

from als.engine.state import MOST_DEFERRED, NEVER, show_slots, whole_memo
from bls.engine.state import BatchState
from bridge.couplings.inline_state import InlineState
from traces.compiled import compiled, copy_columns, copy_words, lay_out, relocate, reset_numbers, slab_words, state_at
from traces.kernels.slabs import CHANGING, WHOLE


@compiled(inner=True)
def _measure(state: BatchState, inline: InlineState, job: int) -> int:
    """The number of words for the current application of a job at any width; sets ``sizes``."""
    run, sizes = inline.running.app, inline.saved.sizes
    # The most cores at once, including released ones.
    n_cores, most = state.jobs.cores[job], state.widths.most
    n_cores = max(n_cores, most[state.jobs.origin[job]]) if most.size > 0 else n_cores
    reset_numbers(sizes)
    sizes.tasks, sizes.bounds, sizes.cores = run.lengths.size, run.part_first.size, n_cores
    sizes.memo, sizes.rules = whole_memo(run.phases, inline.table.rules, n_cores), run.chosen.size
    sizes.records, sizes.width_requests, sizes.width_requested = (
        run.start_ns.size,
        run.width_requests.size,
        run.width_request_ns.size,
    )
    sizes.deferred = MOST_DEFERRED if state.settings.directs != 0 else 0
    graph = run.graph
    if graph.exists == 1:
        sizes.edge_bounds, sizes.edges = graph.edge_first.size, graph.edge_first[graph.edge_first.size - 1]
        sizes.hosts, sizes.pools = graph.host_number.size, max(1, graph.host_number.size)
        sizes.nodes, sizes.node_bounds, sizes.graph_cores = run.lengths.size, run.lengths.size + 1, n_cores
    return int(slab_words(inline.shared, sizes))


@compiled(inner=True)
def keep(state: BatchState, inline: InlineState, job: int) -> bool:
    """Move the current application of a job into its own slab; False if there is no room."""
    saved, slots = inline.saved, inline.running.app.speed.size
    saved.wanted = _measure(state, inline, job)
    if saved.used + saved.wanted > saved.words.size or saved.wanted > saved.ahead.size:
        return False
    lay_out(inline.shared, saved.words, saved.used, saved.sizes)
    saved.first[job] = saved.used
    saved.used += saved.wanted
    running = running_of(inline, job)
    copy_columns(running, inline.shared, NEVER)
    running.commanded_ns = state.jobs.start_ns[job]
    inline.running = running
    show_slots(inline.running.app, slots)
    return True


@compiled(inner=True)
def running_of(inline: InlineState, job: int) -> Any:
    """The kept application of a job: a ``Running``."""
    return state_at(inline.shared, inline.saved.words, inline.saved.first[job])


@compiled(inner=True)
def copy_out(inline: InlineState, job: int) -> None:
    """Let a copy of a job's application be the current one."""
    saved = inline.saved
    first = saved.first[job]
    changing = saved.words[first + CHANGING]
    copy_words(saved.ahead, 0, saved.words, first, changing)
    relocate(inline.shared, saved.ahead, 0, changing)
    inline.running = state_at(inline.shared, saved.ahead, 0)


@compiled(inner=True)
def leave(inline: InlineState) -> None:
    """Make the application in the shared work space the current one again, with the fault of the previous one, if any."""
    if inline.fault_status != 0:
        inline.shared.app.lengths = inline.application.lengths[: inline.running.app.lengths.size]
        copy_columns(inline.shared, inline.running, NEVER)
    inline.running = inline.shared


@compiled()
def settle(inline: InlineState) -> None:
    """Relocate all kept applications after their memory has moved."""
    saved = inline.saved
    for job in range(saved.first.size):
        if saved.first[job] >= 0:
            relocate(inline.shared, saved.words, saved.first[job], saved.words[saved.first[job] + WHOLE])
