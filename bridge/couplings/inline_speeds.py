"""Cores whose speeds change, in the inline coupling."""

from __future__ import annotations

from als.core_speeds.state import factor
from als.engine.varying_speeds import run_varying
from bls.engine.state import BatchState
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
def run(_: BatchState, inline: InlineState, n_cores: int, stop_ns: int) -> int:
    """Run the application as ``als.engine.varying_speeds.run_varying`` does."""
    of = inline.running
    return int(run_varying(of.app, inline.speeds, of.base_gflops[:n_cores], of.next_ns, stop_ns))
