"""Figures for papers: a given width, no titles, a place among other axes, and captions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from traces.base.errors import InputError, shown
from traces.base.written_file import write_text

CAPTIONS = "captions.txt"  #: file of the captions, in the folder of the figures

_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72}
_LEAST_IN, _MOST_IN = 1.0, 40.0


@dataclass(frozen=True)
class ForPaper:
    """How figures are written."""

    width_in: float | None = None  # inches; None: as each is designed
    titled: bool = True

    @classmethod
    def of(cls, width: str | None, titled: bool, where: str = "width") -> ForPaper:
        """Read a width such as ``3.5in``, ``89mm`` or ``252pt``. Raises InputError if it is none, or not 1 to 40 inches."""
        if width is None:
            return cls(None, titled)
        found = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*(in|cm|mm|pt)", width.strip())
        inches = float(found[1]) * _INCHES[found[2]] if found else 0.0
        if not _LEAST_IN <= inches <= _MOST_IN:
            raise InputError(f"{where}: {shown(width)} is not a width; allowed: 1in to 40in, also in cm, mm or pt")
        return cls(inches, titled)


@contextmanager
def placed(axes: Any) -> Iterator[None]:
    """A context in which the next new figure is drawn in the place of these matplotlib axes, which it removes; None:
    nothing changes. Raises InputError if they have no place in a grid, which ``subplots`` gives them."""
    from traces.figures.drawing import canvas

    if axes is not None and axes.get_subplotspec() is None:
        raise InputError("ax: these axes are in no grid; allowed: axes made by subplots or add_subplot")
    canvas.PLACE.append(axes)
    try:
        yield
    finally:
        canvas.PLACE.pop()


@contextmanager
def drawn_for(paper: ForPaper) -> Iterator[None]:
    """A context in which figures have this width, and titles only if requested."""
    from traces.figures.drawing import canvas

    canvas.PAPER.append((paper.width_in, paper.titled))
    try:
        yield
    finally:
        canvas.PAPER.pop()


def write_captions(folder: Path, captions: Mapping[str, str]) -> Path:
    """Write the captions of figures, by the names of their files without suffix, into one file of a folder. Captions of other
    figures that the file holds are kept. Returns the file."""
    path = folder / CAPTIONS
    texts = path.read_text(encoding="utf-8").split("\n\n") if path.is_file() else []
    known = dict(text.strip().split(": ", 1) for text in texts if ": " in text)
    every = sorted({**known, **captions}.items())
    write_text(path, "\n\n".join(f"{name}: {text}" for name, text in every) + "\n")
    return path
