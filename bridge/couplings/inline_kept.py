"""Saved states, or a journal of commands, of running applications that may receive commands in the inline coupling.

A saved state is a slab of memory (:mod:`traces.kernels.slabs`) in one shared column, at a past instant. It advances in place as
far as no command can intervene (:func:`running_of`). To simulate further ahead, the slab is copied (:func:`copy_out`).
Applications that cannot be saved are simulated again from their start, with all commands of a journal.
"""

from typing import Any

from als.engine.codes import SUSPENDED
from als.engine.features.hints import hint
from als.engine.loop import begin
from als.engine.scaling import begin_varying
from als.engine.state import MOST_DEFERRED, NEVER, show_slots, whole_memo
from bls.engine import state as b
from bls.engine.state import BatchState
from bridge.couplings.inline_commands import advance_to, apply_scales, apply_widths, commanded_at, run_to, slot_of
from bridge.couplings.inline_kernel import report_end, set_up, stops_later
from bridge.couplings.inline_state import InlineState
from traces.compiled import compiled, copy_columns, copy_words, lay_out, relocate, reset_numbers, slab_words, state_at
from traces.kernels.slabs import CHANGING, WHOLE


@compiled(inner=True)
def _measure(state: BatchState, inline: InlineState, job: int) -> int:
    """The number of words for the current application of a job at any width; sets ``sizes``."""
    run, sizes = inline.running.app, inline.saved.sizes
    # The most cores at once, including released ones.
    n_cores = max(state.jobs.cores[job], state.jobs.max_cores[state.jobs.origin[job]])
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


@compiled(merged=True)
def note(state: BatchState, inline: InlineState, job: int) -> bool:
    """Add the present commands of a running job to the journal, unless they are there; False if there is no room."""
    journal, jobs, last = inline.journal, state.jobs, inline.journal.last[job]
    entry, at = inline.journal_used, inline.cores_used
    if last >= 0 and journal.command_first[last] == jobs.command_first[job]:
        return True
    if entry == journal.instant.size or at + jobs.held_cores[job] > journal.core.size:
        return False
    journal.instant[entry], journal.after[entry] = commanded_at(state, job), -1
    journal.command_first[entry], journal.core_first[entry] = jobs.command_first[job], at
    journal.command_stop[entry] = jobs.command_first[job] + jobs.command_count[job]
    if jobs.wanted[job] > 0:
        for k in range(jobs.held_first[job], jobs.held_first[job] + jobs.held_count[job]):
            for core in range(state.pool.lo[k], state.pool.hi[k]):
                if state.hinted[core] == job + 1 and state.holder[core] == job:
                    journal.core[at] = core
                    at += 1
    journal.core_stop[entry] = at
    if last >= 0:
        journal.after[last] = entry
    else:
        journal.first[job] = entry
    journal.last[job] = entry
    inline.journal_used, inline.cores_used = entry + 1, at
    return True


@compiled(inner=True)
def _apply_again(state: BatchState, inline: InlineState, entry: int) -> int:
    """Apply the commands of an entry to the current application; returns its status."""
    run, journal, stop = inline.running.app, inline.journal, inline.journal.command_stop[entry]
    k = apply_widths(state, inline, journal.command_first[entry], stop)
    if k < stop and state.commands.what[k] == b.HINTED:
        journal.flags[:] = 0
        for at in range(journal.core_first[entry], journal.core_stop[entry]):
            slot = slot_of(run, journal.core[at])
            if slot >= 0:
                journal.flags[slot] = 1
        hint(run, journal.flags[: run.speed.size])
    return int(apply_scales(state, inline, k, stop, journal.instant[entry]))


@compiled(inner=True)
def _replay(state: BatchState, inline: InlineState, job: int, stop_ns: int) -> int:
    """Run the current application from its start to its end or its stop, with the commands of its job at their instants."""
    journal, entry = inline.journal, inline.journal.first[job]
    if inline.speeds.component.size > 0:
        status = begin_varying(inline.running.app, inline.speeds, inline.running.next_ns, stop_ns)
        if status != SUSPENDED:
            return int(status)
    while entry >= 0 and journal.instant[entry] < stop_ns:
        # Requests of that instant are served before its commands.
        status = advance_to(inline, journal.instant[entry] + 1)
        if status == SUSPENDED:
            status = _apply_again(state, inline, entry)
        if status != SUSPENDED:
            return int(status)
        entry = journal.after[entry]
    return int(run_to(inline, stop_ns))


@compiled(inner=True)
def run_again(state: BatchState, inline: InlineState, job: int) -> int:
    """Run a job's application from its start to its end, with all its commands; returns 0 or an ``InlineStatus``."""
    while True:
        need = set_up(state, inline, job, True)  # each time: its width may have changed
        if need != 0:
            return int(need)
        app, costs = inline.running.app, inline.costs
        begin(app, state.jobs.start_ns[job], costs.overhead_ns, costs.master != 0, costs.releases != 0)
        status = _replay(state, inline, job, state.jobs.stop_ns[job])
        if not stops_later(state, inline, job, status):
            return int(report_end(state, inline, job, status))
