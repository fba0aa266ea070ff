"""Written files: whole or not at all, with errors that name the file."""

import contextlib
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from traces.base.errors import InputError

#: Errors of the operating system for a full disk, an exhausted quota, or a file that is too large.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

_BUFFER = 1 << 20  #: number of bytes buffered before writing


class FullDiskError(InputError):
    """A full disk, reported by a library that writes a file."""


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name a file in every ``OSError`` of this context that names none, as for a full disk."""
    try:
        yield
    except OSError as error:
        _name(error, path)
        raise


def _name(error: OSError, path: Path, partial: Path | None = None) -> None:
    if error.errno is not None and error.filename in (None, str(partial)):
        error.strerror, error.filename = os.strerror(error.errno), str(path)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Provide a temporary name in the same folder, which becomes ``path`` if all goes well; otherwise the file is removed.

    Until then the old file at ``path`` stays. Missing folders are made. Special files, such as pipes, are written directly.
    Raises OSError with ``path`` if it cannot be written.
    """
    path = Path(os.path.realpath(path)) if path.is_symlink() else path
    if path.exists() and not path.is_file() and not path.is_dir():
        with naming(path):
            yield path
        return
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        partial.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        if isinstance(error, OSError):
            _name(error, path, partial)
        raise


@contextmanager
def fresh(path: Path) -> Iterator[BinaryIO]:
    """Open a new file for writing; its folder is made if necessary. Raises InputError if the file exists or cannot be
    written."""
    if path.exists():
        raise InputError(f"{path} exists already")
    try:
        with whole_file(path) as partial, partial.open("xb", buffering=_BUFFER) as file:
            yield file
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from None


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text as a whole file."""
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8")


def under_its_name(text: str, partial: Path, target: Path) -> str:
    """Replace the temporary name of ``target`` in a text by its final name."""
    return text.replace(str(partial / target.name), str(target)).replace(str(partial), str(target))


def of_system(error: Exception) -> str:
    """Return the message of an error; an error of the system begins with the file, like errors of this project."""
    if isinstance(error, OSError) and error.strerror and isinstance(error.filename, str):
        return f"{error.filename}: {error.strerror}"
    return str(error)


def code_of(error: Exception) -> int:
    """Return the exit code for an error: 2 for a system error about a file, which the user can fix; else its own, or 1."""
    if isinstance(error, OSError):
        return 2 if isinstance(error.filename, str) else 1
    return int(getattr(error, "exit_code", 1))


def is_full_disk(error: BaseException | None) -> bool:
    """Return whether an error, or its cause, is a full disk."""
    while error is not None:
        if isinstance(error, FullDiskError) or (isinstance(error, OSError) and error.errno in NO_ROOM):
            return True
        error = error.__cause__ or error.__context__
    return False
