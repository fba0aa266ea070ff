"""The report as files: ``report.md``, its tables as CSV, its figures as PNG."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bridge.replay.report.sides import LOG, Side, classes, differences, measures, submissions, submit_interval
from traces.base.time import format_ns
from traces.base.written_file import write_text
from traces.figures.drawing.canvas import save
from traces.figures.replay.clocks import replay_rates_figure, replay_sizes_figure
from traces.figures.replay.differences import differences_figure
from traces.figures.replay.makespans import rate_name, replay_makespans_figure
from traces.figures.replay.submissions import submissions_figure
from traces.tables import joined_frames, rows_frame

REPORT = "report.md"
LATE = 0.1  # relative excess of the makespan over the exact replay above which a replay has not kept up with its clock

#: Measures by their name in the tables: label and format.
MEASURES = {
    "jobs": "jobs that ran",
    "attempts": "attempts that ran",
    "makespan_ns": "makespan",
    "utilisation": "utilisation over T",
    "throughput": "throughput over T [jobs]",
    "mean_wait_ns": "mean wait",
    "median_wait_ns": "median wait",
    "p95_wait_ns": "95th percentile of waits",
    "max_wait_ns": "longest wait",
    "mean_slowdown": "mean slowdown",
    "median_slowdown": "median slowdown",
    "high_slowdown": "jobs with a slowdown above 5",
    "high_slowdown_share": "share of these jobs",
    "killed": "killed at their limit",
}

_MS = 1_000_000  # resolution of differences
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Attempt:
    """A replay of a report."""

    rate: float  # of its clock; 0: exact
    repeat: int
    jobs: int
    elapsed_s: float  # real time
    makespan_ns: int | None  # max end − min start; None if it has ended with an error, or no job ran
    failure: str = ""  # its error, or its delay, if it failed; else empty
    side: Side | None = None  # the schedule of an exact one


@dataclass(frozen=True, eq=False)
class SlurmReport:
    """The contents of a report."""

    name: str  # the workload's
    words: tuple[str, ...]  # lines about jobs, machine and Slurm
    sides: tuple[Side, ...]  # the log's, if it states starts, Slurm's, our engine's
    slurms: tuple[Side, ...]  # all exact repeats
    attempts: tuple[Attempt, ...]  # all repeats with all jobs, and with fewer
    n_cores: int
    of_day_ns: int  # time of day at the workload's time 0

    @property
    def reference(self) -> Side:
        """The log's schedule, or that of our engine."""
        return next((one for one in self.sides if one.label == LOG), self.sides[-1])

    @property
    def slurm(self) -> Side:
        """Slurm's schedule."""
        return next(one for one in self.sides if one.label != LOG)


def write_report(report: SlurmReport, folder: Path) -> list[Path]:
    """Write a report into an empty folder; return the files."""
    folder.mkdir()
    lines = [f"# Replay of {report.name}", "", *(f"- {line}" for line in report.words), ""]
    for part in (_side_by_side, _differences, _submissions, _classes, _repeats):
        lines += part(report, folder)
    write_text(folder / REPORT, "\n".join(lines).rstrip() + "\n")
    return sorted(folder.iterdir())


def _save(figure: Any, folder: Path, name: str, words: str) -> list[str]:
    save(figure, folder / f"{name}.png")
    return [f"![{words}]({name}.png)", ""]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [_row(head), "|".join(["", *("---" for _ in head), ""]), *map(_row, rows), ""]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def written(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name.endswith("_ns"):
        return format_ns(round(value))
    if name == "utilisation":
        return f"{value:.3f}"
    if name.endswith("_share"):
        return f"{value:.1%}"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def _side_by_side(report: SlurmReport, folder: Path) -> list[str]:
    # T, from the first submit to the last
    interval = submit_interval(np.concatenate([one.submit_ns for one in report.sides]))
    found = {one.label: measures(one, report.n_cores, interval) for one in report.sides}
    repeats = [measures(one, report.n_cores, interval) for one in report.slurms]
    rows = [{"side": label, "repeat": 0, **one} for label, one in found.items()]
    slurm = report.slurm.label
    rows += [{"side": slurm, "repeat": k, **one} for k, one in enumerate(repeats) if k]
    rows_frame(rows).to_csv(folder / "measures.csv", index=False)
    several = len(repeats) > 1
    table = []
    for name, words in MEASURES.items():
        cells = [words, *(written(name, one[name]) for one in found.values())]
        if several:
            values = [one[name] for one in repeats if one[name] is not None]
            cells.append(f"{written(name, min(values))} … {written(name, max(values))}" if values else "")
        table.append(cells)
    span = " to ".join(map(format_ns, interval))
    said = [
        f"T is from {span} of the workload. Makespan: last end − first start; throughput: jobs that start and end within T; "
        "wait: start − submit; slowdown: (wait + run) / run."
    ]
    if LOG not in found:
        said.append("The log does not state the starts of its jobs.")
    lacking = [one for one in report.sides if one.not_run]
    missing = [f"{one.label}: {one.not_run} jobs did not run, or their starts are unknown" for one in lacking]
    head = ["", *found, *([f"{slurm}, {len(repeats)} repeats"] if several else [])]
    return ["## Side by side", "", *_table(head, table), *said, *missing, ""]


def _differences(report: SlurmReport, folder: Path) -> list[str]:
    reference = report.reference
    others = [one for one in report.sides if one is not reference]
    if not others:
        return []
    frames = [differences(one, reference) for one in others]
    whole = joined_frames(frames)
    if not len(whole):
        return []
    whole.to_csv(folder / "differences.csv", index=False)
    rows = []
    for one, frame in zip(others, frames, strict=True):
        if not len(frame):
            continue
        for words in ("submit", "start", "duration"):
            values = frame[f"delta_{words}_ns"]
            quantiles = [_signed(float(values.quantile(share))) for share in _QUANTILES]
            rows.append([one.label, words, *quantiles, _signed(float(values.abs().mean()))])
    head = ["", "Δ", *(f"{share:.0%}" for share in _QUANTILES), "mean absolute value"]
    to = f"differences from {_named(reference)}"
    figure = differences_figure(whole, reference=_named(reference), title=f"{report.name}: {to}")
    words = "Curves of the differences of submits, starts and run times"
    return [f"## D{to[1:]}", "", *_save(figure, folder, "differences", words), *_table(head, rows)]


def _named(side: Side) -> str:
    return f"the {LOG}" if side.label == LOG else side.label


def _signed(value_ns: float) -> str:
    whole = round(value_ns / _MS) * _MS
    return format_ns(whole) if whole >= 0 else f"−{format_ns(-whole)}"


def _submissions(report: SlurmReport, folder: Path) -> list[str]:
    submit_ns = max((one.measured for one in report.sides), key=lambda one: len(one.job_id)).submit_ns
    if not len(submit_ns):
        return []
    found = submissions(submit_ns, report.of_day_ns)
    found.to_csv(folder / "submissions.csv", index=False)
    figure = submissions_figure(found, title=f"{report.name}: submissions")
    words = "Bars of the number of jobs submitted in each hour"
    return ["## Submissions per hour", "", *_save(figure, folder, "submissions", words)]


def _classes(report: SlurmReport, folder: Path) -> list[str]:
    if not len(report.reference.job_id):
        return []
    found = classes(report.reference)
    found.to_csv(folder / "classes.csv", index=False)
    rows = [[str(cell) if isinstance(cell, str) else f"{cell:,}" for cell in row] for row in found.to_numpy().tolist()]
    total = found.drop(columns="cores").sum().tolist()
    rows.append(["total", *(f"{cell:,}" for cell in total)])
    head = [str(name) for name in found.columns]
    return ["## Jobs by cores and run time", "", f"From {_named(report.reference)}.", "", *_table(head, rows)]


def _repeats(report: SlurmReport, folder: Path) -> list[str]:
    if len(report.attempts) < 2:
        return []
    names = ("rate", "repeat", "jobs", "elapsed_s", "makespan_ns", "failure")
    found = rows_frame([{name: getattr(one, name) for name in names} for one in report.attempts])
    found = found.astype({"makespan_ns": "Int64"})
    found.to_csv(folder / "repeats.csv", index=False)
    whole = found[found["jobs"] == found["jobs"].max()]
    exact_ns = float(whole["makespan_ns"][whole["rate"] == 0].dropna().astype(float).median())
    rows = []
    for rate, group in whole.groupby("rate", sort=False):
        ended = group["makespan_ns"].dropna().astype(float)
        failed = int((group["failure"] != "").sum())
        spans = [format_ns(round(value)) for value in ended.quantile([0.0, 0.5, 1.0])] if len(ended) else [""] * 3
        off = f"{100 * (ended.median() / exact_ns - 1):+.1f} %".replace("-", "−") if len(ended) and exact_ns > 0 else ""
        elapsed = f"{group['elapsed_s'].mean():.1f} s"
        rows.append([rate_name(rate), str(len(group)), *spans, off, elapsed, f"{failed} of {len(group)}"])
    head = ["clock", "repeats", "shortest makespan", "median", "longest", "median from exact", "elapsed", "failed"]
    others = [one for one in report.sides if one is not report.slurm]
    references = {one.label: one.makespan_ns for one in others if one.makespan_ns is not None}
    lines = ["## Repeats", "", *_table(head, rows)]
    lines += [
        "Repeats have different phases of Slurm's cycles. Elapsed times depend on this computer and its load, and so do the "
        "results with a running clock. Failed: with an error, or with a makespan more than "
        f"{LATE:.0%} above the exact one.",
        "",
    ]
    if whole["makespan_ns"].notna().any():
        figure = replay_makespans_figure(whole, references=references, title=f"{report.name}: makespans of repeats")
        lines += _save(figure, folder, "makespans", "Makespans of repeats by clock, compared with the others")
    if whole["rate"].nunique() > 1:
        figure = replay_rates_figure(whole, title=f"{report.name}: elapsed time and failures")
        lines += _save(figure, folder, "rates", "Elapsed time and share of failures by clock")
    if found["jobs"].nunique() > 1:
        figure = replay_sizes_figure(found, title=f"{report.name}: by the number of jobs")
        lines += _save(figure, folder, "sizes", "Elapsed time and share of failures by the number of jobs")
    return lines
