"""Tables of cases beside the tests that run them: bad inputs and their one-line errors, known answers."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

__all__ = ["table_rows"]


def table_rows(test: str, name: str) -> list[Any]:
    """Return the rows of a table of ``tables/NAME.toml``, which is beside ``test_NAME.py``.

    The word ``None`` is None, and short rows end in it.
    """
    path = Path(test)
    file = path.parent / "tables" / f"{path.stem.removeprefix('test_')}.toml"
    found: list[Any] = tomllib.loads(file.read_text("utf-8"))[name]
    if not isinstance(found[0], list):
        return found
    width = max(map(len, found))
    return [[None if word == "None" else word for word in row] + [None] * (width - len(row)) for row in found]
