"""Machine code that need not be compiled: the store, and what was shipped with the package. Nothing here needs numba or LLVM.

The store has one folder for each version of the kernels, with one file for each unit. The folder is named by a digest of the
kernels' sources, so it serves every clone and environment of a version, and a change to any of them gives a new one. Its
contents are executed, so it is used only if it belongs to the user and nobody else may write to it. A file contains its title
and its own digest; a damaged file is dropped and made again.

What was shipped is one library with all units, made with the wheel (``tools/build_wheel.py``). It is used if it was made from
the present sources; if a file was edited, or for another kind of computer, units are compiled and stored as in a clone.
"""

import contextlib
import ctypes
import fcntl
import functools
import hashlib
import json
import os
import re
import stat
import struct
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Where kernels are, and the numbers that they read: of the bridge and of figures, only the files that have either.
_PACKAGES = ("als", "bls", "bridge", "traces")
_FEW = ("bridge", "traces/figures", "traces/statistics")
_MARKS = (b"(State)", b"(State, ", b"(IntEnum)", b"compiled(", b"_kernel")

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH

_MAGIC = b"twolevel machine code 1\n"

_OWN = "twolevel"  #: our folder in the user's cache folder

# Name of the folder for a version: no other folder may be removed.
_VERSION = re.compile(r"kernels-[0-9a-f]{16}(-[\w-]+)?")

#: Other files in it: those of a process that was killed, and the parts in C of a replay.
_MADE = re.compile(r"\.new-[\w.-]+-[a-z0-9_]{8}|replay-[a-z]+-[0-9a-f]{16}")

_OLD = 3  #: number of folders of other versions kept when a new one is made

#: The folder of the machine code that was shipped; a package built without it has no such folder.
SHIPPED = Path(__file__).resolve().with_name("machine_code")

_INDEX_FORMAT = 1


@dataclass(frozen=True)
class Kept:
    """One stored unit."""

    code: bytes  # an object file
    returned: dict[str, str]  # the result of each of its symbols, by ``traces.kernels.signatures``
    facts: dict[str, int]  # numbers of kernels and lines in it
    of_numba: list[str]  # numba's functions that it needs when it runs


# When this process began to load kernels.
_BEGAN_NS = time.time_ns()


def source_digest() -> str:
    """Return the name of this version's kernels: a digest of the sources of the kernels and of everything that compiles them,
    and of this computer's architecture."""
    return _sources()[0]


def _kernel_files() -> Iterator[tuple[str, bytes, int]]:
    # The source files of the kernels and of their compilation: path below the root, source, and modification time.
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
    # The digest, and the latest modification time of the files.
    newest_ns = 0
    digest = hashlib.sha256(os.uname().machine.encode())
    for path, source, written_ns in _kernel_files():
        newest_ns = max(newest_ns, written_ns)
        digest.update(path.encode())
        digest.update(source)
    return digest.hexdigest()[:16], newest_ns


#: The default target: any x86-64 of the last fifteen years.
BASELINE = {"x86_64": "x86-64-v2", "AMD64": "x86-64-v2"}.get(os.uname().machine, "generic")

_V3 = {"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}


@functools.cache
def processor() -> str:
    """Return the target processor of code made here: ``x86-64-v3`` on processors that support it, as nearly all since 2015,
    else the baseline. Walks over the hosts of a wide machine take a third longer without. The results are the same."""
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
    return Path(home) / ".cache" / _OWN if os.path.isabs(home) else None  # no home directory


def cache_directory() -> Path | None:
    """Return the folder of this version's machine code for this processor; None without a home directory."""
    root = _root()
    return None if root is None else root / f"kernels-{source_digest()}-{processor()}"


def _private(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_WRITE


@functools.cache
def why_unused() -> str | None:
    """Return why machine code is neither stored nor looked up; None if it is. Makes the folder if necessary."""
    folder = cache_directory()
    if folder is None:
        return "there is no home directory to keep it in; XDG_CACHE_HOME can name a folder"
    if _sources()[1] > _BEGAN_NS:
        # A notebook that has loaded the old file would store its code under the name of the new file.
        return "a source file was edited after this process had begun; it is kept by the next one"
    try:
        if not folder.is_dir():
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            _drop_old(folder)
        above = folder.parent.stat()
        if folder.parent.name == _OWN and above.st_uid == os.geteuid() and above.st_mode & _OTHERS_WRITE:
            folder.parent.chmod(stat.S_IMODE(above.st_mode) & ~_OTHERS_WRITE)  # made with a lax umask
        # If others may write to a folder above that is not sticky, they can replace this one.
        for one in (folder, folder.parent):
            found = one.stat()
            open_to_others = found.st_mode & _OTHERS_WRITE and not found.st_mode & stat.S_ISVTX
            if (one is folder and not _private(found)) or open_to_others:
                return f"other users may write to {one}; allowed: a folder of your own that nobody else may write to"
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
    # Remove only the files of a store: the name alone does not show that the rest of a folder is ours.
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
    """Return whether there is a file of a unit; it may be damaged."""
    return why_unused() is None and _path(unit).exists()


def kept(unit: str) -> Kept | None:
    """Return a unit's machine code, if it is stored and intact."""
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
    # Return the contents of a file if nobody else can have written it.
    try:
        with open(path, "rb") as file:
            return file.read() if _private(os.fstat(file.fileno())) else None
    except OSError:
        return None


def _title(path: Path) -> str:
    # The title of a file: a file of another unit, version or processor is as unusable as a damaged one.
    return f"{path.parent.name}/{path.stem}"


def packed(what: Kept, title: str) -> bytes:
    """Return a unit as the bytes of a file with this title."""
    said = {"title": title, "returned": what.returned, "facts": what.facts, "of_numba": what.of_numba}
    words = json.dumps(said).encode()
    body = struct.pack("<Q", len(words)) + words + what.code
    return _MAGIC + hashlib.sha256(body).digest() + body


def unpacked(raw: bytes, title: str) -> Kept | None:
    """Return the contents of a file; None if it is damaged, or has another title."""
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
    """Return the number of stored units that this Python can use, and of those that it cannot: damaged or not private."""
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
    """Store a unit's machine code; return why that failed, or None."""
    if (why := why_unused()) is not None:
        return why
    path = _path(unit)
    name = None
    try:
        for left in path.parent.glob(f".new-{unit}-*"):  # of a process that was killed
            left.unlink(missing_ok=True)
        # Others must never read or write it.
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
    """Hold a unit's lock, so that only one process compiles it; a process that dies releases the lock."""
    file = None
    if why_unused() is None:
        with contextlib.suppress(OSError):  # a full disk, or a read-only folder: without a lock
            file = open(_path(unit).with_suffix(".lock"), "ab")  # noqa: SIM115
            fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if file is not None:
            file.close()


@dataclass(frozen=True)
class Library:
    """The shipped library for this kind of computer."""

    units: dict[str, dict[str, str]]  # for each unit its symbols with their results (``traces.kernels.signatures``)
    facts: dict[str, int]  # numbers of kernels and lines in it
    loaded: Any


def library_files(folder: Path) -> tuple[Path, Path]:
    """Return the paths of the library for this kind of computer and of its index, whether or not they exist."""
    machine = os.uname().machine
    return folder / f"{machine}.so", folder / f"{machine}.json"


def write_index(folder: Path, units: dict[str, dict[str, str]], facts: dict[str, int]) -> None:
    """Write the index of an existing library: its contents and the digest of its sources."""
    code, index = library_files(folder)
    raw = code.read_bytes()
    said = {
        "format": _INDEX_FORMAT,
        "source": source_digest(),
        "size": len(raw),
        "sha256": hashlib.sha256(raw).hexdigest(),
        "facts": facts,
        "units": units,
    }
    index.write_text(json.dumps(said, indent=1) + "\n", "utf-8")


def shipped_unit(name: str) -> dict[str, tuple[int, str]] | None:
    """Return the address and the result of each symbol of a unit; None if the unit was not shipped."""
    found = shipped_library()
    if found is None or name not in found.units:
        return None
    return {
        symbol: (ctypes.cast(found.loaded[symbol], ctypes.c_void_p).value or 0, returned)
        for symbol, returned in found.units[name].items()
    }


def shipped_units() -> frozenset[str]:
    """Return the shipped units."""
    found = shipped_library()
    return frozenset() if found is None else frozenset(found.units)


@functools.cache
def shipped_library() -> Library | None:
    """Return the shipped library if it is intact and of the present sources; if it is damaged, warn once."""
    code, index = library_files(SHIPPED)
    try:
        said = json.loads(index.read_text("utf-8"))
        if said["format"] != _INDEX_FORMAT or said["source"] != source_digest():
            return None
        raw = code.read_bytes()
        if len(raw) != said["size"] or hashlib.sha256(raw).hexdigest() != said["sha256"]:
            raise OSError("it is not the file that was installed")
        return Library(said["units"], said["facts"], ctypes.CDLL(os.fspath(code)))
    except FileNotFoundError as error:
        if error.filename == os.fspath(index):
            return None
        why = f"{code}: there is no such file"
    except OSError as error:
        why = f"{code}: {error.strerror or error}"
    except (ValueError, KeyError, TypeError) as error:
        why = f"{index}: it cannot be read ({type(error).__name__})"
    print(f"kernels: {why}: they are compiled instead; install twolevel again to repair it", file=sys.stderr)
    return None
