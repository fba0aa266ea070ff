"""Files that are written: what goes wrong with one names it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["code_of", "naming", "of_system", "under_its_name"]


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Whatever the system refuses here is about a file: an ``OSError`` that names none, as of a full disk, names this one."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.strerror, error.filename = os.strerror(error.errno), str(path)
        raise


def under_its_name(text: str, partial: Path, target: Path) -> str:
    """A text in which what is written beside ``target`` has the name that it was to get."""
    return text.replace(str(partial / target.name), str(target)).replace(str(partial), str(target))


def of_system(error: Exception) -> str:
    """What to tell of an error: one of the system's begins with the file, as those of this project do."""
    if isinstance(error, OSError) and error.strerror and isinstance(error.filename, str):
        return f"{error.filename}: {error.strerror}"
    return str(error)


def code_of(error: Exception) -> int:
    """Exit code for an error: 2 for one of the system's about a file, as the user can mend it; else the error's own, or 1."""
    if isinstance(error, OSError):
        return 2 if isinstance(error.filename, str) else 1
    return int(getattr(error, "exit_code", 1))
