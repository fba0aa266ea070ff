"""Machine code of kernels: found, or compiled in units and kept, loaded, and what is said meanwhile.

A unit is the entries of one module, those of its kernels that Python or a pointer calls, with all that these call. What is
called with other types than it says, and what is a user's, is a unit of its own. While units are compiled there is a bar on a
terminal, or a line every few seconds elsewhere; nothing if it is quick.
"""

import builtins
import contextlib
import dis
import functools
import hashlib
import importlib
import itertools
import marshal
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TextIO

from traces.kernels import shipped, store
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
    with _LOCK, compiling(missing):
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
                unit_kept(unit, found.facts["kernels"])
            addresses = load(found.code, found.returned, found.of_numba)
            for name, returned in found.returned.items():
                _FOUND[name] = MachineCode(addresses[name], returned, addresses.get(f"{name}_raised", 0))
        _PREPARED.add(unit)


def _built(unit: str, entries: list[tuple[Kernel, tuple[Kind, ...]]], symbol: str | None, is_kept: bool) -> store.Kept:
    with compiling({unit: 0}), store.locked(unit):
        found = store.kept(unit) if is_kept else None  # somebody else compiled it while we waited
        if found is None:
            try:
                from traces.kernels import build
            except ModuleNotFoundError as error:  # of a wheel that has its own kernels compiled
                raise CannotCompile(f"{error}; pip install 'twolevel[compile]' brings the compiler") from None

            wanted = [build.EntryPoint(kernel, kinds, symbol or symbol_of(kernel, kinds)) for kernel, kinds in entries]
            try:
                found = build.emit(wanted, note)
            except build.BuildError as error:
                raise CannotCompile(str(error)) from error
            if is_kept and (why := store.keep(unit, found)) is not None:
                not_kept(why)
        unit_done(unit, found.facts["kernels"])
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


#: So long nothing is said, s.
_QUIET_S = 1.5

#: The bar is drawn again after so long, and a line is written, s.
_REDRAW_S, _LINE_S = 0.1, 3.0

#: What is left of a unit when its last kernel has been gone through, as a share of what went before: to optimise it.
_REST = 0.35

_WIDTH = 24


class Compiling:
    """How far it is.

    - ``units``: how many kernels each unit has that is compiled; 0: nobody knows.
    - ``stream``: default stderr.
    - ``clock``: seconds that only grow.
    """

    def __init__(
        self, units: Mapping[str, int], *, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._units = dict(units)
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._began = clock()
        self._said_s = self._began - _LINE_S
        self._finished = 0  # kernels of units that are done
        self._here = 0  # of the one that is not
        self._bar = False

    @property
    def total(self) -> int:
        """How many kernels there are."""
        return max(sum(self._units.values()), self._finished + self._here)

    def waits_for(self, name: str) -> bool:
        """Whether a unit is among those that are compiled."""
        return name in self._units

    def kernel(self) -> None:
        """One more kernel has been gone through."""
        self._here += 1
        self.show()

    def unit(self, name: str, kernels: int) -> None:
        """A unit is done."""
        self._units[name] = kernels
        self._finished, self._here = self._finished + kernels, 0
        self.show()

    def text(self) -> str:
        """How far it is, in words."""
        done, total = self._finished + self._here, self.total
        elapsed_s = self._clock() - self._began
        work = self._finished * (1 + _REST) + self._here
        left_s = elapsed_s * (total * (1 + _REST) - work) / work if work else 0.0
        left = f", about {left_s:.0f} s left" if work and total and left_s >= 1 else ""
        if not all(self._units.values()):  # nobody knows how many there are
            return f"compiling for this version, once: {done} kernel{'s' * (done != 1)}"
        return f"compiling for this version, once: {done} of {total} kernels{left}"

    def show(self) -> None:
        """Say how far it is, if it is time for that."""
        now_s = self._clock()
        if now_s - self._began < _QUIET_S:
            return
        with contextlib.suppress(OSError, ValueError):  # nobody reads any more
            if self._stream.isatty():
                if now_s - self._said_s >= _REDRAW_S:
                    self._said_s, self._bar = now_s, True
                    share = (self._finished + self._here) / max(1, self.total)
                    bar = "━" * round(_WIDTH * share)
                    self._stream.write(f"\r\x1b[K{bar:<{_WIDTH}} {self.text()}")
                    self._stream.flush()
            elif now_s - self._said_s >= _LINE_S:
                self._said_s = now_s
                self._stream.write(f"{self.text()}\n")
                self._stream.flush()

    def close(self) -> None:
        """Take the bar away."""
        if self._bar:
            with contextlib.suppress(OSError, ValueError):
                self._stream.write("\r\x1b[K")
                self._stream.flush()


_NOW: Compiling | None = None
_SPENT_S = 0.0
_SINCE_S: float | None = None
_SAID: set[str] = set()


@contextlib.contextmanager
def compiling(units: Mapping[str, int]) -> Iterator[None]:
    """While these units are compiled: how many kernels each has, 0 where nobody knows. Within another, it is part of that."""
    global _NOW, _SINCE_S, _SPENT_S
    with _LOCK:
        if _NOW is not None or not units:
            yield
            return
        _NOW = Compiling(units)
        _SINCE_S = time.monotonic()
        try:
            yield
        finally:
            _SPENT_S, _SINCE_S = spent_s(), None
            _NOW.close()
            _NOW = None


def note() -> None:
    """One more kernel has been gone through."""
    if _NOW is not None:
        _NOW.kernel()


def unit_done(name: str, kernels: int) -> None:
    """A unit is done that has so many kernels, here or by whoever was waited for."""
    if _NOW is not None:
        _NOW.unit(name, kernels)


def unit_kept(name: str, kernels: int) -> None:
    """A unit is there; if it was to be compiled, another process has done that meanwhile."""
    if _NOW is not None and _NOW.waits_for(name):
        _NOW.unit(name, kernels)


def spent_s() -> float:
    """How long this process has compiled so far, or waited for one that does, wall s: no part of what a run takes."""
    since_s = _SINCE_S
    return _SPENT_S if since_s is None else _SPENT_S + time.monotonic() - since_s


def working_s() -> float:
    """The clock of whoever says how long a run takes: monotonic seconds, which stand still while this process compiles."""
    since_s = _SINCE_S
    return (time.monotonic() if since_s is None else since_s) - _SPENT_S


def not_kept(why: str) -> None:
    """Machine code is not kept: say why, once."""
    if not _SAID:  # what is wrong with one file is wrong with the others
        _SAID.add(why)
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"kernels are compiled again in every run: {why}\n")
