"""Files and texts from the user, optionally compressed, in CSV, JSON, TOML or another format: their content, or a one-line
error."""

from __future__ import annotations

import csv
import io
import json
import lzma
import os
import re
import tomllib
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from traces.base.errors import InputError, TwolevelError, did_you_mean, one_of, shown, shown_name

_BLOCK_BYTES = 1 << 16  #: bytes of a compressed file read at once
_XZ_BYTES = 1 << 28  #: memory limit for reading an xz file: its strongest settings need 65 MiB


class Compression(NamedTuple):
    """A compression format."""

    name: str  # its name in errors
    magic: bytes  # first bytes of its files
    ending: str  # ending of their names
    # returns, for a binary file, an object with ``readinto(buffer)`` for the unpacked bytes. It raises ``EOFError`` if the file
    # ends too early, and other errors without an ``errno`` if it is damaged
    opened: Callable[[BinaryIO], Any]


def _gzip(file: BinaryIO) -> Any:
    import gzip

    return gzip.GzipFile(fileobj=file, mode="rb")


def _xz(file: BinaryIO) -> Any:
    return _Streams(file, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _XZ_BYTES), padding=b"\0")


def _bzip2(file: BinaryIO) -> Any:
    import bz2

    return _Streams(file, bz2.BZ2Decompressor)


def _zstandard(file: BinaryIO) -> Any:
    import pyarrow as pa  # already a dependency; Python has zstandard only since 3.14

    return pa.CompressedInputStream(file, "zstd")


_COMPRESSIONS = (
    Compression("gzip", b"\x1f\x8b", ".gz", _gzip),
    Compression("xz", b"\xfd7zXZ\x00", ".xz", _xz),
    Compression("bzip2", b"BZh", ".bz2", _bzip2),
    Compression("Zstandard", b"\x28\xb5\x2f\xfd", ".zst", _zstandard),
)

ENDINGS = tuple(one.ending for one in _COMPRESSIONS)  #: endings of compressed files


def without_ending(name: str) -> str:
    """Return a file's name without the ending of its compression."""
    ending = next((ending for ending in ENDINGS if name.lower().endswith(ending)), "")
    return name.removesuffix(name[len(name) - len(ending) :]) if ending else name


class _Streams:
    """Concatenated streams, each read by its own decompressor."""

    def __init__(self, file: BinaryIO, decompressor: Callable[[], Any], padding: bytes = b"") -> None:
        self._file, self._new, self._padding = file, decompressor, padding
        self._stream = decompressor()
        self._ahead = b""  # read, but not passed to a decompressor yet

    def readinto(self, buffer: memoryview) -> int:
        """Fill ``buffer`` at least partly, and return the number of bytes: 0 at the end."""
        while True:
            if self._stream.eof:
                rest = self._stream.unused_data
                while not (rest := rest.lstrip(self._padding) if self._padding else rest):
                    if not (rest := self._file.read(_BLOCK_BYTES)):
                        return 0
                self._stream, self._ahead = self._new(), rest
            given, self._ahead = self._ahead, b""
            if self._stream.needs_input and not given and not (given := self._file.read(_BLOCK_BYTES)):
                raise EOFError
            data = self._stream.decompress(given, len(buffer))
            if data:
                buffer[: len(data)] = data
                return len(data)


_TOO_LONG = "set_int_max_str_digits"  #: python's message for a number with more digits than it converts
_LONGEST, _END = 240, 60  #: characters of a parser's message that are repeated, and how many of them from its end

_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")


@contextmanager
def parsing(form: str, source: str) -> Iterator[None]:
    """Turn all exceptions of a parser in this context into an InputError: another format, too deep nesting, or a number that is
    too long. ``form``: the expected format, as ``"TOML"``. ``source``: the text's name, with which the message begins; empty if
    the caller adds it."""
    name = f"{source}: " if source else ""
    try:
        yield
    except TwolevelError:
        raise
    except RecursionError:
        raise InputError(f"{name}not usable {form}: nested too deeply") from None
    except ArithmeticError:
        raise InputError(f"{name}not usable {form}: a number is beyond any range") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{name}not valid {form}: byte {error.start} is not {error.encoding.upper()}") from None
    except json.JSONDecodeError as error:
        place = f"(at line {error.lineno}, column {error.colno})"
        raise InputError(f"{name}not valid {form}: {error.msg} {place}") from None
    except (ValueError, LookupError) as error:
        if _TOO_LONG in str(error):
            raise InputError(f"{name}not usable {form}: a number of thousands of digits") from None
        # Parsers first show the text that they have found, of any length, and then its place.
        said = " ".join(str(error).split())
        short = said if len(said) <= _LONGEST else f"{said[: _LONGEST - _END]}…{said[-_END:]}"
        raise InputError(f"{name}not valid {form}: {short}") from None


def parse_json(text: str | bytes, source: str, **how: Any) -> Any:
    """Return the content of a JSON text, without NaN and infinities, and without duplicate keys. ``source``: as for
    :func:`parsing`; ``**how``: parameters of :func:`json.loads`. Raises InputError if it is not JSON, an object has a key
    twice, or a text cannot be written again."""
    with parsing("JSON", source):
        content = json.loads(text, **{"parse_constant": _constant, "object_pairs_hook": _object, **how})
        written = text if isinstance(text, str) else text.decode("ascii", "ignore")
        if _HALF_CHARACTER.search(written):
            _check_texts(content)
        return content


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Python would silently keep the last value of a key.
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        again = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"{shown_name(again)}: given twice")
    return found


def texts_in(content: Any) -> Iterator[str]:
    """Yield the texts in the lists and objects of a JSON or TOML text, without keys."""
    left = [content]
    while left:
        one = left.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict | list):
            left += reversed(one.values() if isinstance(one, dict) else one)


def _check_texts(content: Any) -> None:
    # Surrogates cannot be written to a table or a terminal.
    left = [content]
    while left:
        one = left.pop()
        if isinstance(one, str) and one.encode("utf-8", "ignore").decode() != one:
            raise ValueError(f"{one!r} is no text in UTF-8")
        if isinstance(one, dict):
            left += [*one, *one.values()]
        elif isinstance(one, list):
            left += one


def parse_toml(text: str, source: str) -> dict[str, Any]:
    """Return the content of a TOML text; ``source`` as for :func:`traces.base.given_file.parsing`. Raises InputError if it is
    not TOML."""
    with parsing("TOML", source):
        return tomllib.loads(text)


def list_of_tables(table: Mapping[str, Any], key: str, source: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the ``[[key]]`` tables of a table, possibly none, each with the prefix of its keys in errors. Raises InputError if
    it is not a list of tables."""
    found = table.get(key, [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise InputError(f"{source}: {key}: {shown(found)} is no list of tables; allowed: [[{key}]] tables")
    return [(f"{source}: {key}[{row}].", one) for row, one in enumerate(found)]


def check_keys(values: Mapping[str, Any], known: Collection[str], where: str) -> None:
    """Check that all keys are known; ``where`` precedes a key's name in the error. Raises InputError if one is unknown; the
    message lists the known ones, nearest first."""
    for key in values:
        if key not in known:
            raise one_of("key", key, known, f"{where}{shown_name(key)}")


#: Words allowed instead of a file, by its kind.
_WORDS = {"workload file": ("sample",), "platform file": ("paper", "demand-response", "log")}
_COMPARED = 2000  #: number of names in a folder that are compared with a missing one


class GivenFile:
    """A file read sequentially, never as a whole; unpacked if its first bytes show that it is compressed. ``path``: as the user
    gave it. ``kind``: the expected content, as ``"workload file"``. Raises InputError, here or in ``readinto``, if it is
    missing, a directory or not readable; or compressed, and truncated or damaged."""

    def __init__(self, path: str | os.PathLike[str], kind: str) -> None:
        self._source, self._kind = _name(path, kind), kind
        try:
            self._file = open(self._source, "rb")  # noqa: SIM115  # closed by __exit__
            beginning = self._file.peek(8)
            self._packed = next((one for one in _COMPRESSIONS if beginning.startswith(one.magic)), None)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            raise _unreadable(self._source, error, kind) from None
        self._text = self._file if self._packed is None else self._packed.opened(self._file)

    def __enter__(self) -> GivenFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def readinto(self, buffer: memoryview) -> int:
        """Fill ``buffer`` at least partly, and return the number of bytes: 0 at the end."""
        try:
            return int(self._text.readinto(buffer))
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            if self._packed is None or getattr(error, "errno", None) is not None:
                raise _unreadable(self._source, error, self._kind) from None
            too_short = isinstance(error, EOFError) or "Truncated" in str(error)  # the second is pyarrow's
            fault = "truncated" if too_short else f"damaged: {error}"
            raise InputError(f"{self._source}: the {self._packed.name} file is {fault}") from None

    def whole(self, most: int, limit: str) -> bytes:
        """Return everything. Raises InputError with a ``limit`` in words if it is more than ``most`` bytes."""
        parts, size, block = [], 0, bytearray(1 << 20)
        while got := self.readinto(memoryview(block)):
            parts.append(bytes(block[:got]))
            size += got
            if size > most:
                raise InputError(f"{self._source}: more than {limit}")
        return b"".join(parts)


def _name(path: str | os.PathLike[str], kind: str) -> str:
    source = os.fspath(path)
    if not source.isascii() and source.encode("utf-8", "ignore").decode() != source:
        raise InputError(f"{source!r}: the name of a {kind} must be text in UTF-8, as results repeat it")
    return source


def _unreadable(source: str, error: Exception, kind: str) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError(f"{source or repr(source)}: no such file{near_files(source, _WORDS.get(kind, ()))}")
    if isinstance(error, IsADirectoryError):
        article = "an" if kind[0] in "aeiou" else "a"
        return InputError(f"{source}: is a directory, not {article} {kind}")
    return InputError(f"{source!r}: cannot be read: {getattr(error, 'strerror', None) or error}")


def near_files(path: str | os.PathLike[str], words: tuple[str, ...] = ()) -> str:
    """Return the files of its folder, or words, that a missing name may mean, for the end of an error."""
    folder, name = os.path.split(os.fspath(path))
    try:
        with os.scandir(folder or ".") as entries:
            names = [str(Path(folder, entry.name)) for entry in islice(entries, _COMPARED)]
    except (OSError, ValueError):
        names = []
    return did_you_mean(str(Path(folder, name)), [*words, *sorted(names)]) if name else ""


def read_given(path: str | os.PathLike[str], kind: str) -> bytes:
    """Return all bytes of a file. ``path``: as the user gave it. ``kind``: the expected content, as ``"workload file"``. Raises
    InputError if it is missing, a directory or not readable."""
    source = _name(path, kind)
    try:
        with open(source, "rb") as file:
            return file.read()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise _unreadable(source, error, kind) from None


def read_text(path: str | os.PathLike[str], kind: str, form: str) -> str:
    """Return the text of a UTF-8 file without its byte order mark. Raises InputError as :func:`read_given`, or if it is not
    UTF-8; the message names the ``form``, as ``"TOML"``."""
    data = read_given(path, kind)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{os.fspath(path)}: not valid {form}: byte {error.start} is not UTF-8") from None


def read_csv(path: str | os.PathLike[str], kind: str) -> Iterator[tuple[int, list[str]]]:
    """Return the lines of a CSV file that are not blank, the header first: (line number from 1, fields without spaces). Raises
    InputError if it cannot be read, is not UTF-8, has no header, or a line and the header differ in their number of fields."""
    source = os.fspath(path)
    reader = csv.reader(io.StringIO(read_text(path, kind, "CSV"), newline=""), strict=True)
    width = 0
    try:
        for line in reader:
            values = [value.strip() for value in line]
            if not any(values):
                continue
            if width and len(values) != width:
                raise InputError(f"{source}: line {reader.line_num}: {len(values)} fields; the header has {width}")
            width = len(values)
            yield reader.line_num, values
    except csv.Error as error:
        raise InputError(f"{source}: line {reader.line_num}: not CSV: {error}") from None
    if not width:
        raise InputError(f"{source}: the file is empty; its first line names the columns")
