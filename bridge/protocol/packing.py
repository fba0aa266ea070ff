"""Columns of numbers in messages: consecutive little-endian values without a header."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, Literal

import numpy as np

from traces.algorithms.extremes import extremes
from traces.compiled import Array

_FEW: Final = 64  # up to this length Python finds the extremes faster than a kernel call


def _packed(kind: str, values: Any) -> bytes:
    return np.asarray(values, dtype=kind).tobytes()


def _unpacked(kind: str, column: bytes) -> Array:
    return np.frombuffer(column, dtype=kind)


#: A column in message form, from anything that numpy converts to an array; and the read-only array in such a column.
pack_float64, unpack_float64 = partial(_packed, "<f8"), partial(_unpacked, "<f8")
pack_int64, unpack_int64 = partial(_packed, "<i8"), partial(_unpacked, "<i8")
pack_int32, unpack_int32 = partial(_packed, "<i4"), partial(_unpacked, "<i4")


def column_extremes(column: bytes, code: Literal["d", "q"]) -> tuple[float, float]:
    """The lowest and the highest number of a non-empty column of float64 (``d``) or int64 (``q``); NaN if it has a NaN."""
    if len(column) <= 8 * _FEW:
        numbers: Sequence[float] = memoryview(column).cast(code).tolist()
        total = sum(numbers)
        if total == total:  # no NaN
            return min(numbers), max(numbers)
    return extremes(unpack_float64(column) if code == "d" else unpack_int64(column))
