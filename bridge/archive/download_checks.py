"""What a downloaded log has to pass: it is a gzip file, undamaged and whole, holds an SWF, and has the right sum."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPMessage
from typing import Protocol

from bls.workloads.archive import ArchivedLog
from traces.base.errors import TwolevelError

#: No log is longer, unpacked, and none that is longer than the second is so many times as long as its file.
MAX_TEXT_BYTES = 16 << 30
MOST_TIMES = 100
_FREE_TEXT_BYTES = 16 << 20

_HEADER = 1 << 16  # so much of the text is looked at for its header, bytes
_AT_ONCE = 1 << 18  # so much text is unpacked at once, bytes


class FetchError(TwolevelError):
    """The server's, or that of the way to it: it did not send the log, or sent something else."""


class Damaged(Exception):
    """The file: it is no whole gzip file, or holds no SWF."""


class Response(Protocol):
    """Of what ``urlopen`` gives, what is used here."""

    headers: HTTPMessage

    def read(self, amount: int, /) -> bytes: ...
    def read1(self, amount: int, /) -> bytes: ...
    def geturl(self) -> str: ...
    def close(self) -> None: ...


class Unpacked:
    """What a gzip file holds, block by block: its sum and its beginning; the rest is thrown away."""

    def __init__(self) -> None:
        self.sum = hashlib.sha256()
        self.head = bytearray()
        self.size_bytes = 0
        self._packed_bytes = 0
        self._member = zlib.decompressobj(wbits=31)

    def feed(self, block: bytes) -> None:
        """Unpack the next bytes of the file."""
        self._packed_bytes += len(block)
        while block:
            if self._member.eof:
                block = block.lstrip(b"\0")  # a file may be padded, and may have further members
                if not block:
                    return
                self._member = zlib.decompressobj(wbits=31)
            try:
                text = self._member.decompress(block, _AT_ONCE)
                self._keep(text)
                while len(text) == _AT_ONCE or self._member.unconsumed_tail:
                    text = self._member.decompress(self._member.unconsumed_tail, _AT_ONCE)
                    self._keep(text)
            except zlib.error as error:
                raise Damaged(f"the gzip file is damaged: {error}") from None
            block = self._member.unused_data

    def finish(self) -> None:
        """There are no more."""
        if not self._member.eof:
            raise Damaged("the gzip file is truncated")
        first = bytes(self.head).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
        if not first or first not in b";+-.0123456789":
            raise Damaged("what the gzip file holds is no SWF: it begins with neither a comment nor a job")

    def _keep(self, text: bytes) -> None:
        self.sum.update(text)
        self.size_bytes += len(text)
        most = min(MAX_TEXT_BYTES, max(MOST_TIMES * self._packed_bytes, _FREE_TEXT_BYTES))
        if self.size_bytes > most:
            raise Damaged(
                f"what the gzip file holds is no log: its first {self._packed_bytes:,} bytes are more than {most:,} bytes "
                "of text"
            )
        if len(self.head) < _HEADER:
            self.head += text[: _HEADER - len(self.head)]


@contextmanager
def reported(url: str) -> Iterator[None]:
    """Damage as an error of the server's."""
    try:
        yield
    except Damaged as error:
        raise FetchError(f"{url}: {error}") from None


def check_kind(block: bytes, response: Response, url: str) -> None:
    """Refuse a file that does not begin as gzip files do."""
    if block.startswith(b"\x1f\x8b"):
        return
    page = response.headers.get_content_type() == "text/html" or block.lstrip()[:1] == b"<"
    kind = "a web page" if page else "something else"
    end = response.geturl()
    led = f", from {one_line(end)}" if end != url else ""
    raise FetchError(f"{url}: the server sent {kind}, not a gzip file{led}")


def check_sum(log: ArchivedLog, url: str, file_sum: str, text_sum: str, given: str | None) -> str:
    """Compare the sum of the file with the one given, else that of its text with what is known: ``Download.checked``."""
    if given is not None:
        if given.strip().lower() != file_sum:
            raise FetchError(f"{url}: wrong checksum: the file has {file_sum}, --sha256 is {given.strip().lower()}")
        return "given"
    if log.text_sha256 is None:
        return ""
    if text_sum != log.text_sha256:
        raise FetchError(
            f"{url}: wrong checksum: the log in it has {text_sum}, known is {log.text_sha256}; "
            f"if you trust it nevertheless: --sha256 {file_sum}"
        )
    return "known"


def one_line(text: str) -> str:
    """What comes from the network in one line of signs that a terminal can show."""
    return "".join(sign if sign.isprintable() else " " for sign in str(text)).strip()
