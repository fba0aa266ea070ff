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
    from bridge.runs.kernels import prepare_run, prepare_workers
    from traces.base.errors import InputError
    from traces.compiled import jit_enabled
    from traces.kernels.catalogue import kernel_modules
    from traces.kernels.shipped import units
    from traces.kernels.store import cache_directory, unit_names, why_unused
    from traces.kernels.units import prepare

    if not jit_enabled():
        raise InputError("NUMBA_DISABLE_JIT is set: nothing is compiled; allowed: without it")
    if came := units():
        say(f"machine code of all {len(came)} modules came with the package: there is nothing to compile")
        return
    if (why := why_unused()) is not None:
        raise InputError(f"compiled kernels cannot be kept: {why}")
    prepare_run(applications=True)
    prepare_workers()
    if everything:
        prepare(dict.fromkeys(kernel_modules(), 0))
    usable, _ = unit_names()
    say(f"{usable} modules are compiled, in {cache_directory()}")
