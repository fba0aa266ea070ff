"""Commands to running applications in the inline coupling: hooks of the loop in ``bridge.couplings.inline_kernel``.

Commands scale the speeds of cores, give an application cores or ask for some, and name the cores that the queue waits for.

A started job is run to its end at once, and its state at the start is saved. When it receives commands, its reported end is
withdrawn, and its saved state advances in place to that instant only. Nothing of the job is visible until its next request (or,
without releases, until the end of its last chunk): this is its promise. When it expires, the saved state advances to that
instant, and so on. After many such steps, a copy is simulated ahead for a stride, which doubles each time, and its visible
actions are reported. If the scheduler uses promised ends, a copy is always run to its end.

Applications that cannot be saved are simulated again from their start, with all commands of a journal.
"""

from als.core_speeds import comes_ns, factor, next_change_ns
from als.engine.codes import SUSPENDED
from als.engine.features.hints import hint
from als.engine.features.width import give, open_slot, resize, slot_for, take
from als.engine.features.width_requests import requested_width
from als.engine.injected_changes import lose_for_good
from als.engine.loop import begin
from als.engine.scaling import apply_deferred, begin_varying, defer, look_ahead, rescale, set_scale
from als.engine.state import GRAPH, NEVER, ApplicationState, show_slots
from als.network.state import message_ns_in_kernels as _message_ns
from als.programs.works import fill_works
from als.workers import begin_devices, place_devices, place_held, place_links
from bls.engine import state as b
from bls.engine.state import BatchState
from bridge.couplings import inline_state as i
from bridge.couplings.inline_kept import copy_out, keep, leave, running_of
from bridge.couplings.inline_kernel import keep_rows, report_end, report_releases, set_up, stops_later
from bridge.couplings.inline_speeds import advance_to, run_to
from bridge.couplings.inline_state import HOOK, InlineState, InlineStatus
from traces.algorithms.copying import copy_first
from traces.compiled import compiled
from traces.kernels.slabs import CHANGING

_LEAST_STRIDE = 4096  #: the first stride is at least the job's elapsed run time divided by this number
_NUMBERS_A_STEP = 512  #: numbers copied in the time of a step from one promised instant to the next


@compiled(merged=True)
def _commanded_at(state: BatchState, job: int) -> int:
    """The instant at which a job receives its present commands: now, or its start if that is delayed."""
    return int(max(state.now_ns, state.jobs.start_ns[job]))


@compiled(merged=True)
def _slot_of(run: ApplicationState, number: int) -> int:
    """The slot of a core of the machine in an application; -1 if it does not have the core, or has released it."""
    for slot in range(run.speed.size):
        if run.core_number[slot] == number and run.cores.released_ns[slot] == NEVER:
            return slot
    return -1


@compiled(inner=True)
def _apply_scales(state: BatchState, inline: InlineState, first: int, stop: int, at_ns: int) -> int:
    """Scale speeds of the current application by its commands from ``first`` on; returns the engine's status."""
    commands, run, base, scales = state.commands.log, inline.running.app, inline.running.base_gflops, False
    for k in range(first, stop):
        if commands.what[k] == b.SCALED:
            scales, everywhere = True, commands.core[k] < 0
            slot = -1 if everywhere else _slot_of(run, commands.core[k])
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
def _apply_widths(state: BatchState, inline: InlineState, first: int, stop: int) -> int:
    """Add and remove cores of the current application by its commands; returns the place of the first other command."""
    run, commands, k = inline.running.app, state.commands.log, first
    while k < stop and (commands.what[k] == b.GIVEN or commands.what[k] == b.ASKED_FOR):
        if commands.what[k] == b.GIVEN:
            _give_core(state, inline, commands.core[k])
        else:
            slot = _slot_of(run, commands.core[k])
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
    least, most = state.widths.least[row], state.widths.most[row]
    phases, parts = run.phases.kind.size, run.part_first.size - 1
    if least == most:
        phases = parts = 0
    run.width_requests, run.width_request_ns = work.width_requests[:phases], work.width_request_ns[:parts]
    first = inline.table.phase_first[inline.program[row]]
    for phase in range(phases):
        share = inline.table.width_shares[first + phase]
        run.width_requests[phase] = requested_width(share, inline.asked[row], least, most)
    return 0


@compiled(HOOK)
def bind_devices(state: BatchState, inline: InlineState, job: int, n_cores: int) -> int:
    """Set the workers of the current application from its program and the GPUs of its job, and the speeds of its slots."""
    app, table, room = inline.running.app, inline.table, inline.device_slots
    place = inline.program[state.jobs.origin[job]]
    first, stop = table.worker_first[place], table.worker_stop[place]
    devices, workers, n = app.devices, table.workers, n_cores if stop > first else 0
    devices.streams, devices.launch_ns = workers.streams[first:stop], workers.launch_ns[first:stop]
    devices.link_ns, devices.spread = workers.link_ns[first:stop], workers.spread[first:stop]
    devices.in_ns, devices.out_ns = workers.in_ns[first:stop], workers.out_ns[first:stop]
    devices.byte_ns, devices.places = workers.byte_ns[first:stop], workers.places[first:stop]
    slots = devices.slots
    slots.kind, slots.device = room.kind[:n], room.device[:n]
    slots.began_ns, slots.works_ns = room.began_ns[:n], room.works_ns[:n]
    slots.worked_ns, slots.done_ns = room.worked_ns[:n], room.done_ns[:n]
    slots.in_free_ns, slots.free_ns, slots.out_free_ns = room.in_free_ns[:n], room.free_ns[:n], room.out_free_ns[:n]
    slots.in_link_ns, slots.out_link_ns, slots.link = room.in_link_ns[:n], room.out_link_ns[:n], room.link[:n]
    slots.in_task_ns, slots.out_task_ns = room.in_task_ns[:n], room.out_task_ns[:n]
    devices.asked_ns, devices.ended_ns = devices.asked_ns[:0], devices.ended_ns[:0]
    devices.on, on = inline.device_on[:0], table.on[table.phase_first[place] : table.phase_stop[place]]
    if n > 0:
        rows = inline.gpu_rows[place]
        if rows[0] >= 0:
            gpus, held = state.gpus, state.gpus.first[job]
            which = gpus.lists.gpu[held : held + gpus.count[job]]
            place_held(slots, devices.streams, rows, app.core_number, state.host_of, which, gpus.host, gpus.kind)
        else:
            place_devices(slots, devices.streams, workers.count[first:stop])
        devices.on = inline.device_on[: on.size]
        begin_devices(slots, devices.streams, workers.factor[first:stop], on, devices.on, app.speed)
        place_links(devices, app.core_number, state.host_of, app.graph.net)
        n_works = table.work_kinds[place] * app.lengths.size
        devices.gflop = inline.device_works[:n_works]
        if n_works > 0:
            fill_works(devices.gflop, app.lengths, app.part_first, table, place)
    return 0


@compiled(merged=True)
def _note(state: BatchState, inline: InlineState, job: int) -> bool:
    """Add the present commands of a running job to the journal, unless they are there; False if there is no room."""
    journal, jobs, last = inline.journal, state.jobs, inline.journal.last[job]
    commands, hinted = state.commands, state.hints.of_row
    entry, at = inline.journal_used, inline.cores_used
    if last >= 0 and journal.command_first[last] == commands.latest[job]:
        return True
    if entry == journal.instant.size or at + jobs.held_cores[job] > journal.core.size:
        return False
    journal.instant[entry], journal.after[entry] = _commanded_at(state, job), -1
    journal.command_first[entry], journal.core_first[entry] = commands.latest[job], at
    journal.command_stop[entry] = commands.latest[job] + commands.count[job]
    if hinted.size > 0 and hinted[job] > 0:
        for k in range(jobs.held_first[job], jobs.held_first[job] + jobs.held_count[job]):
            for core in range(state.pool.lo[k], state.pool.hi[k]):
                if state.hints.of_core[core] == job + 1 and state.releases.holder[core] == job:
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
    k = _apply_widths(state, inline, journal.command_first[entry], stop)
    if k < stop and state.commands.log.what[k] == b.HINTED:
        journal.flags[:] = 0
        for at in range(journal.core_first[entry], journal.core_stop[entry]):
            slot = _slot_of(run, journal.core[at])
            if slot >= 0:
                journal.flags[slot] = 1
        hint(run, journal.flags[: run.speed.size])
    return int(_apply_scales(state, inline, k, stop, journal.instant[entry]))


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
def _run_again(state: BatchState, inline: InlineState, job: int) -> int:
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


@compiled(inner=True)
def _not_before(inline: InlineState, until_ns: int) -> int:
    """A lower bound of the end of the application, which has advanced to ``until_ns``; the last task may have ended before."""
    run = inline.running.app
    asking = run.n_asking
    if asking == 0:
        return until_ns
    in_graph = run.phases.kind[run.part % run.phases.kind.size] == GRAPH
    latest = 0
    for at in range(asking):
        c = run.cores.ask_core[at]
        if in_graph:
            if c < run.graph.cores.does.size:  # the key of a task's end
                latest = max(latest, run.cores.ask_ns[at])
        elif run.cores.held_size[c] > 0:
            latest = max(latest, run.cores.ask_ns[at] - run.latency_ns[c])
    return min(until_ns, latest)


@compiled(inner=True)
def _goes_on_until(inline: InlineState, now: int) -> int:
    """The instant until which nothing of the current application is visible without commands; now if unknown.

    It releases cores and ends only when a request is served. Without releases it ends no sooner than its last present chunk,
    unless a speed varies before. Unknown with latencies, a master, or graphs.
    """
    of, run, costs = inline.running, inline.running.app, inline.costs
    if run.n_asking == 0 or costs.latency_ns != 0 or costs.master != 0 or run.graph.exists == 1:
        return now
    until = run.cores.ask_ns[0] if inline.engines[i.RELEASE] != 0 else _not_before(inline, NEVER)
    if inline.speeds.component.size > 0:
        for c in range(run.speed.size):
            until = min(until, of.next_ns[c])
    return int(until)


@compiled(inner=True)
def _report_end(state: BatchState, inline: InlineState, job: int, status: int) -> int:
    """Report the end of the current application, a copy, and store its records; returns 0 or an ``InlineStatus``."""
    need = report_end(state, inline, job, status)
    if need != 0:
        return int(need)
    run, tasks, row = inline.running.app, inline.tasks, inline.outcomes.first[job]
    copy_first(inline.outcomes.chosen[job], run.chosen, run.chosen.size)
    n = run.start_ns.size
    if n > 0:
        copy_first(tasks.start_ns[row:], run.start_ns, n)
        copy_first(tasks.end_ns[row:], run.end_ns, n)
        copy_first(tasks.core[row:], run.core, n)
        copy_first(tasks.chunk[row:], run.chunk, n)
    return 0


@compiled(inner=True)
def _run_to_end(state: BatchState, inline: InlineState, job: int) -> int:
    """Run the current application, a copy, to its end and report it; returns 0 or an ``InlineStatus``."""
    while True:
        status = run_to(inline, state.jobs.stop_ns[job])
        if not stops_later(state, inline, job, status):
            return _report_end(state, inline, job, status)
        copy_out(inline, job)


@compiled(HOOK)
def start(state: BatchState, inline: InlineState, job: int, _flag: int) -> int:
    """Run the application of a started job and save its state at the start; returns 0 or an ``InlineStatus``."""
    if inline.saved.first[job] < 0:  # otherwise the batch level had to make room for its releases
        need = set_up(state, inline, job, False)
        if need != 0:
            return int(need)
        if not keep(state, inline, job):
            return InlineStatus.SAVED_FULL
        keep_rows(inline, job)
        of, costs = inline.running, inline.costs
        begin(of.app, state.jobs.start_ns[job], costs.overhead_ns, costs.master != 0, costs.releases != 0)
        if inline.speeds.component.size > 0:
            begin_varying(of.app, inline.speeds, of.next_ns, state.jobs.stop_ns[job])
    copy_out(inline, job)
    need = _run_to_end(state, inline, job)
    leave(inline)
    return int(need)


@compiled(inner=True)
def _promise(state: BatchState, inline: InlineState, job: int, not_before_ns: int) -> int:
    """Promise that nothing of a job is visible before an instant; returns 0 or an ``InlineStatus``."""
    kept = i.promise(inline.engines[i.PROMISE], (state, job, not_before_ns))
    return 0 if kept else InlineStatus.OUTCOME_FAULT


@compiled(inner=True)
def _promise_rest(state: BatchState, inline: InlineState, job: int, until_ns: int) -> int:
    """Report the current application's releases and requests before ``until_ns``; promise that nothing else is visible."""
    run, need = inline.running.app, 0
    if run.n_released > 0 or run.width_requests.size > 0:
        need = report_releases(state, inline, job, until_ns)
    return int(need) if need != 0 else _promise(state, inline, job, until_ns)


@compiled(inner=True)
def _steps(state: BatchState, inline: InlineState, job: int, until: int) -> bool:
    """Whether to advance the current application in place to ``until`` later; a copy ahead is cheaper than many steps."""
    now, saved, of = _commanded_at(state, job), inline.saved, inline.running
    if until <= now or until >= state.jobs.stop_ns[job] or state.settings.promises != 0:
        return False
    few = of.steps <= saved.words[saved.first[job] + CHANGING] // _NUMBERS_A_STEP
    return bool(few or until - now > of.stride_ns)


@compiled(inner=True)
def _run_ahead(state: BatchState, inline: InlineState, job: int) -> int:
    """Simulate a copy of a job's application ahead for a stride and report its actions; 0 or an ``InlineStatus``."""
    now, stop = _commanded_at(state, job), state.jobs.stop_ns[job]
    copy_out(inline, job)
    stride = inline.running.stride_ns
    if stride >= stop - now or state.settings.promises != 0:
        return _run_to_end(state, inline, job)
    status = advance_to(inline, now + stride)
    if status != SUSPENDED:
        return _report_end(state, inline, job, status)
    bound = _not_before(inline, now + stride)
    if bound <= now:
        return _run_to_end(state, inline, job)
    return _promise_rest(state, inline, job, bound)


@compiled(inner=True)
def _apply(state: BatchState, inline: InlineState, job: int, now: int) -> int:
    """Apply the latest commands of its job to the current application; returns its status."""
    run, flags, first = inline.running.app, inline.saved.flags, state.commands.latest[job]
    stop = first + state.commands.count[job]
    k = _apply_widths(state, inline, first, stop)
    if k < stop and state.commands.log.what[k] == b.HINTED:
        for slot in range(run.speed.size):
            core, there = run.core_number[slot], run.cores.released_ns[slot] == NEVER
            wanted = there and state.hints.of_core[core] == job + 1 and state.releases.holder[core] == job
            flags[slot] = 1 if wanted else 0
        hint(run, flags)
    return int(_apply_scales(state, inline, k, stop, now))


@compiled(inner=True)
def _arrive(inline: InlineState, now: int) -> int:
    """Advance the current application in place to an instant, after its requests; returns its status."""
    of = inline.running
    status = apply_deferred(of.app, of.base_gflops[: of.app.speed.size], inline.own_gflops)
    return advance_to(inline, now + 1) if status == SUSPENDED else int(status)


@compiled(inner=True)
def _only_scale(state: BatchState, job: int) -> int:
    """The scale that the latest commands of a job set for all cores; 0 if they do anything else."""
    k, commands = state.commands.latest[job], state.commands.log
    alone = state.commands.count[job] == 1 and commands.what[k] == b.SCALED and commands.core[k] < 0
    return int(commands.value[k]) if alone else 0


@compiled(inner=True)
def _command(state: BatchState, inline: InlineState, job: int) -> int:
    """Apply the commands of a running job and report or promise its future; returns 0 or an ``InlineStatus``."""
    now, of = _commanded_at(state, job), running_of(inline, job)
    if inline.applied_upto > inline.interrupted_at:  # applied before there was room for its releases
        return _run_ahead(state, inline, job)
    of.steps = 0
    if of.commanded_ns < now:
        since_start = now - state.jobs.start_ns[job]
        of.stride_ns = max(1, since_start // _LEAST_STRIDE, 2 * (now - of.commanded_ns))
        of.commanded_ns = now
    scale = _only_scale(state, job) if state.settings.directs != 0 and state.settings.promises == 0 else 0
    until = defer(of.app, scale, now, state.jobs.stop_ns[job]) if scale > 0 else 0
    if until > 0:
        return _promise(state, inline, job, until)
    inline.running = of
    # Requests of this instant are served before its commands.
    status = _arrive(inline, now)
    if status == SUSPENDED:
        status = _apply(state, inline, job, now)
    inline.applied_upto = inline.interrupted_at + 1
    return _go_ahead(state, inline, job, status)


@compiled(inner=True)
def _go_ahead(state: BatchState, inline: InlineState, job: int, status: int) -> int:
    """Report or promise the future of the current application, in place; returns 0 or an ``InlineStatus``."""
    now, of = _commanded_at(state, job), inline.running
    if status != SUSPENDED:
        copy_out(inline, job)  # there may be commands at this instant
        return _report_end(state, inline, job, status)
    until = _goes_on_until(inline, now)
    if state.settings.directs != 0 and inline.costs.latency_ns == 0 and inline.speeds.component.size == 0:
        look_ahead(of.app, now, inline.engines[i.RELEASE] != 0)
    if _steps(state, inline, job, until):
        of.steps += 1
        return _promise_rest(state, inline, job, until)
    if of.steps > 0:  # many steps without commands
        of.stride_ns = max(of.stride_ns, now - of.commanded_ns)
    need = _run_ahead(state, inline, job)
    of.stride_ns *= 2
    return int(need)


@compiled(HOOK)
def come_due(state: BatchState, inline: InlineState, job: int, _flag: int) -> int:
    """Advance a job to now, the end of its promise, and report or promise its future; returns 0 or an ``InlineStatus``."""
    # Its releases of this instant are reported before the batch level handles releases.
    inline.job, inline.running = job, running_of(inline, job)
    need = _go_ahead(state, inline, job, _arrive(inline, state.now_ns))
    leave(inline)
    return int(need)


@compiled(HOOK)
def interrupt(state: BatchState, inline: InlineState, _job: int, _flag: int) -> int:
    """Give running jobs the commands of the latest pass; returns 0 or an ``InlineStatus``."""
    replays = inline.saved.flags.size == 0
    while inline.interrupted_at < state.n_interrupted:
        inline.job = job = state.interrupted[inline.interrupted_at]
        # After making room, both of these are repeated without effect.
        if replays and not _note(state, inline, job):
            return InlineStatus.JOURNAL_FULL
        i.take_back(inline.engines[i.TAKE_BACK], (state, job))
        if replays:
            need = _run_again(state, inline, job)
        else:
            need = _command(state, inline, job)
            leave(inline)
        if need != 0:
            return int(need)
        inline.interrupted_at += 1
    state.n_interrupted = inline.interrupted_at = inline.applied_upto = 0
    return 0
