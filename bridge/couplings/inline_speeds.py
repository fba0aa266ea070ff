"""Applications whose core speeds may vary, in the inline coupling."""

from als.core_speeds import factor
from als.engine.codes import SUSPENDED
from als.engine.loop import advance, run_until_stop
from als.engine.scaling import advance_varying, begin_varying
from bls.engine.state import BatchState
from bridge.couplings.inline_state import HOOK, InlineState
from traces.compiled import compiled


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
