"""Data next to the tests that use them: tables of cases with their known answers, and texts."""

import tomllib
from pathlib import Path
from typing import Any


def kept(test: str, name: str) -> Any:
    """Return the value of a name in ``tables/NAME.toml``, which is next to ``test_NAME.py``."""
    path = Path(test)
    file = path.parent / "tables" / f"{path.stem.removeprefix('test_')}.toml"
    return tomllib.loads(file.read_text("utf-8"))[name]


def table_rows(test: str, name: str) -> list[Any]:
    """Return the rows of a table. The word ``None`` is None, and short rows end in it."""
    found: list[Any] = kept(test, name)
    if not isinstance(found[0], list):
        return found
    width = max(map(len, found))
    return [[None if word == "None" else word for word in row] + [None] * (width - len(row)) for row in found]


def table_text(test: str, name: str) -> str:
    """Return a text."""
    return str(kept(test, name))
