"""Columns of numbers as messages hold them: the values one after another, little-endian, without a header."""

from __future__ import annotations

from typing import Any

import numpy as np

from traces.compiled import Array


def pack_float64(values: Any) -> bytes:
    """A column of float64 as it is sent, from anything that numpy can make an array of."""
    return np.asarray(values, dtype="<f8").tobytes()


def pack_int64(values: Any) -> bytes:
    """A column of int64 as it is sent."""
    return np.asarray(values, dtype="<i8").tobytes()


def pack_int32(values: Any) -> bytes:
    """A column of int32 as it is sent."""
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
