"""Commands to running applications in the inline coupling: varying and scaled speeds, cores that come and go."""

from als.core_speeds import comes_ns, factor, next_change_ns
from als.engine.codes import SUSPENDED
from als.engine.features.width import give, open_slot, resize, slot_for, take
from als.engine.features.width_requests import requested_width
from als.engine.injected_changes import lose_for_good
from als.engine.loop import advance, run_until_stop
from als.engine.scaling import advance_varying, begin_varying, rescale, set_scale
from als.engine.state import NEVER, ApplicationState, show_slots
from als.network.state import message_ns_in_kernels as _message_ns
from als.workers import place_devices
from bls.engine import state as b
from bls.engine.state import BatchState
from bridge.couplings.inline_state import HOOK, InlineState
from traces.compiled import compiled


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


@compiled(HOOK)
def bind_devices(_: BatchState, inline: InlineState, row: int, n_cores: int) -> int:
    """Set the workers of the current application from its program, and the speeds of its slots."""
    app, table, place, room = inline.running.app, inline.table, inline.program[row], inline.device_slots
    first, stop = table.worker_first[place], table.worker_stop[place]
    devices, workers, n = app.devices, table.workers, n_cores if stop > first else 0
    devices.streams, devices.launch_ns = workers.streams[first:stop], workers.launch_ns[first:stop]
    devices.link_ns, devices.spread = workers.link_ns[first:stop], workers.spread[first:stop]
    devices.in_ns, devices.out_ns = workers.in_ns[first:stop], workers.out_ns[first:stop]
    slots = devices.slots
    slots.kind, slots.device = room.kind[:n], room.device[:n]
    slots.began_ns, slots.works_ns = room.began_ns[:n], room.works_ns[:n]
    slots.worked_ns, slots.done_ns = room.worked_ns[:n], room.done_ns[:n]
    slots.in_free_ns, slots.free_ns, slots.out_free_ns = room.in_free_ns[:n], room.free_ns[:n], room.out_free_ns[:n]
    devices.asked_ns, devices.ended_ns = devices.asked_ns[:0], devices.ended_ns[:0]
    phase, last = table.phase_first[place], table.phase_stop[place]
    devices.on = table.on[phase : last if n > 0 else phase]
    if n > 0:
        place_devices(slots, devices.streams, workers.count[first:stop], workers.factor[first:stop], app.speed)
    return 0
