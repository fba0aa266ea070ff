"""The wall clock as compiled code reads it: how long a decision takes is measured where it is made."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from traces.compiled import CFunction, types

#: The signature of ``clock_gettime``: (clock number, address of two int64) → 0.
CLOCK = types.int64(types.int64, types.uintp)


@functools.cache
def wall_clock() -> Any:
    """``clock_gettime`` of the C library, for kernels."""
    function = ctypes.CDLL(None).clock_gettime
    function.argtypes, function.restype = (ctypes.c_int64, ctypes.c_void_p), ctypes.c_int64
    return CFunction(function, CLOCK)
