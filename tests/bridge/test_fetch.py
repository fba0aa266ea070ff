"""Downloading a log: against a server of our own that is sometimes good, and mostly not."""

import errno
import gzip
import hashlib
import io
import os
import re
import socket
import stat
import threading
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from http.client import HTTPMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.error import URLError
from urllib.request import Request

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bridge.archive.fetch
from bls.workloads import read_workload
from bls.workloads.archive import catalogue, find_log
from bridge.archive.fetch import Download, FetchError, Unpacked, _Redirects, download, summary
from traces.base.errors import InputError

# One of which no sum is known, and one of which one is.
FREE, KNOWN = "lcg", "kth"
TEXT = (
    b"; Version: 2.2\n; Acknowledge: Jane Doe\n; Acknowledge:  J. \x1b[2mRoe\n"
    b"1 0 5 100 4 -1 -1 4 200 -1 1 1 1 1 1 -1 -1 -1\n"
)
LOG = gzip.compress(TEXT, mtime=0)
SUM = hashlib.sha256(LOG).hexdigest()

Answer = Callable[[BaseHTTPRequestHandler], None]


class Server(ThreadingHTTPServer):
    """Answers each path as arranged; what it answers ``asked`` keeps."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, Answer] = {}
        self.asked: list[tuple[str, str]] = []
        self.ended = threading.Event()  # what a server that stops sending waits for

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/workload"

    def answers_for(self, name: str, answer: Answer) -> str:
        path = f"/workload/{find_log(name).path}"
        self.answers[path] = answer
        return f"http://127.0.0.1:{self.server_port}{path}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers.get("User-Agent", "")))
        answer = self.server.answers.get(self.path)
        if answer is None:
            self.send_error(404)
        else:
            answer(self)

    def log_message(self, *_: object) -> None:
        pass


def sends(data: bytes, *, stated: int | None = -1, kind: str = "application/x-gzip", to: str = "") -> Answer:
    """An answer with these bytes that states their number (-1: as many; None: does not say), or leads to another place."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(302 if to else 200)
        for name, value in (("Content-Type", kind), ("Location", to)):
            handler.send_header(name, value)
        if stated is not None:
            handler.send_header("Content-Length", str(len(data) if stated < 0 else stated))
        handler.end_headers()
        handler.wfile.write(data)

    return answer


@pytest.fixture(scope="module")
def started() -> Iterator[Server]:
    with pytest.MonkeyPatch.context() as patch, Server() as server:
        patch.setenv("no_proxy", "*")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.ended.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def server(started: Server) -> Server:
    """Without any answers yet."""
    started.answers.clear()
    started.asked.clear()
    return started


def refused(server: Server, folder: Path, name: str = FREE, **given: object) -> str:
    """The one line about a download that fails; nothing is left in its folder."""
    before = sorted(folder.iterdir())
    arguments = {"base_url": server.url, "timeout_s": 600.0, **given}
    with pytest.raises(FetchError) as caught:
        download(name, folder, **arguments)  # type: ignore[arg-type]
    assert sorted(folder.iterdir()) == before
    text = str(caught.value)
    assert "\n" not in text
    assert text.isprintable()
    assert caught.value.exit_code == 1
    return text


def test_a_log_is_downloaded_under_its_own_name(server: Server, tmp_path: Path) -> None:
    server.answers_for(FREE, sends(LOG))
    path = download(FREE, tmp_path, base_url=server.url).path
    assert path == tmp_path / "LCG-2005-1.swf.gz"
    assert path.read_bytes() == LOG
    assert list(tmp_path.iterdir()) == [path]
    assert server.asked[0][0] == "/workload/l_lcg/LCG-2005-1.swf.gz"
    assert server.asked[0][1].startswith("twolevel/")
    assert len(read_workload(path).job_id) == 1
    (tmp_path / "plain").write_bytes(b"")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    given = download(FREE, tmp_path / "mine.swf.gz", base_url=server.url + "/").path
    assert given == tmp_path / "mine.swf.gz"
    assert given.read_bytes() == LOG


def test_what_it_brought_is_reported(server: Server, tmp_path: Path) -> None:
    url = server.answers_for(FREE, sends(LOG))
    brought = download(FREE, tmp_path, base_url=server.url)
    assert brought == Download(
        log=find_log(FREE),
        path=tmp_path / "LCG-2005-1.swf.gz",
        url=url,
        size_bytes=len(LOG),
        sha256=SUM,
        text_sha256=hashlib.sha256(TEXT).hexdigest(),
        checked="",
        acknowledge="Jane Doe; J.  [2mRoe",  # what would steer a terminal is gone
    )
    text = summary(brought)
    assert f"SHA-256:     {SUM} (no checksum of this log is known)" in text
    assert "Acknowledge: Jane Doe; " in text
    assert "doi:10.1016/j.jpdc.2014.06.013" in text
    # Where the header thanks nobody, the catalogue does.
    server.answers_for("ricc", sends(gzip.compress(TEXT.splitlines()[-1])))
    brought = download("ricc", tmp_path, base_url=server.url)
    assert brought.acknowledge == ""
    assert "Acknowledge: Motoyoshi Kurokawa" in summary(brought)


def test_the_watch_sees_every_block_and_may_stop_it(server: Server, tmp_path: Path) -> None:
    data = gzip.compress("".join(f"{job} {job * job * 7919 % 10**9}\n" for job in range(40_000)).encode())
    for stated in (len(data), None):
        seen: list[tuple[int, int]] = []
        server.answers_for(FREE, sends(data, stated=stated))
        download(FREE, tmp_path / f"{stated}", base_url=server.url, watch=lambda *how, seen=seen: seen.append(how))
        assert len(seen) > 2
        assert [so_far for so_far, _ in seen] == sorted({so_far for so_far, _ in seen})
        assert seen[-1] == (len(data), stated or 0)
    empty = tmp_path / "empty"
    empty.mkdir()

    def stop(so_far: int, total: int) -> None:
        assert [path.name[: len(".mine.partial-")] for path in empty.iterdir()] == [".mine.partial-"]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download(FREE, empty / "mine", base_url=server.url, watch=stop)
    assert not list(empty.iterdir())


# The sum.


def test_the_sum_is_the_given_one_of_the_file_or_the_known_one_of_the_log(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers_for(FREE, sends(LOG))
    brought = download(FREE, tmp_path, base_url=server.url, sha256=f" {SUM.upper()}")
    assert brought.checked == "given"
    assert "as given with --sha256" in summary(brought)
    said = f"{brought.url}: wrong checksum: the file has {SUM}, --sha256 is {'0' * 64}"
    assert refused(server, tmp_path, sha256="0" * 64, force=True) == said
    log, found = find_log(KNOWN), hashlib.sha256(TEXT).hexdigest()
    url = server.answers_for(KNOWN, sends(LOG))
    assert refused(server, tmp_path, KNOWN) == (
        f"{url}: wrong checksum: the log has {found}, expected {log.text_sha256}; "
        f"if you trust it nevertheless: --sha256 {SUM}"
    )
    assert download(KNOWN, tmp_path, base_url=server.url, sha256=SUM).checked == "given"
    twin = type(log)(name="twin", title="Twin", path=log.path, text_sha256=found)
    monkeypatch.setattr(bridge.archive.fetch, "find_log", lambda name: twin)
    for level in (1, 9):  # the sum is of the log, however it is compressed
        server.answers_for(KNOWN, sends(gzip.compress(TEXT, level, mtime=level)))
        assert download("twin", tmp_path, base_url=server.url, force=True).checked == "known"


# Servers that do not send the log.


def speaks(handler: BaseHTTPRequestHandler) -> None:
    """No HTTP."""
    handler.wfile.write(b"SSH-2.0-x\r\n")
    handler.close_connection = True


def ends_a_chunk(handler: BaseHTTPRequestHandler) -> None:
    handler.protocol_version = "HTTP/1.1"
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    handler.wfile.write(b"ffff\r\n" + LOG)
    handler.close_connection = True


def bomb(lines: int) -> bytes:
    """A log of 2 KB lines that are all the same: this number, in a thousandth of the bytes."""
    return gzip.compress(TEXT + (b";" * 2047 + b"\n") * lines, 9)


DAMAGED = bytearray(LOG)
DAMAGED[-5] ^= 1  # in the check of the text
HTML = b"<html>gone</html>"
NO_LOG = "the gzip file contains no SWF: .*"

#: What a server does, and the line that is said of it.
REFUSED: dict[str, tuple[Answer | None, str]] = {
    "nothing there": (None, "the server answers 404 Not Found; .*"),
    "speaks something else": (speaks, "the server's answer cannot be read: SSH-2.0-x.*"),
    "ends a chunk too early": (ends_a_chunk, "the connection broke after 0 bytes: .*"),
    **{
        f"{sent} bytes, stated {stated}": (sends(LOG[:sent], stated=stated), said.format(sent))
        for sent in (2, len(LOG) - 1)
        for stated, said in ((len(LOG), f"the server sent {{}} of {len(LOG)} bytes"), (None, "the gzip file is truncated"))
    },
    "empty": (sends(b""), "the server sent an empty file"),
    "page": (sends(b"<!DOCTYPE html><p>moved</p>", kind="text/html"), "the server sent a web page, not a gzip file"),
    "page in disguise": (sends(b"\n<html>", kind="application/octet-stream"), "the server sent a web page, not a gzip file"),
    "a log": (sends(TEXT, kind="text/plain"), "the server sent something else, not a gzip file"),
    "ftp": (sends(b"", to="ftp://a.b/c.gz"), r"the server redirects to ftp://a\.b/c\.gz; allowed: http or https"),
    "leads in a circle": (lambda handler: sends(b"", to=handler.path)(handler), "the server answers 302 .*"),
    "compressed page": (sends(gzip.compress(HTML)), NO_LOG),
    "damaged": (sends(bytes(DAMAGED)), "the gzip file is damaged: .*"),
    "something after it": (sends(LOG + HTML), "the gzip file is damaged: .*"),
    "a second one, truncated": (sends(LOG + LOG[:-1]), "the gzip file is truncated"),
    "more text than any log in so few bytes": (
        sends(bomb(20_000)),
        f"the gzip file contains no log: its first [0-9,]+ bytes unpack to more than {16 << 20:,} bytes of text",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_server_that_does_not_send_the_log(case: str, server: Server, tmp_path: Path) -> None:
    answer, said = REFUSED[case]
    url = f"{server.url}/l_lcg/LCG-2005-1.swf.gz"
    if answer is not None:
        assert server.answers_for(FREE, answer) == url
    assert re.fullmatch(f"{re.escape(url)}: {said}", refused(server, tmp_path))


UNREACHED = "the server cannot be reached"
BROKEN = ConnectionResetError(104, "Connection reset by peer")

#: What opening a connection raises, or what reading from it gives; the length that is stated; and the line.
ON_THE_WAY: list[tuple[Any, str | None, str]] = [
    (TimeoutError(), None, "the server did not answer in 30 s"),
    (URLError(TimeoutError("timed out")), None, f"{UNREACHED} in 30 s"),
    (URLError(socket.gaierror(-2, "Name or service not known")), None, f"{UNREACHED}: Name or service not known"),
    (URLError("no host\ngiven"), None, f"{UNREACHED}: no host given"),
    ([TimeoutError()], None, "the server stopped sending for 30 s, after 0 bytes"),
    ([LOG[:50], TimeoutError()], "1234", "the server stopped sending for 30 s, after 50 of 1,234 bytes"),
    ([LOG[:30], LOG[30:50], BROKEN], "99", "the connection broke after 50 of 99 bytes: Connection reset by peer"),
    ([LOG[:50], b""], "51", "the server sent 50 of 51 bytes"),
    ([LOG[:50], b""], "many", "the gzip file is truncated"),
]


@pytest.mark.parametrize(("trouble", "length", "said"), ON_THE_WAY)
def test_trouble_on_the_way_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: Any, length: str | None, said: str
) -> None:
    answer = mock.Mock(headers=HTTPMessage())
    answer.read = answer.read1 = mock.Mock(side_effect=trouble)
    answer.geturl.return_value = "https://a.org/b"
    if length is not None:
        answer.headers["Content-Length"] = length
    opened = mock.Mock(side_effect=[answer] if isinstance(trouble, list) else trouble)
    monkeypatch.setattr(bridge.archive.fetch, "urlopen", opened)
    with pytest.raises(FetchError) as caught:
        download(FREE, tmp_path)
    assert str(caught.value) == f"{catalogue().url}{find_log(FREE).path}: {said}"
    ((request,), asked), (archive, path) = (
        opened.call_args,
        ("https://www.cs.huji.ac.il/labs/parallel/workload/", "l_lcg/"),
    )
    assert (request.full_url, asked) == (f"{archive}{path}LCG-2005-1.swf.gz", {"timeout": 30.0})
    assert answer.close.called == isinstance(trouble, list)
    assert not list(tmp_path.iterdir())


def test_led_to_a_web_page(server: Server, tmp_path: Path) -> None:
    url = server.answers_for(FREE, sends(b"", to="/sorry.html"))
    server.answers["/sorry.html"] = sends(HTML, kind="text/html")
    end = server.url.replace("/workload", "/sorry.html")
    assert refused(server, tmp_path) == f"{url}: the server sent a web page, not a gzip file, from {end}"


def test_led_from_an_encrypted_connection_to_one_that_is_not() -> None:
    request = Request("https://a.org/log.gz")
    with pytest.raises(FetchError) as caught:
        _Redirects().redirect_request(request, io.BytesIO(), 302, "", HTTPMessage(), "http://a.org/log\x1b.gz")
    assert str(caught.value) == "https://a.org/log.gz: the server redirects to http://a.org/log .gz; allowed: https"
    led = _Redirects().redirect_request(request, io.BytesIO(), 302, "", HTTPMessage(), "https://b.org/log.gz")
    assert led is not None
    assert led.full_url == "https://b.org/log.gz"


def test_more_bytes_or_text_than_any_log_has(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = server.answers_for(FREE, sends(bomb(8_000)))  # a little text in few bytes is no bomb
    download(FREE, tmp_path / "small", base_url=server.url)
    server.answers_for(FREE, sends(LOG))
    monkeypatch.setattr(bridge.archive.fetch, "MAX_TEXT_BYTES", len(TEXT) - 1)
    said = f"{url}: the gzip file contains no log: its first {len(LOG)} bytes"
    assert refused(server, tmp_path).startswith(said)
    monkeypatch.setattr(bridge.archive.fetch, "MAX_BYTES", len(LOG) - 1)
    assert refused(server, tmp_path) == f"{url}: the server sends more than {len(LOG) - 1} bytes; no log is so large"


def test_what_is_unpacked_is_never_held_but_for_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge.archive.fetch, "MOST_TIMES", 10_000)
    data, text = bomb(10_000), TEXT + (b";" * 2047 + b"\n") * 10_000
    unpacked = Unpacked("url")
    tracemalloc.start()
    unpacked.feed(data)
    unpacked.feed(data)
    unpacked.finish()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < len(text) / 10
    assert unpacked.sum.hexdigest() == hashlib.sha256(text * 2).hexdigest()
    assert bytes(unpacked.head) == text[: 1 << 16]


@given(st.binary(max_size=300), st.integers(0, 2), st.integers(1, 50))
def test_unpacking_is_what_the_gzip_module_does(noise: bytes, members: int, size: int) -> None:
    good = b"".join(gzip.compress(b"; %d\n" % member + noise) for member in range(members))
    for data in (good, good + noise, good + b"\0" * 9, good[: len(good) - len(noise) % 9]):
        try:
            whole = gzip.GzipFile(fileobj=io.BytesIO(data)).read()
        except (OSError, EOFError, zlib.error):
            whole = None
        unpacked = Unpacked("url")
        try:
            for start in range(0, len(data), size):
                unpacked.feed(data[start : start + size])
            unpacked.finish()
        except FetchError:
            assert not whole  # nothing unpacked is no log
        else:
            assert whole is not None
            assert unpacked.sum.hexdigest() == hashlib.sha256(whole).hexdigest()
            assert bytes(unpacked.head) == whole


# Where it is to be written.


def test_what_is_there_is_kept(server: Server, tmp_path: Path) -> None:
    server.answers_for(FREE, sends(LOG))
    there = tmp_path / "LCG-2005-1.swf.gz"
    there.write_bytes(b"old")
    for target in (tmp_path, there):
        with pytest.raises(InputError, match=r"LCG-2005-1\.swf\.gz exists; .*force"):
            download(FREE, target, base_url=server.url)
    assert not server.asked  # it is said before anything is downloaded
    server.answers_for(FREE, sends(LOG[:-1], stated=None))
    refused(server, tmp_path, force=True)
    assert there.read_bytes() == b"old"
    server.answers_for(FREE, sends(LOG))
    assert download(FREE, tmp_path, base_url=server.url, force=True).path.read_bytes() == LOG
    assert list(tmp_path.iterdir()) == [there]


def test_a_file_that_came_meanwhile_is_kept(server: Server, tmp_path: Path) -> None:
    server.answers_for(FREE, sends(LOG))
    link = tmp_path / "link.swf.gz"  # to nothing
    link.symlink_to(tmp_path / "nothing")
    with pytest.raises(InputError, match="exists and is no file"):
        download(FREE, link, base_url=server.url)
    link.unlink()
    target = tmp_path / "log.swf.gz"
    with pytest.raises(InputError, match="exists; choose another name"):
        download(FREE, target, base_url=server.url, watch=lambda *_: target.write_bytes(b"new") and None)
    assert target.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("target", ["file/log.gz", "a\0b", "x" * 300])
def test_a_place_that_cannot_be_written(server: Server, tmp_path: Path, target: str) -> None:
    server.answers_for(FREE, sends(LOG))
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match=r"cannot be made: |is not a file name") as caught:
        download(FREE, tmp_path / target, base_url=server.url)
    assert "\n" not in str(caught.value)
    assert "\0" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    (tmp_path / "LCG-2005-1.swf.gz").mkdir(exist_ok=True)
    with pytest.raises(InputError, match="exists and is no file"):
        download(FREE, tmp_path, base_url=server.url, force=True)


@pytest.mark.parametrize("step", ["write", "flush", "fsync", "replace"])
def test_a_full_disk(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    full = mock.Mock(side_effect=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))

    class Full(io.BufferedRandom):
        pass

    if step in ("write", "flush"):
        setattr(Full, step, full)
        opened = lambda path, mode: Full(io.FileIO(path, mode.replace("b", "+")))  # noqa: E731
        monkeypatch.setattr(bridge.archive.fetch, "open", opened, raising=False)
    else:
        monkeypatch.setattr(bridge.archive.fetch.os, step, full)
    server.answers_for(FREE, sends(LOG))
    with pytest.raises(OSError, match=r"No space left on device: .*LCG-2005-1\.swf\.gz"):
        download(FREE, tmp_path, base_url=server.url)
    assert not list(tmp_path.iterdir())


# What is asked for.


ASKED: list[tuple[str, Any, str]] = [
    *(("sha256", text, r"--sha256: .*; allowed: 64 hexadecimal digits") for text in ("", "12", "g" * 64, "0" * 65)),
    *(("base_url", base, r"--base-url: .*; allowed: http://HOST/FOLDER or https://HOST/FOLDER")
      for base in ("", "file:///etc", "a.org/w", "http://", "http://a:b/", "http://[::1", "http://a b/", "http://a/?q")),
    *(("timeout_s", s, "timeout_s=.*: .* is out of range; allowed: 0.001 to 86400") for s in (0.0, float("nan"), 1e9)),
]  # fmt: skip


@pytest.mark.parametrize(("option", "value", "message"), ASKED)
def test_what_cannot_be_asked_for(option: str, value: Any, message: str, server: Server, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        download(FREE, tmp_path, **{"base_url": server.url, option: value})
    with pytest.raises(InputError, match=r"unknown log of the archive 'kurie'; known: curie, "):
        download("kurie", tmp_path, base_url=server.url)
    assert not server.asked
