"""Versions of this project, of Python and of the libraries that can affect a result."""

import os
import platform
import re
import sys
from collections.abc import Iterable

NOT_INSTALLED = "not installed"

_LIBRARIES = ("numpy", "numba", "llvmlite", "pandas", "pyarrow", "otf2", "matplotlib", "msgspec", "typer", "rich")

_INFO = ".dist-info"


def versions() -> dict[str, str]:
    """Versions as ``{"python": "3.11.7", "twolevel": "0.1.0", …}``; ``not installed`` for missing libraries."""
    return {"python": platform.python_version()} | versions_of(("twolevel", *_LIBRARIES))


def versions_of(names: Iterable[str]) -> dict[str, str]:
    """The versions of some distributions, by name; ``not installed`` for missing ones."""
    installed = _installed()
    return {name: installed.get(name) or _looked_up(name) for name in names}


def _installed() -> dict[str, str]:
    # From the names of the folders that installers write, NAME-VERSION.dist-info: importlib.metadata with its imports would
    # take a twentieth of the time of a small run.
    found: dict[str, str] = {}
    for folder in sys.path:
        try:
            entries = os.listdir(folder or ".")
        except OSError:  # not a folder (an archive), or missing
            continue
        for entry in entries:
            name, dash, version = entry.removesuffix(_INFO).partition("-")
            if entry.endswith(_INFO) and dash:
                found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), version)
    return found


def _looked_up(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return NOT_INSTALLED
