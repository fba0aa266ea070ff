"""Machine code shipped with the package: one library with all units, made with the wheel (``tools/build_wheel.py``).

It is used if it was made from the present sources; if a file was edited, or for another kind of computer, units are compiled
and stored as in a clone. Nothing here needs numba or LLVM.
"""

import ctypes
import functools
import hashlib
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from traces.kernels import store

#: Its folder; a package built without it has no such folder.
FOLDER = Path(__file__).resolve().with_name("machine_code")

_FORMAT = 1


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
        "format": _FORMAT,
        "source": store.source_digest(),
        "size": len(raw),
        "sha256": hashlib.sha256(raw).hexdigest(),
        "facts": facts,
        "units": units,
    }
    index.write_text(json.dumps(said, indent=1) + "\n", "utf-8")


def unit(name: str) -> dict[str, tuple[int, str]] | None:
    """Return the address and the result of each symbol of a unit; None if the unit was not shipped."""
    found = library()
    if found is None or name not in found.units:
        return None
    return {
        symbol: (ctypes.cast(found.loaded[symbol], ctypes.c_void_p).value or 0, returned)
        for symbol, returned in found.units[name].items()
    }


def units() -> frozenset[str]:
    """Return the shipped units."""
    found = library()
    return frozenset() if found is None else frozenset(found.units)


@functools.cache
def library() -> Library | None:
    """Return the shipped library if it is intact and of the present sources; if it is damaged, warn once."""
    code, index = library_files(FOLDER)
    try:
        said = json.loads(index.read_text("utf-8"))
        if said["format"] != _FORMAT or said["source"] != store.source_digest():
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
