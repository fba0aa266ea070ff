"""Parts of a page. Each returns its markup; all data are escaped here, and nowhere else."""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from bridge.report.metric_texts import Metric, definition, in_words
from bridge.scratch import scratch_folder
from traces.base.columns import packed_text
from traces.compiled import Array

if TYPE_CHECKING:
    import pandas as pd

    from traces.figures.drawing.canvas import Figure

#: Names of columns of instants, -1 if they never happened; all other times are durations.
_INSTANT = re.compile(r"(submit|eligible|start|end|deadline|fair_start)(_[ab])?_ns")
_INTEGERS = (np.int8, np.int16, np.int32)


def table_text(frame: pd.DataFrame, shown: Collection[str], key: str = "") -> str:
    """Pack the columns of a table. ``shown``: columns that are visible at first. ``key``: the column of job numbers, if any."""
    columns: dict[str, Array] = {}
    described = []
    for name in map(str, frame.columns):
        kind, columns[name], texts = _packed(name, frame[name])
        one = {"name": name, "label": in_words(name), "kind": kind, "shown": name in shown}
        described.append(one | {"definition": definition(name), "texts": texts})
    return packed_text(columns, {"rows": len(frame), "key": key, "columns": described})


def kind_of(name: str, dtype: Any) -> str:
    """How a page shows a column of numbers: ``instant``, ``duration``, ``whole``, ``real`` or ``truth``."""
    if name.endswith("_ns"):
        return "instant" if _INSTANT.fullmatch(name) else "duration"
    return {"b": "truth", "f": "real"}.get(dtype.kind, "whole")


def _packed(name: str, column: pd.Series[Any]) -> tuple[str, Array, list[str]]:
    dtype = column.dtype
    if not isinstance(dtype, np.dtype) and getattr(dtype, "kind", "O") in "iufb":  # a column with missing values
        plain: Any = np.float64 if column.hasnans else getattr(dtype, "numpy_dtype", np.float64)
        column = column.astype(plain)
        dtype = column.dtype
    if not isinstance(dtype, np.dtype) or dtype.kind not in "iufb":
        places, texts = column.fillna("").astype(str).factorize()
        return "text", _small(places.astype(np.int64)), [_json_text(one) for one in texts.tolist()]
    values = column.to_numpy()
    kind = kind_of(name, dtype)
    if dtype.kind == "b":
        return kind, values.astype(np.uint8), []
    if dtype.kind == "f":
        return kind, values.astype(np.float64), []
    if dtype.kind == "u":
        # Larger integers are not exact in a browser.
        values = values.astype(np.int64 if values.max(initial=0) < 2**63 else np.float64)
    return kind, _small(values), []


def _json_text(words: Any) -> str:
    # File names may have lone surrogates, which HTML does not allow.
    text = str(words)
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _small(values: Array) -> Array:
    if values.dtype.kind != "i":
        return values
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    for kind in _INTEGERS:
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return values.astype(kind)
    return values.astype(np.int64)


def text(words: str) -> str:
    """Escape words for HTML."""
    return escape(words.replace("\0", "\N{REPLACEMENT CHARACTER}"), quote=True)


def element(tag: str, *content: str, **attributes: str | bool | None) -> str:
    """An element. Its content is markup; values of attributes are words. In names of attributes a final ``_`` is dropped and
    other ``_`` become ``-``. True gives an attribute without a value; None and False give none."""
    given = [
        f" {name.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{text(str(value))}"')
        for name, value in attributes.items()
        if value is not None and value is not False
    ]
    return f"<{tag}{''.join(given)}>{''.join(content)}</{tag}>"


def listed(rows: list[list[str]], head: list[str]) -> str:
    """A small table of markup; the first cell of each row is its heading."""
    top = element("tr", *(element("th", one, scope="col") for one in head)) if any(head) else ""
    lines = [
        element("tr", element("th", row[0], scope="row"), *(element("td", one) for one in row[1:])) for row in rows
    ]
    body = element("tbody", *lines)
    table = element("table", element("thead", top) + body if top else body)
    return element("div", table, class_="wide")


_CARRIED = "application/x-twolevel-columns"


class PagePart(Protocol):
    """A part of a page."""

    def html(self) -> str:
        """The markup, in which data are escaped."""


@dataclass(frozen=True)
class Section:
    """Parts under a heading."""

    name: str  # target of links, letters only
    title: str  # heading
    parts: Sequence[PagePart]
    about: str = ""  # sentence below the heading; empty: none
    # what the section omits, and how to get it: shown below ``about``, and on stderr when the page is written
    left_out: str = ""

    def html(self) -> str:
        about = "".join(element("p", text(one), class_="about") for one in (self.about, self.left_out) if one)
        head = element("h2", text(self.title), id=f"{self.name}-title")
        content = "".join(part.html() for part in self.parts)
        return element("section", head, about, content, id=self.name, aria_labelledby=f"{self.name}-title")


def _defined(tag: str, one: Metric, place: str, inside: str) -> str:
    # The definition is shown on hover and focus.
    if not one.definition:
        return element(tag, inside, class_="defined")
    shown = element("span", text(one.definition), class_="definition", role="tooltip", id=place)
    return element(tag, inside, shown, class_="defined has-definition", tabindex="0", aria_describedby=place)


@dataclass(frozen=True)
class MainMetrics:
    """The most important numbers."""

    metrics: Sequence[Metric]

    def html(self) -> str:
        cards = []
        for k, one in enumerate(self.metrics):
            unit = " " + element("span", text(one.unit), class_="unit") if one.unit else ""
            name = element("span", text(one.name), class_="name")
            value = element("span", text(one.value), unit, class_="value")
            cards.append(_defined("li", one, f"main-{k}", name + value))
        return element("ul", *cards, class_="main", aria_label="Main metrics")


@dataclass(frozen=True)
class AllMetrics:
    """All metrics, in groups."""

    groups: Mapping[str, Sequence[Metric]]

    def html(self) -> str:
        made = []
        for g, (heading, metrics) in enumerate(self.groups.items()):
            rows = []
            for k, one in enumerate(metrics):
                value = f"{text(one.value)} {text(one.unit)}".strip()
                inside = element("dt", text(one.name)) + element("dd", value)
                rows.append(_defined("div", one, f"metric-{g}-{k}", inside))
            made.append(element("div", element("h3", text(heading)), element("dl", *rows), class_="group"))
        return element("div", *made, class_="all")


@dataclass(frozen=True)
class Distributions:
    """Distributions of metrics over jobs: one row each."""

    title: str
    rows: Sequence[Sequence[Metric]]
    figures: Sequence[str]

    def html(self) -> str:
        lines = []
        for k, row in enumerate(self.rows):
            name = _defined("span", row[0], f"distribution-{k}", element("span", text(row[0].name), class_="name"))
            values = [f"{text(one.value)} {text(one.unit)}".strip() for one in row]
            lines.append([name, *values])
        table = listed(lines, ["", *(text(one) for one in self.figures)])
        return element("div", element("h3", text(self.title)), table, class_="distributions")


@dataclass(frozen=True)
class Table:
    """A table to sort and filter."""

    name: str  # letters only; an :class:`Explorer` refers to it
    caption: str
    frame: pd.DataFrame
    shown: Collection[str]  # columns that are visible at first, in order; unknown names are ignored
    key: str = ""  # column of job numbers; empty: rows are no jobs

    def html(self) -> str:
        place = element("div", class_="table", data_table=self.name, data_caption=self.caption)
        first = [name for name in self.shown if name in self.frame.columns]
        frame = self.frame[[*first, *(name for name in self.frame.columns if name not in first)]]
        return place + element("script", table_text(frame, first, self.key), type=_CARRIED, id=self.name)


@dataclass(frozen=True)
class Explorer:
    """A diagram of columns of a table that the reader selects."""

    table: str
    x: str
    y: str = "count"
    colour: str = "none"

    def html(self) -> str:
        return element(
            "div", class_="explorer", data_explorer=self.table, data_x=self.x, data_y=self.y, data_colour=self.colour
        )


@dataclass(frozen=True)
class Timeline:
    """The timeline of a run, from ``traces.timeline.timeline_text``, with a name of letters."""

    columns: str
    name: str = "timeline-data"

    def html(self) -> str:
        place = element("div", class_="timeline", data_timeline=self.name)
        return place + element("script", self.columns, type=_CARRIED, id=self.name)


@dataclass(frozen=True)
class Figures:
    """Figures with captions: (data address, caption)."""

    images: Sequence[tuple[str, str]]

    def html(self) -> str:
        made = [
            element("figure", f'<img src="{text(source)}" alt="{text(words)}">', element("figcaption", text(words)))
            for source, words in self.images
        ]
        return element("div", *made, class_="figures")


@dataclass(frozen=True)
class Facts:
    """A table of names and values; ``more``: label of a button that opens it."""

    rows: Sequence[Sequence[str]]
    head: Sequence[str] = ()
    more: str = ""

    def html(self) -> str:
        table = listed([[text(cell) for cell in row] for row in self.rows], [text(one) for one in self.head])
        if not self.more:
            return table
        return element("details", element("summary", text(self.more)), table, class_="more")


def versions_of(record: Mapping[str, Any]) -> Facts:
    """Versions of libraries from a record."""
    versions = record.get("versions") or {}
    return Facts([(str(name), str(value)) for name, value in versions.items()], ("library", "version"), "Versions")


@dataclass(frozen=True)
class Command:
    """A command or the text of a file, below a line of words."""

    words: str
    typed: str

    def html(self) -> str:
        return element("p", text(self.words), class_="about") + element("pre", text(self.typed), tabindex="0")


@dataclass(frozen=True)
class Lines:
    """A list of sentences under a small heading."""

    title: str
    lines: Sequence[str]

    def html(self) -> str:
        head = element("h3", text(self.title)) if self.title else ""
        return head + element("ul", *(element("li", text(line)) for line in self.lines), class_="plain")


_MOST_SVG = 250_000  #: larger SVG figures (bytes) are embedded as PNG
_KINDS = {".svg": "image/svg+xml", ".png": "image/png"}


def figure_address(figure: Figure) -> str:
    """A figure as a data address: SVG, or PNG if that is smaller than a large SVG."""
    from traces.figures.drawing.canvas import save

    with scratch_folder() as place:
        path = save(figure, place / "figure.svg")
        if path.stat().st_size > _MOST_SVG:
            path = save(figure, place / "figure.png")
        return file_address(path)


def file_address(path: Path) -> str:
    """A file of a figure, svg or png, as a data address."""
    return f"data:{_KINDS[path.suffix]};base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"
