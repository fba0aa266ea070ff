"""Files that a user names: their bytes, or one clear line about why there are none."""

from __future__ import annotations

import csv
import io
import lzma
import os
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from traces.base.compressed import Truncated, compression_of
from traces.base.errors import InputError, did_you_mean

#: What may stand in place of a file, by its kind.
_WORDS = {"workload file": ("sample",)}

#: So many names of a folder are compared with one that is not there.
_COMPARED = 2000


class GivenFile:
    """A file that is read from its beginning on, never as a whole; unpacked if its first bytes say that it is compressed.

    ``with GivenFile(path, kind) as file: file.readinto(buffer)``.

    - ``path``: as the user gave it.
    - ``kind``: what it should be, as ``"workload file"``.

    Raises InputError if it is missing, a directory or not readable, here or in ``readinto``; or compressed, and
    truncated or damaged.
    """

    def __init__(self, path: str | os.PathLike[str], kind: str) -> None:
        self._source, self._kind = _name(path, kind), kind
        try:
            self._file = open(self._source, "rb")  # noqa: SIM115  # closed by __exit__
            self._packed = compression_of(self._file.peek(8))
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            raise _unreadable(self._source, error, kind) from None
        self._text = self._file if self._packed is None else self._packed.opened(self._file)

    def __enter__(self) -> GivenFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def readinto(self, buffer: memoryview) -> int:
        """Fill ``buffer`` or a part of it, and say how many bytes: 0 at the end."""
        try:
            return int(self._text.readinto(buffer))
        except (EOFError, Truncated):
            assert self._packed is not None
            raise InputError(f"{self._source}: the {self._packed.name} file is truncated") from None
        except (OSError, zlib.error, lzma.LZMAError) as error:
            if self._packed is None or getattr(error, "errno", None) is not None:
                raise _unreadable(self._source, error, self._kind) from None
            raise InputError(f"{self._source}: the {self._packed.name} file is damaged: {error}") from None


def _name(path: str | os.PathLike[str], kind: str) -> str:
    source = os.fspath(path)
    if not source.isascii() and source.encode("utf-8", "ignore").decode() != source:
        raise InputError(f"{source!r}: the name of a {kind} must be text in UTF-8, as results repeat it")
    return source


def _unreadable(source: str, error: Exception, kind: str) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError(f"{source}: no such file{near_files(source, _WORDS.get(kind, ()))}")
    if isinstance(error, IsADirectoryError):
        article = "an" if kind[0] in "aeiou" else "a"
        return InputError(f"{source}: is a directory, not {article} {kind}")
    return InputError(f"{source!r}: cannot be read: {getattr(error, 'strerror', None) or error}")


def near_files(path: str | os.PathLike[str], words: tuple[str, ...] = ()) -> str:
    """Which files of its folder, or words, a name that is not there may have been meant to be, to be put behind an error."""
    folder, name = os.path.split(os.fspath(path))
    try:
        with os.scandir(folder or ".") as entries:
            names = [str(Path(folder, entry.name)) for entry in islice(entries, _COMPARED)]
    except (OSError, ValueError):
        names = []
    return did_you_mean(str(Path(folder, name)), [*words, *sorted(names)]) if name else ""


def read_given(path: str | os.PathLike[str], kind: str) -> bytes:
    """All bytes of a file. ``path``: as the user gave it. ``kind``: what it should be, as ``"workload file"``. Raises
    InputError if it is missing, a directory or not readable."""
    source = _name(path, kind)
    try:
        with open(source, "rb") as file:
            return file.read()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise _unreadable(source, error, kind) from None


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
