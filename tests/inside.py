"""Access of tests to an engine: the only module of the tests that knows how its columns are stored.

A column or a number is named by its path, from the state of an engine: ``"jobs.start_ns"``, ``"graph.tasks.pending"``,
``"now_ns"``.
"""

import sys
from typing import Any

import numpy as np

from traces.compiled import Array
from traces.kernels.state import changing, fields_of, numbers_of, parts_of


def column(state: Any, path: str) -> Array:
    """A column of a state, to read and write: shape () for one number, (n,) for a value a job, task or core."""
    *fields, name = path.split(".")
    for field in fields:
        state = getattr(state, field)
    field = fields_of(type(state))[name]
    if field.dtype is not None:
        stored: Array = getattr(state, name)
        return stored
    return state._block[field.place : field.place + 1].view(np.dtype(field.kind.name)).reshape(())


def number(state: Any, path: str) -> int:
    """A single number of a state."""
    return int(column(state, path))


def put_state(simulator: Any, state: Any) -> None:
    """Replace the state of a simulator, a frozen field."""
    object.__setattr__(simulator, "state", state)


def held(state: Any) -> list[bytes]:
    """All that a state holds and that may change: its numbers, and the entries in use of its columns."""
    numbers = [numbers_of(part).tobytes() for part in parts_of(state).values()]
    return numbers + [one.column[one.entries({})].tobytes() for one in changing(state)]


def code(state: Any, name: str) -> int:
    """The value of a code of a state's columns, such as the state ``COMPLETED`` of a job."""
    return int(getattr(sys.modules[type(state).__module__], name))
