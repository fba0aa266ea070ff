"""The panels of a workload's page about time: what arrives when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from traces.base.time import NS_PER_S
from traces.figures.drawing import canvas
from traces.figures.drawing.canvas import Axes
from traces.figures.drawing.panels import counted, quiet, remark, small

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAY = 86_400

#: A number stands in a bar that is at least this share of its panel wide.
_NUMBER_SHARE = 0.02

#: Nominal lengths of the steps of the time line, in days.
_STEP_DAYS = {"year": 365.0, "month": 30.0, "week": 7.0, "day": 1.0, "hour": 1 / 24}


def time_line(above: Axes, below: Axes, found: Mapping[str, Any]) -> None:
    """Jobs and offered load of every step of the log, one panel above the other."""
    rows, step = found["timeline"], found["step"]
    known = found["arrivals"]["start"] is not None
    left = _left(rows, known)
    width = [b - a for a, b in pairwise(left)] + [_STEP_DAYS[step]]
    # What is half in the log is pale: its bar is not to be compared.
    shades = [canvas.PALETTE[0] if row["whole"] else "#B4C7DC" for row in rows]
    bars: Any = {"align": "edge", "color": shades, "edgecolor": "white", "linewidth": 0.3 if len(rows) < 150 else 0}
    above.bar(left, [row["jobs"] for row in rows], width, **bars)
    above.set_ylabel(f"jobs per {step}")
    above.yaxis.set_major_formatter("{x:,.0f}")
    above.set_title(f"Arrivals and offered load, by {step}", loc="left", weight="bold")
    if not all(row["whole"] for row in rows):
        remark(above, f"pale: part of the {step} is outside of the log")
    loads = [row["load"] or 0.0 for row in rows]
    said = []
    below.bar(left, loads, width, **bars)
    if found["load"] is not None:
        below.axhline(found["load"], color=canvas.PALETTE[1], linewidth=1.2, linestyle="dashed")
        said.append(f"dashed: the whole log, {found['load']:.3f}")
    below.set_ylabel("offered load")
    # One hour with a huge job is not to flatten all the others.
    ordered = sorted(loads)
    usual = ordered[int(0.98 * (len(ordered) - 1))]
    most = max(ordered[-1], found["load"] or 0.0)
    top = 1.15 * (most if most <= 3 * max(usual, 1.0) else max(1.5 * usual, 1.0))
    if top > 0.4:
        top = max(top, 1.15)
        below.axhline(1.0, color=canvas.INK, linewidth=0.8, linestyle="dotted")
    below.set_ylim(0, top or 1.0)
    beyond = [(at + wide / 2, wide, load) for at, wide, load in zip(left, width, loads, strict=True) if load > top]
    if beyond:
        # A number is in its bar where it has room, and the highest is said in any case.
        places, shares = [at for at, _, _ in beyond], sum(width)
        below.plot(places, [top] * len(places), "^", color=canvas.INK, markersize=3.5, clip_on=False)
        said.append(f"cut off: {counted(len(beyond), step)}, up to {_figure(max(loads))}")
        for at, wide, load in beyond:
            if wide >= _NUMBER_SHARE * shares:
                below.annotate(
                    _figure(load), (at, 0.9 * top), ha="center", va="top", fontsize=6.5, color="white", rotation=90
                )
    if said:
        below.set_title("; ".join(said), loc="right", pad=4 if beyond else 2, **small())
    for axes in (above, below):
        axes.set_xlim(left[0], left[-1] + width[-1])
        quiet(axes, "y")
    if known:
        marks = _dates(rows, left)
        below.set_xticks([at for at, _ in marks], labels=[text for _, text in marks])
        above.set_xticks([at for at, _ in marks])
    else:
        below.set_xlabel("days since time 0 of the log")
    above.tick_params(labelbottom=False)


def _figure(load: float) -> str:
    return f"{load:,.0f}" if load >= 100 else f"{load:.3g}"


def by_month(axes: Axes, found: Mapping[str, Any]) -> None:
    """Jobs by month of the year."""
    axes.bar(range(12), found["arrivals"]["by_month"], 0.8, color=canvas.PALETTE[0])
    known = found["arrivals"]["start"] is not None
    axes.set_xticks(range(12), labels=[name[0] for name in _MONTHS] if known else [f"{k}" for k in range(1, 13)])
    if not known:
        axes.set_xlabel("month (time 0 begins month 1)")
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel("jobs")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_title("By month of the year", loc="left", weight="bold")
    quiet(axes, "y")


def hours(axes: Axes, found: Mapping[str, Any], title: str = "By hour of the day") -> None:
    """Jobs by hour of the day."""
    arrivals = found["arrivals"]
    axes.bar(range(24), arrivals["by_hour"], 0.8, color=canvas.PALETTE[0])
    axes.set_xlim(-0.5, 23.5)
    axes.set_xticks(range(0, 24, 3))
    axes.tick_params(axis="x", length=0)
    axes.set_xlabel("hour of the day")
    axes.set_ylabel("jobs")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_title(title, loc="left", weight="bold")
    remark(axes, arrivals["zone"] if arrivals["start"] else "time 0 counts as Monday, 0 h")
    quiet(axes, "y")


def week(panels: Sequence[Axes], found: Mapping[str, Any]) -> None:
    """Jobs by hour of the day, by both, and by day of the week: three panels."""
    above, both, days = panels
    arrivals = found["arrivals"]
    table = arrivals["by_weekday_and_hour"]
    hours(above, found, "By hour and day of the week")
    above.set_xlabel("")
    above.tick_params(labelbottom=False)
    both.imshow(table, aspect="auto", cmap="Blues", vmin=0, interpolation="nearest")
    both.set_xticks(range(0, 24, 3))
    both.set_yticks(range(7), labels=_DAYS)
    both.tick_params(length=0)
    both.set_xlabel(f"hour of the day (darkest: {max(map(max, table)):,} jobs)")
    days.barh(range(7), arrivals["by_weekday"], 0.8, color=canvas.PALETTE[0])
    days.set_ylim(6.5, -0.5)
    days.tick_params(axis="y", labelleft=False, length=0)
    days.set_xlabel("jobs")
    days.locator_params(axis="x", nbins=2)
    days.xaxis.set_major_formatter("{x:,.0f}")
    quiet(days, "x")


def _left(rows: Sequence[Mapping[str, Any]], known: bool) -> list[float]:
    """Where bars begin: days, of the log's clocks where they are known, else since time 0."""
    first = datetime.fromisoformat("2001-01-01")
    days = [(datetime.fromisoformat(row["start"]) - first).total_seconds() / _DAY for row in rows]
    if not known or all(a < b for a, b in pairwise(days)):
        return days
    # An hour that daylight saving repeats: by elapsed time.
    return [days[0] + (row["start_ns"] - rows[0]["start_ns"]) / (_DAY * NS_PER_S) for row in rows]


def _dates(rows: Sequence[Mapping[str, Any]], left: Sequence[float]) -> list[tuple[float, str]]:
    """At most a dozen places with their dates; the year (of hours: the day) below the first and wherever it changes."""
    starts = [datetime.fromisoformat(row["start"]) for row in rows]
    span = left[-1] - left[0]
    if span > 90:
        every = next(n for n in (1, 2, 3, 6, 12, 24, 60, 120, 240, 600) if span / 30.4 / n <= 12)
        ticks = [datetime(y, m, 1) for y in range(starts[0].year, starts[-1].year + 1) for m in range(1, 13)]
        ticks = [at for at in ticks if (at.year * 12 + at.month - 1) % every == 0]
        upper, lower = "%b", "%Y"
    elif span > 3:
        every = next(n for n in (1, 2, 7, 14) if span / n <= 12)
        ticks = [at.replace(hour=0, minute=0) for at in starts]
        ticks = [at for at in dict.fromkeys(ticks) if at.toordinal() % every == 1 % every]
        upper, lower = "%d %b", "%Y"
    else:
        every = next(n for n in (1, 2, 3, 6, 12) if span * 24 / n <= 13)
        ticks = [at for at in starts if at.hour % every == 0]
        upper, lower = "%H h", "%d %b %Y"
    offset = starts[0]
    places = [(left[0] + (at - offset).total_seconds() / _DAY, at) for at in ticks]
    places = [(at, when) for at, when in places if left[0] <= at <= left[-1] + 1e-9]
    marks, said = [], ""
    for at, when in places:
        more = when.strftime(lower)
        marks.append((at, when.strftime(upper) + (f"\n{more}" if more != said else "")))
        said = more
    return marks
