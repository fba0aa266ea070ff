"""Machine code of kernels: found, or compiled in units and stored, loaded, and the progress shown meanwhile.

A unit is the entries of one module (its kernels called by Python or a pointer) with everything that they call. Kernels called
with other types than declared, and kernels of users, are units of their own. While units are compiled there is a progress bar
on a terminal, or a line every few seconds elsewhere; nothing if it is quick.
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

from traces.kernels import store
from traces.kernels.declared import OURS, Kernel
from traces.kernels.signatures import Kind
from traces.kernels.state import jit_enabled


class CannotCompile(Exception):
    """numba refuses a kernel; the message is one line."""


@dataclass(frozen=True)
class MachineCode:
    """One entry."""

    address: int
    returned: str  # its result, by ``traces.kernels.signatures``
    raised: int = 0  # address of the flag that a user's kernel has raised; 0 for ours, which do not raise


_FOUND: dict[str, MachineCode] = {}
_PREPARED: set[str] = set()
_COUNT = itertools.count()
_LOCK = threading.RLock()


def symbol_of(kernel: Kernel, kinds: tuple[Kind, ...]) -> str:
    """Return the name of a kernel's entry."""
    text = f"{kernel.__module__}.{kernel.__qualname__}({','.join(kind.code for kind in kinds)})"
    name = "".join(one if one.isalnum() else "_" for one in f"{kernel.__module__}.{kernel.__name__}")
    return f"{name}_{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def module_entries(module: str) -> list[tuple[Kernel, tuple[Kind, ...]]]:
    """Return the entries of a module of this project: its kernels that are not inner and declare their arguments."""
    return [
        (one, one.parameters)
        for one in vars(importlib.import_module(module)).values()
        if isinstance(one, Kernel) and one.__module__ == module and one.is_entry and one.parameters is not None
    ]


def machine_code(kernel: Kernel, kinds: tuple[Kind, ...]) -> MachineCode:
    """Return the machine code of a kernel for arguments of these kinds, compiled if it is not stored. Raises CannotCompile if
    it cannot be compiled."""
    if kernel.is_ours:
        symbol = symbol_of(kernel, kinds)
        if symbol not in _FOUND:
            if kernel.is_entry and kernel.parameters == kinds:
                _prepare(kernel.__module__, module_entries(kernel.__module__))
            if symbol not in _FOUND:
                _prepare(symbol, [(kernel, kinds)])
        return _FOUND[symbol]
    # A user's kernel is stored by everything that it is made of, if that can be determined.
    text = _made_of(kernel)
    symbol = f"user_{hashlib.sha256(text).hexdigest()[:16]}" if text else f"user_{next(_COUNT)}"
    symbol = f"{symbol}_{hashlib.sha256(','.join(kind.code for kind in kinds).encode()).hexdigest()[:8]}"
    if symbol not in _FOUND:
        _prepare(symbol, [(kernel, kinds)], symbol=symbol, is_kept=text is not None)
    return _FOUND[symbol]


def prepare(modules: Mapping[str, int]) -> None:
    """Load or compile the machine code of modules before a run, so that no run waits for it or counts the wait. ``modules``:
    the number of kernels of each, for the progress bar; 0 if unknown."""
    if not jit_enabled():
        return
    missing = {
        module: kernels or _about(module)
        for module, kernels in modules.items()
        if module not in _PREPARED and module not in store.shipped_units() and not store.has(module)
    }
    # In the order of callers' own locks: otherwise two threads could wait for each other.
    with _LOCK, compiling(missing):
        for module in modules:
            if module not in _PREPARED:
                entries = module_entries(module)
                if entries:
                    _prepare(module, entries)


def _about(module: str) -> int:
    # Estimate the number of kernels of a module, if unknown: those that it names.
    return sum(isinstance(one, Kernel) for one in vars(importlib.import_module(module)).values())


def _prepare(
    unit: str, entries: list[tuple[Kernel, tuple[Kind, ...]]], *, symbol: str | None = None, is_kept: bool = True
) -> None:
    with _LOCK:
        if unit in _PREPARED:  # by another thread, while this one waited
            return
        came = store.shipped_unit(unit)
        if came is not None:
            _FOUND.update({name: MachineCode(address, returned) for name, (address, returned) in came.items()})
        else:
            found = store.kept(unit) if is_kept else None
            if found is None:
                found = _built(unit, entries, symbol, is_kept)
            else:
                unit_done(unit, found.facts["kernels"], is_kept=True)
            addresses = load(found.code, found.returned, found.of_numba)
            for name, returned in found.returned.items():
                _FOUND[name] = MachineCode(addresses[name], returned, addresses.get(f"{name}_raised", 0))
        _PREPARED.add(unit)


def _built(unit: str, entries: list[tuple[Kernel, tuple[Kind, ...]]], symbol: str | None, is_kept: bool) -> store.Kept:
    with compiling({unit: 0}), store.locked(unit):
        found = store.kept(unit) if is_kept else None  # another process has compiled it while we waited
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
    # Identify a user's kernel: by its code, if that reads nothing that may differ in the next run. Machine code contains the
    # values of the globals that the function reads, and the functions that it calls.
    function = kernel.py_func
    if function.__code__.co_freevars:
        return None
    words = [sys.version, "" if kernel.signature is None else kernel.signature.code]
    for name in sorted(_read(function.__code__)):
        # Names alone are not enough: ``from math import ceil as rounding`` may have been floor in the run before.
        meant = _meant(function, name)
        if meant is None:
            return None
        words.append(f"{name}={meant}")
    bare = function.__code__.replace(co_filename="", co_firstlineno=1, co_linetable=b"")
    return marshal.dumps(bare) + "\n".join(words).encode()


def _read(code: CodeType) -> set[str]:
    # The globals that a function reads, including functions and comprehensions within it.
    inner = [one for one in code.co_consts if isinstance(one, CodeType)]
    found = {one.argval for one in dis.get_instructions(code) if one.opname == "LOAD_GLOBAL"}
    return found.union(*map(_read, inner))


def _meant(function: Any, name: str) -> str | None:
    # Identify a global, if its name always means the same; else None.
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
    # Objects of this project: the columns of a state, the callers of hooks; numbers, whose places are not all loaded, by value.
    ours = sorted(home for home, module in tuple(sys.modules.items()) if _is_from(OURS, home) and module is not None)
    homes = [home for home in ours if vars(sys.modules[home]).get(name) is value]
    return repr(value) if homes and not callable(value) else homes[0] if homes else None


def _is_from(packages: Iterable[str], module: str | None) -> bool:
    return module is not None and module.partition(".")[0] in packages


# A kernel is made by a decorator: ``@compiled(…)``, or a contract's decorator, as ``@technique_kernel`` and ``@hook``.
_DECORATED = re.compile(rb"^@[\w.]*(?:compiled|kernel|hook)\b", re.MULTILINE)


def kernel_modules() -> list[str]:
    """Return the names of the modules of all packages with kernels called by Python or a pointer. Only these are imported:
    neither figures nor numba."""
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
    # JITLink puts the parts of an object side by side. The older linker puts each anywhere, and once a process holds gigabytes
    # of arrays they may be more than 2 GiB apart, which code cannot reach: LLVM then ends the process.
    return llvm.create_lljit_compiler(use_jit_link=True)


@functools.cache
def load_runtime() -> None:
    """Load numba's functions for lists, sorting and random numbers; only users' kernels need them."""
    from numba.core.registry import cpu_target
    from numba.core.runtime import rtsys

    rtsys.initialize(cpu_target.target_context)


_LOADED: list[Any] = []  #: the loaded objects; LLVM would unload them otherwise


def load(code: bytes, symbols: Iterable[str], of_numba: Iterable[str] = ()) -> dict[str, int]:
    """Load an object file for good and return the address of each symbol. ``of_numba``: numba's functions that the code needs;
    numba is imported only if there are any."""
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


_QUIET_S = 1.5  #: delay before the first progress message, s
_REDRAW_S, _LINE_S = 0.1, 3.0  #: intervals between updates of the bar, and between lines, s
_REST = 0.35  #: time to optimise a unit after its last kernel, as a share of the time before

_WIDTH = 24


class Compiling:
    """The progress of compilation. ``units``: the number of kernels of each compiled unit; 0: unknown. ``stream``: default
    stderr. ``clock``: monotonic seconds."""

    def __init__(
        self, units: Mapping[str, int], *, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._units = dict(units)
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._began = clock()
        self._said_s = self._began - _LINE_S
        self._finished = 0  # kernels of finished units
        self._here = 0  # kernels of the present unit
        self._bar = False

    @property
    def total(self) -> int:
        """Number of all kernels."""
        return max(sum(self._units.values()), self._finished + self._here)

    def waits_for(self, name: str) -> bool:
        """Return whether a unit is among those being compiled."""
        return name in self._units

    def kernel(self) -> None:
        """Count one more kernel."""
        self._here += 1
        self.show()

    def unit(self, name: str, kernels: int) -> None:
        """Finish a unit."""
        self._units[name] = kernels
        self._finished, self._here = self._finished + kernels, 0
        self.show()

    def text(self) -> str:
        """The progress in words."""
        done, total = self._finished + self._here, self.total
        elapsed_s = self._clock() - self._began
        work = self._finished * (1 + _REST) + self._here
        left_s = elapsed_s * (total * (1 + _REST) - work) / work if work else 0.0
        left = f", about {left_s:.0f} s left" if work and total and left_s >= 1 else ""
        if not all(self._units.values()):  # the total is unknown
            return f"compiling for this version, once: {done} kernel{'s' * (done != 1)}"
        return f"compiling for this version, once: {done} of {total} kernels{left}"

    def show(self) -> None:
        """Show the progress if it is time."""
        now_s = self._clock()
        if now_s - self._began < _QUIET_S:
            return
        with contextlib.suppress(OSError, ValueError):  # the stream is closed
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
        """Remove the bar."""
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
    """Show progress while these units are compiled: the number of kernels of each, 0 if unknown. Calls may be nested."""
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
    """Count one more kernel."""
    if _NOW is not None:
        _NOW.kernel()


def unit_done(name: str, kernels: int, *, is_kept: bool = False) -> None:
    """Finish a unit with this number of kernels, compiled here or, if it ``is_kept``, possibly by another process."""
    if _NOW is not None and (not is_kept or _NOW.waits_for(name)):
        _NOW.unit(name, kernels)


def spent_s() -> float:
    """Return the time that this process has compiled, or waited for compilation, wall s: excluded from the time of a run."""
    since_s = _SINCE_S
    return _SPENT_S if since_s is None else _SPENT_S + time.monotonic() - since_s


def working_s() -> float:
    """Return the clock for the time of a run: monotonic seconds, which stop while this process compiles."""
    since_s = _SINCE_S
    return (time.monotonic() if since_s is None else since_s) - _SPENT_S


def not_kept(why: str) -> None:
    """Warn once that machine code is not stored, and why."""
    if not _SAID:  # the reason for one file holds for the others
        _SAID.add(why)
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"kernels are compiled again in every run: {why}\n")
