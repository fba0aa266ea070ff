"""Build a wheel with the machine code of all kernels: a run from it compiles nothing and needs no numba.

    python -m tools.build_wheel [--out dist]

The wheel is that of ``pip install .``, with a shared library and its index in ``traces/kernels/machine_code``
(``traces.kernels.store`` reads them). It is for this kind of computer: any x86-64 of the last fifteen years, elsewhere LLVM's
generic processor. A C compiler (``CC``, else ``cc``) links it; the tag of the wheel states the required C library.
See docs/how-to/wheels.md.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from traces.kernels import store
from traces.kernels.units import kernel_modules, module_entries, symbol_of

_ROOT = Path(__file__).resolve().parents[1]

#: Libraries that the library may need in a wheel for many systems.
_SYSTEM = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def build_library(modules: Sequence[str], folder: Path) -> Path:
    """Compile the units of modules and link them into one library; with its index, in ``folder``.

    Returns
    -------
    Path
        The library.
    """
    from traces.kernels import build

    folder.mkdir(parents=True, exist_ok=True)
    units, facts = {}, {"kernels": 0, "lines": 0}
    library, _ = store.library_files(folder)
    with tempfile.TemporaryDirectory() as space:
        objects = []
        for k, module in enumerate(modules):
            print(f"compiling {k + 1} of {len(modules)}: {module}", file=sys.stderr)
            entries = [
                build.EntryPoint(kernel, kinds, symbol_of(kernel, kinds)) for kernel, kinds in module_entries(module)
            ]
            made = build.emit(entries, processor=store.BASELINE)
            units[module] = made.returned
            facts = {name: number + made.facts[name] for name, number in facts.items()}
            objects.append(Path(space, f"{module}.o"))
            objects[-1].write_bytes(made.code)
        options = ("-s", "--as-needed", "--no-undefined", "-z,text", "-z,noexecstack", "--build-id=none")
        compiler = shlex.split(os.environ.get("CC", "cc"))
        given = [*objects, "-lm", *(f"-Wl,{option}" for option in options)]
        subprocess.run([*compiler, "-shared", "-o", library, *given], check=True)
    store.write_index(folder, units, facts)
    return library


def platform_tag(library: Path) -> str:
    """The systems on which a library runs, as the tag of a wheel (PEP 600).

    A library that needs nothing but the C library runs wherever that is as new as its newest symbol.
    """
    said = subprocess.run(["objdump", "-T", "-p", library], capture_output=True, text=True, check=True).stdout
    machine = os.uname().machine
    needed = set(re.findall(r"^\s*NEEDED\s+(\S+)", said, re.MULTILINE))
    versions = [(int(major), int(minor)) for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", said)]
    if needed - _SYSTEM:
        return f"linux_{machine}"
    major, minor = max([(2, 17), *versions])  # installers know no older systems
    return f"manylinux_{major}_{minor}_{machine}"


def build_wheel(folder: Path, out: Path) -> Path:
    """The project's wheel, with the library that :func:`build_library` put into ``folder``."""
    from hatchling.builders.wheel import WheelBuilder

    files = store.library_files(folder)
    inside = store.SHIPPED.relative_to(_ROOT)

    class Builder(WheelBuilder):  # type: ignore[misc]
        def get_default_build_data(self) -> dict[str, Any]:
            return super().get_default_build_data() | {
                "tag": f"py3-none-{platform_tag(files[0])}",
                "pure_python": False,
                "force_include": {os.fspath(one): os.fspath(inside / one.name) for one in files},
            }

    builder = Builder(os.fspath(_ROOT))
    # Only users' own kernels need the compiler (210 MB), which the extra "compile" installs.
    project = builder.metadata.core.config
    project["dependencies"] = [one for one in project["dependencies"] if not one.startswith("numba")]
    return Path(next(builder.build(directory=os.fspath(out), versions=["standard"])))


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the wheel; its path is printed."""
    parser = argparse.ArgumentParser(prog="python -m tools.build_wheel", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--out", type=Path, default=Path("dist"), help="the folder to put it in (default: dist)")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        build_library(kernel_modules(), Path(folder))
        print(build_wheel(Path(folder), given.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
