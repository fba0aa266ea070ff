"""First calls of a custom compiled rule, before it is used: in another process, and on arrays with guard numbers around them,
since compiled code silently writes outside its arrays."""

import ctypes
import faulthandler
import mmap
import os
import resource
import signal
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from traces.base.errors import RAISED_BY_PLUGINS, PluginError, where_defined, where_raised
from traces.compiled import Array, as_value, jit_enabled
from traces.kernels.signatures import Signature

_LONGEST_S: Final = 60  #: time limit of a trial, s; correct rules take less than a hundredth of a second


@contextmanager
def rule_answers(where: str) -> Iterator[None]:
    """Turn exceptions of a rule in this context into PluginError; the message begins with ``where``."""
    try:
        yield
    except RAISED_BY_PLUGINS as error:
        allowed = f"allowed: an answer{where_raised(error)}"
        raise PluginError(f"{where}: its rule raises {type(error).__name__} {error}; {allowed}") from None


def try_rule(
    where: str, rule: Callable[..., Any], signature: Signature, decorate: str, trial: Callable[[], None]
) -> None:
    """Try a rule in a forked process, and then, if that process survives, in this one.

    - ``rule``: the rule, which is compiled before.
    - ``signature``: the signature that it must be compiled for.
    - ``decorate``: the missing decorator, for the error: ``"next_chunk with technique_kernel"``.
    - ``trial``: calls it. Its exceptions are raised here, and not in the other process.

    Raises PluginError if it is not compiled for this signature, a signal kills the other process, or that process does not
    end within a minute.
    """
    try:
        as_value(rule, signature)
    except TypeError as error:
        raise PluginError(f"{where}: {error}; decorate {decorate}") from None
    if jit_enabled():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # other threads of ours hold no lock that a trial takes
            child = os.fork()
        if child == 0:
            _try_and_end(trial)
        if fault := _fault(child):
            raise PluginError(f"{where}: its rule {fault}{where_defined(rule)}")
    trial()  # compiled code did no harm; the rest can only raise


def _try_and_end(trial: Callable[[], None]) -> None:
    faulthandler.disable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    signal.alarm(_LONGEST_S)
    try:
        trial()
    finally:
        os._exit(0)  # whatever was raised


def _fault(child: int) -> str:
    # How the other process ended, if not by itself.
    try:
        status = os.waitpid(child, 0)[1]
    except BaseException:  # an interrupt
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGALRM:
        return f"does not end; allowed: an answer within {_LONGEST_S} s"
    if code < 0:
        name = signal.Signals(-code).name if -code in signal.valid_signals() else f"signal {-code}"
        return f"was killed by {name} in its first trial; allowed: to read and write its arrays only"
    return ""


_BEFORE: Final = 2**10  #: numbers before and after each array, for stray writes
_BEHIND: Final = 2**17

_UNTOUCHED: Final = -12345.678  #: their value: small enough to change when 1 is added
_NOWHERE: Final = 2**35  #: bytes of unmapped address space before and after: reading or writing there causes a signal

_libc: Any = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_FAILED: Final = ctypes.c_void_p(-1).value


def _far_from_all(count: int) -> Array:
    """Return ``count`` numbers far from all other memory; an ordinary array if the system has no room for this."""
    size = -(-8 * count // mmap.PAGESIZE) * mmap.PAGESIZE
    whole = size + 2 * _NOWHERE
    at = _libc.mmap(None, whole, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    if at in (None, _FAILED):
        return np.empty(count)
    if _libc.mprotect(at + _NOWHERE, size, mmap.PROT_READ | mmap.PROT_WRITE) != 0:
        _libc.munmap(at, whole)
        return np.empty(count)
    # The last number is at the end of a page.
    room: Any = (ctypes.c_double * count).from_address(at + _NOWHERE + size - 8 * count)
    weakref.finalize(room, _libc.munmap, at, whole)
    return np.frombuffer(room, np.float64)


class Fences:
    """Copies of arrays, for a first call of a custom function. ``**arrays``: float64, int64. ``arrays``: the copies,
    by name."""

    def __init__(self, where: str, **arrays: Array) -> None:
        self._who, self._given = where, arrays
        self._fields = {name: _far_from_all(_BEFORE + values.size + _BEHIND) for name, values in arrays.items()}
        self.arrays: dict[str, Array] = {}
        for name, values in arrays.items():
            self._fields[name][:] = _UNTOUCHED
            # Both kinds of numbers take eight bytes, so any write to a guard is found.
            held = self._fields[name][_BEFORE : _BEFORE + values.size].view(values.dtype)
            self.arrays[name] = held.reshape(values.shape)
            self.arrays[name][...] = values

    def check(self, *writable: str) -> None:
        """Check that nothing was written outside the arrays or, if ``writable`` names some, to other arrays. Raises
        PluginError for the first changed array."""
        for name, field in self._fields.items():
            held = self.arrays[name].size
            if (field[:_BEFORE] != _UNTOUCHED).any() or (field[_BEFORE + held :] != _UNTOUCHED).any():
                also = "; see its memo_size" if name == "memo" else ""
                raise PluginError(f"{self._who}: its rule writes outside {name}, which has room for {held} there{also}")
            if (
                writable
                and name not in writable
                and not np.array_equal(self.arrays[name], self._given[name], equal_nan=True)
            ):
                raise PluginError(f"{self._who}: its rule changes {name}; allowed: {', '.join(writable)}")
