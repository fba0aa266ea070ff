"""The pages of the Python interface: the public names of the four packages, with their docstrings."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

#: The packages, in the order of the site.
PACKAGES = ("bridge", "bls", "als", "traces")

_FOLDER = "reference/python"


def _kind(thing: Any) -> str:
    if inspect.isclass(thing):
        return "exception" if issubclass(thing, BaseException) else "class"
    return "function" if callable(thing) and hasattr(thing, "__name__") else "data"


def _entry(package: str, name: str) -> list[str]:
    kind = _kind(getattr(importlib.import_module(package), name))
    lines = [name, "-" * len(name), "", f".. auto{kind}:: {package}.{name}"]
    return [*lines, *(["   :members:"] if kind == "class" else []), ""]


def _first_sentence(package: str, name: str) -> str:
    thing = getattr(importlib.import_module(package), name)
    text = " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())
    return text.partition(". ")[0].rstrip(".") + "."


def interface_pages() -> dict[str, str]:
    """A page for each package, and the index of these pages, by place on the site."""
    pages, abouts = {}, {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        about = " ".join((module.__doc__ or "").partition("\n\n")[0].split())
        abouts[package] = about
        lines = [package, "=" * len(package), "", f".. py:module:: {package}", "", about, ""]
        lines += [".. list-table::", "   :widths: 25 75", ""]
        for name in module.__all__:
            lines += [f"   * - :py:obj:`{name} <{package}.{name}>`", f"     - {_first_sentence(package, name)}"]
        lines += ["", *(line for name in module.__all__ for line in _entry(package, name))]
        pages[f"{_FOLDER}/{package}.rst"] = "\n".join(lines)
    index = ["# Python", "", "Every public name of the four packages, with its docstring.", ""]
    index += [
        "| package | |",
        "|---|---|",
        *(f"| [{package}]({package}.rst) | {about} |" for package, about in abouts.items()),
    ]
    index += ["", "```{toctree}", ":hidden:", "", *PACKAGES, "```", ""]
    return {f"{_FOLDER}/index.md": "\n".join(index), **pages}
