"""Tables as frozen dataclasses of columns, as bytes for a page, and as HTML for a notebook."""

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt


def read_only(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Make the array read-only and return it."""
    column.flags.writeable = False
    return column


class Columns:
    """A frozen dataclass with array fields, which become read-only when it is made."""

    def __post_init__(self) -> None:
        for entry in fields(self):  # type: ignore[arg-type]  # of the dataclass that is made of it
            value = getattr(self, entry.name)
            if isinstance(value, np.ndarray):
                read_only(value)


_MAGIC = b"2LCOLS01"
_TYPES = frozenset({"i1", "u1", "i2", "u2", "i4", "u4", "i8", "f4", "f8"})  #: types with a typed array in JavaScript


def packed_bytes(columns: Mapping[str, npt.NDArray[Any]], about: Mapping[str, Any]) -> bytes:
    """Return the bytes of columns, arrays (n,) of integers of 1, 2, 4 or (signed) 8 bytes or floats of 4 or 8, and of their
    description ``about``, JSON values: names, units, and the texts that columns of codes refer to. Lengths may differ. Raises
    ValueError if a column has another type or shape."""
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
    """Return `packed_bytes` as text for a page: a zlib stream of this `level` in base64."""
    return base64.b64encode(zlib.compress(packed_bytes(columns, about), level)).decode("ascii")


def html_table(rows: Sequence[tuple[str, str]]) -> str:
    """Return a table of two columns: names and descriptions."""
    from html import escape  # only for notebooks

    lines = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in rows
    )
    return f"<table>{lines}</table>"
