"""Files that a user names: their bytes, or one clear line about why there are none."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator

from traces.errors import InputError

__all__ = ["read_csv", "read_given", "read_text"]


def read_given(path: str | os.PathLike[str], kind: str) -> bytes:
    """All bytes of a file.

    Parameters
    ----------
    path : path-like
        As the user gave it.
    kind : str
        What it should be, as ``"workload file"``.

    Raises
    ------
    InputError
        If it is missing, a directory or not readable.
    """
    source = os.fspath(path)
    try:
        with open(source, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise InputError(f"{source}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{source}: is a directory, not a {kind}") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise InputError(f"{source!r}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def read_text(path: str | os.PathLike[str], kind: str, form: str) -> str:
    """The text of a file in UTF-8, without a byte order mark.

    Raises
    ------
    InputError
        As :func:`read_given`, or as it is not UTF-8 and so no ``form``, as ``"TOML"``.
    """
    data = read_given(path, kind)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{os.fspath(path)}: not valid {form}: byte {error.start} is not UTF-8") from None


def read_csv(path: str | os.PathLike[str], kind: str) -> Iterator[tuple[int, list[str]]]:
    """The lines of a CSV file that are not blank, the header first: (line number from 1, fields without spaces).

    Raises
    ------
    InputError
        If it cannot be read, is no UTF-8, has no header, or a line has another number of fields than the header.
    """
    source = os.fspath(path)
    reader = csv.reader(io.StringIO(read_text(path, kind, "CSV"), newline=""), strict=True)
    width = 0
    while True:
        try:
            values = [value.strip() for value in next(reader)]
        except StopIteration:
            break
        except csv.Error as error:
            raise InputError(f"{source}: line {reader.line_num}: not CSV: {error}") from None
        if not any(values):
            continue
        if width and len(values) != width:
            raise InputError(f"{source}: line {reader.line_num}: {len(values)} fields; the header has {width}")
        width = len(values)
        yield reader.line_num, values
    if not width:
        raise InputError(f"{source}: the file is empty; its first line names the columns")
