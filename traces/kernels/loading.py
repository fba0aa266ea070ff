"""From an object file to addresses that can be called."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

__all__ = ["load"]


@functools.cache
def _engine() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)


def load(unit: str, code: bytes, symbols: Iterable[str]) -> dict[str, int]:
    """Make an object file's functions callable; it stays in memory.

    Returns
    -------
    dict of str: int
        The address of each symbol.
    """
    import llvmlite.binding as llvm

    engine = _engine()
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return {symbol: engine.get_function_address(symbol) for symbol in symbols}
