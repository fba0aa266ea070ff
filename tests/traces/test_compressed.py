"""Files that are compressed in any of the known ways are read as what they hold; one that is damaged is one line."""

import bz2
import gzip
import lzma
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from tables import table_text

from bls.workloads import format_of, read_workload
from traces.base.errors import InputError
from traces.base.given_file import GivenFile, without_ending

pytestmark = pytest.mark.whole

KINDS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": (".gz", gzip.compress),
    "xz": (".xz", lzma.compress),
    "bzip2": (".bz2", bz2.compress),
    "Zstandard": (".zst", lambda data: pa.compress(data, "zstd", asbytes=True)),
}
TEXT = b"".join(b"%d 0 -1 %d 4 -1 -1 4 60 -1 1 1 -1 -1 -1 -1 -1 -1\n" % (k, k * k % 977 + 1) for k in range(1, 20_000))


def held(path: Path, size: int = 1 << 16) -> bytes:
    found = []
    with GivenFile(path, "workload file") as file:
        block = bytearray(size)
        while got := file.readinto(memoryview(block)):
            found.append(bytes(block[:got]))
    return b"".join(found)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_buffered_text_is_read_in_pieces_of_any_size(tmp_path: Path, kind: str) -> None:
    for size, data in ((1, TEXT[:500]), (1 << 20, TEXT)):
        (tmp_path / "x").write_bytes(KINDS[kind][1](data))
        assert held(tmp_path / "x", size) == data


def test_streams_put_one_after_the_other_are_read_as_one(tmp_path: Path, kind: str) -> None:
    packed = KINDS[kind][1]
    (tmp_path / "x").write_bytes(packed(TEXT) + packed(b"") + packed(b"the end"))
    assert held(tmp_path / "x") == TEXT + b"the end"


def test_a_log_is_known_by_its_name_without_the_ending(tmp_path: Path, kind: str) -> None:
    ending, packed = KINDS[kind]
    path = tmp_path / f"log.swf{ending}"
    path.write_bytes(packed(TEXT))
    assert without_ending(str(path)) == str(tmp_path / "log.swf")
    assert (format_of(path), len(read_workload(path))) == ("swf", 19_999)
    path = tmp_path / f"log.csv{ending}"
    path.write_bytes(packed(b"JobID|NCPUS|Submit|ElapsedRaw\n7|4|50|60\n"))
    assert (format_of(path), read_workload(path).job_id.tolist()) == ("sacct", [7])


def test_a_file_that_ends_too_early_or_is_damaged(tmp_path: Path, kind: str) -> None:
    data, path = KINDS[kind][1](TEXT), tmp_path / "x"
    for left in (100, -1):
        path.write_bytes(data[:left])
        with pytest.raises(InputError) as caught:
            held(path)
        assert str(caught.value) == f"{path}: the {kind} file is truncated"
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 255
    for damaged in (flipped, data + b"something else"):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=f"x: the {kind} file is damaged: ") as caught:
            held(path)
        assert str(caught.value).isprintable()


def test_an_xz_file_that_asks_for_more_memory_than_any_needs_is_refused(tmp_path: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 29}]
    (tmp_path / "x").write_bytes(lzma.compress(TEXT, filters=filters))
    with pytest.raises(InputError, match="the xz file is damaged: Memory usage limit exceeded"):
        held(tmp_path / "x")


LIMITED = table_text(__file__, "limited")


def test_files_that_hold_far_more_than_they_are_long_need_little_memory(tmp_path: Path) -> None:
    # One line, which is refused at 64 MiB.
    paths = []
    for kind, (_, packed) in KINDS.items():
        paths.append(tmp_path / f"{kind}.swf")
        paths[-1].write_bytes(packed(b" " * (65 << 20)))
        assert paths[-1].stat().st_size < 1 << 20
    done = subprocess.run([sys.executable, "-c", LIMITED, *paths], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == len(KINDS)
    for line in lines:
        mib, _, words = line.partition(" ")
        assert "a line is longer than 67108864 bytes" in words
        assert int(mib) < 300
