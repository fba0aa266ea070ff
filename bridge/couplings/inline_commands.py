"""Commands to running applications in the inline coupling: varying and scaled speeds, cores that come and go.

Applications that may receive commands are kept as saved states, or as a journal of commands.

A saved state is a slab of memory (:mod:`traces.kernels.slabs`) in one shared column, at a past instant. It advances in place as
far as no command can intervene (:func:`running_of`). To simulate further ahead, the slab is copied (:func:`copy_out`).
Applications that cannot be saved are simulated again from their start, with all commands of a journal.
"""

from typing import Any

from als.core_speeds import comes_ns, factor, next_change_ns
from als.engine.codes import SUSPENDED
from als.engine.features.hints import hint
from als.engine.features.width import give, open_slot, resize, slot_for, take
from als.engine.features.width_requests import requested_width
from als.engine.injected_changes import lose_for_good
from als.engine.loop import advance, begin, run_until_stop
from als.engine.scaling import advance_varying, begin_varying, rescale, set_scale
from als.engine.state import MOST_DEFERRED, NEVER, ApplicationState, show_slots, whole_memo
from als.network.state import message_ns_in_kernels as _message_ns
from bls.engine import state as b
from bls.engine.state import BatchState
from bridge.couplings.inline_kernel import report_end, set_up, stops_later
from bridge.couplings.inline_state import HOOK, InlineState
from traces.compiled import compiled, copy_columns, copy_words, lay_out, relocate, reset_numbers, slab_words, state_at
from traces.kernels.slabs import CHANGING, WHOLE


@compiled(merged=True)
def commanded_at(state: BatchState, job: int) -> int:
    """The instant at which a job receives its present commands: now, or its start if decision time or boots delay it."""
    return int(max(state.now_ns, state.jobs.start_ns[job]))


@compiled(inner=True)
def advance_to(inline: InlineState, until_ns: int) -> int:
    """Advance the current application, with its changes of speed."""
    of, run = inline.running, inline.running.app
    if inline.speeds.component.size == 0:
        return int(advance(run, until_ns))
    return int(advance_varying(run, inline.speeds, of.base_gflops[: run.speed.size], of.next_ns, until_ns))


@compiled(inner=True)
def run_to(inline: InlineState, stop_ns: int) -> int:
    """Run the current application to its end or its stop."""
    status = advance_to(inline, stop_ns)
    return int(run_until_stop(inline.running.app, stop_ns)) if status == SUSPENDED else status


@compiled(HOOK)
def set_speeds(_: BatchState, inline: InlineState, n_cores: int, t_ns: int) -> int:
    """Set the speeds of the current application's cores to those of an instant; for varying speeds."""
    app, base = inline.running.app, inline.running.base_gflops
    for c in range(n_cores):
        app.speed[c] = base[c] * factor(inline.speeds, app.core_number[c], t_ns)
    return 0


@compiled(HOOK)
def run_varying(_: BatchState, inline: InlineState, _cores: int, stop_ns: int) -> int:
    """Run the current application from its start to its end or its stop, with varying speeds."""
    status = begin_varying(inline.running.app, inline.speeds, inline.running.next_ns, stop_ns)
    return run_to(inline, stop_ns) if status == SUSPENDED else status


@compiled(inner=True)
def apply_scales(state: BatchState, inline: InlineState, first: int, stop: int, at_ns: int) -> int:
    """Scale speeds of the current application by its commands from ``first`` on; returns the engine's status."""
    commands, run, base, scales = state.commands, inline.running.app, inline.running.base_gflops, False
    for k in range(first, stop):
        if commands.what[k] == b.SCALED:
            scales, everywhere = True, commands.core[k] < 0
            slot = -1 if everywhere else slot_of(run, commands.core[k])
            if everywhere or slot >= 0:  # otherwise it has released the core
                set_scale(run, slot, commands.value[k])
    if not scales:
        return int(SUSPENDED)
    if inline.speeds.component.size == 0:
        return int(rescale(run, base[: run.speed.size], at_ns))
    own = inline.own_gflops[: run.speed.size]
    for slot in range(run.speed.size):
        own[slot] = base[slot] * factor(inline.speeds, run.core_number[slot], at_ns)
    return int(rescale(run, own, at_ns))


@compiled(merged=True)
def slot_of(run: ApplicationState, number: int) -> int:
    """The slot of a core of the machine in an application; -1 if it does not have the core, or has released it."""
    for slot in range(run.speed.size):
        if run.core_number[slot] == number and run.cores.released_ns[slot] == NEVER:
            return slot
    return -1


@compiled(inner=True)
def _give_core(state: BatchState, inline: InlineState, number: int) -> None:
    of, run = inline.running, inline.running.app
    now, slot = run.now_ns, slot_for(run)
    if slot == run.speed.size:
        show_slots(inline.running.app, slot + 1)
        open_slot(run, slot)
    gflops = inline.core_speed[number]
    of.base_gflops[slot] = gflops
    varies = inline.speeds.component.size > 0
    if varies:
        gflops *= factor(inline.speeds, number, now)
        of.next_ns[slot] = next_change_ns(inline.speeds, number, now)
    latency = _message_ns(state.host_of[number], of.master_host, inline.costs.latency_ns)
    give(run, slot, number, gflops, latency)
    if varies and gflops == 0.0 and comes_ns(inline.speeds, number, now) == NEVER:
        lose_for_good(run, slot)


@compiled(inner=True)
def apply_widths(state: BatchState, inline: InlineState, first: int, stop: int) -> int:
    """Add and remove cores of the current application by its commands; returns the place of the first other command."""
    run, commands, k = inline.running.app, state.commands, first
    while k < stop and (commands.what[k] == b.GIVEN or commands.what[k] == b.ASKED_FOR):
        if commands.what[k] == b.GIVEN:
            _give_core(state, inline, commands.core[k])
        else:
            slot = slot_of(run, commands.core[k])
            if slot >= 0:
                take(run, slot)
        k += 1
    if k > first:
        resize(run, inline.costs.resize_ns)
    return k


@compiled(HOOK)
def bind_width_requests(state: BatchState, inline: InlineState, row: int, _flag: int) -> int:
    """Set the requests for cores of the current application from its program, if the width of its job (a row of the workload)
    may change."""
    work, run = inline.application, inline.running.app
    least, most = state.jobs.min_cores[row], state.jobs.max_cores[row]
    phases, parts = run.phases.kind.size, run.part_first.size - 1
    if least == most:
        phases = parts = 0
    run.width_requests, run.width_request_ns = work.width_requests[:phases], work.width_request_ns[:parts]
    first = inline.table.phase_first[inline.program[row]]
    for phase in range(phases):
        share = inline.table.width_shares[first + phase]
        run.width_requests[phase] = requested_width(share, inline.asked[row], least, most)
    return 0


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
