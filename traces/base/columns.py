"""Tables as frozen dataclasses of columns."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt


def read_only(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The very array, which nobody can write to from now on."""
    column.flags.writeable = False
    return column


class Columns:
    """A frozen dataclass whose fields are arrays, among others: nobody can write to these once it is made."""

    def __post_init__(self) -> None:
        for entry in fields(self):  # type: ignore[arg-type]  # of the dataclass that is made of it
            value = getattr(self, entry.name)
            if isinstance(value, np.ndarray):
                read_only(value)
