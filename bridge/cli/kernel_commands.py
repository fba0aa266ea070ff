"""The command that has kernels compiled before a run needs them."""

from __future__ import annotations

from typing import Annotated

import typer

from bridge.standard_error import say

__all__ = ["warm_up_command"]


def warm_up_command(
    everything: Annotated[
        bool, typer.Option("--all", help="Those of every feature, and not only what a plain run needs.")
    ] = False,
) -> None:
    """Compile the kernels of this version now, so that no run has to wait for it; what is there already stays."""
    from bridge.runs.kernels import APPLICATION, BATCH, INLINE, WORKER
    from traces.base.errors import InputError
    from traces.compiled import jit_enabled
    from traces.kernels.catalogue import kernel_modules
    from traces.kernels.shipped import units
    from traces.kernels.store import cache_directory, has, unit_names, why_unused
    from traces.kernels.units import prepare

    if not jit_enabled():
        raise InputError("NUMBA_DISABLE_JIT is set: nothing is compiled; allowed: without it")
    if came := units():
        say(f"machine code of all {len(came)} modules came with the package: there is nothing to compile")
        return
    if (why := why_unused()) is not None:
        raise InputError(f"compiled kernels cannot be kept: {why}")
    wanted = BATCH | APPLICATION | INLINE | WORKER
    if everything:
        wanted |= dict.fromkeys(set(kernel_modules()).difference(wanted), 0)
    prepare(wanted)
    if lost := [module for module in wanted if not has(module)]:  # why was said when it was compiled
        raise InputError(f"machine code of {len(lost)} of {len(wanted)} modules is not kept, in {cache_directory()}")
    usable, _ = unit_names()
    say(f"{usable} modules are compiled, in {cache_directory()}")
