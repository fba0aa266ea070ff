"""Arrays amid numbers that nobody should touch: compiled code that writes outside its arrays does so without a word."""

from __future__ import annotations

import ctypes
import mmap
import weakref
from typing import Any, Final

import numpy as np

from traces.base.errors import PluginError
from traces.compiled import Array

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
