"""What tests read and write inside an engine: the one module of the tests that knows how its columns are stored.

A column is named by its path, from the state of an engine: ``"jobs.START"``, ``"graph.tasks.PENDING"``, ``"clock.NOW"``. The
last name is the one that the module of the state declares.
"""

from __future__ import annotations

import sys
from typing import Any

from traces.compiled import Array

__all__ = ["code", "column", "number"]


def column(state: Any, path: str) -> Array:
    """A column of a state, to read and write: shape () for one number, (n,) for a value a job, task or core."""
    *fields, name = path.split(".")
    owner, values = state, state
    for field in fields:
        owner, values = values, getattr(values, field)
    stored: Array = values[getattr(sys.modules[type(owner).__module__], name), ...]
    return stored


def number(state: Any, path: str) -> int:
    """A single number of a state."""
    return int(column(state, path))


def code(state: Any, name: str) -> int:
    """The value of a code of a state's columns, such as the state ``COMPLETED`` of a job."""
    return int(getattr(sys.modules[type(state).__module__], name))
