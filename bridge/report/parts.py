"""What a page is made of. Each part gives its markup; whatever comes of data is escaped here, and nowhere else."""

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

#: Instants, which are -1 of what never happened; all other times are durations.
_INSTANT = re.compile(r"(submit|eligible|start|end|deadline|fair_start)(_[ab])?_ns")

_INTEGERS = (np.int8, np.int16, np.int32)


def table_text(frame: pd.DataFrame, shown: Collection[str], key: str = "") -> str:
    """A table's columns, packed; ``shown``: those that are visible first; ``key``: the column of jobs, if rows are jobs."""
    columns: dict[str, Array] = {}
    told = []
    for name in map(str, frame.columns):
        kind, columns[name], texts = _packed(name, frame[name])
        one = {"name": name, "label": in_words(name), "kind": kind, "shown": name in shown}
        told.append(one | {"definition": definition(name), "texts": texts})
    return packed_text(columns, {"rows": len(frame), "key": key, "columns": told})


def kind_of(name: str, dtype: Any) -> str:
    """How a page shows a column of numbers: ``instant``, ``duration``, ``whole``, ``real`` or ``truth``."""
    if name.endswith("_ns"):
        return "instant" if _INSTANT.fullmatch(name) else "duration"
    return {"b": "truth", "f": "real"}.get(dtype.kind, "whole")


def _packed(name: str, column: pd.Series[Any]) -> tuple[str, Array, list[str]]:
    dtype = column.dtype
    if not isinstance(dtype, np.dtype) and getattr(dtype, "kind", "O") in "iufb":  # one in which values may lack
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
        # No whole number that is larger is exact there.
        values = values.astype(np.int64 if values.max(initial=0) < 2**63 else np.float64)
    return kind, _small(values), []


def _json_text(words: Any) -> str:
    # A lone surrogate, which names of files may have, is in no page.
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
    """Words as they are to be read, whatever is in them."""
    return escape(words.replace("\0", "\N{REPLACEMENT CHARACTER}"), quote=True)


def element(tag: str, *content: str, **attributes: str | bool | None) -> str:
    """An element: its content is markup, the values of its attributes are words. An attribute's name may end in ``_``,
    and has ``-`` for ``_`` within; True is one without a value, None and False are none."""
    given = [
        f" {name.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{text(str(value))}"')
        for name, value in attributes.items()
        if value is not None and value is not False
    ]
    return f"<{tag}{''.join(given)}>{''.join(content)}</{tag}>"


def listed(rows: list[list[str]], head: list[str]) -> str:
    """A small table of markup, with the first cell of each row as its heading."""
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
        """Its markup, in which all that comes of data is text."""


@dataclass(frozen=True)
class Section:
    """Parts under a heading."""

    name: str  # what links to it say, of letters
    title: str  # its heading
    parts: Sequence[PagePart]
    about: str = ""  # a sentence below the heading; empty: none
    # what the section lacks, and how to get it: shown below ``about``, and on stderr when the page is written
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
    told = element("span", text(one.definition), class_="definition", role="tooltip", id=place)
    return element(tag, inside, told, class_="defined has-definition", tabindex="0", aria_describedby=place)


@dataclass(frozen=True)
class MainMetrics:
    """The numbers that one looks at first."""

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
    """All metrics, by what they are about."""

    groups: Mapping[str, Sequence[Metric]]

    def html(self) -> str:
        made = []
        for g, (heading, metrics) in enumerate(self.groups.items()):
            rows = []
            for k, one in enumerate(metrics):
                value = f"{text(one.value)} {text(one.unit)}".strip()
                rows.append(
                    _defined("div", one, f"metric-{g}-{k}", element("dt", text(one.name)) + element("dd", value))
                )
            made.append(element("div", element("h3", text(heading)), element("dl", *rows), class_="group"))
        return element("div", *made, class_="all")


@dataclass(frozen=True)
class Distributions:
    """Metrics of jobs, of which there are several figures: a row each."""

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

    name: str  # of letters; what an :class:`Explorer` names
    caption: str
    frame: pd.DataFrame
    shown: Collection[str]  # the columns that one sees first, in order; of those that there are not nothing is said
    key: str = ""  # the column that says which job a row is of

    def html(self) -> str:
        place = element("div", class_="table", data_table=self.name, data_caption=self.caption)
        first = [name for name in self.shown if name in self.frame.columns]
        frame = self.frame[[*first, *(name for name in self.frame.columns if name not in first)]]
        return place + element("script", table_text(frame, first, self.key), type=_CARRIED, id=self.name)


@dataclass(frozen=True)
class Explorer:
    """A diagram of a table's columns, that a user chooses."""

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
    """The timeline of a run: what ``traces.timeline.timeline_text`` gives, under a name of letters of its own."""

    columns: str
    name: str = "timeline-data"

    def html(self) -> str:
        place = element("div", class_="timeline", data_timeline=self.name)
        return place + element("script", self.columns, type=_CARRIED, id=self.name)


@dataclass(frozen=True)
class Figures:
    """Figures with a line below each: (data address, words)."""

    images: Sequence[tuple[str, str]]

    def html(self) -> str:
        made = [
            element("figure", f'<img src="{text(source)}" alt="{text(words)}">', element("figcaption", text(words)))
            for source, words in self.images
        ]
        return element("div", *made, class_="figures")


@dataclass(frozen=True)
class Facts:
    """Names, and what there is to say of each; ``more``: behind a button of these words."""

    rows: Sequence[Sequence[str]]
    head: Sequence[str] = ()
    more: str = ""

    def html(self) -> str:
        table = listed([[text(cell) for cell in row] for row in self.rows], [text(one) for one in self.head])
        if not self.more:
            return table
        return element("details", element("summary", text(self.more)), table, class_="more")


def versions_of(record: Mapping[str, Any]) -> Facts:
    """The versions of libraries in a record."""
    versions = record.get("versions") or {}
    return Facts([(str(name), str(value)) for name, value in versions.items()], ("library", "version"), "Versions")


@dataclass(frozen=True)
class Command:
    """What is typed into a shell, or stands in a file, below a line that says so."""

    words: str
    typed: str

    def html(self) -> str:
        return element("p", text(self.words), class_="about") + element("pre", text(self.typed), tabindex="0")


@dataclass(frozen=True)
class Lines:
    """Sentences, one below the other, under a small heading."""

    title: str
    lines: Sequence[str]

    def html(self) -> str:
        head = element("h3", text(self.title)) if self.title else ""
        return head + element("ul", *(element("li", text(line)) for line in self.lines), class_="plain")


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
