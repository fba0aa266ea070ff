"""Parameters of techniques, checked where they are built; every error begins with the technique and the parameter."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

from als.techniques.contract import Technique
from traces.base.errors import InputError, one_of, shown, whole

#: Beyond it not every whole number is a float64, which is what rules find in ``params``.
MOST = 2**53

#: Beyond it an integer is no float64.
_LARGEST = sys.float_info.max


class Checked(ABC):
    """Parameters that are checked as they are made, since their technique is made then, too."""

    def __post_init__(self) -> None:
        self.technique()

    @abstractmethod
    def technique(self) -> Technique:
        """The technique with these parameters."""


def chosen(technique: str, parameter: str, value: str, allowed: Sequence[str]) -> float:
    """The number of a choice among words, as ``params`` has it. Raises InputError if it is none of them."""
    if value not in allowed:
        raise one_of(parameter, value, allowed, f"technique {technique}: {parameter}")
    return float(allowed.index(value))


def count(technique: str, parameter: str, value: int | None, lowest: int = 1) -> float:
    """A number of tasks, or NaN for None ("from the job"). Raises InputError if it is no whole number from ``lowest`` on."""
    return math.nan if value is None else float(whole(f"technique {technique}: {parameter}", value, lowest, MOST))


def above_zero(technique: str, parameter: str, value: float | None) -> float:
    """A finite number above 0, or NaN for None ("from the job"). Raises InputError if it is none."""
    return _finite(technique, parameter, value, "above 0", lambda number: number > 0)


def not_negative(technique: str, parameter: str, value: float | None) -> float:
    """A finite number of at least 0, or NaN for None ("from the job"). Raises InputError if it is none."""
    return _finite(technique, parameter, value, "0 or more", lambda number: number >= 0)


def _finite(technique: str, parameter: str, value: Any, allowed: str, is_allowed: Callable[[Any], bool]) -> float:
    if value is None:
        return math.nan
    if not isinstance(value, bool) and isinstance(value, Real) and is_allowed(value) and value <= _LARGEST:
        return float(value)
    text = f"{value:g}" if isinstance(value, float) else shown(value)
    raise InputError(f"technique {technique}: {parameter}: {text}; allowed: {allowed}")
