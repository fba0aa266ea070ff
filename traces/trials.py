"""First calls of a compiled rule that is not ours, before it is trusted with real arrays: in a process of its own, and on
arrays amid numbers that nothing should touch, as compiled code that writes outside its arrays does so without a word."""

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

#: So long may a trial take, s; those of rules that are well take less than a hundredth of a second.
_LONGEST_S: Final = 60


@contextmanager
def rule_answers(who: str) -> Iterator[None]:
    """Have what a rule raises within be its fault. Raises PluginError: the message begins with ``who``."""
    try:
        yield
    except RAISED_BY_PLUGINS as error:
        raise PluginError(
            f"{who}: its rule raises {type(error).__name__} {error}; allowed: an answer{where_raised(error)}"
        ) from None


def try_rule(
    who: str, rule: Callable[..., Any], signature: Signature, decorate: str, trial: Callable[[], None]
) -> None:
    """Try a rule in a forked process, and then, if that one lives, in this one.

    - ``rule``: the rule, which is compiled before.
    - ``signature``: the one that it must be compiled for.
    - ``decorate``: what to decorate with what, where it is not: ``"next_chunk with technique_kernel"``.
    - ``trial``: what calls it. What this raises is raised here, and not in the other process.

    Raises PluginError if it is not compiled as it must be, a signal kills the other process, or that one does not end
    within a minute.
    """
    try:
        as_value(rule, signature)
    except TypeError as error:
        raise PluginError(f"{who}: {error}; decorate {decorate}") from None
    if jit_enabled():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # other threads of ours hold no lock that a trial takes
            child = os.fork()
        if child == 0:
            _try_and_end(trial)
        if fault := _fault(child):
            raise PluginError(f"{who}: its rule {fault}{where_defined(rule)}")
    trial()  # nothing that is not compiled can do more than raise


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
    # What became of the other process, if it did not end by itself.
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


#: Numbers before and behind each array; what goes astray is likely to go no farther.
_BEFORE: Final = 2**10
_BEHIND: Final = 2**17

#: What stands there: small enough to become another number when 1 is added to it.
_UNTOUCHED: Final = -12345.678

#: Bytes of address space before and behind, where nothing is: whoever reads or writes there is killed by a signal.
_NOWHERE: Final = 2**35

_libc: Any = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_FAILED: Final = ctypes.c_void_p(-1).value


def _far_from_all(count: int) -> Array:
    """``count`` numbers far from whatever else is in memory; plain ones where the system has no room for that."""
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
    """Copies of arrays, for a first call of a function that is not ours. ``**arrays``: float64, int64 (any,).
    ``arrays``: the copies, by name."""

    def __init__(self, who: str, **arrays: Array) -> None:
        self._who, self._given = who, arrays
        self._fields = {name: _far_from_all(_BEFORE + len(values) + _BEHIND) for name, values in arrays.items()}
        self.arrays: dict[str, Array] = {}
        for name, values in arrays.items():
            self._fields[name][:] = _UNTOUCHED
            # Numbers of either kind take eight bytes, and what is written to a fence is seen in any case.
            self.arrays[name] = self._fields[name][_BEFORE : _BEFORE + len(values)].view(values.dtype)
            self.arrays[name][:] = values

    def check(self, *writable: str) -> None:
        """Check that nothing was written outside the arrays, nor, if some are named here, into others than these.
        Raises PluginError if something was; the message names the array."""
        for name, field in self._fields.items():
            held = len(self.arrays[name])
            if (field[:_BEFORE] != _UNTOUCHED).any() or (field[_BEFORE + held :] != _UNTOUCHED).any():
                also = "; see its memo_size" if name == "memo" else ""
                raise PluginError(f"{self._who}: its rule writes outside {name}, which has room for {held} there{also}")
            if (
                writable
                and name not in writable
                and not np.array_equal(self.arrays[name], self._given[name], equal_nan=True)
            ):
                raise PluginError(f"{self._who}: its rule changes {name}; allowed: {', '.join(writable)}")
