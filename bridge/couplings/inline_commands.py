"""Running applications and their commands, in the inline coupling: advance them as speeds change, and scale speeds."""

from __future__ import annotations

from als.core_speeds import factor
from als.engine.codes import SUSPENDED
from als.engine.loop import advance, run_until_stop
from als.engine.scaling import advance_varying, begin_varying, rescale, set_scale
from bls.engine import state as b
from bls.engine.state import BatchState
from bridge.couplings.inline_state import HOOK, InlineState
from bridge.couplings.inline_widths import slot_of
from traces.compiled import compiled


@compiled(merged=True)
def commanded_at(state: BatchState, job: int) -> int:
    """When a running job receives its commands of now: as it starts, where deciding takes time, or its hosts are to boot."""
    return int(max(state.now_ns, state.jobs.start_ns[job]))


@compiled(inner=True)
def advance_to(inline: InlineState, until_ns: int) -> int:
    """Advance the application that runs, with the changes of its cores' speeds."""
    of, run = inline.running, inline.running.app
    if inline.speeds.component.size == 0:
        return int(advance(run, until_ns))
    return int(advance_varying(run, inline.speeds, of.base_gflops[: run.speed.size], of.next_ns, until_ns))


@compiled(inner=True)
def run_to(inline: InlineState, stop_ns: int) -> int:
    """Run the application to its end, or to its stop."""
    status = advance_to(inline, stop_ns)
    return int(run_until_stop(inline.running.app, stop_ns)) if status == SUSPENDED else status


@compiled(HOOK)
def set_speeds(_: BatchState, inline: InlineState, n_cores: int, t_ns: int) -> int:
    """Give the cores of the application that runs their speeds of an instant, where these change."""
    app, base = inline.running.app, inline.running.base_gflops
    for c in range(n_cores):
        app.speed[c] = base[c] * factor(inline.speeds, app.core_number[c], t_ns)
    return 0


@compiled(HOOK)
def run_varying(_: BatchState, inline: InlineState, _cores: int, stop_ns: int) -> int:
    """Run the application, which is at its start, to its end or its stop, where speeds change."""
    status = begin_varying(inline.running.app, inline.speeds, inline.running.next_ns, stop_ns)
    return run_to(inline, stop_ns) if status == SUSPENDED else status


@compiled(inner=True)
def apply_scales(state: BatchState, inline: InlineState, first: int, stop: int, at_ns: int) -> int:
    """Scale speeds of the application that runs by its commands from ``first`` on; returns the engine's status."""
    told, run, base, scales = state.told, inline.running.app, inline.running.base_gflops, False
    for k in range(first, stop):
        if told.what[k] == b.SCALED:
            scales, everywhere = True, told.core[k] < 0
            slot = -1 if everywhere else slot_of(run, told.core[k])
            if everywhere or slot >= 0:  # else it has released the core
                set_scale(run, slot, told.value[k])
    if not scales:
        return int(SUSPENDED)
    if inline.speeds.component.size == 0:
        return int(rescale(run, base[: run.speed.size], at_ns))
    own = inline.own_gflops[: run.speed.size]
    for slot in range(run.speed.size):
        own[slot] = base[slot] * factor(inline.speeds, run.core_number[slot], at_ns)
    return int(rescale(run, own, at_ns))
