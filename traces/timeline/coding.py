"""Whole numbers as planes of bytes: what differs little from row to row becomes bytes of zero, which zlib makes short.

``tools/page/src/timeline/coded.ts`` reads them. A column of n numbers is width × n bytes: all lowest bytes, then all second
ones, and so on. Before that the numbers may have been replaced by their differences, and these by ``2 d`` or, below 0,
``-2 d - 1``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from traces.compiled import Array


def coded(numbers: Array, *, differences: bool = False) -> tuple[Array, dict[str, Any]]:
    """Planes of bytes, and how to read them.

    Parameters
    ----------
    numbers : ndarray of int, shape (n,)
        Any that int64 holds.
    differences : bool
        Whether each is kept as what it is more than the one before; the first, than 0.

    Returns
    -------
    planes : ndarray of uint8, shape (width × n,)
    how : dict
        ``rows``, ``width`` (bytes of a number, 1 to 8), ``differences`` and ``signed``.
    """
    values = np.ascontiguousarray(numbers, np.int64)
    if differences and len(values):
        values = np.concatenate(
            [values[:1], values[1:] - values[:-1]]
        )  # which wraps around as int64 does, here and there
    signed = bool(len(values)) and int(values.min()) < 0
    if signed:
        values = (values << 1) ^ (values >> 63)
    plain = values.view(np.uint64)
    width = max(1, -(-int(plain.max(initial=np.uint64(0))).bit_length() // 8))
    octets = plain.astype("<u8", copy=False).view(np.uint8).reshape(-1, 8)
    planes = np.ascontiguousarray(octets[:, :width].T).reshape(-1)
    return planes, {"rows": len(values), "width": width, "differences": differences, "signed": signed}


def coded_columns(columns: Mapping[str, Array], differences: frozenset[str]) -> tuple[dict[str, Array], dict[str, Any]]:
    """:func:`coded` of several columns; those named in `differences` so: the planes, and how to read them, by name."""
    planes: dict[str, Array] = {}
    how: dict[str, Any] = {}
    for name, column in columns.items():
        planes[name], how[name] = coded(column, differences=name in differences)
    return planes, how
