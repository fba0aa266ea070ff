"""A table as a page carries it: columns of numbers in binary, and texts once each."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from bridge.report.metric_texts import definition
from traces.base.columns import packed_text
from traces.compiled import Array

if TYPE_CHECKING:
    import pandas as pd

#: Instants, which are -1 of what never happened; all other times are durations.
_INSTANT = re.compile(r"(submit|eligible|start|end|deadline|fair_start)(_[ab])?_ns")

_INTEGERS = (np.int8, np.int16, np.int32)


def table_text(frame: pd.DataFrame, shown: Collection[str], key: str = "") -> str:
    """A table's columns, packed.

    - ``frame``: with unique names of columns.
    - ``shown``: the columns that one sees first; of those that there are not nothing is said.
    - ``key``: the column that says which job a row is of; empty: rows are no jobs.
    """
    columns: dict[str, Array] = {}
    told = []
    for name in map(str, frame.columns):
        kind, column, texts = _packed(name, frame[name])
        columns[name] = column
        told.append(
            {
                "name": name,
                "label": name.removesuffix("_ns").replace("_", " "),
                "kind": kind,
                "shown": name in shown,
                "definition": definition(name),
                "texts": texts,
            }
        )
    return packed_text(columns, {"rows": len(frame), "key": key, "columns": told})


def kind_of(name: str, dtype: Any) -> str:
    """How a page shows a column of numbers: ``instant``, ``duration``, ``whole``, ``real`` or ``truth``."""
    if name.endswith("_ns"):
        return "instant" if _INSTANT.fullmatch(name) else "duration"
    return {"b": "truth", "f": "real"}.get(dtype.kind, "whole")


def _packed(name: str, column: pd.Series[Any]) -> tuple[str, Array, list[str]]:
    dtype = column.dtype
    if not isinstance(dtype, np.dtype) and getattr(dtype, "kind", "O") in "iufb":  # one in which values may lack
        plain: Any = np.float64 if column.hasnans else getattr(dtype, "numpy_dtype", np.float64)
        column = column.astype(plain)
        dtype = column.dtype
    if not isinstance(dtype, np.dtype) or dtype.kind not in "iufb":
        places, texts = column.fillna("").astype(str).factorize()
        return "text", _small(places.astype(np.int64)), [_json_text(one) for one in texts.tolist()]
    values = column.to_numpy()
    kind = kind_of(name, dtype)
    if dtype.kind == "b":
        return kind, values.astype(np.uint8), []
    if dtype.kind == "f":
        return kind, values.astype(np.float64), []
    if dtype.kind == "u":
        # No whole number that is larger is exact there.
        values = values.astype(np.int64 if values.max(initial=0) < 2**63 else np.float64)
    return kind, _small(values), []


def _json_text(words: Any) -> str:
    # A lone surrogate, which names of files may have, is in no page.
    text = str(words)
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _small(values: Array) -> Array:
    if values.dtype.kind != "i":
        return values
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    for kind in _INTEGERS:
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return values.astype(kind)
    return values.astype(np.int64)
