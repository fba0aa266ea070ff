"""Tables as frozen dataclasses of columns, as the bytes that a page carries, and as HTML in a notebook."""

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt


def read_only(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The very array, which nobody can write to from now on."""
    column.flags.writeable = False
    return column


class Columns:
    """A frozen dataclass whose fields are arrays, among others: nobody can write to these once it is made."""

    def __post_init__(self) -> None:
        for entry in fields(self):  # type: ignore[arg-type]  # of the dataclass that is made of it
            value = getattr(self, entry.name)
            if isinstance(value, np.ndarray):
                read_only(value)


_MAGIC = b"2LCOLS01"
#: What JavaScript has arrays for.
_TYPES = frozenset({"i1", "u1", "i2", "u2", "i4", "u4", "i8", "f4", "f8"})


def packed_bytes(columns: Mapping[str, npt.NDArray[Any]], about: Mapping[str, Any]) -> bytes:
    """The bytes of columns and of what there is to say of them.

    - ``columns``: mapping of str to array (n,) each, of integers of 1, 2, 4 or (signed) 8 bytes, or floats of 4 or 8.
      They need not be of one length.
    - ``about``: what JSON can hold: names, units, and the texts that columns of codes point into.

    Raises ValueError where a column is of another type or has another shape.
    """
    entries = []
    arrays = []
    offset = 0
    for name, column in columns.items():
        kind = column.dtype.str[1:]
        if kind not in _TYPES or column.ndim != 1:
            raise ValueError(f"column {name!r}: {column.dtype} of shape {column.shape} cannot be packed")
        data = np.ascontiguousarray(column, column.dtype.newbyteorder("<")).tobytes()
        entries.append({"name": name, "type": kind, "offset": offset, "rows": len(column)})
        padding = -len(data) % 8
        arrays += [data, bytes(padding)]
        offset += len(data) + padding
    header = json.dumps({"about": dict(about), "columns": entries}, allow_nan=False).encode()
    head = _MAGIC + len(header).to_bytes(4, "little") + header
    return b"".join([head, bytes(-len(head) % 8), *arrays])


def packed_text(columns: Mapping[str, npt.NDArray[Any]], about: Mapping[str, Any], level: int = 1) -> str:
    """`packed_bytes` as the text that a page carries: a zlib stream of this `level` in base64."""
    return base64.b64encode(zlib.compress(packed_bytes(columns, about), level)).decode("ascii")


def html_table(rows: Sequence[tuple[str, str]]) -> str:
    """Names and what there is to say of each, in two columns."""
    lines = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in rows
    )
    return f"<table>{lines}</table>"
