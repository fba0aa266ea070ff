"""Differences between a base value of an option and its other values, each with its interval."""

import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np

from traces.base.errors import InputError
from traces.compiled import Array
from traces.figures.drawing import canvas
from traces.figures.drawing.panels import legend_above, name_rows, panel_grid
from traces.figures.drawing.styles import FEW, UPSILON, Style, style
from traces.figures.study.combinations import batch_label, of_workload
from traces.metric_units import shown_as
from traces.statistics.comparisons import check_one_base, combination_columns
from traces.statistics.intervals import MIN_SEEDS
from traces.tables import DataFrame

_PER_LINE = 3  #: panels side by side; four are two rows of two
_LABEL = 38  #: characters per line of a panel's label

_ROW_IN, _POINT_IN, _PANEL_IN, _LETTER_IN, _LINE_IN = 0.18, 0.075, 2.5, 0.065, 0.13

#: The compared values in titles; those of other options are "values of" the option.
COMPARED = {
    "bls": "batch policies",
    "als": "techniques",
    "variation": "task variations",
    "backfill": "backfilling",
    "allocator": "allocators",
    "fallback": "fallbacks",
    "resize": "changes of width",
    "failures": "failures of hosts",
}


@dataclass(frozen=True)
class _Panel:
    # One metric: mean, low and high of each row and value (NaN if unknown); the position of "no change"; the axis label.
    mean: Array
    low: Array
    high: Array
    none: float
    label: str


def comparison_figure(comparisons: DataFrame, *, workload: str | None = None, title: str = "") -> canvas.Figure:
    """Draw comparisons with their intervals: one panel per metric, with a line at "no change".

    A row is a combination of the other options, and its points are the compared values, which the legend names. With a single
    combination, or more than eight values, each value has its own row. A metric is drawn as a ratio of means if all its
    rows have one, otherwise as a difference. A point is filled if its interval excludes "no change". Comparisons with too few
    seeds for an interval are omitted, and counted below. ``comparisons`` is the result of
    :func:`traces.statistics.paired_comparisons`, of one option and one base. Raises InputError for several options, bases or
    workloads, the same comparison twice, or none with an interval.
    """
    rows = of_workload(comparisons, workload)
    check_one_base(rows)
    known = rows[np.isfinite(rows["difference_low"].to_numpy(np.float64))]
    if len(known) == 0:
        raise InputError(
            f"no comparison with an interval, and none is drawn without; allowed: {MIN_SEEDS} or more common seeds"
        )
    values = list(dict.fromkeys(known["value"].tolist()))
    names, groups, of_row = _row_names(known)
    lying = len(dict.fromkeys(groups)) == 1 or len(values) > FEW  # each value in its own row
    if not lying:
        names = list(dict.fromkeys(groups))
        of_row = np.array([names.index(groups[row]) for row in of_row])
    of_value = np.array([values.index(one) for one in known["value"]])
    panels = [_panel(known, metric, of_row, of_value, (len(names), len(values))) for metric in known["metric"].unique()]
    columns = 2 if len(panels) == 4 else min(len(panels), _PER_LINE)
    lines = -(-len(panels) // columns)
    row_in = _ROW_IN if lying else max(2 * _ROW_IN, _POINT_IN * (len(values) + 2))
    label_in = _LINE_IN * max(panel.label.count("\n") + 1 for panel in panels)
    width_in = max(4.5, 0.3 + _LETTER_IN * max(map(len, names)) + _PANEL_IN * columns)
    title = "\n".join(textwrap.wrap(canvas.shown_title(title), int(width_in / 0.09)))
    height_in = lines * (0.44 + label_in + row_in * len(names)) + 0.45 + 0.2 * (not lying) + 0.16 * title.count("\n")
    # The base takes the first style, so that a technique has the same style in most figures of a study.
    styles = [style(place + 1) for place in range(len(values))]
    with canvas.drawing(width_in, height_in) as figure:
        for place, axes in enumerate(panel_grid(figure, len(panels), columns, sharex=False)):
            name_rows(axes, names, labelled=place % columns == 0)
            for row in range(1, len(names)):
                if not lying or groups[row] != groups[row - 1]:
                    axes.axhline(row - 0.5, color="#d0d0d0", linewidth=0.6, zorder=0)
            _draw(axes, panels[place], styles, 0.0 if lying else 0.8 / len(values))
        if lying and title:
            figure.suptitle(title)
        elif not lying:
            handles = [
                canvas.Line2D([], [], color=look.colour, marker=look.marker, linestyle="none", label=_plain(value))
                for look, value in zip(styles, values, strict=True)
            ]
            legend_above(figure, handles, min(len(handles), 5), title=title)
        figure.supxlabel(_remark(known, len(rows) - len(known)), fontsize=6.8, color=canvas.GREY)
    return figure


def _draw(axes: canvas.Axes, panel: _Panel, styles: list[Style], apart: float) -> None:
    # The values of a row are this far apart.
    axes.axvline(panel.none, color=canvas.INK, linewidth=0.8, linestyle="dashed", zorder=1)
    for row, value in np.argwhere(np.isfinite(panel.low)).tolist():
        look = styles[value]
        mean, low, high = (float(column[row, value]) for column in (panel.mean, panel.low, panel.high))
        changed = low > panel.none or high < panel.none
        point: Any = {"fmt": look.marker, "color": look.colour, "markerfacecolor": look.colour if changed else "white"}
        point |= {"markersize": 3.6, "elinewidth": 1.0, "capsize": 2.0, "zorder": 3}
        y = row + apart * (value - (len(styles) - 1) / 2)
        axes.errorbar(mean, y, xerr=[[mean - low], [high - mean]], **point)
    axes.set_xlabel(panel.label, fontsize=8)
    axes.locator_params(axis="x", nbins=5)
    axes.tick_params(axis="x", labelsize=7)


def _panel(known: DataFrame, metric: str, of_row: Array, of_value: Array, shape: tuple[int, int]) -> _Panel:
    mine = (known["metric"] == metric).to_numpy()
    rows = known[mine]
    ratios = bool(np.isfinite(rows["ratio_low"].to_numpy(np.float64)).all())
    kind = "ratio" if ratios else "difference"
    columns = [rows[name].to_numpy(np.float64) for name in (kind, f"{kind}_low", f"{kind}_high")]
    changes = np.abs(columns[0])
    changes = changes[changes > 0]  # only these show how large changes are
    how = shown_as(metric, float(np.median(changes)) if len(changes) else 0.0)
    option, base = str(known["option"].iloc[0]), _plain(known["base"].iloc[0])
    base = base if option in ("bls", "als") else f"{UPSILON} = {base}" if option == "variation" else f"{option} {base}"
    places = (of_row[mine], of_value[mine])
    if len(np.unique(np.ravel_multi_index(places, shape))) < len(rows):
        raise InputError(
            f"{metric}: a value occurs twice in one combination; allowed: one row per combination and value"
        )
    table = np.full((3, *shape), np.nan)
    table[:, *places] = np.stack(columns) / (1.0 if ratios else how.scale)
    if ratios:
        label = f"{how.words}: ratio to {base}\n(axis does not start at zero)"
    else:
        label = f"{how.words}: difference\nfrom {base}" + (f" [{how.unit}]" if how.unit else "")
    label = "\n".join(textwrap.fill(line, _LABEL) for line in label.split("\n"))
    return _Panel(table[0], table[1], table[2], 1.0 if ratios else 0.0, label)


def _row_names(known: DataFrame) -> tuple[list[str], list[str], Array]:
    # The names of the rows, their combinations, and the row of each comparison.
    context = combination_columns(known)
    varied = [name for name in context if known[name].nunique(dropna=False) > 1]
    if "backfill" in varied and "bls" in context and "bls" not in varied:
        varied.insert(0, "bls")
    # By the values, since two may have the same text.
    keys = known[[*varied, "value"]].astype(object).where(known[[*varied, "value"]].notna(), None)
    places: dict[tuple[Any, ...], int] = {}
    of_row = [places.setdefault(key, len(places)) for key in keys.itertuples(index=False, name=None)]
    groups, names = [], []
    for *combination, value in places:
        row = dict(zip(varied, combination, strict=True))
        parts = [_part(name, row) for name in varied if not (name == "backfill" and "bls" in varied)]
        groups.append(", ".join(parts))
        names.append(f"{groups[-1]}: {_plain(value)}" if parts else _plain(value))
    return names, groups, np.array(of_row)


def _part(name: str, row: dict[str, Any]) -> str:
    if name == "bls":
        return batch_label(str(row["bls"]), str(row.get("backfill", "none")))
    value = _plain(row[name])
    return f"{UPSILON} {value}" if name == "variation" else value if name in ("als", "backfill") else f"{name} {value}"


def _remark(known: DataFrame, left_out: int) -> str:
    few, most = int(known["seeds"].min()), int(known["seeds"].max())
    seeds = f"{most}" if few == most else f"{few} to {most}"
    whiskers = f"{100 * float(known['confidence'].iloc[0]):g} % intervals"
    text = f"{seeds} seeds, paired; whiskers: {whiskers}; filled: interval excludes “no change”"
    return f"{text}\nomitted: {left_out} comparisons with fewer than {MIN_SEEDS} seeds" if left_out else text


def _plain(value: Any) -> str:
    # A table of several options has all values as text.
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return str(value).removesuffix(".0")
