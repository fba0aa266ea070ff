"""Sets of global core numbers as sorted, disjoint intervals, and the text a table shows: ``0-63 128-191``."""

from __future__ import annotations

import re
from collections.abc import Iterable

from traces.errors import InputError, shown

__all__ = ["intervals_text", "parse_intervals"]

_PART = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")


def intervals_text(intervals: Iterable[tuple[int, int]]) -> str:
    """The text of half-open intervals ``[first, stop)``: ``"0-63 128"`` for ``[(0, 64), (128, 129)]``."""
    return " ".join(f"{lo}-{hi - 1}" if hi - lo > 1 else f"{lo}" for lo, hi in intervals)


def parse_intervals(text: str, where: str) -> list[tuple[int, int]]:
    """Half-open intervals of a text such as ``0-63 128-191`` or ``0-63,128``, sorted and merged.

    Raises
    ------
    InputError
        If a part is no number or range, or a range ends before it begins.
    """
    found: list[tuple[int, int]] = []
    for part in text.replace(",", " ").split():
        match = _PART.fullmatch(part)
        if not match or (match[2] and int(match[2]) < int(match[1])):
            raise InputError(f"{where}: {shown(part)} is not a number or a range; allowed: as 0-63 128-191")
        found.append((int(match[1]), int(match[2] or match[1]) + 1))
    merged: list[tuple[int, int]] = []
    for lo, hi in sorted(found):
        if merged and lo <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(hi, merged[-1][1]))
        else:
            merged.append((lo, hi))
    return merged
