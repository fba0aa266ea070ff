"""The file of a trace: a new file, or a one-line error."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from traces.base.errors import InputError
from traces.base.written_file import whole_file

_BUFFER = 1 << 20  #: number of bytes buffered before writing


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
