"""The panels of a workload's page about its jobs: how wide and long, how well estimated, and whose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from traces.figures.drawing import canvas
from traces.figures.drawing.canvas import Axes
from traces.figures.drawing.panels import empty, quiet, short, small
from traces.figures.drawing.time_axis import duration_marks

#: Bars and headings for which the panel of classes has room.
_CLASS_BARS = 11

_KINDS = (("statuses", "status"), ("queues", "queue"), ("partitions", "partition"), ("qos", "QOS"))


def widths(axes: Axes, found: Mapping[str, Any]) -> None:
    """Shares of jobs and of work by cores of a job."""
    rows = found["widths"]
    all_work = found["work_core_s"] or 1.0
    jobs = [100 * count / found["jobs"] for _, _, count in rows]
    work = [100 * done / all_work for done in found["width_work_core_s"]]
    at = range(len(rows))
    axes.bar([k - 0.21 for k in at], jobs, 0.4, color=canvas.PALETTE[0], label="jobs")
    axes.bar(
        [k + 0.21 for k in at], work, 0.4, color="#F8CBA8", edgecolor=canvas.PALETTE[1], hatch="////", label="work"
    )
    axes.set_xticks(at, labels=[_count(highest) for _, highest, _ in rows])
    axes.tick_params(axis="x", length=0, labelsize=8.5 if len(rows) <= 12 else 6.8)
    axes.set_ylabel("share [%]")
    share = [100 * found[name] / found["jobs"] for name in ("serial", "powers_of_two")]
    axes.set_title("Widths", loc="left", weight="bold")
    axes.set_xlabel(f"cores of a job, up to (1 core: {share[0]:.0f} %; 2, 4, 8 …: {share[1]:.0f} % of the jobs)")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 0.97), ncols=2, handlelength=1.2, fontsize=7.5)
    quiet(axes, "y")


def lengths(axes: Axes, found: Mapping[str, Any]) -> None:
    """How many jobs have at most which run time, and estimate."""
    curves = [("run time", "run_percentiles_ns", canvas.PALETTE[0], "solid")]
    if not _no_estimates(found):
        curves.append(("estimate", "estimate_percentiles_ns", canvas.PALETTE[1], "dashed"))
    low, high = 1e18, 0.0
    for name, key, colour, dash in curves:
        times_ns = found[key]["at"]
        axes.step(times_ns, range(101), where="post", color=colour, linestyle=dash, linewidth=1.5, label=name)
        low, high = min(low, times_ns[1]), max(high, times_ns[-1])
    axes.set_xscale("log")
    low = min(low, high / 10)
    axes.set_xlim(low / 1.3, high * 1.3)
    marks = duration_marks(low / 1.3, high * 1.3, 7)
    axes.set_xticks([at for at, _ in marks], labels=[text for _, text in marks], fontsize=7.5)
    axes.minorticks_off()
    axes.set_ylim(0, 100)
    axes.set_xlabel("time, at most")
    axes.set_ylabel("jobs [%]")
    axes.set_title("Run times and estimates" if len(curves) > 1 else "Run times", loc="left", weight="bold")
    if len(curves) > 1:
        axes.legend(loc="upper left", handlelength=1.6, borderaxespad=0.2)
    quiet(axes, "both")


def accuracy(axes: Axes, found: Mapping[str, Any]) -> None:
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
    bar = axes.bar([parts + 2.0], heights[-1:], 1.4, color="#F8CBA8", edgecolor=canvas.PALETTE[1], hatch="////")
    places = [0, parts / 4, parts / 2, 3 * parts / 4, parts]
    axes.set_xticks(places, labels=["0", "25", "50", "75", "100"])
    axes.bar_label(bar, [f"longer:\n{heights[-1]:.1f} %"], **small())
    axes.set_xlabel("run time in % of the estimate")
    axes.set_ylabel("jobs [%]")
    limit = 100 * found["estimates"]["at_limit"] / ran
    said = f"{limit:.1f} % end at the limit (99 to 101 %)"
    axes.text(0.99, 0.97, said, transform=axes.transAxes, ha="right", va="top", **small())
    axes.set_ylim(0, 1.12 * max(heights))
    axes.set_xlim(-0.5, parts + 3.6)
    quiet(axes, "y")


def users(axes: Axes, found: Mapping[str, Any]) -> None:
    """What share of the jobs and of the work the most active users have."""
    axes.set_title("Users", loc="left", weight="bold")
    users = found["users"]
    if users is None:
        empty(axes, "the log names no users")
        return
    ranks = [row[0] for row in users["curve"]]
    mark: Any = {"markersize": 2.5, "linewidth": 1.5}
    axes.plot(ranks, [100 * row[1] for row in users["curve"]], "o-", color=canvas.PALETTE[0], label="jobs", **mark)
    axes.plot(ranks, [100 * row[2] for row in users["curve"]], "s--", color=canvas.PALETTE[1], label="work", **mark)
    axes.set_xscale("log")
    last = ranks[-1]
    ticks = [n for k in range(9) for n in (10**k, 3 * 10**k) if n <= last]
    axes.set_xticks(ticks, labels=[f"{n}" if n < 10_000 else f"{n:.0e}" for n in ticks])
    axes.set_xticks([], minor=True)
    axes.set_ylim(0, 103)
    axes.set_xlabel("most active users")
    axes.set_ylabel("share [%]")
    axes.set_title(f"half of the jobs: {users['half']} of {users['users']:,}", loc="right", **small())
    axes.legend(loc="lower right", handlelength=1.8)
    quiet(axes, "both")


def classes(axes: Axes, found: Mapping[str, Any]) -> None:
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
        bars = [(short(_class_name(row), 18), row["jobs"]) for row in shown]
        labels.append(kind)
        for name, jobs in [*bars, *([(f"{len(rows) - len(shown)} others", others)] if others else [])]:
            share = 100 * jobs / found["jobs"]
            place = len(labels)
            bar = axes.barh(place, share, 0.75, color=canvas.PALETTE[0])
            axes.bar_label(bar, [f"{share:.1f}" if share >= 0.05 else "< 0.1"], padding=2, fontsize=6.5)
            labels.append(name)
    axes.set_yticks(range(len(labels)), labels=labels, fontsize=7)
    for text in axes.get_yticklabels():
        text.set_fontweight("bold" if text.get_text() in {kind for kind, _ in present} else "normal")
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(max(len(labels), _CLASS_BARS) - 0.4, -0.6)
    axes.set_xlim(0, 122)
    axes.set_xticks([0, 50, 100])
    axes.set_xlabel("jobs [%]")
    quiet(axes, "x")


def _class_name(row: Mapping[str, Any]) -> str:
    return str(row["name"] or (row["number"] if row["number"] >= 0 else "none"))


def _no_estimates(found: Mapping[str, Any]) -> bool:
    return bool(found["estimates"]["exact"] == sum(found["estimates"]["accuracy_counts"]))


def _count(number: int) -> str:
    """A power of two, short: 512, 1k, 64k, 2M."""
    for unit, size in (("M", 2**20), ("k", 2**10)):
        if number >= size:
            return f"{number // size}{unit}"
    return f"{number}"
