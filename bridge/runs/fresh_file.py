"""A file that the user names for a result: written under another name and renamed at the end, so that it is whole."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from traces.base.errors import InputError, shown

__all__ = ["check_file", "fresh_file"]


def check_file(target: Path, force: bool, where: str = "-o") -> None:
    """Refuse a file that cannot or must not be written, before anything is computed.

    Raises
    ------
    InputError
        If it is there and ``force`` is off, it is no file, or its folder cannot be written to.
    """
    try:
        if not target.name or "\0" in str(target):
            raise InputError(f"{where}: {shown(str(target))} is no name of a file")
        if target.exists() or target.is_symlink():
            if not target.is_file():
                raise InputError(f"{where}: {target} exists and is no file")
            if not force:
                raise InputError(f"{where}: {target} exists; choose another name, or replace it with --force")
        parent = target.absolute().parent
        while not parent.exists():
            parent = parent.parent
        usable = parent.is_dir() and os.access(parent, os.W_OK | os.X_OK)
    except OSError as error:
        raise _unusable(target, where, error) from None
    if not usable:
        raise InputError(f"{where}: {target} cannot be made: {parent} is not a folder that can be written to")


@contextmanager
def fresh_file(target: Path, force: bool, where: str = "-o") -> Iterator[Path]:
    """A name in the same folder and with the same ending, for a new file that becomes ``target`` if all went well.

    Folders are made as needed. What is written there is removed if anything went wrong; what ``target`` was before stays
    until then.

    Raises
    ------
    InputError
        As :func:`check_file`.
    """
    check_file(target, force, where)
    target = target.absolute()
    missing = [parent for parent in target.parents if not parent.exists()]  # the deepest first
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{target.name}.partial-", dir=target.parent))
    except OSError as error:
        raise _unusable(target, where, error) from None
    try:
        yield partial / target.name
        check_file(target, force, where)  # somebody else may have used the name meanwhile
        (partial / target.name).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            (partial / target.name).unlink()
        with contextlib.suppress(OSError):
            partial.rmdir()
        with contextlib.suppress(OSError):  # somebody else may have put something there
            for parent in missing:
                parent.rmdir()
        raise
    partial.rmdir()


def _unusable(target: Path, where: str, error: OSError) -> InputError:
    return InputError(f"{where}: {shown(str(target))} cannot be made: {error.strerror}")
