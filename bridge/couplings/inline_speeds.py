"""Cores whose speeds change, in the inline coupling."""

from __future__ import annotations

from als.core_speeds.state import factor
from als.engine.status import SUSPENDED
from als.engine.varying_speeds import begin_varying
from bls.engine.state import BatchState
from bridge.couplings.inline_commands import run_to
from bridge.couplings.inline_state import HOOK, InlineState
from traces.compiled import compiled


@compiled(HOOK)
def set_speeds(_: BatchState, inline: InlineState, n_cores: int, t_ns: int) -> int:
    """Give the cores of the application that runs their speeds of an instant."""
    app, base = inline.running.app, inline.running.base_gflops
    for c in range(n_cores):
        app.speed[c] = base[c] * factor(inline.speeds, app.core_number[c], t_ns)
    return 0


@compiled(HOOK)
def run(_: BatchState, inline: InlineState, _cores: int, stop_ns: int) -> int:
    """Run the application, which is at its start, to its end or its stop."""
    status = begin_varying(inline.running.app, inline.speeds, inline.running.next_ns, stop_ns)
    return run_to(inline, stop_ns) if status == SUSPENDED else status
