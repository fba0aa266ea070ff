"""Columns as a page carries them, read back as JavaScript reads them."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from traces.base.packed_columns import packed_bytes, packed_text


def unpacked(data: bytes) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    assert data[:8] == b"2LCOLS01"
    length = int.from_bytes(data[8:12], "little")
    header = json.loads(data[12 : 12 + length])
    begin = (12 + length + 7) & ~7
    columns = {}
    for entry in header["columns"]:
        assert (begin + entry["offset"]) % 8 == 0  # or a typed array cannot be laid over it
        columns[entry["name"]] = np.frombuffer(data, "<" + entry["type"], entry["rows"], begin + entry["offset"])
    return header["about"], columns


@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "f4", "f8"])
@pytest.mark.parametrize("order", ["<", ">"])
def test_columns_come_back(kind: str, order: str) -> None:
    numbers = np.array([0, 1, 3, 100], order + kind)
    about = {"unit": "ns", "texts": ["<script>", "ü"]}
    data = packed_bytes({"a": numbers, "none": numbers[:0], "b": numbers[::2]}, about)
    said, columns = unpacked(data)
    assert said == about
    assert columns["a"].tolist() == [0, 1, 3, 100]
    assert columns["none"].tolist() == []
    assert columns["b"].tolist() == [0, 3]
    assert (
        zlib.decompress(base64.b64decode(packed_text({"a": numbers, "none": numbers[:0], "b": numbers[::2]}, about)))
        == data
    )


@pytest.mark.parametrize(
    "column", [np.zeros((2, 2)), np.array(["a"]), np.array([1], np.uint64), np.array([True]), np.array([1], np.float16)]
)
def test_what_a_page_has_no_array_for_is_refused(column: npt.NDArray[Any]) -> None:
    with pytest.raises(ValueError, match=r"column 'a': .* cannot be packed"):
        packed_bytes({"a": column}, {})
