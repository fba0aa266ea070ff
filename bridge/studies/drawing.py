"""Figures of a study from its tables and kept files: the data of each, their files, and methods for notebooks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bridge.options.declared import ONLY
from bridge.runs.directory import FIGURES, power_words, put_aside, remove_files
from bridge.scenarios.scenario import RECORDED
from bridge.studies.input.run_options import BATCH_OPTION, column_name
from bridge.studies.results import COMPARISONS, COSTS, RESULTS, base_of, compared
from bridge.studies.study import ALWAYS, KEEP, Study, short_word
from bridge.studies.study_record import drawn_in, list_drawn, read_study_record
from traces.base.errors import InputError, one_of
from traces.base.options import named
from traces.base.time import NS_PER_S
from traces.compiled import Array
from traces.figures.drawing.canvas import Axes, Figure
from traces.figures.drawing.for_paper import CAPTIONS, ForPaper, placed, write_captions
from traces.figures.drawing.frames import sums_by_class
from traces.figures.drawing.panels import Box
from traces.figures.drawing.styles import FEW, UPSILON
from traces.figures.study.combinations import batch_label
from traces.figures.study.decisions import MOST_LINES
from traces.statistics import MIN_SEEDS
from traces.statistics.comparisons import finished, option_columns
from traces.statistics.intervals import CONFIDENCE
from traces.tables import BEGIN, read_columns, read_rows, rows_frame

if TYPE_CHECKING:
    import pandas as pd

#: The figures of kept tables, and the word of ``[study] keep`` that each needs.
KEPT_FIGURES = {
    "slowdown-boxes": "jobs",
    "queue-boxes": "decisions",
    "decisions": "decisions",
    "decision-cost": "decisions",
}

_OF_JOBS = ("submit_ns", "start_ns", "end_ns", "state", "why")


def kept_frames(study: Study, folder: Path, name: str, results: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The workloads of a finished study, each with a table for a figure of :data:`KEPT_FIGURES`, by ``label`` and ``batch``."""
    word = KEPT_FIGURES[name]
    if word not in study.keep:
        return
    costs = read_rows(folder / COSTS, ("cell", "seed", "simulation_s")).set_index(["cell", "seed"])["simulation_s"]
    for workload, rows in results[finished(results)].groupby("workload", sort=False):
        found: list[dict[str, Any]] = []
        for cell in rows["cell"].unique().tolist():
            of_cell = rows[rows["cell"] == cell]
            seeds = [int(seed) for seed in of_cell["seed"]]
            paths = [folder / "cells" / study.names[cell] / f"seed-{seed}" / KEEP[word] for seed in seeds]
            there = [(path, costs.get((cell, seed))) for path, seed in zip(paths, seeds, strict=True) if path.is_file()]
            named = _named(study, of_cell.iloc[0], rows)
            found += [{**named, **row} for row in _rows(name, there)]
        if found:
            yield str(workload), rows_frame(found)


def _named(study: Study, row: pd.Series[Any], rows: pd.DataFrame) -> dict[str, str]:
    # The name of a combination: the values that vary within its workload.
    def varies(column: str) -> bool:
        return column in rows and bool(rows[column].nunique(dropna=False) > 1)

    batch = batch_label(short_word(str(row["bls"])), str(row["backfill"]))
    words = [batch] if varies("bls") or varies("backfill") or not varies("als") else []
    words += [short_word(str(row["als"]))] if varies("als") else []
    words += [f"{UPSILON} = {row['variation']:g}"] if varies("variation") else []
    further = [one for one in study.varied if one not in (*ALWAYS, BATCH_OPTION) and varies(column_name(one))]
    words += [short_word(str(row[column_name(one)])) for one in further]
    return {"label": " × ".join(words), "batch": batch}


def _rows(name: str, tables: list[tuple[Path, Any]]) -> list[dict[str, float]]:
    if not tables:
        return []
    if name == "slowdown-boxes":
        from traces.figures.run.wait_times import bounded_slowdowns

        return _boxes(bounded_slowdowns(read_columns(path, _OF_JOBS, (BEGIN,))) for path, _ in tables)
    waits = ("waiting", "decision_ns")
    if name == "queue-boxes":
        return _boxes(read_columns(path, waits[:1])["waiting"].to_numpy() for path, _ in tables)
    if name == "decisions":
        frames = (read_columns(path, waits) for path, _ in tables)
        sums = np.sum([sums_by_class(*(frame[column].to_numpy() for column in waits)) for frame in frames], axis=0)
        passes, waiting, decision_ns = sums[:, sums[0] > 0]
        columns = {"passes": passes, "waiting": waiting / passes, "decision_ns": decision_ns / passes}
        return [dict(zip(columns, map(float, row), strict=True)) for row in zip(*columns.values(), strict=True)]
    passes, decision_ns, simulation_ns = 0, 0.0, 0.0
    for path, took_s in tables:
        column = read_columns(path, waits[1:])["decision_ns"]
        passes, decision_ns = passes + len(column), decision_ns + float(column.sum())
        simulation_ns += float(took_s) * NS_PER_S
    if not passes:
        return []
    rest_ns = max(simulation_ns - decision_ns, 0.0)
    return [{"passes": passes, "deciding_ns": decision_ns / passes, "rest_ns": rest_ns / passes}]


def _boxes(values: Iterator[Array]) -> list[dict[str, float]]:
    # The mean over the seeds of each number of a box.
    boxes = [Box.of(one) for one in values if len(one)]
    if not boxes:
        return []
    names = list(Box.__dataclass_fields__)
    means = np.mean([[getattr(box, name) for name in names] for box in boxes], axis=0)
    return [{**dict(zip(names, means.tolist(), strict=True)), "seeds": len(boxes)}]


class FigureData(NamedTuple):
    """A part of a study's results, drawn as one figure."""

    name: str  # suffix of its file, as ``W1-allocator=best-fit``; empty if there is only one part
    words: str  # its title, as ``W1, allocator best-fit``
    frame: pd.DataFrame


def subsets(study: Study, results: pd.DataFrame) -> Iterator[FigureData]:
    """The parts, in the order of the results, with distinct words."""
    several = len(study.workloads) > 1
    further = [name for name in study.varied if name not in (*ALWAYS, BATCH_OPTION)]  # the figure shows the others
    columns = {column_name(name): name for name in further}
    for key, frame in results.groupby(["workload", *columns], sort=False, dropna=False):
        values = dict(zip(columns, key[1:], strict=True))
        frame.attrs["exact"] = study.exact
        # Options that follow from the workload are not named.
        theirs = results[results["workload"] == key[0]]
        varying = {columns[name]: value for name, value in values.items() if theirs[name].nunique(dropna=False) > 1}
        words = [str(key[0])] * several + [f"{name} {value}" for name, value in varying.items()]
        names = [short_word(str(key[0]))] * several
        names += [f"{name}={short_word(str(value))}" for name, value in varying.items()]
        yield FigureData("-".join(names), ", ".join(words), frame)


def parts_of_rows(source: str, rows: pd.DataFrame, name: str) -> list[FigureData]:
    """The data of a figure of a grid in Python: one part for each combination of options that the figure does not show."""
    if name not in OF_RESULTS:
        return []
    further = [one for one in option_columns(rows) if one not in ALWAYS and rows[one].nunique(dropna=False) > 1]
    parts = []
    for key, frame in rows.groupby(further, sort=False, dropna=False) if further else [((), rows)]:
        values = [short_word(str(value)) for value in key]
        words = [f"{option} {value}" for option, value in zip(further, values, strict=True)]
        stem = "-".join(f"{option}={value}" for option, value in zip(further, values, strict=True))
        parts.append(FigureData(stem, f"{', '.join([source, *words])}: batch policy × technique", frame))
    return parts


_MOST_PARTS = 12  #: with more parts, only figures of the whole study are drawn unless others are requested

#: The metrics whose means are drawn and printed for all combinations, by the names of their figures.
MEASURES = {
    "makespan": "makespan_ns",
    "wait": "mean_wait_ns",
    "slowdown": "mean_bounded_slowdown",
    "computing-utilisation": "computing_utilisation",
    "utilisation": "utilisation",
}


def _drawn_by(module: str, function: str, **how: str) -> Callable[[Any, str], Figure]:
    return lambda frame, title: named(f"traces.figures.{module}:{function}")(frame, title=title, **how)


#: The figures of a study by name, and the functions that draw them.
STUDY_FIGURES: dict[str, Callable[[Any, str], Figure]] = {
    **{name: _drawn_by("study.makespans", "makespans_figure", metric=metric) for name, metric in MEASURES.items()},
    "variation": _drawn_by("study.variation", "variation_figure"),
    "ratio": _drawn_by("study.ratio", "ratio_figure"),
    "imbalance": _drawn_by("application.imbalance", "imbalance_figure"),
    "cost": _drawn_by("study.cost", "cost_figure"),
    "comparison": _drawn_by("study.comparison", "comparison_figure"),
    "slowdown-boxes": _drawn_by("study.distributions", "distributions_figure", of="slowdown"),
    "queue-boxes": _drawn_by("study.distributions", "distributions_figure", of="queue"),
    "decisions": _drawn_by("study.decisions", "decision_lines_figure"),
    "decision-cost": _drawn_by("study.decisions", "decision_cost_figure"),
}

OF_RESULTS = (*MEASURES, "variation", "ratio", "imbalance")  #: figures that are drawn for each part of the results


def read_results(folder: Path) -> pd.DataFrame:
    """The results of a finished study, of an older version under the present names. Raises InputError if there are none."""
    if not (folder / RESULTS).is_file():
        raise InputError(f"{folder} has no {RESULTS}: the study is not finished; repeat its command to continue")
    frame = read_rows(folder / RESULTS, ("cell", "workload", "seed", "error"))
    older = [name for name in ("power", "power_of") if name in option_columns(frame)]
    if "power_of" not in older and not (older and frame["power"].dtype == bool):
        return frame
    on, of = (frame[name].tolist() if name in older else [None] * len(frame) for name in ("power", "power_of"))
    frame = frame.assign(**{older[0]: list(map(power_words, on, of))}).rename(columns={older[0]: "power"})
    return frame.drop(columns=older[1:])


def missing(name: str, frame: pd.DataFrame) -> str:
    """The reason for which a figure cannot be drawn from some results; empty: it can."""
    if name == "decisions" and frame["label"].nunique() > MOST_LINES:
        return f"it has more than {MOST_LINES} combinations"
    needed = {"variation": "makespan_ns", "ratio": "makespan_ns", "imbalance": "mean_imbalance"} | MEASURES
    if (metric := needed.get(name)) and not (metric in frame and frame[metric].notna().any()):
        return f"no {metric}"
    if name in ("variation", "ratio"):
        if frame["variation"].nunique() < 2:
            return "it has one variation only"
        if set(frame["als"]) == {RECORDED}:
            return "it has no tasks that vary"
    if name == "ratio" and frame["seed"].nunique() < MIN_SEEDS:
        return f"it has fewer than {MIN_SEEDS} seeds, and so no interval"
    return ""


def parts_of(study: Study, folder: Path, name: str, *, again: bool = True) -> list[FigureData]:
    """The data of a figure of a finished study; ``again``: compare again instead of reading comparisons. Raises InputError."""
    if name in OF_RESULTS:
        parts = []
        for part in subsets(study, read_results(folder)):
            title = part.words or short_word(str(part.frame["workload"].iloc[0]))
            parts.append(part._replace(words=f"{title}: batch policy × technique"))
        return parts
    if name in KEPT_FIGURES:
        several = len(study.workloads) > 1
        tables = kept_frames(study, folder, name, read_results(folder))
        frames = ((short_word(workload), frame) for workload, frame in tables)
        return [FigureData(word * several, f"{word}: all combinations", frame) for word, frame in frames]
    if name == "cost":
        costs = read_rows(folder / COSTS, ("jobs", "simulation_s")).query("jobs > 0 and simulation_s > 0")
        sizes = costs.groupby("workload")["jobs"].nunique()
        if sizes.empty or sizes.max() < 2:
            return []
        return [FigureData("", "", costs.assign(wall_s=costs["simulation_s"], group=_groups(costs)))]
    if again:
        found = compared(study, read_results(folder))[1]
    else:
        written = folder / COMPARISONS
        found = read_rows(written, ("option", "metric")) if written.is_file() else None
    if found is None:
        return []
    from traces.figures.study.comparison import COMPARED

    several = found["workload"].nunique() > 1
    bases = {str(option): rows["base"].nunique() for option, rows in found.groupby("option")}
    parts = []
    # Without a ratio the difference is drawn.
    no_ratio = dict.fromkeys(("ratio", "ratio_low", "ratio_high"), math.nan)
    wanted = [one for one in study.comparisons if one.drawn == "difference"]
    as_differences = {(column_name(one.option), str(base_of(study, one))) for one in wanted}
    for key, rows in found.groupby(["option", "base", *["workload"] * several], sort=False):
        if not np.isfinite(rows["difference_low"].to_numpy(np.float64)).any():
            continue  # too few seeds, or nothing random
        option, base, *workload = map(str, key)
        compared_values = COMPARED.get(option, f"values of {option}")
        value = f"{UPSILON} = {base.removesuffix('.0')}" if option == "variation" else base.removesuffix(".0")
        words = [f"{compared_values} compared with {value}", *workload]
        names = [option, *[short_word(base)] * (bases[option] > 1), *map(short_word, workload)]
        drawn = rows.assign(**no_ratio) if (option, base) in as_differences else rows
        parts.append(FigureData("-".join(names), ", ".join(words), drawn))
    return parts


def _groups(costs: pd.DataFrame) -> pd.Series[str]:
    # The options that vary, other than the number of jobs; too many groups become one.
    names = [name for name in ("workload", "bls", "als") if costs[name].nunique() > 1]
    texts = costs[["workload", "bls", "als"]].astype(str)
    if not names:
        return texts["bls"] + " × " + texts["als"]
    found = texts[names].agg(", ".join, axis=1)
    if found.nunique() <= FEW:
        return found
    return texts["workload"] if texts["workload"].nunique() <= FEW else texts["als"].map(lambda _: "all cells")


def fresh(stem: str, taken: set[str]) -> str:
    """A name that is not taken: parts may have equal names, e.g. plug-ins from two files."""
    names = (stem, *(f"{stem}-{k}" for k in range(2, len(taken) + 3)))
    found = next(name for name in names if name not in taken)
    taken.add(found)
    return found


def draw_study_figures(
    folder: Path,
    names: Sequence[str] = (),
    target: Path | None = None,
    formats: Sequence[str] = ("svg", "png"),
    study: Study | None = None,
    paper: ForPaper | None = None,
) -> list[Path]:
    """Draw some of :data:`STUDY_FIGURES`, or all that the results allow, and return their files. Without a ``target`` they
    replace earlier ones in ``figures``, where a user's file whose name is needed gets a ``~`` after it. ``captions.txt``, next
    to the figures, has their captions. Raises InputError if a name is unknown, or the results lack the data."""
    from traces.figures.drawing.canvas import save_all

    drawn, how = [], paper or ForPaper()
    study = study or read_study_record(folder).study()
    planned = list(planned_figures(study, folder, names))
    paths = {stem: [f"{stem}.{form}" for form in formats] for _, stem, *_ in planned}
    if target is None:
        target = folder / FIGURES
        files = [name for of_one in paths.values() for name in of_one] + [CAPTIONS] * bool(paths)
        _make_room(folder, files, all_figures=not names)
    for name, stem, words, frame in planned:
        figure = STUDY_FIGURES[name](frame, words if how.titled else "")
        drawn += save_all(figure, [target / file for file in paths[stem]], how.width_in)
    if planned:
        write_captions(target, {stem: caption(name, words, frame) for name, stem, words, frame in planned})
    return drawn


_INTERVAL = f"Whiskers: {100 * CONFIDENCE:g} % confidence intervals of the mean over seeds (smoothed bootstrap-t)."
_PAIRED = f"{100 * CONFIDENCE:g} % confidence intervals over pairs of runs with the same seed (smoothed bootstrap-t)."
_BOXES = "Boxes: quartiles and median; whiskers: 5th and 95th percentile; diamonds: mean; each averaged over the seeds."

#: The captions of figures, after their titles and before their numbers of observations.
_SHOWS = {
    **{
        name: f"{name.replace('-', ' ').capitalize()}: means of the combinations. {_INTERVAL}"
        for name in (*MEASURES, "imbalance")
    },
    "variation": f"Makespan by task variation Υ. {_INTERVAL}",
    "ratio": f"Makespan divided by the makespan at the smallest task variation Υ. Whiskers: {_PAIRED}",
    "cost": "Wall time of a simulation by number of jobs. Points: means of the repetitions; whiskers: shortest and longest.",
    "comparison": f"Whiskers: {_PAIRED} Filled: the interval excludes “no change”.",
    "slowdown-boxes": f"Bounded slowdown of jobs. {_BOXES}",
    "queue-boxes": f"Jobs that wait before a scheduling pass. {_BOXES}",
    "decisions": "Mean wall time of a scheduling pass by the number of waiting jobs, without intervals.",
    "decision-cost": "Mean wall time of a simulation step, without intervals.",
}


def caption(name: str, words: str, frame: pd.DataFrame) -> str:
    """The caption of a figure of a part: its title, contents, number of observations, and intervals."""
    if name in OF_RESULTS:
        by = "cell" if "cell" in frame else "combination"
        counts, what = frame.groupby(by)["seed"].nunique(), "seeds per combination"
    elif name == "cost":
        counts, what = frame.groupby(["group", "jobs"]).size(), "repetitions per point"
    elif "seeds" in frame:
        counts, what = frame["seeds"], "seeds per combination"
    else:
        counts, what = frame.groupby("label")["passes"].sum(), "passes per combination"
    few, most = int(counts.min()), int(counts.max())
    n = f"{few:,}" if few == most else f"{few:,} to {most:,}"
    few_seeds = name in ("comparison", *OF_RESULTS) and few < MIN_SEEDS
    without = f" No interval with fewer than {MIN_SEEDS} seeds." * few_seeds
    return f"{words or name}. {_SHOWS[name]} n = {n} {what}.{without}"


def planned_figures(
    study: Study, folder: Path, names: Sequence[str] = ()
) -> Iterator[tuple[str, str, str, pd.DataFrame]]:
    """Each figure to draw: name, stem of its files, title and data. Raises InputError as :func:`draw_study_figures`."""
    stems: set[str] = set()
    for name in dict.fromkeys(names or STUDY_FIGURES):
        if name not in STUDY_FIGURES:
            raise one_of("figure", name, STUDY_FIGURES, str(ONLY))
        parts = parts_of(study, folder, name, again=False)
        if names and not parts:
            why = ""
            if (word := KEPT_FIGURES.get(name)) is not None and word not in study.keep:
                why = f'; it needs keep = ["{word}"] in [study]'
            raise InputError(f"{name}: {folder} lacks the data for it{why}")
        if not names and len(parts) > _MOST_PARTS:
            continue
        for part, words, frame in parts:
            why = missing(name, frame)
            if why and names:
                raise InputError(f"{name}: cannot be drawn from {folder}: {why}")
            if not why:
                yield name, fresh(f"{name}-{part}" if part else name, stems), words, frame


def _make_room(folder: Path, files: Sequence[str], *, all_figures: bool) -> None:
    # Removes earlier figures of the study and keeps other files. The record lists the new files before they exist, so that a
    # killed process leaves no unknown files.
    if (folder / FIGURES).is_symlink():
        return
    new, ours = {f"{FIGURES}/{file}" for file in files}, drawn_in(folder)
    put_aside(folder / name for name in sorted(new - ours))
    if all_figures:
        remove_files(folder, sorted(ours - (new - {f"{FIGURES}/{CAPTIONS}"})))  # with captions of removed figures
    list_drawn(folder, new if all_figures else new | ours)


def _figure(name: str) -> Callable[..., Figure]:
    # A method that draws a figure of this name.
    def draw(self: StudyPlots, *, part: str | None = None, title: str | None = None, ax: Axes | None = None) -> Figure:
        return self._drawn(name, part, title, ax)

    draw.__name__, draw.__doc__ = name.replace("-", "_"), _SHOWS[name]
    return draw


class StudyPlots:
    """Figures of a study: each method returns a matplotlib figure, which a notebook shows and ``savefig`` writes.

    A study with several workloads, or values of an option that a figure does not show, has several parts, each with its own
    figure, like the files of ``twolevel study``. ``part`` selects one; without it, the error lists them. ``title`` is written
    above; by default it names the part. With ``ax``, axes made by ``plt.subplots``, the figure replaces these axes.
    Raises InputError if the results do not allow the figure, or the part is unknown.
    """

    def __init__(self, parts: Callable[[str], Sequence[FigureData]]) -> None:
        self._parts = parts

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(str(one_of("figure", name, [one.replace("-", "_") for one in STUDY_FIGURES])))

    def _drawn(self, name: str, part: str | None, title: str | None, ax: Axes | None) -> Figure:
        taken: set[str] = set()
        parts = {fresh(one.name, taken): one for one in self._parts(name)}
        if not parts:
            raise InputError(f"{name}: the results lack the data for it")
        if part is None and len(parts) > 1:
            what = f"there is one figure for each of {len(parts)} parts"
            raise InputError(f"{name}: {what}; allowed: part= one of {', '.join(parts)}")
        if part is not None and part not in parts:
            raise one_of("part", part, parts, "part=")
        chosen = parts[part] if part is not None else next(iter(parts.values()))
        if why := missing(name, chosen.frame):
            raise InputError(f"{name}: cannot be drawn: {why}")
        with placed(ax):
            return STUDY_FIGURES[name](chosen.frame, chosen.words if title is None else title)


for _name in STUDY_FIGURES:
    setattr(StudyPlots, _name.replace("-", "_"), _figure(_name))
