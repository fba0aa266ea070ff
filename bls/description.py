"""What a workload looks like: the figures that ``twolevel workload info`` prints."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bls.platform import Platform
from bls.selection import busiest_window
from bls.workload import Workload
from traces.compiled import Array
from traces.errors import InputError
from traces.time import NS_PER_S, format_ns

__all__ = ["Description", "Spread", "describe", "header_facts"]

_DAY_NS = 24 * 3600 * NS_PER_S
_FACT = re.compile(r";\s*([A-Za-z]+):\s*(.*)")
_FACTS_SHOWN = (
    "Computer",
    "Installation",
    "MaxJobs",
    "MaxNodes",
    "MaxProcs",
    "UnixStartTime",
    "TimeZoneString",
)
_BAR = 30


@dataclass(frozen=True)
class Spread:
    """Smallest, median, mean and largest of a column, in its own unit."""

    min: float
    median: float
    mean: float
    max: float


@dataclass(frozen=True)
class Description:
    """Figures of a workload on a platform.

    Attributes
    ----------
    source : str
        The workload's file.
    platform, platform_cores : str, int
        The platform's name and number of cores.
    lines, jobs : int
        Lines of the file that are neither comment nor blank, and the jobs described.
    rejects : dict of str to int
        Rejected lines by reason.
    reordered, clamped : int
        Jobs read that were moved to their place by submit, and jobs narrowed to the platform.
    first_submit_ns, span_ns : int
        The first submit, and the time from it to the last.
    cores : Spread
        Widths.
    widths : tuple of (int, int, int)
        Rows (lowest, highest, jobs with as many cores): every power of two is a highest.
    run_ns, estimate_ns : Spread
        Run times and their estimates.
    overestimate : Spread
        Estimate / run time.
    underestimated : int
        Jobs that ran longer than estimated.
    cancelled : int
        Jobs that were cancelled before their start. They have no run time, and no part in what is said of run times,
        overestimates and work.
    busiest_day_ns, busiest_day_jobs : int
        Start of the 24 hours with most submits (it is a submit), and the number of them.
    work_core_s : float
        Sum of cores × run time in core-seconds.
    load : float or None
        Offered load: work / (platform cores × span). None where all jobs are submitted at one instant.
    header : dict of str to str
        The header's facts.
    """

    source: str
    platform: str
    platform_cores: int
    lines: int
    jobs: int
    rejects: dict[str, int]
    reordered: int
    clamped: int
    first_submit_ns: int
    span_ns: int
    cores: Spread
    widths: tuple[tuple[int, int, int], ...]
    run_ns: Spread
    estimate_ns: Spread
    overestimate: Spread
    underestimated: int
    cancelled: int
    busiest_day_ns: int
    busiest_day_jobs: int
    work_core_s: float
    load: float | None
    header: dict[str, str]

    def as_dict(self) -> dict[str, Any]:
        """The figures in plain values, as JSON can hold them."""
        plain = asdict(self)
        plain["widths"] = [list(row) for row in self.widths]
        return plain

    def __str__(self) -> str:
        """The figures as text for people: a line each, in aligned columns."""
        load = "undefined: all jobs are submitted at one instant" if self.load is None else f"{self.load:.3f}"
        day = f"{self.busiest_day_jobs} jobs in the 24 h from {format_ns(self.busiest_day_ns)}"
        rows = [
            ("workload", self.source),
            *((f"  {name}", value) for name, value in self.header.items() if name in _FACTS_SHOWN),
            ("lines", f"{self.lines}"),
            ("jobs", f"{self.jobs}"),
            ("rejects", f"{sum(self.rejects.values())}"),
            *((f"  {reason}", f"{count}") for reason, count in self.rejects.items()),
            ("clamped", f"{self.clamped}"),
            ("reordered", f"{self.reordered}"),
            ("first submit", format_ns(self.first_submit_ns)),
            ("span of submits", format_ns(self.span_ns)),
            ("busiest day", f"{day} (--select busiest:24h)"),
            ("run time", _spread_text(self.run_ns)),
            ("estimate", _spread_text(self.estimate_ns)),
            ("overestimate", _spread_text(self.overestimate, "{:.3g}".format)),
            ("underestimated", f"{self.underestimated} jobs ran longer than estimated"),
            *([("cancelled", f"{self.cancelled} jobs before their start")] if self.cancelled else []),
            ("work", f"{self.work_core_s / 3600:.6g} core-hours"),
            ("offered load", f"{load} on {self.platform} ({self.platform_cores} cores)"),
            ("cores", _spread_text(self.cores, "{:.6g}".format)),
            *self._histogram(),
        ]
        width = max(len(name) for name, _ in rows) + 2
        return "\n".join(f"{name:<{width}}{value}".rstrip() for name, value in rows) + "\n"

    def _histogram(self) -> Iterable[tuple[str, str]]:
        most = max(count for _, _, count in self.widths)
        digits = len(str(most))
        for lowest, highest, count in self.widths:
            name = f"{lowest}" if lowest == highest else f"{lowest}-{highest}"
            bar = "#" * -(-count * _BAR // most)  # rounded up: one job is seen
            yield f"  {name}", f"{count:>{digits}}  {bar}"


def describe(workload: Workload, platform: Platform) -> Description:
    """The figures of a workload, the jobs of which fit the platform (``bls.selection.fit``).

    Raises
    ------
    InputError
        If no job has a run time.
    """
    submit, cores = workload.submit_ns, workload.cores
    ran = ~workload.run_unknown
    if not ran.any():
        raise InputError(f"{workload.source}: every job was cancelled before its start: no run time is known")
    run, estimate = workload.run_ns[ran], workload.estimate_ns[ran]
    span_ns = int(submit[-1] - submit[0])
    day_ns, day_jobs = busiest_window(workload, _DAY_NS)
    work_core_s = float(np.sum(cores[ran].astype(np.float64) * run)) / NS_PER_S
    return Description(
        source=workload.source,
        platform=platform.name,
        platform_cores=platform.n_cores,
        lines=workload.n_lines,
        jobs=len(workload),
        rejects=dict(workload.rejects),
        reordered=workload.reordered,
        clamped=workload.clamped,
        first_submit_ns=int(submit[0]),
        span_ns=span_ns,
        cores=_spread(cores),
        widths=_widths(cores),
        run_ns=_spread(run),
        estimate_ns=_spread(workload.estimate_ns),
        overestimate=_spread(estimate / run),
        underestimated=int(np.count_nonzero(estimate < run)),
        cancelled=int(np.count_nonzero(~ran)),
        busiest_day_ns=day_ns,
        busiest_day_jobs=day_jobs,
        work_core_s=work_core_s,
        load=work_core_s / (platform.n_cores * (span_ns / NS_PER_S)) if span_ns else None,
        header=header_facts(workload.header),
    )


def header_facts(header: Iterable[str]) -> dict[str, str]:
    """What a header says as ``; Key: value``, except notes; of a key that is given twice, the first value.

    Characters that cannot be printed are shown as question marks.
    """
    facts: dict[str, str] = {}
    for comment in header:
        match = _FACT.match(comment)
        if match and match[1] != "Note" and match[2].strip():
            value = "".join(letter if letter.isprintable() else "?" for letter in match[2].strip())
            facts.setdefault(match[1], value)
    return facts


def _spread(column: Array) -> Spread:
    values = column.astype(np.float64)  # a sum of times may be beyond int64
    return Spread(float(values.min()), float(np.median(values)), float(values.mean()), float(values.max()))


def _spread_text(spread: Spread, text: Any = None) -> str:
    shown = text or (lambda ns: format_ns(round(ns)))
    parts = (("min", spread.min), ("median", spread.median), ("mean", spread.mean), ("max", spread.max))
    return "   ".join(f"{name} {shown(value):<12}" for name, value in parts).rstrip()


def _widths(cores: Array) -> tuple[tuple[int, int, int], ...]:
    """Counts for 1, 2, 3-4, 5-8, 9-16, …: every power of two is the highest of its row."""
    rows: list[tuple[int, int, int]] = []
    lowest, highest = 1, 1
    while not rows or rows[-1][1] < int(cores.max()):
        count = int(np.count_nonzero((cores >= lowest) & (cores <= highest)))
        rows.append((lowest, highest, count))
        lowest, highest = highest + 1, highest * 2
    return tuple(rows)
