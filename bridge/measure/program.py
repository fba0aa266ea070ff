"""Measured loops and tasks as programs that can be simulated: an application map, and files of lengths and graphs.

The program is that of one run: its loops and graphs of tasks in their order, with the time between them as serial phases. If
the sequence repeats, it is one step of several. A loop's lengths are medians over all instances of its region with as many
iterations.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from bridge.measure.fit import FAMILIES, FEWEST, LengthFit, fit_lengths
from bridge.measure.folder import MeasurementTables
from traces.base.errors import InputError
from traces.base.written_file import write_text
from traces.compiled import Array
from traces.tables import DataFrame, Values, write_rows

MOST_TASKS: Final = 1_000_000  #: a loop of more iterations has this many tasks, each of several iterations
MOST_PHASES: Final = 1_000  #: most loops of a program that do not repeat
_MOST_EXPANDED: Final = 20_000_000  # iterations of all instances from which lengths are taken

Key = tuple[int, int]  # a region, and the number of its iterations


@dataclass(frozen=True)
class MeasuredPart:
    """A loop or a graph of tasks of a measured program."""

    key: Key
    name: str  # of the region
    kind: str  # ``loop`` or ``tasks``
    lengths_ns: Array  # float64 (n,): time of each task; of a graph, in the order of the creations
    edges: tuple[tuple[int, int], ...] = ()  # of a graph: places of tasks
    fits: tuple[LengthFit, ...] = ()  # of a loop, the chosen one first; none with too few lengths
    of_each: int = 1  # most iterations of a task


@dataclass(frozen=True)
class MeasuredProgram:
    """A program as it was measured."""

    parts: dict[Key, MeasuredPart]
    sequence: tuple[Key, ...]  # parts in their order, in one step
    gaps_ns: tuple[float, ...]  # serial time before each part, and after the last
    threads: int  # of the run
    steps: int = 1

    @property
    def remarks(self) -> list[str]:
        """Lines on what was put together."""
        return [
            f"{part.name}: {part.key[1]} iterations are {len(part.lengths_ns)} tasks of up to {part.of_each}"
            for part in self.parts.values()
            if part.of_each > 1
        ]


def measured_program(measured: MeasurementTables, *, region: str = "") -> MeasuredProgram:
    """Return the program of a measurement.

    Parameters
    ----------
    measured : MeasurementTables
    region : str
        Only the region with this name; empty: all.

    Raises
    ------
    InputError
        If nothing was measured, there is no such region, or the program has too many loops that do not repeat.
    """
    loops = measured.loops[measured.loops["threads"] > 0]
    if region:
        chosen = measured.regions[measured.regions["name"] == region]
        if not len(chosen):
            raise InputError(f"region {region} is not in the measurement; it has {', '.join(measured.regions['name'])}")
        loops = loops[loops["region"].isin(chosen["region"])]
    if not len(loops):
        raise InputError("the measurement has no loops and no tasks")
    first = int(loops["run"].min())
    runs = {run: loops[loops["run"] == run].sort_values("begin_ns") for run in dict.fromkeys(loops["run"].tolist())}
    sequence = _keys(runs[first])
    alike = [rows for rows in runs.values() if _keys(rows) == sequence]
    ends = measured.runs.set_index("run")
    gaps = np.median([_gaps(rows, ends.loc[int(rows["run"].iloc[0])]) for rows in alike], axis=0)
    block, steps = _repetition(sequence)
    if block > MOST_PHASES:
        raise InputError(f"{block} loops that do not repeat; allowed: up to {MOST_PHASES}; choose a region")
    parts = {key: _part(measured, loops, key) for key in dict.fromkeys(sequence)}
    # In a program of several steps, each has its part of the time before the first loop and after the last.
    inner = gaps[1:-1] if len(sequence) > 1 else np.zeros(0)
    before = [float(np.median(inner[k - 1 :: block])) for k in range(1, block)]
    around = (float(gaps[0] + gaps[-1]) + float(inner[block - 1 :: block].sum())) / steps
    threads = int(runs[first]["threads"].max())
    return MeasuredProgram(parts, tuple(sequence[:block]), (around, *before, 0.0), threads, steps)


def _keys(rows: DataFrame) -> list[Key]:
    return list(zip(rows["region"].tolist(), rows["iterations"].tolist(), strict=True))


def _gaps(rows: DataFrame, run: Any) -> Array:
    """Time before each loop, and after the last; loops that overlap have none between them."""
    begin, end = rows["begin_ns"].to_numpy(), np.maximum.accumulate(rows["end_ns"].to_numpy())
    last = max(int(run["end_ns"]) - int(run["begin_ns"]), int(end[-1]))
    return np.asarray(np.maximum(np.append(begin, last) - np.concatenate([[0], end]), 0))


def _repetition(sequence: Sequence[Key]) -> tuple[int, int]:
    """The shortest block whose repetition is the sequence, and how often it is repeated."""
    n = len(sequence)
    for block in range(1, n // 2 + 1):
        if n % block == 0 and all(sequence[k] == sequence[k - block] for k in range(block, n)):
            return block, n // block
    return n, 1


def _part(measured: MeasurementTables, loops: DataFrame, key: Key) -> MeasuredPart:
    rows = loops[(loops["region"] == key[0]) & (loops["iterations"] == key[1])]
    region = measured.regions.set_index("region").loc[key[0]]
    name, kind = str(region["name"]), str(region["kind"])
    if kind == "tasks":
        lengths, edges = _graph(measured, rows)
        return MeasuredPart(key, name, kind, lengths, edges)
    lengths, of_each = iteration_ns(measured, rows)
    fits = tuple(fit_lengths(lengths)) if len(lengths) >= FEWEST else ()
    return MeasuredPart(key, name, "loop", lengths, (), fits, of_each)


def iteration_ns(measured: MeasurementTables, loops: DataFrame) -> tuple[Array, int]:
    """Return the time of each iteration of a loop.

    An iteration's time is the median over the smallest chunks that it was in, of their time per iteration without the cost of
    the measurement.

    Parameters
    ----------
    measured : MeasurementTables
    loops : DataFrame
        Rows of ``measured.loops``: instances of one region with the same number of iterations.

    Returns
    -------
    float64 (n,), int
        ns of each task, at least 1: an iteration, or with more than ``MOST_TASKS`` several; and how many at most.
    """
    n = int(loops["iterations"].iloc[0])
    rows = measured.chunks.merge(loops[["run", "loop"]], on=["run", "loop"])
    rows = rows[(rows["first"] >= 0) & (rows["first"] + rows["iterations"] <= n)]
    if (rows["chunks"] == 1).any():
        rows = rows[rows["chunks"] == 1]  # merged chunks need not be adjacent
    if not len(rows):
        raise InputError(f"a loop of {n} iterations has no chunks; its lengths are not known")
    event_ns = float(measured.record.overhead.get("event_ns", 0.0))
    size = rows["iterations"].to_numpy()
    time = (rows["end_ns"] - rows["begin_ns"]).to_numpy() - event_ns * rows["chunks"].to_numpy()
    each = np.maximum(time, size) / size
    if n > MOST_TASKS:
        # Means over blocks of iterations: chunks are added where they begin.
        tasks, place = MOST_TASKS, rows["first"].to_numpy() * MOST_TASKS // n
        total, count = (np.bincount(place, values, tasks) for values in (each * size, size))
        mean = np.interp(np.arange(tasks), np.flatnonzero(count), total[count > 0] / count[count > 0])
        return np.asarray(mean * (n / tasks)), -(-n // tasks)
    first, size, each = _finest(rows["first"].to_numpy(), size, each, n)
    at = np.repeat(first - np.concatenate([[0], np.cumsum(size)[:-1]]), size) + np.arange(size.sum())
    values, sizes = np.repeat(each, size), np.repeat(size, size)
    smallest = np.full(n, n + 1)
    np.minimum.at(smallest, at, sizes)
    kept = sizes == smallest[at]
    return _medians(at[kept], values[kept], n), 1


def _finest(first: Array, size: Array, each: Array, n: int) -> tuple[Array, Array, Array]:
    # As many chunks as fit, the smallest ones first: enough to cover every iteration several times.
    order = np.argsort(size, kind="stable")
    kept = order[np.cumsum(size[order]) <= max(_MOST_EXPANDED, 2 * n)]
    return first[kept], size[kept], each[kept]


def _medians(at: Array, values: Array, n: int) -> Array:
    """The median of the values at each place; between known places, where there is none, on a line."""
    order = np.lexsort((values, at))
    at, values = at[order], values[order]
    begin = np.searchsorted(at, np.arange(n))
    count = np.searchsorted(at, np.arange(n), side="right") - begin
    known = np.flatnonzero(count)
    low, high = (begin[known] + (count[known] - 1 + up) // 2 for up in (0, 1))
    found = 0.5 * (values[low] + values[high])
    return np.maximum(np.interp(np.arange(n), known, found), 1.0)


def _graph(measured: MeasurementTables, loops: DataFrame) -> tuple[Array, tuple[tuple[int, int], ...]]:
    """The tasks of one instance, that of the median time, and their dependences; a task follows the one that created it."""
    time = (loops["end_ns"] - loops["begin_ns"]).to_numpy()
    row = loops.iloc[int(np.argsort(time, kind="stable")[(len(time) - 1) // 2])]
    which = (measured.tasks["run"] == row["run"]) & (measured.tasks["loop"] == row["loop"])
    tasks = measured.tasks[which].sort_values(["created_ns", "task"])
    place = {int(task): k for k, task in enumerate(tasks["task"])}
    edges = {(place[creator], k) for k, creator in enumerate(tasks["creator"].tolist()) if creator in place}
    which = (measured.dependences["run"] == row["run"]) & (measured.dependences["loop"] == row["loop"])
    pairs = measured.dependences[which]
    edges |= {
        (place[before], place[after])
        for before, after in zip(pairs["before"].tolist(), pairs["after"].tolist(), strict=True)
        if before in place and after in place
    }
    return np.maximum(tasks["run_ns"].to_numpy(np.float64), 1.0), tuple(sorted(edges))


def write_program(program: MeasuredProgram, folder: Path, named: Path | None = None) -> None:
    """Write the program as ``measured.toml``, with the lengths as measured, and as ``fitted.toml``, with distributions.

    Further files: ``lengths-K.txt``, ns of each task of part K, or ``tasks-K.dot``; and ``fits.parquet``. The maps name these
    in the folder ``named``, which it will be; by default as it is.
    """
    write_rows(fit_rows(program), folder / "fits.parquet")
    names = {key: k for k, key in enumerate(program.parts)}
    for key, k in names.items():
        part = program.parts[key]
        if part.kind == "loop":
            lines = [f"# ns of each task of {part.name}", *(f"{ns:.0f}" for ns in whole_ns(part.lengths_ns).tolist())]
            write_text(folder / f"lengths-{k}.txt", "\n".join(lines) + "\n")
        else:
            write_text(folder / f"tasks-{k}.dot", _dot(part))
    for name, fitted in (("measured", False), ("fitted", True)):
        write_text(folder / f"{name}.toml", _map(program, named or folder, names, fitted=fitted))


def program_summary(program: MeasuredProgram) -> list[tuple[str, str]]:
    """Return the fitted distribution of each loop in words, by its name."""
    return [
        (f"Υ of {part.name}", f"{_cov(part.lengths_ns):.3f}; {part.fits[0].words}")
        for part in program.parts.values()
        if part.fits
    ]


def _cov(lengths: Array) -> float:
    return float(lengths.std() / lengths.mean())


def draw_lengths(program: MeasuredProgram, path: Path) -> None:
    """Draw the lengths of the loops, with the fitted densities, into a file, if there are any."""
    from traces.figures.application.measured_lengths import MeasuredLengths, measured_lengths_figure
    from traces.figures.drawing.canvas import save

    loops = []
    for part in program.parts.values():
        if part.kind == "loop":
            at, density, words = np.zeros(0), np.zeros(0), ""
            if part.fits:
                words = part.fits[0].words
            if part.fits and part.fits[0].name in FAMILIES:
                at = np.linspace(1e-3, max(2.0, float(part.lengths_ns.max() / part.lengths_ns.mean())), 500)
                density = part.fits[0].density(at)
            loops.append(MeasuredLengths(part.name, part.lengths_ns, words, at, density))
    if loops:
        save(measured_lengths_figure(loops), path)


def whole_ns(lengths_ns: Array) -> Array:
    """Return lengths in whole ns, as the simulator has them, so that all consecutive ones take their time together."""
    return np.asarray(np.diff(np.floor(np.cumsum(lengths_ns) + 0.5), prepend=0.0))


def _dot(part: MeasuredPart) -> str:
    # A ns is 1e-9 GFLOP: the work at 1 GFLOP/s.
    nodes = [f"  t{k} [gflop={ns * 1e-9!r}];" for k, ns in enumerate(part.lengths_ns.tolist())]
    edges = [f"  t{before} -> t{after};" for before, after in part.edges]
    return "\n".join(["digraph tasks {", *nodes, *edges, "}", ""])


def _map(program: MeasuredProgram, folder: Path, names: dict[Key, int], *, fitted: bool) -> str:
    steps = f"steps = {program.steps}\n" if program.steps > 1 else ""
    parallel = [program.parts[key].lengths_ns.sum() / program.threads for key in program.sequence]
    total = sum(program.gaps_ns) + sum(parallel)
    phases = []
    for key, gap in zip(program.sequence, program.gaps_ns, strict=False):
        if gap > 0:
            phases.append(f'    {{ kind = "serial", share = {gap / total:.9g} }},')
        phases.append(f"    {_phase(program.parts[key], folder, names[key], program.threads * total, fitted=fitted)},")
    what = "distributions fitted to the lengths" if fitted else "the lengths as measured"
    head = f"# The measured program with {what}; shares are parts of its time on {program.threads} balanced cores."
    return "\n".join([head, "[default]", f"{steps}phases = [", *phases, "]", ""])


def _phase(part: MeasuredPart, folder: Path, k: int, total: float, *, fitted: bool) -> str:
    share = f"share = {part.lengths_ns.sum() / total:.9g}"
    if part.kind == "tasks":
        graph = json.dumps(f"file:{folder / f'tasks-{k}.dot'}", ensure_ascii=False)
        return f'{{ kind = "graph", {share}, graph = {graph} }}'
    file, tasks = str(folder / f"lengths-{k}.txt"), ""
    spec = f"file:{file},unit=ns"
    if fitted and part.fits:
        spec, tasks = part.fits[0].spec(file), f", tasks = {len(part.lengths_ns)}"
    return f'{{ kind = "loop", {share}, lengths = {json.dumps(spec, ensure_ascii=False)}{tasks} }}'


def fit_rows(program: MeasuredProgram) -> dict[str, Any]:
    """Return the fits of all loops as columns, a row for each loop and distribution."""
    rows = [(part, fit) for part in program.parts.values() for fit in part.fits]
    return {
        "region": Values([part.name for part, _ in rows], "text"),
        "iterations": [part.key[1] for part, _ in rows],
        "distribution": Values([fit.name for _, fit in rows], "text"),
        "cov": [fit.cov for _, fit in rows],
        "drift": [fit.drift for _, fit in rows],
        "score": [fit.score for _, fit in rows],
        "gap": [fit.gap for _, fit in rows],
    }
