"""Applications whose width changes, in the inline coupling: the batch level gives them cores, and asks for some."""

from __future__ import annotations

from als.core_speeds import comes_ns, factor, next_change_ns
from als.engine.features.width import give, open_slot, resize, slot_for, take
from als.engine.features.wishes import wished_cores
from als.engine.injected_changes import lose_for_good
from als.engine.state import NEVER, ApplicationState, show_slots
from als.network.state import message_ns_in_kernels as _message_ns
from bls.engine import state as b
from bls.engine.state import BatchState
from bridge.couplings.inline_state import HOOK, InlineState
from traces.compiled import compiled


@compiled(merged=True)
def slot_of(run: ApplicationState, number: int) -> int:
    """The slot of a core of the machine that an application has; -1 if it has none, or has released it."""
    for slot in range(run.speed.size):
        if run.core_number[slot] == number and run.cores.released_ns[slot] == NEVER:
            return slot
    return -1


@compiled(inner=True)
def _give_core(state: BatchState, inline: InlineState, number: int) -> None:
    """A core comes to the application that runs, at the speed that it has then."""
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
    """Have cores come to the application that runs, or leave it, by its commands; returns the place of the first other one.

    A core that it was asked for does not leave if it was released, or if no core would stay.
    """
    run, told, k = inline.running.app, state.told, first
    while k < stop and (told.what[k] == b.GIVEN or told.what[k] == b.ASKED_FOR):
        if told.what[k] == b.GIVEN:
            _give_core(state, inline, told.core[k])
        else:
            slot = slot_of(run, told.core[k])
            if slot >= 0:
                take(run, slot)
        k += 1
    if k > first:
        resize(run, inline.costs.resize_ns)
    return k


@compiled(HOOK)
def bind_wishes(state: BatchState, inline: InlineState, row: int, _flag: int) -> int:
    """Let the application that runs, of the job in a row of the workload, request cores as its program says, if it may have
    others than it asks for."""
    work, run = inline.application, inline.running.app
    least, most = state.jobs.min_cores[row], state.jobs.max_cores[row]
    phases, parts = run.phases.kind.size, run.part_first.size - 1
    if least == most:
        phases = parts = 0
    run.wishes, run.wished_ns = work.wishes[:phases], work.wished_ns[:parts]
    first = inline.table.phase_first[inline.program[row]]
    for phase in range(phases):
        share = inline.table.wishes[first + phase]
        run.wishes[phase] = wished_cores(share, inline.asked[row], least, most)
    return 0
