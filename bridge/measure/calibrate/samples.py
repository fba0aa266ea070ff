"""Measured loops as tables of chunk durations: the input of a calibration.

An instance of a loop is an execution of it. All instances of a loop with the same schedule form a sample. A cell of a sample is
a chunk (first iteration, size), which most schedules have in every instance.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from als.schedulers import loop_technique
from als.techniques.openmp import from_openmp
from bridge.measure.folder import MeasurementTables
from bridge.measure.program import MOST_TASKS
from traces.base.errors import InputError, listed
from traces.compiled import Array
from traces.tables import DataFrame, joined_frames, rows_frame

#: What the runtime reports for a loop by each technique; others report any.
_REPORTED: Final = {"static": "static", "ss": "dynamic", "static-steal": "dynamic", "guided": "guided", "tss": "other"}


@dataclass(frozen=True)
class Sample:
    """All instances of a loop with one schedule. C cells, I instances, P threads."""

    loop: str  # name of the loop
    n: int  # iterations
    schedule: str  # as measured
    technique: str  # with its parameters, as for a simulation
    rows: DataFrame  # of the measurement's ``loops``, one per instance
    measured: MeasurementTables
    size: Array  # int64 (C,): iterations of each cell
    ns: Array  # float64 (C, I): duration of each chunk; NaN: not in this instance
    thread: Array  # int64 (C, I): its thread; 0 where there is none
    repeat: Array  # int64 (I,): number of the repeat
    makespan_ns: Array  # float64 (I,): from the begin of the loop to its end
    start_ns: Array  # float64 (I,): mean time until a thread's first chunk
    request_ns: Array  # float64 (I,): median time between two chunks of a thread; NaN: no thread has two
    barrier_ns: Array  # float64 (I,): shortest time that a thread was at the barrier; NaN: unknown
    event_ns: float  # cost of the measurement of a chunk, which the makespan includes

    @property
    def kind(self) -> str:
        """Name of the technique without parameters: overheads belong to it."""
        return self.technique.partition(":")[0]

    @property
    def complete(self) -> bool:
        """Whether all instances have the same chunks."""
        return int(self.size.sum()) == self.n


@dataclass(frozen=True)
class Samples:
    """The samples of some measurements."""

    samples: list[Sample]
    threads: int  # of each team
    quiet: float  # spread of a loop of known work between runs: (90th - 10th percentile) / median; NaN: not measured
    remarks: list[str]  # lines on what was left out


def joined(measured: Sequence[MeasurementTables]) -> MeasurementTables:
    """Return measurements of one program as one, without the cost of the measurement in its chunks.

    Regions with the same name and kind are one; runs and repeats are numbered over all measurements. The column ``cost_ns`` of
    ``chunks`` is the cost that was subtracted.
    """
    regions: dict[tuple[str, str], int] = {}
    parts: dict[str, list[DataFrame]] = {name: [] for name in ("runs", "loops", "chunks", "waits")}
    run = repeat = 0
    for one in measured:
        pairs = list(zip(one.regions["name"], one.regions["kind"], strict=True))
        number = dict(zip(one.regions["region"], (regions.setdefault(p, len(regions)) for p in pairs), strict=True))
        cost = np.rint(float(one.record.overhead.get("event_ns", 0.0)) * one.chunks["chunks"]).astype(np.int64)
        ends = np.maximum(one.chunks["end_ns"] - cost, one.chunks["begin_ns"] + 1)
        changed = {
            "runs": one.runs.assign(repeat=one.runs["repeat"] + repeat),
            "loops": one.loops.assign(region=one.loops["region"].map(number)),
            "chunks": one.chunks.assign(end_ns=ends, cost_ns=one.chunks["end_ns"] - ends),
            "waits": one.waits,
        }
        for name, frame in changed.items():
            parts[name].append(frame.assign(run=frame["run"] + run))
        run += int(one.runs["run"].max()) + 1 if len(one.runs) else 0
        repeat += int(one.runs["repeat"].max()) + 1 if len(one.runs) else 0
    frames = {name: joined_frames(frames) for name, frames in parts.items()}
    names, kinds = [name for name, _ in regions], [kind for _, kind in regions]
    of_regions = rows_frame({"region": np.arange(len(regions)), "name": names, "kind": kinds})
    return replace(measured[0], record=replace(measured[0].record, overhead={}), regions=of_regions, **frames)


def read_samples(measured: MeasurementTables) -> Samples:
    """Return the samples of a measurement, as from :func:`joined`.

    Only teams of the largest number of threads count, and only successful runs.

    Raises
    ------
    InputError
        If no loop was measured at two known schedules or more, each twice or more.
    """
    runs = measured.runs[measured.runs["exit_status"] == 0]
    threads = int(measured.loops["threads"].max()) if len(measured.loops) else 0
    scheduled = runs[["run", "repeat"]].assign(asked=runs["schedule"])
    loops = measured.loops.merge(scheduled, on="run").merge(measured.regions, on="region")
    loops = loops[(loops["kind"] == "loop") & (loops["threads"] == threads)]
    loops = loops.assign(asked=loops["asked"].where(loops["asked"] != "", loops["schedule"]))
    each: dict[tuple[str, int], list[Sample]] = {}
    remarks: list[str] = []
    keys = zip(loops["name"].tolist(), loops["iterations"].tolist(), loops["asked"].tolist(), strict=True)
    for name, n, schedule in sorted(set(keys)):
        rows = loops[(loops["name"] == name) & (loops["iterations"] == n) & (loops["asked"] == schedule)]
        technique, why = _technique(schedule, set(rows["schedule"]), n)
        sample = None if why else _sample(measured, rows, (name, n, schedule, technique))
        if sample is None:
            remarks.append(f"left out: {name}, {schedule}: {why or 'chunks were merged, or are not known'}")
        elif sample.ns.shape[1] < 2:
            remarks.append(f"left out: {name}, {schedule}: measured once")
        else:
            each.setdefault((name, n), []).append(sample)
    remarks += [f"left out: {name}: measured at one schedule" for (name, _), of in each.items() if len(of) < 2]
    found = [one for of in each.values() if len(of) > 1 for one in of]
    if not found:
        raise InputError("; ".join(["no loop was measured at two schedules or more, each twice or more", *remarks]))
    times = runs["quiet_ns"].to_numpy()
    low, middle, high = np.percentile(times[times > 0], [10, 50, 90]) if (times > 0).any() else (np.nan,) * 3
    return Samples(found, threads, float((high - low) / middle), remarks)


def _technique(schedule: str, reported: set[str], n: int) -> tuple[str, str]:
    """The technique of a schedule, and why it cannot be used; empty if it can."""
    if n > MOST_TASKS:
        return "", f"{n} iterations; allowed: up to {MOST_TASKS}"
    try:
        technique = from_openmp(schedule, "schedule")
        loop_technique(technique)
    except InputError:
        return "", "a schedule that is not known"
    expected = _REPORTED.get(technique.partition(":")[0], "")
    if expected and not reported <= {expected, technique, technique.partition(":")[0]}:
        return "", f"the loop has run as {listed(sorted(reported))}"
    return technique, ""


def _sample(one: MeasurementTables, rows: DataFrame, names: tuple[str, int, str, str]) -> Sample | None:
    rows = rows.sort_values(["run", "loop"]).reset_index(drop=True)
    instance = rows[["run", "loop"]].assign(instance=np.arange(len(rows)), start=rows["begin_ns"])
    chunks = one.chunks.merge(instance, on=["run", "loop"]).sort_values(["instance", "thread", "begin_ns"])
    if not len(chunks) or (chunks["chunks"] > 1).any() or (chunks["first"] < 0).any():
        return None
    column, thread, first, size = (chunks[name].to_numpy() for name in ("instance", "thread", "first", "iterations"))
    begin, end = chunks["begin_ns"].to_numpy(), chunks["end_ns"].to_numpy()
    keys, cell = np.unique(first * (names[1] + 1) + size, return_inverse=True)
    shape = len(keys), len(rows)
    ns, threads = np.full(shape, np.nan), np.zeros(shape, np.int64)
    ns[cell, column] = np.maximum(end - begin, 1)
    threads[cell, column] = thread
    next_of_thread = (np.diff(column) == 0) & (np.diff(thread) == 0)
    fresh = np.append(True, ~next_of_thread)
    cost = chunks["cost_ns"].to_numpy()
    gaps, starts = begin[1:] - (end + cost)[:-1], begin - chunks["start"].to_numpy()
    waits = one.waits.merge(instance, on=["run", "loop"])
    lasting = (waits["end_ns"] - waits["begin_ns"]).groupby(waits["instance"]).min()
    return Sample(
        *names,
        rows,
        one,
        keys % (names[1] + 1),
        ns,
        threads,
        rows["repeat"].to_numpy(),
        (rows["end_ns"] - rows["begin_ns"]).to_numpy(np.float64),
        _by_instance(np.mean, starts[fresh], column[fresh], len(rows)),
        _by_instance(np.median, gaps[next_of_thread], column[1:][next_of_thread], len(rows)),
        lasting.reindex(range(len(rows))).to_numpy(np.float64),
        float(cost.mean()),
    )


def _by_instance(function: Any, values: Array, column: Array, n: int) -> Array:
    found = np.full(n, np.nan)
    for k in np.unique(column).tolist():
        found[k] = function(values[column == k])
    return found
