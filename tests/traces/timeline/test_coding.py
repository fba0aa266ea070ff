"""Coded numbers come back as ``tools/page/src/timeline/coded.ts`` reads them: here in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from traces.timeline.coding import coded

INT64 = st.integers(-(2**63), 2**63 - 1)


def decoded(planes: np.ndarray[Any, Any], how: dict[str, Any]) -> list[int]:
    rows, width = how["rows"], how["width"]
    assert len(planes) == rows * width
    numbers = []
    before = 0
    for row in range(rows):
        number = sum(int(planes[plane * rows + row]) << (8 * plane) for plane in range(width))
        if how["signed"]:
            number = -(number // 2) - 1 if number % 2 else number // 2
        if how["differences"]:
            number = (before + number + 2**63) % 2**64 - 2**63
        before = number
        numbers.append(number)
    return numbers


@given(st.lists(INT64, max_size=20), st.booleans())
@example([0, -1, 7], False)
def test_numbers_come_back(numbers: list[int], differences: bool) -> None:
    planes, how = coded(np.array(numbers, np.int64), differences=differences)
    assert decoded(planes, how) == numbers


@pytest.mark.parametrize(
    ("numbers", "differences", "width"),
    [
        ([0, 255], False, 1),
        ([0, 256], False, 2),
        ([10**15, 10**15 + 1], False, 7),
        ([5, 6, 7], True, 1),
        ([], False, 1),
    ],
)
def test_no_more_bytes_than_needed(numbers: list[int], differences: bool, width: int) -> None:
    assert coded(np.array(numbers, np.int64), differences=differences)[1]["width"] == width
