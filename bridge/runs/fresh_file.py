"""A file that the user names for a result: written under another name and renamed at the end, so that it is whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bridge.options.declared import FORCE
from bridge.runs.directory import check_place, made_beside, unusable
from traces.base.errors import InputError, shown


def check_file(target: Path, force: bool, where: str = "-o") -> None:
    """Refuse a file that cannot or must not be written, before anything is computed. Raises InputError if it is there
    and ``force`` is off, it is no file, or its folder cannot be written to."""
    try:
        if not target.name or "\0" in str(target):
            raise InputError(f"{where}: {shown(str(target))} is no name of a file")
        if target.exists() or target.is_symlink():
            if not target.is_file():
                raise InputError(f"{where}: {target} exists and is no file")
            if not force:
                raise InputError(f"{where}: {target} exists; choose another name, or replace it with {FORCE}")
        check_place(target, where)
    except OSError as error:
        raise unusable(target, where, error) from None


@contextmanager
def fresh_file(target: Path, force: bool, where: str = "-o") -> Iterator[Path]:
    """A name in the same folder and with the same ending, for a new file that becomes ``target`` if all went well.

    Folders are made as needed. What is written there is removed if anything went wrong; what ``target`` was before
    stays until then. Raises InputError: as :func:`check_file`.
    """
    check_file(target, force, where)
    target = target.absolute()
    with made_beside(target, where) as partial:
        yield partial / target.name
        check_file(target, force, where)  # somebody else may have used the name meanwhile
        (partial / target.name).replace(target)
        partial.rmdir()
