"""Which parameters of a test are for a release only."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def these_stay(values: Iterable[Any], stay: Callable[[Any], bool]) -> list[Any]:
    """Return the parameters: some for every commit, the others for a release. A tuple is the parameters of one case."""
    rows = [(value, value if isinstance(value, tuple) else (value,)) for value in values]
    return [pytest.param(*row, marks=() if stay(value) else pytest.mark.release) for value, row in rows]


def two_stay(values: Iterable[Any]) -> list[Any]:
    """Return the parameters: the first and the last for every commit, the others for a release."""
    first, *others, last = values
    return [first, *(pytest.param(value, marks=pytest.mark.release) for value in others), last]
