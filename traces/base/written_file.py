"""Files that are written: whole or not at all, and what goes wrong with one names it."""

import contextlib
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from traces.base.errors import InputError

#: How an operating system says that there is no more room: on the disk, in one's quota, in a file.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class FullDiskError(InputError):
    """A disk has no more room, as a library says that writes a file."""


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Whatever the system refuses here is about a file: an ``OSError`` that names none, as of a full disk, names this one."""
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
    """A name in the same folder for a new file, which becomes ``path`` if all goes well; else it is removed.

    What was at ``path`` stays until then. Missing folders are made. Something that is no file, as a pipe, is written
    itself. Raises OSError if it cannot be written; it names ``path``.
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


def write_text(path: Path, text: str) -> None:
    """Write a text in UTF-8 as a whole file."""
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8")


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


def is_full_disk(error: BaseException | None) -> bool:
    """Whether an error, or the one that led to it, is that a disk has no more room."""
    while error is not None:
        if isinstance(error, FullDiskError) or (isinstance(error, OSError) and error.errno in NO_ROOM):
            return True
        error = error.__cause__ or error.__context__
    return False
