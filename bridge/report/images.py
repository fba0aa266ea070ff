"""Figures as a page carries them: within it, as data."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.scratch import scratch_folder

if TYPE_CHECKING:
    from traces.figures.drawing.canvas import Figure

#: From so many bytes on a figure is a picture of points, not of lines.
_MOST_SVG = 250_000

_KINDS = {".svg": "image/svg+xml", ".png": "image/png"}


def figure_address(figure: Figure) -> str:
    """A figure as an address: of lines, or, where these would be too many, of points."""
    from traces.figures.drawing.canvas import save

    with scratch_folder() as place:
        path = save(figure, place / "figure.svg")
        if path.stat().st_size > _MOST_SVG:
            path = save(figure, place / "figure.png")
        return file_address(path)


def file_address(path: Path) -> str:
    """A file of a figure, svg or png, as an address."""
    return f"data:{_KINDS[path.suffix]};base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"
