"""Which parameters of a test are for a release only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

__all__ = ["two_stay"]


def two_stay(values: Iterable[Any]) -> list[Any]:
    """Return the parameters: the first and the last for every commit, the others for a release."""
    first, *others, last = values
    return [first, *(pytest.param(value, marks=pytest.mark.release) for value in others), last]
