"""A workload on one page: arrivals, widths, run times, estimates and users."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

from traces.base.time import NS_PER_S, format_ns
from traces.figures.drawing import canvas
from traces.figures.drawing.panels import counted, empty, remark, small
from traces.figures.drawing.time_axis import duration_marks

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAY = 86_400

_HATCHED: Any = {"color": "#F8CBA8", "edgecolor": canvas.PALETTE[1], "hatch": "////"}

_NUMBER_SHARE = 0.02  #: least width of a bar with a number, as a share of its panel

#: Nominal lengths of the steps of the time line, in days.
_STEP_DAYS = {"year": 365.0, "month": 30.0, "week": 7.0, "day": 1.0, "hour": 1 / 24}


def time_line(above: canvas.Axes, below: canvas.Axes, found: Mapping[str, Any]) -> None:
    """Draw jobs and offered load of every step of the log in two panels."""
    rows, step = found["timeline"], found["step"]
    known = found["arrivals"]["start"] is not None
    left = _left(rows, known)
    width = [b - a for a, b in pairwise(left)] + [_STEP_DAYS[step]]
    # Steps that are only partly in the log are pale.
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
    # One hour with a huge job must not flatten all others.
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
        # Numbers are in bars that are wide enough; the highest is always shown.
        places, shares = [at for at, _, _ in beyond], sum(width)
        below.plot(places, [top] * len(places), "^", color=canvas.INK, markersize=3.5, clip_on=False)
        said.append(f"cut off: {counted(len(beyond), step)}, up to {_figure(max(loads))}")
        look: Any = {"ha": "center", "va": "top", "fontsize": 6.5, "color": "white", "rotation": 90}
        for at, wide, load in beyond:
            if wide >= _NUMBER_SHARE * shares:
                below.annotate(_figure(load), (at, 0.9 * top), **look)
    if said:
        below.set_title("; ".join(said), loc="right", pad=4 if beyond else 2, **small())
    for axes in (above, below):
        axes.set_xlim(left[0], left[-1] + width[-1])
        axes.grid(axis="y")
    if known:
        marks = _dates(rows, left)
        below.set_xticks([at for at, _ in marks], labels=[text for _, text in marks])
        above.set_xticks([at for at, _ in marks])
    else:
        below.set_xlabel("days since time 0 of the log")
    above.tick_params(labelbottom=False)


def _figure(load: float) -> str:
    return f"{load:,.0f}" if load >= 100 else f"{load:.3g}"


def by_month(axes: canvas.Axes, found: Mapping[str, Any]) -> None:
    """Jobs by month of the year."""
    axes.bar(range(12), found["arrivals"]["by_month"], 0.8, color=canvas.PALETTE[0])
    known = found["arrivals"]["start"] is not None
    axes.set_xticks(range(12), labels=[name[0] for name in _MONTHS] if known else [f"{k}" for k in range(1, 13)])
    if not known:
        axes.set_xlabel("month (time 0 begins month 1)")
    axes.set_ylabel("jobs")
    _finish(axes, "By month of the year")


def hours(axes: canvas.Axes, found: Mapping[str, Any], title: str = "By hour of the day") -> None:
    """Jobs by hour of the day."""
    arrivals = found["arrivals"]
    axes.bar(range(24), arrivals["by_hour"], 0.8, color=canvas.PALETTE[0])
    axes.set(xlim=(-0.5, 23.5), xticks=range(0, 24, 3), xlabel="hour of the day", ylabel="jobs")
    _finish(axes, title)
    remark(axes, arrivals["zone"] if arrivals["start"] else "time 0 counts as Monday, 0 h")


def _finish(axes: canvas.Axes, title: str) -> None:
    # A panel of bars of jobs.
    axes.tick_params(axis="x", length=0)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_title(title, loc="left", weight="bold")
    axes.grid(axis="y")


def week(panels: Sequence[canvas.Axes], found: Mapping[str, Any]) -> None:
    """Jobs by hour of the day, by both, and by day of the week: three panels."""
    above, both, days = panels
    arrivals = found["arrivals"]
    table = arrivals["by_weekday_and_hour"]
    hours(above, found, "By hour and day of the week")
    above.set_xlabel("")
    above.tick_params(labelbottom=False)
    both.imshow(table, aspect="auto", cmap="Blues", vmin=0, interpolation="nearest")
    both.set(xticks=range(0, 24, 3), xlabel=f"hour of the day (darkest: {max(map(max, table)):,} jobs)")
    both.set_yticks(range(7), labels=_DAYS)
    both.tick_params(length=0)
    days.barh(range(7), arrivals["by_weekday"], 0.8, color=canvas.PALETTE[0])
    days.set(ylim=(6.5, -0.5), xlabel="jobs")
    days.tick_params(axis="y", labelleft=False, length=0)
    days.locator_params(axis="x", nbins=2)
    days.xaxis.set_major_formatter("{x:,.0f}")
    days.grid(axis="x")


def _left(rows: Sequence[Mapping[str, Any]], known: bool) -> list[float]:
    """Begins of bars: days by the log's clock if known, otherwise since time 0."""
    first = datetime.fromisoformat("2001-01-01")
    days = [(datetime.fromisoformat(row["start"]) - first).total_seconds() / _DAY for row in rows]
    if not known or all(a < b for a, b in pairwise(days)):
        return days
    # Hours repeated by daylight saving are ordered by elapsed time.
    return [days[0] + (row["start_ns"] - rows[0]["start_ns"]) / (_DAY * NS_PER_S) for row in rows]


def _dates(rows: Sequence[Mapping[str, Any]], left: Sequence[float]) -> list[tuple[float, str]]:
    """At most twelve ticks with dates; the year (for hours: the day) below the first and at each change."""
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
    places = [(left[0] + (at - starts[0]).total_seconds() / _DAY, at) for at in ticks]
    places = [(at, when) for at, when in places if left[0] <= at <= left[-1] + 1e-9]
    marks, said = [], ""
    for at, when in places:
        more = when.strftime(lower)
        marks.append((at, when.strftime(upper) + (f"\n{more}" if more != said else "")))
        said = more
    return marks


_CLASS_BARS = 11  #: most bars and headings of the panel of classes

_KINDS = (("statuses", "status"), ("queues", "queue"), ("partitions", "partition"), ("qos", "QOS"))


def widths(axes: canvas.Axes, found: Mapping[str, Any]) -> None:
    """Shares of jobs and of work by cores of a job."""
    rows = found["widths"]
    all_work = found["work_core_s"] or 1.0
    jobs = [100 * count / found["jobs"] for _, _, count in rows]
    work = [100 * done / all_work for done in found["width_work_core_s"]]
    at = range(len(rows))
    axes.bar([k - 0.21 for k in at], jobs, 0.4, color=canvas.PALETTE[0], label="jobs")
    axes.bar([k + 0.21 for k in at], work, 0.4, label="work", **_HATCHED)
    axes.set_xticks(at, labels=[_count(highest) for _, highest, _ in rows])
    axes.tick_params(axis="x", length=0, labelsize=8.5 if len(rows) <= 12 else 6.8)
    share = [100 * found[name] / found["jobs"] for name in ("serial", "powers_of_two")]
    axes.set_title("Widths", loc="left", weight="bold")
    below = f"cores of a job, up to (1 core: {share[0]:.0f} %; 2, 4, 8 …: {share[1]:.0f} % of the jobs)"
    axes.set(xlabel=below, ylabel="share [%]")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 0.97), ncols=2, handlelength=1.2, fontsize=7.5)
    axes.grid(axis="y")


def lengths(axes: canvas.Axes, found: Mapping[str, Any]) -> None:
    """Draw the distributions of run times and estimates."""
    curves = [("run time", "run_percentiles_ns", canvas.PALETTE[0], "solid")]
    if not _no_estimates(found):
        curves.append(("estimate", "estimate_percentiles_ns", canvas.PALETTE[1], "dashed"))
    low, high = 1e18, 0.0
    for name, key, colour, dash in curves:
        times_ns = found[key]["at"]
        axes.step(times_ns, range(101), where="post", color=colour, linestyle=dash, linewidth=1.5, label=name)
        low, high = min(low, times_ns[1]), max(high, times_ns[-1])
    low = min(low, high / 10)
    axes.set(xscale="log", xlim=(low / 1.3, high * 1.3), ylim=(0, 100), xlabel="time, at most", ylabel="jobs [%]")
    marks = duration_marks(low / 1.3, high * 1.3, 7)
    axes.set_xticks([at for at, _ in marks], labels=[text for _, text in marks], fontsize=7.5)
    axes.minorticks_off()
    axes.set_title("Run times and estimates" if len(curves) > 1 else "Run times", loc="left", weight="bold")
    if len(curves) > 1:
        axes.legend(loc="upper left", handlelength=1.6, borderaxespad=0.2)
    axes.grid()


def accuracy(axes: canvas.Axes, found: Mapping[str, Any]) -> None:
    """Jobs by run time / estimate."""
    axes.set_title("Run time / estimate", loc="left", weight="bold")
    if _no_estimates(found):
        empty(axes, "every estimate is the run time:\nthe log seems to have none")
        return
    counts = found["estimates"]["accuracy_counts"]
    ran = sum(counts)
    parts = len(counts) - 1
    heights = [100 * count / ran for count in counts]
    axes.bar([k + 0.5 for k in range(parts)], heights[:-1], 0.85, color=canvas.PALETTE[0])
    bar = axes.bar([parts + 2.0], heights[-1:], 1.4, **_HATCHED)
    places = [0, parts / 4, parts / 2, 3 * parts / 4, parts]
    axes.set_xticks(places, labels=["0", "25", "50", "75", "100"])
    axes.bar_label(bar, [f"longer:\n{heights[-1]:.1f} %"], **small())
    said = f"{100 * found['estimates']['at_limit'] / ran:.1f} % end at the limit (99 to 101 %)"
    axes.text(0.99, 0.97, said, transform=axes.transAxes, ha="right", va="top", **small())
    limits: Any = {"ylim": (0, 1.12 * max(heights)), "xlim": (-0.5, parts + 3.6)}
    axes.set(xlabel="run time in % of the estimate", ylabel="jobs [%]", **limits)
    axes.grid(axis="y")


def users(axes: canvas.Axes, found: Mapping[str, Any]) -> None:
    """Draw the share of jobs and work of the most active users."""
    axes.set_title("Users", loc="left", weight="bold")
    users = found["users"]
    if users is None:
        empty(axes, "the log names no users")
        return
    ranks = [row[0] for row in users["curve"]]
    mark: Any = {"markersize": 2.5, "linewidth": 1.5}
    axes.plot(ranks, [100 * row[1] for row in users["curve"]], "o-", color=canvas.PALETTE[0], label="jobs", **mark)
    axes.plot(ranks, [100 * row[2] for row in users["curve"]], "s--", color=canvas.PALETTE[1], label="work", **mark)
    axes.set(xscale="log", ylim=(0, 103), xlabel="most active users", ylabel="share [%]")
    ticks = [n for k in range(9) for n in (10**k, 3 * 10**k) if n <= ranks[-1]]
    axes.set_xticks(ticks, labels=[f"{n}" if n < 10_000 else f"{n:.0e}" for n in ticks])
    axes.set_xticks([], minor=True)
    axes.set_title(f"half of the jobs: {users['half']} of {users['users']:,}", loc="right", **small())
    axes.legend(loc="lower right", handlelength=1.8)
    axes.grid()


def classes(axes: canvas.Axes, found: Mapping[str, Any]) -> None:
    """Jobs by status, queue, partition and quality of service."""
    axes.set_title("Classes", loc="left", weight="bold")
    present = [(kind, found[key]) for key, kind in _KINDS if found[key]]
    if not present:
        empty(axes, "the log has no status,\nqueue, partition or QOS")
        return
    room = max(2, (_CLASS_BARS - len(present)) // len(present))
    labels: list[str] = []
    for kind, rows in present:
        shown = rows if len(rows) <= room else rows[: room - 1]
        others = sum(row["jobs"] for row in rows) - sum(row["jobs"] for row in shown)
        names = [str(row["name"] or (row["number"] if row["number"] >= 0 else "none")) for row in shown]
        bars = [(canvas.short(name, 18), row["jobs"]) for name, row in zip(names, shown, strict=True)]
        labels.append(kind)
        for name, jobs in [*bars, *([(f"{len(rows) - len(shown)} others", others)] if others else [])]:
            share = 100 * jobs / found["jobs"]
            bar = axes.barh(len(labels), share, 0.75, color=canvas.PALETTE[0])
            axes.bar_label(bar, [f"{share:.1f}" if share >= 0.05 else "< 0.1"], padding=2, fontsize=6.5)
            labels.append(name)
    axes.set_yticks(range(len(labels)), labels=labels, fontsize=7)
    for text in axes.get_yticklabels():
        text.set_fontweight("bold" if text.get_text() in {kind for kind, _ in present} else "normal")
    axes.tick_params(axis="y", length=0)
    axes.set(ylim=(max(len(labels), _CLASS_BARS) - 0.4, -0.6), xlim=(0, 122), xticks=[0, 50, 100], xlabel="jobs [%]")
    axes.grid(axis="x")


def _no_estimates(found: Mapping[str, Any]) -> bool:
    return bool(found["estimates"]["exact"] == sum(found["estimates"]["accuracy_counts"]))


def _count(number: int) -> str:
    """A power of two in short form: 512, 1k, 64k, 2M."""
    for unit, size in (("M", 2**20), ("k", 2**10)):
        if number >= size:
            return f"{number // size}{unit}"
    return f"{number}"


_HOUR_S = 3600

_MONTHS_NS = 62 * 86_400 * 10**9  #: shorter logs have no panel of months: they have less than two whole months


class Described(Protocol):
    """Figures of a workload, as ``bls.describe`` returns them."""

    def as_dict(self) -> dict[str, Any]:
        """The figures in plain values; the keys are those of ``twolevel workload info`` in JSON."""


def overview_figure(described: Described) -> canvas.Figure:
    """Draw a workload's figures on one page: jobs and offered load over time, arrivals by hour, weekday (of more than one)
    and month (of logs of two months or more), widths, run times and estimates, users, and classes of jobs."""
    found = described.as_dict()
    with canvas.drawing(11.7, 8.3) as figure:  # A4, landscape
        rows = figure.add_gridspec(4, 12, height_ratios=(0.2, 1.0, 1.0, 1.0))
        _head(figure.add_subplot(rows[0, :]), found)
        long = found["span_ns"] >= _MONTHS_NS
        line = rows[1, : 9 if long else 12].subgridspec(2, 1, hspace=0.04)
        time_line(figure.add_subplot(line[0]), figure.add_subplot(line[1]), found)
        if long:
            by_month(figure.add_subplot(rows[1, 9:]), found)
        if sum(jobs > 0 for jobs in found["arrivals"]["by_weekday"]) > 1:
            grid = rows[2, :6].subgridspec(2, 2, height_ratios=(1, 1.5), width_ratios=(5, 1), hspace=0.04, wspace=0.03)
            week([figure.add_subplot(grid[k]) for k in (0, 2, 3)], found)
        else:
            hours(figure.add_subplot(rows[2, :6]), found)
        widths(figure.add_subplot(rows[2, 6:]), found)
        lengths(figure.add_subplot(rows[3, :3]), found)
        accuracy(figure.add_subplot(rows[3, 3:6]), found)
        users(figure.add_subplot(rows[3, 6:9]), found)
        classes(figure.add_subplot(rows[3, 9:]), found)
        _settle(figure)
    return figure


def _settle(figure: canvas.Figure) -> None:
    """Lay the figure out once, with rounded positions: the last digits of the solver depend on memory addresses."""
    layout = figure.get_layout_engine()
    if layout is not None:
        layout.execute(figure)
    figure.set_layout_engine("none")
    for axes in figure.axes:
        box = axes.get_position()
        axes.set_position((round(box.x0, 5), round(box.y0, 5), round(box.width, 5), round(box.height, 5)))


def _head(axes: canvas.Axes, found: Mapping[str, Any]) -> None:
    axes.set_axis_off()
    name = Path(found["source"]).name
    computer = found["header"].get("Computer") or found["header"].get("Installation", "")
    title = f"{canvas.short(computer, 70)}  ({canvas.short(name, 50)})" if computer else canvas.short(name, 100)
    rejects = sum(found["rejects"].values())
    users, arrivals = found["users"], found["arrivals"]
    dates = f", {arrivals['first'][:10]} to {arrivals['last'][:10]}" if arrivals["start"] else ""
    facts = [
        f"{found['jobs']:,} jobs" + (f" ({rejects:,} lines rejected)" if rejects else ""),
        f"submitted in {format_ns(found['span_ns'])}{dates}",
        *([f"{users['users']:,} users"] if users else []),
        f"{_large(found['work_core_s'] / _HOUR_S)} core-hours",
        "no load: one instant" if found["load"] is None else f"offered load {found['load']:.3f}",
        f"{canvas.short(found['platform'], 24)}: {found['platform_cores']:,} cores",
    ]
    # Not in the layout: a long line would make the panels narrow.
    axes.text(0, 1, title, va="top", in_layout=False, weight="bold", fontsize=12)
    axes.text(0, 0.3, "  ·  ".join(facts), va="top", in_layout=False)


def _large(number: float) -> str:
    for unit, size in (("billion", 1e9), ("million", 1e6)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
