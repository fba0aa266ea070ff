"""Signatures of external functions that the engine calls: those of the policy, and the wall clock that times decisions."""

import ctypes
import functools
from typing import Any

from traces.compiled import CFunction, types

_COLUMN = types.Column(types.int64, 1)
_VALUES = types.Column(types.float64, 1)
_NUMBERS = types.Column(types.float64, 2)

#: The signature of ``bls.policies.contract.ScorePolicy.score``.
SCORE = types.int64(types.int64, _COLUMN, types.int64, _COLUMN, _COLUMN, _COLUMN, _COLUMN, _NUMBERS, _VALUES, _VALUES)

#: The signature of ``bls.policies.contract.ScorePolicy.account``.
ACCOUNT = types.int64(types.int64, types.int64, types.int64, types.int64, _NUMBERS, _VALUES)

DECIDE = types.int64(types.int64)  #: the signature of the function by which a Python policy decides

#: The signature of ``clock_gettime``: (clock number, address of two int64) → 0.
CLOCK = types.int64(types.int64, types.uintp)


@functools.cache
def wall_clock() -> Any:
    """``clock_gettime`` of the C library, for kernels."""
    function = ctypes.CDLL(None).clock_gettime
    function.argtypes, function.restype = (ctypes.c_int64, ctypes.c_void_p), ctypes.c_int64
    return CFunction(function, CLOCK)
