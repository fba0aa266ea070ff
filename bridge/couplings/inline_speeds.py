"""Cores whose speeds change, in the inline coupling."""

from __future__ import annotations

from als.core_speeds.state import factor
from als.engine.varying_speeds import run_varying
from bridge.couplings.inline_state import HOOK, InlineState
from traces.compiled import compiled

__all__ = ["run", "set_speeds"]


@compiled(HOOK)
def set_speeds(inline: InlineState, n_cores: int, t_ns: int) -> int:
    """Give the cores of the application that runs their speeds of an instant."""
    run = inline.app
    for c in range(n_cores):
        run.speed[c] = inline.base_gflops[c] * factor(inline.speeds, run.core_number[c], t_ns)
    return 0


@compiled(HOOK)
def run(inline: InlineState, n_cores: int, stop_ns: int) -> int:
    """Run the application as ``als.engine.varying_speeds.run_varying`` does."""
    return int(run_varying(inline.app, inline.speeds, inline.base_gflops[:n_cores], inline.next_ns, stop_ns))
