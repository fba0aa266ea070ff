"""Costs and savings of power limits, from a run with them and a run of the same jobs without, and rewards of slowed jobs.

The indexes are those of S. Matsui et al., *Architecture of Job Scheduling Simulator for Demand Response Based Resource
Provisioning*, ISGC 2021: increases of run time and wait, and the reduction of power. The paper leaves the reward function open.
Here it is linear and never negative: one rate per core-hour by which an allowed job runs longer in B, and one per core-hour by
which it waits longer, with its requested cores."""

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from bls.metrics.exact import exact_mean, exact_product_sum, exact_quantiles, exact_sum
from bls.power.accounting import PJ_PER_J, PowerSeries
from bls.power.facts import FACTS
from bls.power.limits import joined
from bls.power.table import MOST_MW
from bls.power.words import joules_text, watts_text
from bridge.compare.delay_causes import Pair
from bridge.runs.afterwards import QUANTITIES
from traces.base.errors import InputError, real, shown, whole
from traces.base.options import named
from traces.base.time import MAX_NS, format_ns
from traces.compiled import Array
from traces.tables import DataFrame, read_power

#: Of the quantities that are computed from a finished run, the latest first: powers come before their costs.
_COMPUTED: Final[Mapping[str, Any]] = {
    name: shown for one in [*QUANTITIES.values()][::-1] if one.compared for name, shown in named(one.compared).items()
}

#: The metrics of both runs that are shown: their words and their format.
METRICS: Final = {
    "energy_j": ("energy", joules_text),
    "peak_power_w": ("peak power", watts_text),
    "peak_limited_w": ("peak in limits", watts_text),
    "above_limit_j": ("above a limit", joules_text),
    "above_limit_ns": ("time above a limit", lambda ns: format_ns(int(ns))),
    **_COMPUTED,
}

#: Metrics that are shown only if both runs have them.
_NOT_ALWAYS: Final = ("peak_limited_w", *_COMPUTED)


class Increase(NamedTuple):
    """Increase of the run times or waits of some jobs in B: ns, rounded once; None without jobs."""

    jobs: int
    mean_ns: float | None
    p95_ns: float | None
    ratio: float | None  # of the sums


class PowerIndexes(NamedTuple):
    """Costs and savings of B relative to A, for ``all``, ``allowed`` and ``disallowed`` jobs: J up to the later end; W during
    limits, from the first submit to the later end, or None without limits."""

    run: Mapping[str, Increase]
    wait: Mapping[str, Increase]
    energy_saved_j: float
    power_reduction_w: float | None

    def record(self) -> dict[str, Any]:
        """The same as plain values, for ``comparison.json``."""
        run, wait = ({group: one._asdict() for group, one in found.items()} for found in (self.run, self.wait))
        return self._asdict() | {"run": run, "wait": wait}


def power_indexes(
    jobs: Pair[DataFrame],
    rows: Pair[Array],
    records: Pair[Mapping[str, Any]],
    folders: Pair[Path],
) -> PowerIndexes | None:
    """The indexes of a run B relative to a run A, from their records and folders; None if one has no power. ``jobs`` and
    ``rows`` are those of :func:`indexes_of`. Raises InputError if a record or table was edited and is no longer valid."""
    a, b = (record.get("power") for record in records)
    if a is None or b is None:
        return None
    for one, folder in zip((a, b), folders, strict=True):
        _check_record(one, f"{folder / 'run.json'}: power")
    read = [read_power(folder / "power.parquet") for folder in folders]
    for table, folder in zip(read, folders, strict=True):
        if table.empty:
            raise InputError(f"{folder / 'power.parquet'}: it has no row; allowed: as twolevel run has written it")
    return indexes_of(jobs, rows, (a, b), (read[0], read[1]))


def _check_record(power: Any, where: str) -> None:
    # Checks only the parts of the record that are used here.
    if not isinstance(power, Mapping):
        raise InputError(f"{where}: {shown(power)}; allowed: as twolevel run has written it, with idle_w and limits")
    real(f"{where}: idle_w", power.get("idle_w"), 0, MOST_MW / 1000)
    for limits, place in _limits_in(power, where):
        _check_limits(limits, place)


def _limits_in(power: Mapping[str, Any], where: str = "") -> Iterator[tuple[Any, str]]:
    # The lists of limits in a record, and where they are.
    for one in FACTS:
        yield from one.recorded_limits(power, where)
    yield power.get("limits", []), where


def _check_limits(limits: Any, where: str) -> None:
    if not isinstance(limits, list):
        raise InputError(f"{where}: limits: {shown(limits)}; allowed: a list of [from_ns, to_ns, W]")
    for place, one in enumerate(limits):
        if not isinstance(one, list) or len(one) != 3:
            raise InputError(f"{where}: limits[{place}]: {shown(one)}; allowed: [from_ns, to_ns, W]")
        begin = whole(f"{where}: limits[{place}]: from_ns", one[0], 0, MAX_NS)
        whole(f"{where}: limits[{place}]: to_ns", one[1], begin + 1, MAX_NS)


def indexes_of(
    jobs: Pair[DataFrame],
    rows: Pair[Array],
    records: Pair[Mapping[str, Any]],
    powers: Pair[DataFrame],
) -> PowerIndexes:
    """The indexes of a run B relative to a run A, from their tables of jobs, the rows (int64, (n,)) of the compared jobs in
    each, their ``PowerReport.record`` and their ``power.parquet``."""
    runs, waits, allowed = _compared(jobs, rows)
    groups = {"all": np.ones(len(allowed), np.bool_), "allowed": allowed, "disallowed": ~allowed}
    ends = [int(frame["end_ns"].max()) for frame in jobs]
    begin, end = min(int(table["instant_ns"].iloc[0]) for table in powers), max(ends)
    idle_mw = [round(one["idle_w"] * 1000) for one in records]
    steps = [_steps(*one) for one in zip(powers, idle_mw, ends, strict=True)]
    whole = [one.energy_pj(begin, end) for one in steps]
    # Before the first submit and after the later end no job runs in either run.
    limits = (limit for found, _ in _limits_in(records[1]) for limit in found)
    windows = joined((max(a, begin), min(z, end)) for a, z, *_ in limits)
    saved = sum(steps[0].energy_pj(a, z) - steps[1].energy_pj(a, z) for a, z in windows)
    length = sum(z - a for a, z in windows)
    return PowerIndexes(
        run={name: _increase(*(one[some] for one in runs)) for name, some in groups.items()},
        wait={name: _increase(*(one[some] for one in waits)) for name, some in groups.items()},
        energy_saved_j=float(Fraction(whole[0] - whole[1], PJ_PER_J)),
        power_reduction_w=float(Fraction(saved, length * 1000)) if length else None,
    )


def _compared(jobs: Pair[DataFrame], rows: Pair[Array]) -> tuple[list[Array], list[Array], Array]:
    # Run times and waits of the compared jobs in A and B, and the jobs that may be slowed in B (default: all).
    frames = [frame.iloc[row] for frame, row in zip(jobs, rows, strict=True)]
    runs = [(one["end_ns"] - one["start_ns"]).to_numpy() for one in frames]
    waits = [(one["start_ns"] - one["eligible_ns"]).to_numpy() for one in frames]
    allowed = (frames[1]["allowed"] == 1).to_numpy() if "allowed" in frames[1] else np.ones(len(rows[1]), np.bool_)
    return runs, waits, allowed


def _increase(before: Array, after: Array) -> Increase:
    more, sums = after - before, (exact_sum(before), exact_sum(after))
    ratio = float(Fraction(sums[1], sums[0])) if sums[0] else None
    return Increase(len(more), exact_mean(more), exact_quantiles(more, 95)[0], ratio)


def _steps(table: DataFrame, idle_mw: int, last_ns: int) -> PowerSeries:
    # After the last end the machine is idle.
    at, power = table["instant_ns"].to_numpy(), table["power_mw"].to_numpy()
    return PowerSeries(np.append(at, max(last_ns, int(at[-1]))), np.append(power, idle_mw), MAX_NS)


def index_rows(indexes: PowerIndexes, metrics: Mapping[str, list[float | None]]) -> list[tuple[str, str]]:
    """Rows of a table of indexes for a person; ``metrics`` are those of :data:`METRICS`, A's and B's."""
    rows = []
    for name, (words, text) in METRICS.items():
        known = ["unknown" if value is None else text(value) for value in metrics[name]]
        if name not in _NOT_ALWAYS or None not in metrics[name]:
            rows.append((words, f"A {known[0]}, B {known[1]}"))
    rows.append(("energy saved", f"{joules_text(indexes.energy_saved_j)} to the later end"))
    if indexes.power_reduction_w is not None:
        rows.append(("power reduction", f"{watts_text(indexes.power_reduction_w)} while there are limits"))
    for words, found in (("run longer in B", indexes.run), ("wait longer in B", indexes.wait)):
        for group, one in found.items():
            if group == "all" or (0 < one.jobs < found["all"].jobs):
                rows.append((f"{words}, {group}" if group != "all" else words, _increase_text(one)))
    return rows


def _increase_text(one: Increase) -> str:
    if one.mean_ns is None or one.p95_ns is None:
        return "no job"
    mean, p95 = (f"{'−' if ns < 0 else ''}{format_ns(abs(round(ns)))}" for ns in (one.mean_ns, one.p95_ns))
    ratio = "" if one.ratio is None else f", sums × {one.ratio:.4g}"
    return f"mean {mean}, 95 % at most {p95}{ratio}; {one.jobs} job{'s' * (one.jobs != 1)}"


_NUMBER: Final = re.compile(r"[0-9]{1,7}(?:\.[0-9]{1,6})?")
_MOST: Final = 10**6
_NS_PER_HOUR: Final = 3600 * 10**9


class Rewards(NamedTuple):
    """The total of the rewards, the number of rewarded jobs among the compared allowed jobs, and, if energy has a price, the
    saved cost: cost of A − cost of B − rewards. Rates are for a core-hour that a job runs longer, and that it waits longer."""

    run_rate: Fraction
    wait_rate: Fraction
    total: Fraction
    jobs: int
    allowed_jobs: int
    saved: float | None

    def record(self) -> dict[str, Any]:
        """The same as plain values, for ``comparison.json``."""
        return {name: float(one) if isinstance(one, Fraction) else one for name, one in self._asdict().items()}


def parse_rates(text: str) -> Pair[Fraction]:
    """Read the rates of running longer and of waiting longer, such as ``0.02:0.005``. Raises InputError if they are invalid."""
    words = text.split(":")
    if len(words) != 2 or not all(_NUMBER.fullmatch(word) and Fraction(word) <= _MOST for word in words):
        allowed = f"for a core-hour of running longer, and of waiting longer, 0 to {_MOST}, as 0.02:0.005"
        raise InputError(f"--reward: {shown(text)}; allowed: {allowed}")
    return Fraction(words[0]), Fraction(words[1])


def rewards(rates: Pair[Fraction], jobs: Pair[DataFrame], rows: Pair[Array], costs: Pair[float | None]) -> Rewards:
    """Compute the rewards of the compared jobs (:func:`indexes_of`); ``costs`` is the metric ``cost`` of either run."""
    runs, waits, allowed = _compared(jobs, rows)
    longer = [np.maximum(second - first, 0)[allowed] for first, second in (runs, waits)]
    cores = jobs[1]["cores"].to_numpy()[rows[1][allowed]]
    hours = [Fraction(exact_product_sum(cores, one), _NS_PER_HOUR) if len(one) else Fraction(0) for one in longer]
    total = rates[0] * hours[0] + rates[1] * hours[1]
    some = ((longer[0] > 0) & (rates[0] > 0)) | ((longer[1] > 0) & (rates[1] > 0))
    saved = None if costs[0] is None or costs[1] is None else costs[0] - costs[1] - float(total)
    return Rewards(*rates, total, int(some.sum()), int(allowed.sum()), saved)


def reward_row(found: Rewards) -> tuple[str, str]:
    """A row of the printed table."""
    saved = "" if found.saved is None else f"; {found.saved:,.2f} of cost saved beyond that"
    return "rewards", f"{float(found.total):,.2f} to {found.jobs} of {found.allowed_jobs} allowed jobs{saved}"
