"""Download a log of the Parallel Workloads Archive: complete, readable and with the expected checksum, or not at all. Downloads
are not resumed. The catalogue's checksum is that of the unpacked text (``bls.workloads.archive.ArchivedLog.text_sha256``); a
checksum given by the user is that of the file, as printed by ``sha256sum FILE``."""

import hashlib
import os
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from bls.workloads.archive import ArchivedLog, catalogue, find_log, thanks
from bridge.options.declared import FETCH_TIMEOUT
from bridge.runs.directory import check_file, fresh_file
from traces.base.errors import InputError, TwolevelError, shown

#: Limits of a log: its unpacked size, and the ratio of unpacked to packed size of logs above a certain size.
MAX_TEXT_BYTES = 16 << 30
MOST_TIMES = 100
_FREE_TEXT_BYTES = 16 << 20
_HEADER = 1 << 16  # part of the text that is searched for the header, bytes
_AT_ONCE = 1 << 18  # text unpacked in one step, bytes


class FetchError(TwolevelError):
    """A failure of the server or the network: the log was not sent, or something else was."""


class Unpacked:
    """Unpacks a gzip file from ``url`` block by block and keeps its checksum and its beginning.

    Raises FetchError if it is not a complete gzip file, or contains no SWF.
    """

    def __init__(self, url: str) -> None:
        self._url = url
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
                raise FetchError(f"{self._url}: the gzip file is damaged: {error}") from None
            block = self._member.unused_data

    def finish(self) -> None:
        """Check that the file is complete after its last block."""
        if not self._member.eof:
            raise FetchError(f"{self._url}: the gzip file is truncated")
        first = bytes(self.head).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
        if not first or first not in b";+-.0123456789":
            raise FetchError(f"{self._url}: the gzip file contains no SWF: it begins with neither a comment nor a job")

    def _keep(self, text: bytes) -> None:
        self.sum.update(text)
        self.size_bytes += len(text)
        most = min(MAX_TEXT_BYTES, max(MOST_TIMES * self._packed_bytes, _FREE_TEXT_BYTES))
        if self.size_bytes > most:
            raise FetchError(
                f"{self._url}: the gzip file contains no log: its first {self._packed_bytes:,} bytes unpack to more than "
                f"{most:,} bytes of text"
            )
        if len(self.head) < _HEADER:
            self.head += text[: _HEADER - len(self.head)]


def check_kind(block: bytes, response: HTTPResponse, url: str) -> None:
    """Refuse a file that does not begin as gzip files do."""
    if block.startswith(b"\x1f\x8b"):
        return
    page = response.headers.get_content_type() == "text/html" or block.lstrip()[:1] == b"<"
    kind = "a web page" if page else "something else"
    end = response.geturl()
    led = f", from {one_line(end)}" if end != url else ""
    raise FetchError(f"{url}: the server sent {kind}, not a gzip file{led}")


def check_sum(log: ArchivedLog, url: str, file_sum: str, text_sum: str, given: str | None) -> str:
    """Compare the file's checksum with the given one, else the text's with the known one; return ``Download.checked``."""
    if given is not None:
        if given.strip().lower() != file_sum:
            raise FetchError(f"{url}: wrong checksum: the file has {file_sum}, --sha256 is {given.strip().lower()}")
        return "given"
    if log.text_sha256 is None:
        return ""
    if text_sum != log.text_sha256:
        raise FetchError(
            f"{url}: wrong checksum: the log has {text_sum}, expected {log.text_sha256}; "
            f"if you trust it nevertheless: --sha256 {file_sum}"
        )
    return "known"


def one_line(text: str) -> str:
    """Text from the network as one line of printable characters."""
    return "".join(sign if sign.isprintable() else " " for sign in str(text)).strip()


#: Called after every block with the bytes received so far and the total, or 0 if the server does not state it.
Watch = Callable[[int, int], None]
MAX_BYTES = 4 << 30  #: upper limit of a download, bytes
_FIRST = 1 << 9
_BLOCK = 1 << 16
_SUM = re.compile(r"[0-9a-fA-F]{64}")
_THANKS = re.compile(rb"^;[ \t]*Acknowledge:[ \t]*(\S[^\r\n]*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Download:
    """A finished download."""

    log: ArchivedLog  # which log
    path: Path  # the file
    url: str  # where it came from
    size_bytes: int  # of the file
    # sha256, text_sha256: of the file, and of the log in it
    sha256: str
    text_sha256: str
    checked: str  # reference of the checksum: ``"given"``, ``"known"`` or, without a reference, ``""``
    acknowledge: str  # the header field ``Acknowledge:`` of the log; empty if missing


def download(
    name: str,
    target: Path,
    *,
    base_url: str | None = None,
    sha256: str | None = None,
    timeout_s: float = FETCH_TIMEOUT.default,
    force: bool = False,
    watch: Watch | None = None,
) -> Download:
    """Download a log by its name in the catalogue to a file, or into a folder under the archive's name. ``base_url``: a
    mirror with the same folders (http or https). ``sha256``: the sum that the file must have, 64 hexadecimal digits; it
    precedes the catalogue's. ``timeout_s``: the longest silence of the server, 0.001 to 86,400 s. ``force``: replace a
    file of that name. Raises InputError if an argument cannot be used, or the target exists or cannot be written.
    Raises FetchError if the server cannot be reached, or does not send the whole, undamaged log."""
    log = find_log(name)
    if sha256 is not None and not _SUM.fullmatch(sha256.strip()):
        raise InputError(f"--sha256: {shown(sha256)}; allowed: 64 hexadecimal digits")
    FETCH_TIMEOUT.check(timeout_s)
    url = _url(log, base_url)
    place = target / log.file if os.path.isdir(target) else target
    check_file(place, force)
    with closing(_ask(url, timeout_s)) as response, fresh_file(place, force) as partial, open(partial, "xb") as file:
        unpacked = Unpacked(url)
        whole = hashlib.sha256()
        size = 0
        for block in _blocks(response, url, timeout_s, watch):
            if not size:
                check_kind(block, response, url)
            size += len(block)
            whole.update(block)
            unpacked.feed(block)
            file.write(block)
        if not size:
            raise FetchError(f"{url}: the server sent an empty file")
        unpacked.finish()
        checked = check_sum(log, url, whole.hexdigest(), unpacked.sum.hexdigest(), sha256)
        file.flush()
        os.fsync(file.fileno())
    sums, thanked = (whole.hexdigest(), unpacked.sum.hexdigest()), _THANKS.findall(bytes(unpacked.head))
    owed = "; ".join(one_line(found.decode("utf-8", "replace")) for found in thanked)
    return Download(log, place, url, size, *sums, checked, owed)


def summary(brought: Download) -> str:
    """Text for the user: the file, its checksums, and the acknowledgement that the log's authors request."""
    against = {
        "given": "as given with --sha256",
        "known": "the log's checksum is the expected one",
        "": "no checksum of this log is known",
    }[brought.checked]
    lines = [
        f"{brought.path}: {brought.log.title}, {brought.size_bytes:,} bytes",
        f"SHA-256:     {brought.sha256} ({against})",
        *thanks(brought.log, brought.acknowledge),
    ]
    return "\n".join(lines)


def _url(log: ArchivedLog, base_url: str | None) -> str:
    base = catalogue().url if base_url is None else base_url
    try:
        parts = urlsplit(base)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:  # a port that is no number, half an IPv6 address
        usable = False
    if not usable or not base.isascii() or not base.isprintable() or " " in base or parts.query or parts.fragment:
        raise InputError(f"--base-url: {shown(base)}; allowed: http://HOST/FOLDER or https://HOST/FOLDER")
    return f"{base.rstrip('/')}/{log.path}"


class _Redirects(HTTPRedirectHandler):
    """Follows redirections to places where the archive could be, but never from an encrypted to a plain connection."""

    def redirect_request(self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Request | None:
        allowed = ("https",) if req.type == "https" else ("http", "https")
        if urlsplit(newurl).scheme not in allowed:
            fp.close()
            to = one_line(newurl)
            raise FetchError(f"{req.full_url}: the server redirects to {to}; allowed: {' or '.join(allowed)}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def urlopen(request: Request, *, timeout: float) -> HTTPResponse:
    """Like ``urllib.request.urlopen``, but follow redirections to HTTP(S) only."""
    response: HTTPResponse = build_opener(_Redirects).open(request, timeout=timeout)
    return response


def _ask(url: str, timeout_s: float) -> HTTPResponse:
    request = Request(url, headers={"User-Agent": f"twolevel/{version('twolevel')}", "Accept-Encoding": "identity"})
    try:
        return urlopen(request, timeout=timeout_s)
    except HTTPError as error:
        error.close()
        meant = "; the archive may have a newer version of this log under another name" if error.code == 404 else ""
        raise FetchError(f"{url}: the server answers {error.code} {one_line(error.reason)}{meant}") from None
    except TimeoutError:
        raise FetchError(f"{url}: the server did not answer in {timeout_s:g} s") from None
    except URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise FetchError(f"{url}: the server cannot be reached in {timeout_s:g} s") from None
        raise FetchError(f"{url}: the server cannot be reached: {_reason(error.reason)}") from None
    except (OSError, HTTPException) as error:
        raise FetchError(f"{url}: the server's answer cannot be read: {_reason(error)}") from None


def _blocks(response: HTTPResponse, url: str, timeout_s: float, watch: Watch | None) -> Iterator[bytes]:
    stated = response.headers.get("Content-Length", "")
    total = int(stated) if stated.isascii() and stated.isdigit() and len(stated) < 19 else 0
    said = f" of {total:,}" if total else ""
    so_far = 0
    while True:
        try:
            # Wait for the first block in full, since it shows the kind of file; later blocks are what has arrived.
            block = response.read1(_BLOCK) if so_far else response.read(_FIRST)
        except TimeoutError:
            got = f"after {so_far:,}{said} bytes"
            raise FetchError(f"{url}: the server stopped sending for {timeout_s:g} s, {got}") from None
        except (OSError, HTTPException) as error:
            raise FetchError(f"{url}: the connection broke after {so_far:,}{said} bytes: {_reason(error)}") from None
        if not block:
            break
        so_far += len(block)
        if so_far > MAX_BYTES:
            raise FetchError(f"{url}: the server sends more than {MAX_BYTES:,} bytes; no log is so large")
        yield block
        if watch is not None:
            watch(so_far, total)
    if so_far < total:
        raise FetchError(f"{url}: the server sent {so_far:,}{said} bytes")


def _reason(error: object) -> str:
    return one_line(str(getattr(error, "strerror", None) or error)) or type(error).__name__
