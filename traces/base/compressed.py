"""Compressed files, known by their first bytes and read as what they hold: gzip, xz, bzip2, Zstandard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, BinaryIO, NamedTuple

#: How much of a compressed file is read at once.
_BLOCK_BYTES = 1 << 16

#: The most memory that an xz file may need to be read: its strongest settings need 65 MiB.
_XZ_BYTES = 1 << 28


class Truncated(Exception):
    """A compressed file ends too early."""


class Compression(NamedTuple):
    """A way to compress files."""

    name: str  # what such a file is called
    magic: bytes  # its first bytes
    ending: str  # the ending of its name
    # of a binary file, something with ``readinto(buffer)`` that gives what it holds. It raises ``Truncated`` or
    # ``EOFError`` where the file ends too early, and other errors without an ``errno`` where it is damaged
    opened: Callable[[BinaryIO], Any]


def _gzip(file: BinaryIO) -> Any:
    import gzip

    return gzip.GzipFile(fileobj=file, mode="rb")


def _xz(file: BinaryIO) -> Any:
    import lzma

    return _Streams(file, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _XZ_BYTES), padding=b"\0")


def _bzip2(file: BinaryIO) -> Any:
    import bz2

    return _Streams(file, bz2.BZ2Decompressor)


def _zstandard(file: BinaryIO) -> Any:
    import pyarrow as pa  # it is there anyway; Python has none before 3.14

    return _Arrow(pa.CompressedInputStream(file, "zstd"))


_COMPRESSIONS = (
    Compression("gzip", b"\x1f\x8b", ".gz", _gzip),
    Compression("xz", b"\xfd7zXZ\x00", ".xz", _xz),
    Compression("bzip2", b"BZh", ".bz2", _bzip2),
    Compression("Zstandard", b"\x28\xb5\x2f\xfd", ".zst", _zstandard),
)

#: The endings of the names of compressed files.
ENDINGS = tuple(one.ending for one in _COMPRESSIONS)


def compression_of(beginning: bytes) -> Compression | None:
    """How a file is compressed that begins with these six bytes or more; None if it is not."""
    return next((one for one in _COMPRESSIONS if beginning.startswith(one.magic)), None)


def without_ending(name: str) -> str:
    """A file's name without the ending that says how it is compressed."""
    ending = next((ending for ending in ENDINGS if name.lower().endswith(ending)), "")
    return name.removesuffix(name[len(name) - len(ending) :]) if ending else name


class _Streams:
    """Streams one after the other, each read by a decompressor of its own."""

    def __init__(self, file: BinaryIO, decompressor: Callable[[], Any], padding: bytes = b"") -> None:
        self._file, self._new, self._padding = file, decompressor, padding
        self._stream = decompressor()
        self._ahead = b""  # read, and not given to a decompressor

    def readinto(self, buffer: memoryview) -> int:
        """Fill ``buffer`` or a part of it, and say how many bytes: 0 at the end."""
        while True:
            if self._stream.eof:
                rest = self._stream.unused_data
                while not (rest := rest.lstrip(self._padding) if self._padding else rest):
                    if not (rest := self._file.read(_BLOCK_BYTES)):
                        return 0
                self._stream, self._ahead = self._new(), rest
            given, self._ahead = self._ahead, b""
            if self._stream.needs_input and not given and not (given := self._file.read(_BLOCK_BYTES)):
                raise Truncated
            data = self._stream.decompress(given, len(buffer))
            if data:
                buffer[: len(data)] = data
                return len(data)


class _Arrow:
    """A compressed stream of pyarrow's."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readinto(self, buffer: memoryview) -> int:
        """Fill ``buffer`` or a part of it, and say how many bytes: 0 at the end."""
        try:
            return int(self._stream.readinto(buffer))
        except OSError as error:
            if error.errno is None and "Truncated" in str(error):
                raise Truncated from None
            raise
