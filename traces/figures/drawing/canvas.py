"""All use of matplotlib: figures as objects (never pyplot, which keeps state), one style, equal files for equal data."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib
from matplotlib.axes import Axes as Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection as LineCollection
from matplotlib.collections import PolyCollection as PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure as Figure
from matplotlib.legend_handler import HandlerTuple as HandlerTuple
from matplotlib.lines import Line2D as Line2D
from matplotlib.patches import Patch as Patch
from matplotlib.patches import StepPatch as StepPatch
from matplotlib.text import Text
from matplotlib.ticker import LogLocator as LogLocator

from traces.base.errors import InputError, shown
from traces.base.written_file import whole_file
from traces.figures.drawing.styles import PALETTE as PALETTE
from traces.figures.drawing.styles import UPSILON

FORMATS = ("png", "svg", "pdf")  #: suffixes of the files that can be written
DPI = 200  #: resolution of a PNG, and of images within the other formats

rgb = to_rgb  #: red, green and blue of a colour, each from 0 to 1

#: Colours of text and of quiet lines.
INK, GREY = "#222222", "#8a8a8a"

_STYLE: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9.5,
    "font.family": "DejaVu Sans",
    "figure.titlesize": 9.5,
    "figure.titleweight": "bold",
    "font.size": 8.5,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "savefig.dpi": DPI,
    "svg.hashsalt": "twolevel",
    "text.color": INK,
    "xtick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.color": GREY,
    "ytick.labelcolor": INK,
}

_WITHOUT_DATE: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def figure_format(path: Path) -> str:
    """The format that a file's suffix names. Raises InputError if it is none of :data:`FORMATS`."""
    name = path.suffix.lower().removeprefix(".")
    if name not in FORMATS:
        ending = f"ending in {shown(path.suffix)}" if path.suffix else "without an ending"
        raise InputError(f"{path}: cannot draw into a file {ending}; allowed: .png, .svg, .pdf")
    return name


class _ShownFigure(Figure):
    """A figure that a notebook shows, with or without pyplot."""

    def _repr_png_(self) -> bytes:
        data = BytesIO()
        with matplotlib.rc_context(_STYLE), _laid_out(self):
            self.savefig(data, format="png", metadata=_WITHOUT_DATE["png"])
        return data.getvalue()


#: Set by ``traces.figures.drawing.for_paper``: axes of the user whose place the next figure takes; width (inches or None) and
#: titles of figures; the last entry counts.
PLACE: list[Any] = []
PAPER: list[tuple[float | None, bool]] = [(None, True)]


def shown_title(title: str) -> str:
    """The title that a figure gets; empty if figures are drawn without titles."""
    return title if PAPER[-1][1] else ""


def new_figure(width_in: float, height_in: float) -> Figure:
    """An empty white figure of this size in inches, or a part of the user's figure in the place of given axes."""
    if PLACE and (axes := PLACE[-1]) is not None:
        PLACE[-1] = None
        figure, place = axes.figure, axes.get_subplotspec()
        if figure.get_layout_engine() is None:
            figure.set_layout_engine("constrained")
        axes.remove()
        part: Figure = figure.add_subfigure(place)
        return part
    with styled():
        figure = _ShownFigure(figsize=(width_in, height_in), dpi=DPI, layout="constrained", facecolor="white")
        FigureCanvasAgg(figure)
        return figure


def styled() -> Any:
    """A context in which axes and text have this project's style."""
    return matplotlib.rc_context(_STYLE)


@contextmanager
def drawing(width_in: float, height_in: float, title: str = "", most: int = 200) -> Iterator[Figure]:
    """A new figure of this size in inches, and a context in which it is drawn. At the end the title, if it is not empty, is
    written at the left, cut to ``most`` characters."""
    with styled():
        figure = new_figure(width_in, height_in)
        yield figure
        if title := shown_title(title):
            figure.suptitle(short(title, most), x=0.01, ha="left")


def short(text: str, most: int) -> str:
    """Shorten a text to ``most`` characters, without formulas, and with upsilons that differ from Y."""
    text = text.replace("$", r"\$").replace("Υ", UPSILON)
    return text if len(text) <= most else text[: most - 1] + "…"


def shades(n: int) -> list[tuple[float, float, float]]:
    """``n`` colours from dark to light for ordered values, also suitable for colour-blind readers and in grey."""
    scale = matplotlib.colormaps["viridis"]
    red_green_blue = [scale(0.12 + 0.83 * (k / max(n - 1, 1)))[:3] for k in range(n)]
    return [(float(red), float(green), float(blue)) for red, green, blue in red_green_blue]


def save(figure: Figure, path: Path) -> Path:
    """Write a figure in the format of the file's suffix; equal figures give equal bytes. Raises InputError if the suffix is
    unknown, or the file cannot be written."""
    return save_all(figure, [path])[0]


_LEAST_TEXT = 0.72  #: in a narrower figure texts shrink with its width, down to this share of their size
_LABEL = 38  #: characters per line of a panel's label at full width
VALUE = "value"  #: ``gid`` of numbers that a figure omits if it is too narrow for them


def _resize(figure: Figure, width_in: float) -> None:
    # The height changes less than the width: panels side by side become narrower, rows of text stay readable.
    width, height = figure.get_size_inches()
    share = width_in / width
    texts = min(max(share, _LEAST_TEXT), 1.0)
    figure.set_size_inches(width_in, height * max(share, texts))
    for text in figure.findobj(Text):
        text.set_fontsize(text.get_fontsize() * texts)
        text.set_visible(text.get_visible() and (share >= _LEAST_TEXT or text.get_gid() != VALUE))
    for axes in figure.axes:
        if share < _LEAST_TEXT and axes.get_position().width < 0.5:
            lines = axes.get_xlabel().split("\n")
            axes.set_xlabel("\n".join(fill(line, int(_LABEL * share / texts)) for line in lines))


def save_all(figure: Figure, paths: Sequence[Path], width_in: float | None = None) -> list[Path]:
    """Write one figure into several files, each in the format of its suffix, and lay it out only once. ``width_in`` gives it
    another width in inches. Raises InputError if a suffix is unknown, or a file cannot be written."""
    forms = [figure_format(path) for path in paths]
    if (width_in := width_in or PAPER[-1][0]) is not None:
        _resize(figure, width_in)
    with matplotlib.rc_context(_STYLE), _laid_out(figure):
        for path, form in zip(paths, forms, strict=True):
            try:
                with whole_file(path) as partial:
                    figure.savefig(partial, format=form, metadata=_WITHOUT_DATE[form])
            except OSError as error:
                why = f"{path.parent} is a file" if path.parent.is_file() else error.strerror or error
                raise InputError(f"{path}: cannot write the figure: {why}") from error
    return list(paths)


@contextmanager
def _laid_out(figure: Figure) -> Iterator[None]:
    """A figure with a fixed layout: with a layout engine, matplotlib would draw everything twice for each file."""
    engine = figure.get_layout_engine()
    if engine is None or not figure.axes:
        yield
        return
    engine.execute(figure)
    figure.set_layout_engine(None)
    try:
        yield
    finally:
        figure.set_layout_engine(engine)
