"""Where machine code is kept: one folder for each version of the kernels, one file for each unit.

The folder is named by a digest of the sources that kernels are made of, so it serves every clone and environment of a version,
and a change to any of them is a fresh one. What is in it is run: it is used only if it is the user's own, and nobody else may
write to it. A file says what is in it and its own digest; one that is damaged is dropped, and made anew.
"""

import contextlib
import fcntl
import functools
import hashlib
import json
import os
import re
import stat
import struct
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Where kernels are, and the numbers that they read: of the bridge and of figures, those files that hold either.
_PACKAGES = ("als", "bls", "bridge", "traces")
_FEW = ("bridge", "traces/figures", "traces/statistics")
_MARKS = (b"(State)", b"(State, ", b"(IntEnum)", b"compiled(", b"_kernel")

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH

_MAGIC = b"twolevel machine code 1\n"

#: The folder of ours in the user's folder for what can be made again.
_OWN = "twolevel"

# What a folder for a version is called: no other is ours to remove.
_VERSION = re.compile(r"kernels-[0-9a-f]{16}(-[\w-]+)?")

#: What else is in it: files of a process that was killed, and the parts in C of a replay.
_MADE = re.compile(r"\.new-[\w.-]+-[a-z0-9_]{8}|replay-[a-z]+-[0-9a-f]{16}")

#: How many folders of other versions are kept when a new one is made.
_OLD = 3


@dataclass(frozen=True)
class Kept:
    """One unit, as it is kept."""

    code: bytes  # an object file
    returned: dict[str, str]  # what each of its symbols returns, by ``traces.kernels.signatures``
    facts: dict[str, int]  # how many kernels and lines there are in it
    of_numba: list[str]  # what it needs of numba's when it is run


# When this process began to load kernels.
_BEGAN_NS = time.time_ns()


def source_digest() -> str:
    """What names this version's kernels: a digest of the sources of all that they are made of and by, and of this computer's
    architecture."""
    return _sources()[0]


def _kernel_files() -> Iterator[tuple[str, bytes, int]]:
    # The files that kernels are made of, and by: path below the root, source, and when it was written.
    root = Path(__file__).resolve().parent.parent.parent
    for package in _PACKAGES:
        for folder, inner, names in os.walk(root / package):
            inner[:] = sorted({*inner} - {"__pycache__"})
            below = os.path.relpath(folder, root)
            for name in sorted(names):
                if not name.endswith(".py"):
                    continue
                with open(os.path.join(folder, name), "rb") as file:
                    source, written_ns = file.read(), os.fstat(file.fileno()).st_mtime_ns
                if not below.startswith(_FEW) or any(mark in source for mark in _MARKS):
                    yield f"{below}/{name}", source, written_ns


@functools.cache
def _sources() -> tuple[str, int]:
    # The digest, and when the latest of the files was written.
    newest_ns = 0
    digest = hashlib.sha256(os.uname().machine.encode())
    for path, source, written_ns in _kernel_files():
        newest_ns = max(newest_ns, written_ns)
        digest.update(path.encode())
        digest.update(source)
    return digest.hexdigest()[:16], newest_ns


#: What code is made for where nothing more is known: any x86-64 of the last fifteen years.
BASELINE = {"x86_64": "x86-64-v2", "AMD64": "x86-64-v2"}.get(os.uname().machine, "generic")

_V3 = {"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}


@functools.cache
def processor() -> str:
    """What code is made for here: ``x86-64-v3`` on the processors that know it, as nearly all since 2015, else the
    baseline. Walks over the hosts of a wide machine take a third longer without. The results are the same."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            flags = next((line for line in file if line.startswith("flags")), "")
    except OSError:
        flags = ""
    return "x86-64-v3" if set(flags.split()) >= _V3 else BASELINE


def _root() -> Path | None:
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen)
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / _OWN
    home = "" if os.environ.get("HOME") == "" else os.path.expanduser("~")
    return Path(home) / ".cache" / _OWN if os.path.isabs(home) else None  # else nobody knows where home is


def cache_directory() -> Path | None:
    """The folder that holds this version's machine code for such a processor; None where there is no home to have one in."""
    root = _root()
    return None if root is None else root / f"kernels-{source_digest()}-{processor()}"


def _private(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_WRITE


@functools.cache
def why_unused() -> str | None:
    """Why machine code is neither kept nor looked for; None if it is. The folder is made if there is none."""
    folder = cache_directory()
    if folder is None:
        return "there is no home directory to keep it in; XDG_CACHE_HOME can name a folder"
    if _sources()[1] > _BEGAN_NS:
        # A notebook that has loaded the file before would keep what it makes of the old one as that of the new one.
        return "a source file was edited after this process had begun; it is kept by the next one"
    try:
        if not folder.is_dir():
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            _drop_old(folder)
        above = folder.parent.stat()
        if folder.parent.name == _OWN and above.st_uid == os.geteuid() and above.st_mode & _OTHERS_WRITE:
            folder.parent.chmod(stat.S_IMODE(above.st_mode) & ~_OTHERS_WRITE)  # as a lax umask has made it
        # A folder above that others may write to, and that is not sticky, lets them put another in its place.
        for one in (folder, folder.parent):
            found = one.stat()
            open_to_others = found.st_mode & _OTHERS_WRITE and not found.st_mode & stat.S_ISVTX
            if (one is folder and not _private(found)) or open_to_others:
                return f"{one} is not the user's alone; allowed: a folder of one's own that nobody else may write to"
    except OSError as error:
        return f"{error.filename or folder}: {error.strerror}"
    return None


def _drop_old(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folders = (one for one in folder.parent.glob("kernels-*") if _VERSION.fullmatch(one.name))
        old = sorted(folders, key=lambda one: one.stat().st_mtime)
        for one in old[: -1 - _OLD]:
            _remove(one)


def _remove(folder: Path) -> None:
    # Only the files of a store: the name alone does not say that the rest of a folder is ours.
    if folder.is_symlink() or not _private(folder.stat()):
        return
    for path in folder.iterdir():
        if _is_ours(path):
            path.unlink()
    folder.rmdir()


def _is_ours(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    if path.suffix == ".lock":
        return path.stat().st_size == 0
    if path.suffix == ".code":
        with open(path, "rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    return _MADE.fullmatch(path.name) is not None


def _path(unit: str) -> Path:
    folder = cache_directory()
    assert folder is not None
    return folder / f"{unit}.code"


def has(unit: str) -> bool:
    """Whether there is a file of a unit; it may be damaged."""
    return why_unused() is None and _path(unit).exists()


def kept(unit: str) -> Kept | None:
    """A unit's machine code, if it is kept and whole."""
    if why_unused() is not None:
        return None
    path = _path(unit)
    raw = _own_bytes(path)
    if raw is None:
        return None
    found = unpacked(raw, _title(path))
    if found is None:
        with contextlib.suppress(OSError):
            path.unlink()
    return found


def _own_bytes(path: Path) -> bytes | None:
    # What is in a file, if nobody else can have written it.
    try:
        with open(path, "rb") as file:
            return file.read() if _private(os.fstat(file.fileno())) else None
    except OSError:
        return None


def _title(path: Path) -> str:
    # What a file says that it is: that of another unit, version or processor is as wrong as a damaged one.
    return f"{path.parent.name}/{path.stem}"


def packed(what: Kept, title: str) -> bytes:
    """A unit as the bytes of a file of this title."""
    words = json.dumps(
        {"title": title, "returned": what.returned, "facts": what.facts, "of_numba": what.of_numba}
    ).encode()
    body = struct.pack("<Q", len(words)) + words + what.code
    return _MAGIC + hashlib.sha256(body).digest() + body


def unpacked(raw: bytes, title: str) -> Kept | None:
    """What is in a file; None if it is damaged, or of another title."""
    start = len(_MAGIC) + 32
    body = raw[start:]
    if raw[: len(_MAGIC)] != _MAGIC or hashlib.sha256(body).digest() != raw[len(_MAGIC) : start]:
        return None
    (size,) = struct.unpack_from("<Q", body)
    words: dict[str, Any] = json.loads(body[8 : 8 + size])
    if words.get("title") != title:
        return None
    return Kept(body[8 + size :], words["returned"], words["facts"], words["of_numba"])


def unit_names() -> tuple[int, int]:
    """How many units this Python can use, and how many it cannot: damaged, or others may have written them."""
    folder = cache_directory()
    if folder is None or why_unused() is not None:
        return 0, 0
    usable = damaged = 0
    for path in folder.glob("*.code"):
        raw = _own_bytes(path)
        if raw is None or unpacked(raw, _title(path)) is None:
            damaged += 1
        else:
            usable += 1
    return usable, damaged


def keep(unit: str, what: Kept) -> str | None:
    """Keep a unit's machine code; returns why that failed, None if it did not."""
    if (why := why_unused()) is not None:
        return why
    path = _path(unit)
    name = None
    try:
        for left in path.parent.glob(f".new-{unit}-*"):  # by one that was killed
            left.unlink(missing_ok=True)
        # Others may never read or write it.
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".new-{unit}-")
        with open(descriptor, "wb") as file:
            file.write(packed(what, _title(path)))
        os.replace(name, path)
    except OSError as error:
        if name is not None:
            with contextlib.suppress(OSError):
                os.unlink(name)
        return f"{path}: {error.strerror}"
    return None


@contextlib.contextmanager
def locked(unit: str) -> Iterator[None]:
    """Wait until nobody else compiles a unit, and keep others waiting; a process that dies lets go of it."""
    file = None
    if why_unused() is None:
        with contextlib.suppress(OSError):  # a full disk, a folder that is read only: nobody waits
            file = open(_path(unit).with_suffix(".lock"), "ab")  # noqa: SIM115
            fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if file is not None:
            file.close()
