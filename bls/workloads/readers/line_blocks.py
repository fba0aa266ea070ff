"""Text files read block by block, and columns put together from the blocks' pieces.

A log of millions of lines is never in memory as text: a block of whole lines is, and what was read from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from traces.base.columns import read_only
from traces.base.errors import InputError
from traces.compiled import Array

#: So much text is read at once.
BLOCK_BYTES = 1 << 20

#: The longest line; a file that has a longer one is no text.
LINE_BYTES = 1 << 26

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Readable(Protocol):
    """What text is read from: a binary file, ``io.BytesIO`` or ``traces.base.given_file.GivenFile``."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Fill ``buffer`` or a part of it, and say how many bytes: 0 at the end."""
        ...


def line_blocks(file: Readable, source: str, block_bytes: int = BLOCK_BYTES) -> Iterator[Array]:
    """Whole lines of a file, as many as a block holds.

    - ``file``: read from where it stands to its end. A UTF-8 byte order mark is left out.
    - ``block_bytes``: how much is read at once, from 3; more where one line is longer

    Yields ndarray of int8: signed bytes (kernels take an unsigned and a signed integer together to a float). Only the
    last may lack the line feed at its end. The next block overwrites it. Raises InputError if the file is empty, or a
    line is longer than ``LINE_BYTES``.
    """
    block = np.empty(block_bytes, np.int8)
    held, first, more = 0, True, True
    while more:
        end = held + _fill(file, block[held:])
        more = end == len(block)
        start = 0
        if first:
            if not end:
                raise InputError(f"{source}: the file is empty")
            start = len(_BYTE_ORDER_MARK) if block[:3].tobytes() == _BYTE_ORDER_MARK else 0
            first = False
        stop = start + block[start:end].tobytes().rfind(b"\n") + 1 if more else end
        if stop > start:
            yield block[start:stop]
        held = end - stop
        if held == len(block):
            if held >= LINE_BYTES:
                raise InputError(f"{source}: a line is longer than {LINE_BYTES} bytes; this is no text")
            longer = np.empty(2 * held, np.int8)
            longer[:held] = block
            block = longer
        else:
            block[:held] = block[stop:end].copy()


def _fill(file: Readable, block: Array) -> int:
    # A read may give less than it is asked for before the end of the file.
    at = 0
    while at < len(block):
        got = file.readinto(block[at:].data.cast("B"))
        if not got:
            break
        at += got
    return at


class GrowingColumn:
    """A column of int64 that grows, and is one number as long as all its values are the same."""

    def __init__(self) -> None:
        self._n = 0
        self._one = 0
        self._values: Array | None = None

    def add(self, values: Array) -> None:
        """Append a copy of ``values``, an ndarray of int64 of shape (m,)."""
        n, more = self._n, len(values)
        if not more:
            return
        self._n = n + more
        if self._values is None:
            if n == 0:
                self._one = int(values[0])
            # The last one is looked at first: mostly it differs where any does.
            if values[-1] == self._one and np.all(values == self._one):
                return
            self._values = np.empty(2 * self._n, np.int64)
            self._values[:n] = self._one
        if self._n > len(self._values):
            longer = np.empty(2 * self._n, np.int64)  # what is not written to is no memory yet
            longer[:n] = self._values[:n]
            self._values = longer
        self._values[n : self._n] = values

    def taken(self, *, whole: bool = False) -> Array:
        """All values, read-only, and nothing is left here: shape (n,), or () for one number, unless ``whole``."""
        if self._values is not None:
            column = self._values[: self._n].copy()
        elif whole:
            column = np.full(self._n, self._one)
        else:
            column = np.array(self._one)
        self._n, self._values = 0, None
        return read_only(column)
