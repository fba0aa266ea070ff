"""Applications whose cores' speeds the batch level scales, in the inline coupling."""

from __future__ import annotations

from als.core_speeds.state import factor
from als.engine import state as app
from als.engine.scaling import rescale, set_scale
from bls.engine.state import BatchState
from bridge.couplings.inline_state import InlineState
from traces.compiled import compiled

__all__ = ["scale_core", "scales_changed", "told_at"]

_rescale, _set_scale = rescale, set_scale


@compiled(merged=True)
def told_at(state: BatchState, job: int) -> int:
    """When a running job hears what it is told now: as it starts, where deciding takes time, or its hosts are to boot."""
    return int(max(state.now_ns, state.jobs.start_ns[job]))


@compiled(inner=True)
def scale_core(inline: InlineState, number: int, scale: int) -> None:
    """The application that runs is to run at so much on a core of its own, with -1 on all; :func:`scales_changed` follows."""
    run = inline.app
    if number < 0:
        _set_scale(run, -1, scale)
        return
    for slot in range(run.speed.size):
        if run.core_number[slot] == number and run.cores.released_ns[slot] == app.NEVER:
            _set_scale(run, slot, scale)


@compiled(inner=True)
def scales_changed(inline: InlineState, at_ns: int) -> int:
    """All scales of an instant are known: they are in force from there on; returns the application engine's status."""
    run = inline.app
    if inline.speeds.component.size == 0:
        return int(_rescale(run, inline.base_gflops[: run.speed.size], at_ns))
    own = inline.own_gflops[: run.speed.size]
    for slot in range(run.speed.size):
        own[slot] = inline.base_gflops[slot] * factor(inline.speeds, run.core_number[slot], at_ns)
    return int(_rescale(run, own, at_ns))
