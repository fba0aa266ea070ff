"""From an object file to addresses that can be called."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any


@functools.cache
def _engine() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    # JITLink puts the pieces of an object side by side. The older linker puts each where there is room, and once a process
    # holds arrays of gigabytes that may be further away than code can reach (2 GiB): LLVM then ends the process.
    return llvm.create_lljit_compiler(use_jit_link=True)


@functools.cache
def load_runtime() -> None:
    """Have at hand what numba's lists, sorting and random numbers call; only kernels of a user's need it."""
    from numba.core.registry import cpu_target
    from numba.core.runtime import rtsys

    rtsys.initialize(cpu_target.target_context)


#: What has been loaded; LLVM would unload what nobody holds.
_LOADED: list[Any] = []


def load(code: bytes, symbols: Iterable[str], of_numba: Iterable[str] = ()) -> dict[str, int]:
    """Make an object file's functions callable; it stays in memory. ``of_numba``: what the code needs of numba's; numba
    is imported if there is any. Returns the address of each symbol."""
    import llvmlite.binding as llvm

    wanted = list(symbols)
    library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    for name in of_numba:
        load_runtime()
        library.import_symbol(name, llvm.address_of_symbol(name))
    for symbol in wanted:
        library.export_symbol(symbol)
    linked = library.link(_engine(), f"kernels {len(_LOADED)}")
    _LOADED.append(linked)
    return {symbol: linked[symbol] for symbol in wanted}
