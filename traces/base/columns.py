"""Tables as frozen dataclasses of columns."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

__all__ = ["Columns"]


class Columns:
    """A frozen dataclass whose fields are arrays, among others: nobody can write to these once it is made."""

    def __post_init__(self) -> None:
        for entry in fields(self):  # type: ignore[arg-type]  # of the dataclass that is made of it
            value = getattr(self, entry.name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
