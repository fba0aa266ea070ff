"""What changes from one value of an option to others: every difference with its interval."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from traces.base.errors import InputError
from traces.compiled import Array
from traces.figures.drawing import canvas
from traces.figures.drawing.canvas import Axes, Figure
from traces.figures.drawing.panels import name_rows, panel_grid
from traces.figures.drawing.styles import UPSILON
from traces.figures.study.combinations import batch_label, of_workload, style
from traces.metric_units import shown_as
from traces.statistics.comparisons import check_one_base, combination_columns
from traces.statistics.intervals import MIN_SEEDS

if TYPE_CHECKING:
    import pandas as pd

#: So many panels stand side by side.
_PER_LINE = 3

_ROW_IN, _PANEL_IN, _LETTER_IN, _LINE_IN = 0.18, 2.5, 0.065, 0.13

#: Of a label, as many characters as stand below a panel.
_LABEL = 38


@dataclass(frozen=True)
class _Panel:
    # A metric: mean, low and high of each row, NaN where there is none; where no change is, and what is drawn.
    mean: Array
    low: Array
    high: Array
    none: float
    label: str


def comparison_figure(comparisons: pd.DataFrame, *, workload: str | None = None, title: str = "") -> Figure:
    """Draw comparisons with their intervals: a row a combination and value, a panel a metric, a line at "no change".

    A metric that has a ratio in every row is drawn as ratio of means, else as difference. A filled point's interval leaves
    out "no change". Comparisons from too few seeds for an interval are left out, and it is said how many; every other one is a
    point.

    Parameters
    ----------
    comparisons : DataFrame
        As :func:`traces.statistics.paired_comparisons` makes it, of one option and one base; or such rows of a study's
        comparisons.parquet.
    workload : str, optional
        Which one, if there are several.

    Raises
    ------
    InputError
        If there are several workloads and none is chosen, several options or bases, the same comparison twice, or none with
        an interval.
    """
    rows = of_workload(comparisons, workload)
    check_one_base(rows)
    known = rows[np.isfinite(rows["difference_low"].to_numpy(np.float64))]
    if len(known) == 0:
        raise InputError(
            f"no comparison with an interval, and none is drawn without; allowed: {MIN_SEEDS} or more common seeds"
        )
    names, groups, of_row = _row_names(known)
    panels = [_panel(known, metric, of_row, len(names)) for metric in known["metric"].unique()]
    # The base comes first, as it does in most studies, so that a technique looks as in the other figures.
    values = list(dict.fromkeys([known["base"].iloc[0], *known["value"].tolist()]))
    value_of = dict(zip(of_row.tolist(), (values.index(one) for one in known["value"]), strict=True))
    columns = min(len(panels), _PER_LINE)
    lines = -(-len(panels) // columns)
    with canvas.styled():
        width_in = max(4.5, 0.3 + _LETTER_IN * max(map(len, names)) + _PANEL_IN * columns)
        label_in = _LINE_IN * max(panel.label.count("\n") + 1 for panel in panels)
        figure = canvas.new_figure(width_in, lines * (0.44 + label_in + _ROW_IN * len(names)) + 0.45)
        for place, axes in enumerate(panel_grid(figure, len(panels), columns, sharex=False)):
            name_rows(axes, names, labelled=place % columns == 0)
            for row in range(1, len(groups)):
                if groups[row] != groups[row - 1]:
                    axes.axhline(row - 0.5, color="#d0d0d0", linewidth=0.6, zorder=0)
            _draw(axes, panels[place], value_of)
        figure.supxlabel(_remark(known, len(rows) - len(known)), fontsize=6.8, color=canvas.GREY)
        if title:
            figure.suptitle(title)
    return figure


def _draw(axes: Axes, panel: _Panel, value_of: dict[int, int]) -> None:
    axes.axvline(panel.none, color=canvas.INK, linewidth=0.8, linestyle="dashed", zorder=1)
    for row in np.flatnonzero(np.isfinite(panel.low)).tolist():
        look = style(value_of[row])
        mean, low, high = (float(column[row]) for column in (panel.mean, panel.low, panel.high))
        changed = low > panel.none or high < panel.none
        axes.errorbar(
            mean,
            row,
            xerr=[[mean - low], [high - mean]],
            fmt=look.marker,
            color=look.colour,
            markerfacecolor=look.colour if changed else "white",
            markersize=3.6,
            elinewidth=1.0,
            capsize=2.0,
            zorder=3,
        )
    axes.set_xlabel(panel.label, fontsize=8)
    axes.locator_params(axis="x", nbins=5)
    axes.tick_params(axis="x", labelsize=7)


def _panel(known: pd.DataFrame, metric: str, of_row: Array, n_rows: int) -> _Panel:
    mine = (known["metric"] == metric).to_numpy()
    rows = known[mine]
    ratios = bool(np.isfinite(rows["ratio_low"].to_numpy(np.float64)).all())
    kind = "ratio" if ratios else "difference"
    columns = [rows[name].to_numpy(np.float64) for name in (kind, f"{kind}_low", f"{kind}_high")]
    changes = np.abs(columns[0])
    changes = changes[changes > 0]  # where a value changes nothing it says nothing of the size of a change
    how = shown_as(metric, float(np.median(changes)) if len(changes) else 0.0)
    option, base = str(known["option"].iloc[0]), _plain(known["base"].iloc[0])
    base = base if option in ("bls", "als") else f"{UPSILON} = {base}" if option == "variation" else f"{option} {base}"
    if len(np.unique(of_row[mine])) < len(rows):
        raise InputError(f"{metric}: a value is there twice in one combination; allowed: a row a combination and value")
    table = np.full((3, n_rows), np.nan)
    table[:, of_row[mine]] = np.stack(columns) / (1.0 if ratios else how.scale)
    if ratios:
        label = f"{how.words}: ratio to {base}\n(axis does not start at zero)"
    else:
        label = f"{how.words}: difference\nfrom {base}" + (f" [{how.unit}]" if how.unit else "")
    label = "\n".join(textwrap.fill(line, _LABEL) for line in label.split("\n"))
    return _Panel(table[0], table[1], table[2], 1.0 if ratios else 0.0, label)


def _row_names(known: pd.DataFrame) -> tuple[list[str], list[str], Array]:
    # The names of the rows, which combination each belongs to, and in which row each comparison is.
    context = combination_columns(known)
    told = [name for name in context if known[name].nunique(dropna=False) > 1]
    if "backfill" in told and "bls" in context and "bls" not in told:
        told.insert(0, "bls")
    # By the values themselves: two of them may read alike.
    keys = known[[*told, "value"]].astype(object).where(known[[*told, "value"]].notna(), None)
    places: dict[tuple[Any, ...], int] = {}
    of_row = [places.setdefault(key, len(places)) for key in keys.itertuples(index=False, name=None)]
    groups, names = [], []
    for *combination, value in places:
        row = dict(zip(told, combination, strict=True))
        parts = [_part(name, row) for name in told if not (name == "backfill" and "bls" in told)]
        groups.append(", ".join(parts))
        names.append(f"{groups[-1]}: {_plain(value)}" if parts else _plain(value))
    return names, groups, np.array(of_row)


def _part(name: str, row: dict[str, Any]) -> str:
    if name == "bls":
        return batch_label(str(row["bls"]), str(row.get("backfill", "none")))
    value = _plain(row[name])
    return f"{UPSILON} {value}" if name == "variation" else value if name in ("als", "backfill") else f"{name} {value}"


def _remark(known: pd.DataFrame, left_out: int) -> str:
    few, most = int(known["seeds"].min()), int(known["seeds"].max())
    seeds = f"{most}" if few == most else f"{few} to {most}"
    said = f"paired by seed ({seeds}); whiskers: {100 * float(known['confidence'].iloc[0]):g} % intervals; "
    said += "filled: the interval leaves out “no change”"
    return f"{said}\nleft out: {left_out} with fewer than {MIN_SEEDS} seeds" if left_out else said


def _plain(value: Any) -> str:
    # A table of several options has all values as text.
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return str(value).removesuffix(".0")
