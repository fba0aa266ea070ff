"""LLVM's OpenMP runtime on this computer, and our tool for it, which is compiled at its first use."""

import ctypes
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bridge.native import built
from traces.base.errors import InputError

PACKAGE: Final = "libomp-19-dev"  #: the Debian package
_LLVM = Path("/usr/lib")  #: the folder of Debian's ``llvm-VERSION``
_SOURCES = Path(__file__).with_name("native")
_HEADER = "omp-tools.h"

_SPIN_STEPS = 10_000_000  #: steps of the loop of known work, about 10 ms
_EVENTS = 100_000  #: events for the cost of one
_TURNS, _ROUNDS = 3, 20  #: runs of the probe with and without the tool, and its rounds; the fastest counts


@dataclass(frozen=True)
class OpenMP:
    """An installed runtime, with the header of its interface for tools."""

    library: Path  # libomp.so
    header: Path  # omp-tools.h


def installed_openmp() -> OpenMP:
    """Return the newest installed runtime. Raises InputError if there is none."""
    found = []
    for folder in _LLVM.glob("llvm-*"):
        headers = sorted(folder.glob(f"lib/clang/*/include/{_HEADER}"))
        library = folder / "lib" / "libomp.so"
        if headers and library.is_file() and (version := re.fullmatch(r"llvm-(\d+)", folder.name)):
            found.append((int(version[1]), OpenMP(library.resolve(), headers[-1])))
    if not found:
        raise InputError(f"twolevel measure needs LLVM's OpenMP runtime with {_HEADER}; Debian's package is {PACKAGE}")
    return max(found, key=lambda one: one[0])[1]


class Tool:
    """The tool, built in a folder."""

    def __init__(self, openmp: OpenMP, folder: Path) -> None:
        shutil.copyfile(openmp.header, folder / _HEADER)  # alone: clang's other headers are not for other compilers
        self._openmp = openmp
        used = [str(openmp.library), f"-Wl,-rpath,{openmp.library.parent}"]
        probe = _SOURCES / "probe.c"
        self._probe = built(probe, folder, command="measure", before=["-std=gnu11"], after=used)
        self.path = built(
            _SOURCES / "tool.c",
            folder,
            command="measure",
            before=["-std=gnu11", "-fPIC", "-shared", f"-I{folder}"],
            after=["-ldl", "-lpthread"],
            included=[openmp.header, _SOURCES / "twolevel_measure.h"],
        )
        self._functions = ctypes.CDLL(str(self.path))
        self._functions.twolevel_spin.argtypes = [ctypes.c_int64]
        self._functions.twolevel_spin.restype = ctypes.c_int64

    def environment(self, records: Path, given: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of a measured program. ``given``: its environment otherwise."""
        loaded = [str(self._openmp.library), *given.get("LD_PRELOAD", "").split()]
        tools = [str(self.path), *filter(None, [given.get("OMP_TOOL_LIBRARIES")])]
        return {
            **given,
            "LD_PRELOAD": ":".join(loaded),
            "OMP_TOOL": "enabled",
            "OMP_TOOL_LIBRARIES": ":".join(tools),
            "KMP_DUPLICATE_LIB_OK": "TRUE",  # a runtime in the program is no reason to end it
            "TWOLEVEL_MEASURE": str(records),
        }

    def spin_ns(self) -> int:
        """Run a loop of known work, and return the time that it took, ns."""
        return int(self._functions.twolevel_spin(_SPIN_STEPS))

    def costs(self, folder: Path) -> tuple[float, float]:
        """Measure the time by which an event in a loop on two threads makes a chunk longer, and that of one read of the clock,
        ns. ``folder``: an existing folder for temporary files."""
        folder = folder / "costs"
        folder.mkdir()
        event, read = ctypes.c_double(), ctypes.c_double()
        if not self._functions.twolevel_costs(str(folder).encode(), _EVENTS, ctypes.byref(event), ctypes.byref(read)):
            raise InputError(f"{folder}: no space for records")
        both = dict(os.environ) | {"OMP_TOOL": "disabled"}, self.environment(folder, os.environ)
        times = [[self._probed(one) for one in both] for _ in range(_TURNS)]
        without, measured = map(min, zip(*times, strict=True))
        # On a busy computer the difference may be too small: then the time of the tool's own part counts.
        return max(measured - without, event.value), read.value

    def _probed(self, environment: dict[str, str]) -> float:
        # The time of a chunk in a short loop, ns.
        environment = {name: text for name, text in environment.items() if name != "OMP_SCHEDULE"}
        words = [str(self._probe), str(_ROUNDS)]
        said = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        return float(said.stdout) if said.returncode == 0 else 0.0


def compiler_of(program: str) -> str:
    """Return the compilers that a program names, such as ``GCC: (Debian 12.2.0) 12.2.0``; empty if unknown."""
    said = _output(["readelf", "-p", ".comment", program])
    return "; ".join(sorted({line.partition("]")[2].strip() for line in said.splitlines() if "]" in line}))


def is_static(program: str) -> bool:
    """Return whether a program is linked statically, so that no library can be loaded before it."""
    headers = _output(["readelf", "-l", program])
    return "LOAD" in headers and "INTERP" not in headers


def source_lines(binary: str, base: int, addresses: list[int]) -> list[tuple[str, str]]:
    """Return (function, file:line) of return addresses in a process; unknown ones are empty.

    ``binary``: the program or library; ``base``: the address at which it is loaded.
    """
    fixed = "EXEC" in _output(["readelf", "-h", binary]).partition("Type:")[2].partition("\n")[0]
    at = [address - (0 if fixed else base) - 1 for address in addresses]  # within the call, which may end a line
    lines = _output(["addr2line", "-f", "-e", binary, *map(hex, at)]).splitlines()
    if len(lines) != 2 * len(at):
        return [("", "")] * len(at)
    functions = ["" if one == "??" else one for one in lines[::2]]
    places = ["" if one.startswith("??") or one.endswith(("?", ":0")) else _short(one) for one in lines[1::2]]
    return list(zip(functions, places, strict=True))


def _short(place: str) -> str:
    # ``/home/me/app.c:12 (discriminator 3)`` is ``app.c:12``.
    return place.partition(" (")[0].rpartition("/")[2]


def _output(words: list[str]) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
    except OSError:  # without binutils there are only addresses
        return ""
    return done.stdout
