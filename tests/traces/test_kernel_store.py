"""Machine code that is kept: whole, the user's own, made anew where it is not; a right result or one clear line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

#: Calls the kernel of equal task lengths, which needs a module to be compiled, and says whether numba was needed.
_PROGRAM = """
import sys
import numpy as np
from als.lengths.equal import equal_lengths
from als.lengths.contract import NEXT_LENGTH
from traces.compiled import as_value, caller
found = as_value(equal_lengths().next_length, NEXT_LENGTH)
print("address" if found.address else "none", "numba" in sys.modules)
"""

_UNIT = "als.lengths.equal.code"


def call(cache: Path, program: str = _PROGRAM, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program with this folder for the cache; what it has printed."""
    given = os.environ | {"XDG_CACHE_HOME": str(cache)} | environment
    given.pop("NUMBA_CACHE_DIR", None)
    return subprocess.run(
        [sys.executable, "-c", program], env=given, capture_output=True, text=True, timeout=300, check=False
    )


def folder_of(cache: Path) -> Path:
    (found,) = (cache / "twolevel").glob("kernels-*")
    return found


def words_of(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What was said, but for how far the compiler is, which a slow machine says."""
    return [line for line in done.stderr.splitlines() if not line.startswith("compiling for this version")]


def compiled_anew(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether the program compiled; it has said nothing it should not."""
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    word, numba = done.stdout.split()
    assert word == "address"
    return numba == "True"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache in which the unit is kept."""
    assert compiled_anew(call(tmp_path))
    assert not compiled_anew(call(tmp_path))
    return tmp_path


def test_others_can_neither_read_nor_write_it(cache: Path) -> None:
    folder = folder_of(cache)
    assert folder.stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o022 == 0 for path in folder.iterdir())


@pytest.mark.parametrize("damage", ["emptied", "truncated", "flipped", "other"])
def test_a_damaged_file_is_dropped_and_made_anew(cache: Path, damage: str) -> None:
    path = folder_of(cache) / _UNIT
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[-20] ^= 4
    path.write_bytes(
        {"emptied": b"", "truncated": whole[:-30], "flipped": bytes(flipped), "other": b"x" * 3000}[damage]
    )
    done = call(cache)
    assert compiled_anew(done)
    assert words_of(done) == []
    assert path.read_bytes() != b""
    assert not compiled_anew(call(cache))


def test_the_folder_may_go(cache: Path) -> None:
    for path in folder_of(cache).iterdir():
        path.unlink()
    assert compiled_anew(call(cache))
    assert not compiled_anew(call(cache))


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_folder_that_others_may_write_to_is_not_used(cache: Path, mode: int) -> None:
    folder_of(cache).chmod(mode)
    done = call(cache)
    assert compiled_anew(done)
    (line,) = words_of(done)
    assert "not the user's alone" in line
    assert str(folder_of(cache)) in line


def test_a_file_that_others_may_write_to_is_not_used(cache: Path) -> None:
    (folder_of(cache) / _UNIT).chmod(0o666)
    assert compiled_anew(call(cache))
    assert not compiled_anew(call(cache))  # it was made anew


def test_a_lax_umask_does_no_harm(tmp_path: Path) -> None:
    before = os.umask(0o000)
    try:
        assert compiled_anew(call(tmp_path))
    finally:
        os.umask(before)
    assert not compiled_anew(call(tmp_path))


@pytest.mark.parametrize("whose", ["folder", "file"])
def test_what_belongs_to_somebody_else_is_not_used(cache: Path, whose: str) -> None:
    path = folder_of(cache) if whose == "folder" else folder_of(cache) / _UNIT
    try:
        os.chown(path, 12345, -1)
    except PermissionError:
        # Not the superuser: nothing of others can be made here, and what is asked of the system is the same.
        path.chmod(0o777)
    assert compiled_anew(call(cache))


def test_no_room_is_one_line(tmp_path: Path) -> None:
    done = call(tmp_path, "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n" + _PROGRAM)
    assert compiled_anew(done)
    (line,) = words_of(done)
    assert "File too large" in line
    assert _UNIT in line
    assert [path.name for path in folder_of(tmp_path).iterdir() if path.suffix != ".lock"] == []


def test_a_place_where_nothing_can_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = call(tmp_path / "file")
    assert compiled_anew(done)
    (line,) = words_of(done)
    assert str(tmp_path / "file") in line


def test_without_a_home_nothing_is_kept(tmp_path: Path) -> None:
    done = call(tmp_path, "import os\nos.environ['HOME'] = ''\ndel os.environ['XDG_CACHE_HOME']\n" + _PROGRAM)
    assert compiled_anew(done)
    (line,) = words_of(done)
    assert "home" in line


def test_two_at_once_compile_once(tmp_path: Path) -> None:
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    both = [
        subprocess.Popen([sys.executable, "-c", _PROGRAM], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    words = [one.communicate(timeout=300)[0].split() for one in both]
    assert [word[0] for word in words] == ["address", "address"]
    assert len(list(folder_of(tmp_path).glob("*.code"))) == 1
    assert not compiled_anew(call(tmp_path))


def test_a_compiler_that_is_killed_leaves_nothing_that_harms(tmp_path: Path) -> None:
    program = "from traces.kernels import build\nemit = build.emit\n"
    program += "def said(*given):\n    print('compiling', flush=True)\n    import signal\n    signal.pause()\n"
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    killed = subprocess.Popen(
        [sys.executable, "-c", program + "build.emit = said\n" + _PROGRAM],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert killed.stdout is not None
    assert killed.stdout.readline() == "compiling\n"  # it holds the lock now
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    killed.stdout.close()
    began = time.monotonic()
    assert compiled_anew(call(tmp_path))
    assert time.monotonic() - began < 250  # nobody waits for the dead
    assert not compiled_anew(call(tmp_path))
