"""Columns of numbers in messages: consecutive little-endian values without a header."""

from collections.abc import Sequence
from typing import Any, Final, Literal

import numpy as np

from traces.algorithms.extremes import extremes
from traces.compiled import Array

#: Up to this length Python finds the extremes faster than a kernel call.
_FEW: Final = 64


def pack_float64(values: Any) -> bytes:
    """A column of float64 in message form, from anything that numpy converts to an array."""
    return np.asarray(values, dtype="<f8").tobytes()


def pack_int64(values: Any) -> bytes:
    """A column of int64 in message form."""
    return np.asarray(values, dtype="<i8").tobytes()


def pack_int32(values: Any) -> bytes:
    """A column of int32 in message form."""
    return np.asarray(values, dtype="<i4").tobytes()


def unpack_float64(column: bytes) -> Array:
    """The float64 array, read-only, in a column whose length is a multiple of 8."""
    return np.frombuffer(column, dtype="<f8")


def unpack_int64(column: bytes) -> Array:
    """The int64 array, read-only, in a column whose length is a multiple of 8."""
    return np.frombuffer(column, dtype="<i8")


def unpack_int32(column: bytes) -> Array:
    """The int32 array, read-only, in a column whose length is a multiple of 4."""
    return np.frombuffer(column, dtype="<i4")


def column_extremes(column: bytes, code: Literal["d", "q"]) -> tuple[float, float]:
    """The lowest and the highest number of a non-empty column of float64 (``d``) or int64 (``q``); NaN if it has a NaN."""
    if len(column) <= 8 * _FEW:
        numbers: Sequence[float] = memoryview(column).cast(code).tolist()
        total = sum(numbers)
        if total == total:  # no NaN
            return min(numbers), max(numbers)
    return extremes(unpack_float64(column) if code == "d" else unpack_int64(column))
