"""A metric of every combination of the two levels; for the makespan, the two-level paper's Figures 3 and 4."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from traces.compiled import Array
from traces.figures.drawing import canvas
from traces.figures.drawing.panels import draw_intervals, legend_above, name_rows, panel_grid
from traces.figures.drawing.styles import FEW, UPSILON, style
from traces.figures.study.combinations import Combinations
from traces.figures.study.panels import legend_columns
from traces.metric_units import four_digits, more_is_better
from traces.tables import DataFrame

BEST = ("lowest", "highest")  #: label of the best combination: if the metric is to be minimised, and if maximised
_PER_LINE = 3  #: panels per line

#: Look of values next to bars.
_VALUE: dict[str, Any] = {"textcoords": "offset points", "fontsize": 6.5, "gid": canvas.VALUE}

_ROW_IN, _PANEL_IN, _LETTER_IN = 0.19, 3.0, 0.065


def makespan_rows(
    cells: Combinations,
    panels: Sequence[str],
    estimates: tuple[Array, ...],
    over: Sequence[Sequence[Sequence[str]]],
    *,
    corner: str,
    title: str = "",
) -> canvas.Figure:
    """Draw bars with whiskers, one per row.

    - ``cells``: names and unit.
    - ``panels``: names of the drawn variations.
    - ``estimates``: mean, low and high in the unit of the figure, float64 (batches, techniques, panels), or NaN.
    - ``over``: texts after the values, by panel, batch policy and technique.
    - ``corner``: text below the panels.
    """
    names = cells.techniques
    n_batches = len(cells.batches)
    columns = min(n_batches, _PER_LINE)
    lines = -(-n_batches * len(panels) // columns)
    names_in = 0.3 + _LETTER_IN * max(map(len, names))
    height_in = lines * (0.75 + _ROW_IN * len(names)) + 0.35
    with canvas.drawing(max(4.5, names_in + _PANEL_IN * columns), height_in) as figure:
        for place, axes in enumerate(panel_grid(figure, n_batches * len(panels), columns)):
            k, batch = divmod(place, n_batches)
            mean, low, high = (one[batch, :, k] for one in estimates)
            after = over[k][batch]
            axes.set_title(", ".join([cells.batches[batch], *[panels[k]] * (len(panels) > 1)]), weight="bold")
            name_rows(axes, names, labelled=place % columns == 0)
            best = [text in BEST for text in after]
            colours = [canvas.PALETTE[0] if one else canvas.PALETTE[4] for one in best]
            axes.barh(range(len(names)), np.nan_to_num(mean), 0.74, color=colours)
            draw_intervals(axes, np.arange(len(names)), (mean, low, high), lying=True)
            for at in np.flatnonzero(np.isfinite(mean)).tolist():
                text = "  ".join(part for part in (four_digits(mean[at]), after[at]) if part)
                look = _VALUE | {"va": "center_baseline", "weight": "bold" if best[at] else "normal"}
                axes.annotate(text, (float(np.nanmax([mean[at], high[at]])), at), (3, 0), in_layout=False, **look)
        # From zero, since bars are compared by length; with room for texts at the right of the longest.
        written_in = 0.05 * (8 + max(len(text) for panel in over for row in panel for text in row))
        room = 1.0 / max(0.25, 1.0 - written_in / (_PANEL_IN - 0.15))
        figure.axes[0].set_xlim(0, room * float(np.nanmax(estimates)) or 1.0)
        figure.supxlabel(f"{cells.how.label}\n{corner}".rstrip(), fontsize=7.5)
        if title := canvas.shown_title(title):
            figure.suptitle(title)
    return figure


#: Widths of characters above bars in inches (6.5 pt), of all other characters, and the distance between two texts.
_WIDTHS_IN = {".": 0.029, ",": 0.029, " ": 0.029, "[": 0.035, "]": 0.035, "+": 0.076, "−": 0.076, "%": 0.086}
_DIGIT_IN, _APART_IN = 0.0575, 0.06

_GROUP = 0.86  #: share of a group's width that its bars take
_WIDEST_IN = 10.2  #: widest figure: beyond it, first the differences above bars are omitted, then bars become rows


def makespans_figure(
    results: DataFrame,
    *,
    variation: float | None = None,
    metric: str = "makespan_ns",
    workload: str | None = None,
    title: str = "",
) -> canvas.Figure:
    """Draw the makespan of every combination as bars grouped by batch policy, one panel per variation (default: all).

    A bar is the mean over the seeds, its whisker the 95 % interval; the axis starts at zero. Above the bar is the value and,
    if there is room and there are enough common seeds, the difference from the best combination of the panel, with
    its interval over pairs of runs with the same seed. If the bars do not fit on a page, they are rows. Raises InputError if
    there is nothing to draw, or a name or the variation is unknown.
    """
    cells = Combinations.of(results, metric, workload=workload)
    places = list(range(len(cells.variations))) if variation is None else [cells.place_of(variation)]
    estimates = mean, low, high = tuple(one[:, :, places] for one in cells.shown_estimates())
    over = [beside_best(cells, at) for at in places]
    panels = [f"{UPSILON} = {cells.variations[at]:g}" for at in places]
    alone = f"variation {panels[0]}" if len(places) == 1 and not cells.replayed else ""
    corner = "; ".join(filter(None, (alone, cells.seeds_text(places))))
    n_batches, n_techniques, n_panels = mean.shape
    plain = [
        [[four_digits(value) if np.isfinite(value) else "" for value in row] for row in mean[:, :, k].tolist()]
        for k in range(n_panels)
    ]
    full = [_joined(*both) for both in zip(plain, over, strict=True)]
    slots = [max(map(_slot_in, texts)) * n_batches * n_techniques / _GROUP + 0.8 for texts in (full, plain)]
    if n_techniques > FEW or min(slots) > _WIDEST_IN:
        return makespan_rows(cells, panels, estimates, over, corner=corner, title=title)
    labels = full if slots[0] <= _WIDEST_IN else plain
    width_in = max(5.0, slots[0] if slots[0] <= _WIDEST_IN else slots[1])
    lines = 1 + max(text.count("\n") for panel in labels for row in panel for text in row)
    width = _GROUP / n_techniques
    columns = legend_columns(cells.techniques, width_in, 0.45)
    legend_in = 0.17 * (-(-n_techniques // columns) - 1)
    with canvas.drawing(width_in, 3.5 + 2.5 * (n_panels - 1) + legend_in) as figure:
        for k, axes in enumerate(panel_grid(figure, n_panels, 1)):
            for j, technique in enumerate(cells.techniques):
                x = np.arange(n_batches) + (j - (n_techniques - 1) / 2) * width
                look = style(j)
                frame: dict[str, Any] = {"hatch": look.hatch, "edgecolor": "white", "linewidth": 0.0}
                axes.bar(x, np.nan_to_num(mean[:, j, k]), width * 0.92, color=look.colour, label=technique, **frame)
                draw_intervals(axes, x, (mean[:, j, k], low[:, j, k], high[:, j, k]))
                for i, text in enumerate(row[j] for row in labels[k]):
                    if text:
                        top = float(np.nanmax([mean[i, j, k], high[i, j, k]]))
                        weight = "bold" if text.endswith(BEST) else "normal"
                        written = _VALUE | {"ha": "center", "va": "bottom", "weight": weight}
                        axes.annotate(text, (float(x[i]), top), (0, 2.5), linespacing=1.1, **written)
            axes.set_xticks(range(n_batches), labels=cells.batches)
            axes.tick_params(axis="x", length=0)
            axes.set(xlim=(-0.5, n_batches - 0.5), ylabel=cells.how.label)
            if n_panels > 1:
                axes.set_title(panels[k], weight="bold")
            axes.grid(axis="y")
        figure.axes[-1].set_xlabel("batch policy")
        # Bars are compared by their length, so the axis starts at zero; above them there is room for what is written.
        figure.axes[0].set_ylim(0, (1.05 + 0.055 * lines) * float(np.nanmax([mean, high])) or 1.0)
        if corner:
            figure.supxlabel(corner, fontsize=6.8, color=canvas.GREY)
        legend_above(figure, figure.axes[0].get_legend_handles_labels()[0], columns, handle=1.6, title=title)
    return figure


def beside_best(cells: Combinations, variation: int) -> list[list[str]]:
    """Differences from the combination with the best mean, with intervals, as texts by batch policy and technique.

    ``variation``: the place of the variation. A text is ``+1.4 % [1.1, 1.7]``; empty without an interval; ``lowest`` (or
    ``highest``) for the best, and for combinations that are equal to it in every seed.
    """
    i, j = np.argwhere(cells.best(variation))[0].tolist()
    word = BEST[more_is_better(cells.metric)]
    texts = [["" for _ in cells.techniques] for _ in cells.batches]
    for b, row in enumerate(texts):
        for k in range(len(row)):
            found = cells.paired((i, j, variation), (b, k, variation))
            if not np.isfinite(found.ratio):
                continue
            if not np.isfinite(found.ratio_low):  # nothing random: no interval
                row[k] = f"{100 * (found.ratio - 1):+.2f} %".replace("-", "−") if found.ratio != 1 else word
                continue
            percent = [100 * (one - 1) for one in (found.ratio, found.ratio_low, found.ratio_high)]
            row[k] = _percent_text(*percent) if any(percent) else word
    return texts


def _percent_text(mean: float, low: float, high: float) -> str:
    # One digit, or two if the interval is narrow or an end rounds to 0.
    digits = 1 if high - low >= 0.2 and min(abs(low), abs(high)) >= 0.05 else 2
    return f"{mean:+.{digits}f} % [{low:.{digits}f}, {high:.{digits}f}]".replace("-", "−")


def _joined(labels: list[list[str]], over: list[list[str]]) -> list[list[str]]:
    # Three short lines instead of a long one.
    return [
        [f"{label}\n{more}".replace(" % [", " %\n[") if more else label for label, more in zip(*rows, strict=True)]
        for rows in zip(labels, over, strict=True)
    ]


def _slot_in(labels: Sequence[Sequence[str]]) -> float:
    # Width of a bar with its text.
    lines = (line for row in labels for text in row for line in text.split("\n"))
    return _APART_IN + max(sum(_WIDTHS_IN.get(letter, _DIGIT_IN) for letter in line) for line in lines)
