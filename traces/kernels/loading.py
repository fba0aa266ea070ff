"""From an object file to addresses that can be called."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

__all__ = ["load", "load_runtime"]


@functools.cache
def _engine() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)


@functools.cache
def load_runtime() -> None:
    """Have at hand what numba's lists, sorting and random numbers call; only kernels of a user's need it."""
    from numba.core.registry import cpu_target
    from numba.core.runtime import rtsys

    rtsys.initialize(cpu_target.target_context)


def load(code: bytes, symbols: Iterable[str], *, needs_numba: bool = False) -> dict[str, int]:
    """Make an object file's functions callable; it stays in memory.

    Returns
    -------
    dict of str: int
        The address of each symbol.
    """
    import llvmlite.binding as llvm

    if needs_numba:
        load_runtime()
    engine = _engine()
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return {symbol: engine.get_function_address(symbol) for symbol in symbols}
