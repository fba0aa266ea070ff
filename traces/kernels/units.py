"""Units of machine code: what is compiled together, found when it is first called.

A unit is the entries of one module, those of its kernels that Python or a pointer calls, with all that these call. What is
called with other types than it says, and what is a user's, is a unit of its own.
"""

from __future__ import annotations

import builtins
import dis
import hashlib
import importlib
import itertools
import marshal
import os
import re
import sys
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from traces.kernels import loading, progress, shipped, store
from traces.kernels.declared import OURS, Kernel, jit_enabled
from traces.kernels.signatures import Kind


class CannotCompile(Exception):
    """A kernel that numba does not take: what is wrong with it, in a line."""


@dataclass(frozen=True)
class MachineCode:
    """One entry."""

    address: int
    returned: str  # by ``traces.kernels.signatures``
    raised: int = 0  # where a user's tells that it has raised; 0 of ours, which do not


_FOUND: dict[str, MachineCode] = {}
_PREPARED: set[str] = set()
_COUNT = itertools.count()
_LOCK = threading.RLock()


def symbol_of(kernel: Kernel, kinds: tuple[Kind, ...]) -> str:
    """What the entry of a kernel is called."""
    text = f"{kernel.__module__}.{kernel.__qualname__}({','.join(kind.code for kind in kinds)})"
    name = "".join(one if one.isalnum() else "_" for one in f"{kernel.__module__}.{kernel.__name__}")
    return f"{name}_{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def module_entries(module: str) -> list[tuple[Kernel, tuple[Kind, ...]]]:
    """The entries of a module of ours: its kernels that are no other kernel's alone, and say what they take."""
    return [
        (one, one.parameters)
        for one in vars(importlib.import_module(module)).values()
        if isinstance(one, Kernel) and one.__module__ == module and one.is_entry and one.parameters is not None
    ]


def machine_code(kernel: Kernel, kinds: tuple[Kind, ...]) -> MachineCode:
    """The machine code of a kernel for arguments of these kinds; compiled if it is not kept. Raises CannotCompile if it
    cannot be compiled."""
    if kernel.is_ours:
        symbol = symbol_of(kernel, kinds)
        if symbol not in _FOUND:
            if kernel.is_entry and kernel.parameters == kinds:
                _prepare(kernel.__module__, module_entries(kernel.__module__))
            if symbol not in _FOUND:
                _prepare(symbol, [(kernel, kinds)])
        return _FOUND[symbol]
    # A user's: by what it is made of, where that says all.
    text = _made_of(kernel)
    symbol = f"user_{hashlib.sha256(text).hexdigest()[:16]}" if text else f"user_{next(_COUNT)}"
    symbol = f"{symbol}_{hashlib.sha256(','.join(kind.code for kind in kinds).encode()).hexdigest()[:8]}"
    if symbol not in _FOUND:
        _prepare(symbol, [(kernel, kinds)], symbol=symbol, is_kept=text is not None)
    return _FOUND[symbol]


def prepare(modules: Mapping[str, int]) -> None:
    """Have the machine code of modules at hand, so that no run waits for it, nor counts the wait. ``modules``: how many
    kernels each has, for those who wait; 0 where nobody has counted."""
    if not jit_enabled():
        return
    missing = {
        module: kernels or _about(module)
        for module, kernels in modules.items()
        if module not in _PREPARED and module not in shipped.units() and not store.has(module)
    }
    # In this order, as whoever calls a kernel has it: two threads would wait for each other.
    with _LOCK, progress.compiling(missing):
        for module in modules:
            if module not in _PREPARED:
                entries = module_entries(module)
                if entries:
                    _prepare(module, entries)


def _about(module: str) -> int:
    # About how many kernels a module's machine code has, where nobody has counted them: those that it names.
    return sum(isinstance(one, Kernel) for one in vars(importlib.import_module(module)).values())


def _prepare(
    unit: str, entries: list[tuple[Kernel, tuple[Kind, ...]]], *, symbol: str | None = None, is_kept: bool = True
) -> None:
    with _LOCK:
        if unit in _PREPARED:  # by another thread, while this one waited
            return
        came = shipped.unit(unit)
        if came is not None:
            _FOUND.update({name: MachineCode(address, returned) for name, (address, returned) in came.items()})
        else:
            found = store.kept(unit) if is_kept else None
            if found is None:
                found = _built(unit, entries, symbol, is_kept)
            else:
                progress.unit_kept(unit, found.facts["kernels"])
            addresses = loading.load(found.code, found.returned, found.of_numba)
            for name, returned in found.returned.items():
                _FOUND[name] = MachineCode(addresses[name], returned, addresses.get(f"{name}_raised", 0))
        _PREPARED.add(unit)


def _built(unit: str, entries: list[tuple[Kernel, tuple[Kind, ...]]], symbol: str | None, is_kept: bool) -> store.Kept:
    with progress.compiling({unit: 0}), store.locked(unit):
        found = store.kept(unit) if is_kept else None  # somebody else compiled it while we waited
        if found is None:
            from traces.kernels import build

            wanted = [build.EntryPoint(kernel, kinds, symbol or symbol_of(kernel, kinds)) for kernel, kinds in entries]
            try:
                found = build.emit(wanted, progress.note)
            except build.BuildError as error:
                raise CannotCompile(str(error)) from error
            if is_kept and (why := store.keep(unit, found)) is not None:
                progress.not_kept(why)
        progress.unit_done(unit, found.facts["kernels"])
    return found


def _made_of(kernel: Kernel) -> bytes | None:
    # What tells a user's kernel from every other: its code, where that reads nothing that may be another in the next run.
    # Machine code has the values of the globals in it that the function reads, and what it calls.
    function = kernel.py_func
    if function.__code__.co_freevars:
        return None
    words = [sys.version, "" if kernel.signature is None else kernel.signature.code]
    for name in sorted(_read(function.__code__)):
        # Names alone do not say what is read: ``from math import ceil as rounding`` was floor in the run before.
        meant = _meant(function, name)
        if meant is None:
            return None
        words.append(f"{name}={meant}")
    return marshal.dumps(_bare(function.__code__)) + "\n".join(words).encode()


def _bare(code: CodeType) -> CodeType:
    return code.replace(co_filename="", co_firstlineno=1, co_linetable=b"")


def _read(code: CodeType) -> set[str]:
    # The globals that a function reads, and functions and comprehensions within it.
    inner = [one for one in code.co_consts if isinstance(one, CodeType)]
    found = {one.argval for one in dis.get_instructions(code) if one.opname == "LOAD_GLOBAL"}
    return found.union(*map(_read, inner))


def _meant(function: Any, name: str) -> str | None:
    # What a global is, if that is the same wherever it is called so; else None.
    if name not in function.__globals__:
        return "built in" if hasattr(builtins, name) else None
    value = function.__globals__[name]
    known = ("math", "numpy", *OURS)
    if isinstance(value, ModuleType):
        return value.__name__ if _is_from(known, value.__name__) else None
    home, own_name = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if callable(value) and own_name is not None:
        same = _is_from(known, home) and vars(sys.modules.get(home or "", builtins)).get(own_name) is value
        return f"{home}.{own_name}" if same else None
    # What is called as one of ours, and is it: the columns of a state, what calls a hook.
    ours = sorted(home for home, module in tuple(sys.modules.items()) if _is_from(OURS, home) and module is not None)
    homes = [home for home in ours if vars(sys.modules[home]).get(name) is value]
    return f"{homes[0]}.{name}, {value!r}" if homes and not callable(value) else homes[0] if homes else None


def _is_from(packages: Iterable[str], module: str | None) -> bool:
    return module is not None and module.partition(".")[0] in packages


# A kernel is made by a decorator: ``@compiled(…)``, or one that a contract makes of it, as ``@technique_kernel`` and ``@hook``.
_DECORATED = re.compile(rb"^@[\w.]*(?:compiled|kernel|hook)\b", re.MULTILINE)


def kernel_modules() -> list[str]:
    """The modules of all packages whose kernels Python, or a pointer, calls; by name. They are imported, and nothing
    else is: no figure is drawn, and numba is not there."""
    root = Path(__file__).resolve().parents[2]
    found = []
    for package in OURS:
        for folder, _, names in os.walk(root / package):
            for name in names:
                path = Path(folder, name)
                if path.suffix == ".py" and _DECORATED.search(path.read_bytes()):
                    inner = path.relative_to(root).with_suffix("").parts
                    found.append(".".join(inner[:-1] if inner[-1] == "__init__" else inner))
    return [module for module in sorted(found) if module_entries(module)]
