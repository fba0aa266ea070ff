"""The figures of a study's folder: a registry of what can be drawn of its tables and of their parts, and the files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bridge.runs.directory import FIGURES, put_aside, remove_files
from bridge.scenarios.scenario import RECORDED
from bridge.studies.comparing import COMPARISONS, base_of, compared
from bridge.studies.input.run_options import BATCH_OPTION, column_name
from bridge.studies.kept import KEPT_FIGURES, kept_frames
from bridge.studies.results import COSTS, RESULTS
from bridge.studies.study import ALWAYS, Study, short_word
from bridge.studies.study_record import drawn_in, list_drawn, read_study_record
from traces.base.errors import InputError, one_of
from traces.figures.study.combinations import FEW
from traces.figures.study.decisions import MOST_LINES
from traces.statistics import MIN_SEEDS
from traces.tables import read_rows

if TYPE_CHECKING:
    import pandas as pd

    from traces.figures.drawing.canvas import Figure


@dataclass(frozen=True, eq=False)
class Subset:
    """A part of a study's results."""

    words: str  # what tells it from the others, as ``W1, allocator best-fit``; empty if there is one only
    name: str  # the same in the name of a file: ``W1-allocator=best-fit``
    frame: pd.DataFrame


def subsets(study: Study, results: pd.DataFrame) -> Iterator[Subset]:
    """The parts, in the order of the results."""
    several = len(study.workloads) > 1
    further = [name for name in study.varied if name not in (*ALWAYS, BATCH_OPTION)]  # which the bars and lines say
    columns = {column_name(name): name for name in further}
    for key, frame in results.groupby(["workload", *columns], sort=False, dropna=False):
        values = dict(zip(columns, key[1:], strict=True))
        frame.attrs["exact"] = study.exact
        # What follows from the workload is not said.
        theirs = results[results["workload"] == key[0]]
        varying = {columns[name]: value for name, value in values.items() if theirs[name].nunique(dropna=False) > 1}
        words = [str(key[0])] * several + [f"{name} {value}" for name, value in varying.items()]
        names = [short_word(str(key[0]))] * several + [
            f"{name}={short_word(str(value))}" for name, value in varying.items()
        ]
        yield Subset(", ".join(words), "-".join(names), frame)


#: Of more parts than that of a study only figures that are asked for are drawn.
_MOST_PARTS = 12


#: The metrics of which the means of all combinations are drawn, and printed, by the names of their figures.
MEASURES = {
    "makespan": "makespan_ns",
    "wait": "mean_wait_ns",
    "slowdown": "mean_bounded_slowdown",
    "computing-utilisation": "computing_utilisation",
    "utilisation": "utilisation",
}


def _drawn_by(module: str, function: str, **how: str) -> Callable[[Any, str], Figure]:
    """A function of ``traces.figures``, which is loaded when it is called."""
    return lambda frame, title: getattr(import_module(f"traces.figures.{module}"), function)(frame, title=title, **how)


#: The figures of a study by name, as the functions draw them.
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

#: Those that are drawn of each part of the results.
OF_RESULTS = (*MEASURES, "variation", "ratio", "imbalance")


def read_results(folder: Path) -> pd.DataFrame:
    """The results of a finished study. Raises InputError if there are none."""
    if not (folder / RESULTS).is_file():
        raise InputError(f"{folder} has no {RESULTS}: the study is not finished; the command that began it goes on")
    return read_rows(folder / RESULTS, ("cell", "workload", "seed", "error"))


class FigureData(NamedTuple):
    """What one figure is drawn of."""

    name: str  # what the name of its file says, as ``W1-allocator=best-fit``; empty if there is one part only
    words: str  # what its title says
    frame: pd.DataFrame


def missing(name: str, frame: pd.DataFrame) -> str:
    """What a figure needs and some results do not have; empty: nothing."""
    if name == "decisions" and frame["label"].nunique() > MOST_LINES:
        return f"more than {MOST_LINES} combinations"
    metric = "makespan_ns" if name in ("variation", "ratio") else MEASURES.get(name)
    if metric is not None and not _has(frame, metric):
        return f"no {metric}"
    if name == "imbalance" and not _has(frame, "mean_imbalance"):
        return "no mean_imbalance"
    if name in ("variation", "ratio"):
        if frame["variation"].nunique() < 2:
            return "one variation only"
        if set(frame["als"]) == {RECORDED}:
            return "no tasks that vary"
    if name == "ratio" and frame["seed"].nunique() < MIN_SEEDS:
        return f"fewer than {MIN_SEEDS} seeds, and so no interval"
    return ""


def _has(frame: pd.DataFrame, metric: str) -> bool:
    return metric in frame.columns and bool(frame[metric].notna().any())


def parts_of(study: Study, folder: Path, name: str, *, anew: bool = True) -> list[FigureData]:
    """What a figure of a finished study is drawn of; ``anew``: not the comparisons that are written there, which others
    may be. Raises InputError if there are no results."""
    if name in OF_RESULTS:
        return [FigureData(part.name, _two_levels(part), part.frame) for part in subsets(study, read_results(folder))]
    if name in KEPT_FIGURES:
        several = len(study.workloads) > 1
        return [
            FigureData(short_word(workload) * several, f"{short_word(workload)}: all combinations", frame)
            for workload, frame in kept_frames(study, folder, name, read_results(folder))
        ]
    if name == "cost":
        costs = read_rows(folder / COSTS, ("jobs", "simulation_s")).query("jobs > 0 and simulation_s > 0")
        sizes = costs.groupby("workload")["jobs"].nunique()
        if sizes.empty or sizes.max() < 2:  # of cells that have all failed there are none
            return []  # there is nothing to see it grow by
        costs = costs.assign(wall_s=costs["simulation_s"])
        return [FigureData("", "", costs.assign(group=_groups(costs)))]
    found = compared(study, read_results(folder))[1] if anew else _written_comparisons(folder)
    if found is None:
        return []
    several = found["workload"].nunique() > 1
    bases = {str(option): rows["base"].nunique() for option, rows in found.groupby("option")}
    parts = []
    # What has no ratio is drawn as difference.
    no_ratio = dict.fromkeys(("ratio", "ratio_low", "ratio_high"), math.nan)
    wanted = [one for one in study.comparisons if one.drawn == "difference"]
    as_differences = {(column_name(one.option), str(base_of(study, one))) for one in wanted}
    for key, rows in found.groupby(["option", "base", *["workload"] * several], sort=False):
        if not np.isfinite(rows["difference_low"].to_numpy(np.float64)).any():
            continue  # too few seeds, or nothing random
        option, base, *workload = map(str, key)
        words = [f"{option} compared with {base.removesuffix('.0')}", *workload]
        names = [option, *[short_word(base)] * (bases[option] > 1), *map(short_word, workload)]
        drawn = rows.assign(**no_ratio) if (option, base) in as_differences else rows
        parts.append(FigureData("-".join(names), ", ".join(words), drawn))
    return parts


def _written_comparisons(folder: Path) -> pd.DataFrame | None:
    written = folder / COMPARISONS
    return read_rows(written, ("option", "metric")) if written.is_file() else None


def _two_levels(part: Subset) -> str:
    # The part, by its workload where there is one only, and what its bars and lines are.
    return f"{part.words or short_word(str(part.frame['workload'].iloc[0]))}: batch policy × technique"


def _groups(costs: pd.DataFrame) -> pd.Series[str]:
    # What varies beside the number of jobs; too many to be told apart are one.
    names = [costs[name].astype(str) for name in ("workload", "bls", "als") if costs[name].nunique() > 1]
    if not names:
        return costs["bls"].astype(str) + " × " + costs["als"].astype(str)
    found = names[0]
    for one in names[1:]:
        found = found + ", " + one
    if found.nunique() <= FEW:
        return found
    return (
        costs["workload"].astype(str) if costs["workload"].nunique() <= FEW else costs["als"].map(lambda _: "all cells")
    )


def fresh(stem: str, taken: set[str]) -> str:
    """A name that is not taken: parts may be called alike, as plug-ins of one name from two files are."""
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
) -> list[Path]:
    """Draw the figures of a study.

    - ``names``: of :data:`STUDY_FIGURES`; none is all that its results allow.
    - ``target``: where the files go, which replace others of their names; default ``figures`` in the folder, where what
      was drawn before is replaced, and a file of the user's whose name is needed gets a ``~`` behind it.
    - ``formats``: suffixes of the files of each.

    Returns the files. Raises InputError if a name is unknown, or what is asked for cannot be drawn of the results.
    """
    from traces.figures.drawing.canvas import save_all

    drawn = []
    study = study or read_study_record(folder).study()
    planned = list(planned_figures(study, folder, names))
    paths = {stem: [f"{stem}.{form}" for form in formats] for _, stem, *_ in planned}
    if target is None:
        target = folder / FIGURES
        _make_room(folder, [name for of_one in paths.values() for name in of_one], anew=not names)
    for name, stem, words, frame in planned:
        drawn += save_all(STUDY_FIGURES[name](frame, words), [target / file for file in paths[stem]])
    return drawn


def planned_figures(
    study: Study, folder: Path, names: Sequence[str] = ()
) -> Iterator[tuple[str, str, str, pd.DataFrame]]:
    """Each figure that is to be drawn: its name, that of its files, its title and what it is drawn of. Raises
    InputError: as :func:`draw_study_figures`."""
    stems: set[str] = set()
    for name in dict.fromkeys(names or STUDY_FIGURES):
        if name not in STUDY_FIGURES:
            raise one_of("figure", name, STUDY_FIGURES)
        parts = parts_of(study, folder, name, anew=False)
        if names and not parts:
            why = ""
            if (word := KEPT_FIGURES.get(name)) is not None and word not in study.keep:
                why = f'; it needs keep = ["{word}"] in [study]'
            raise InputError(f"{name}: {folder} has nothing to draw it of{why}")
        if not names and len(parts) > _MOST_PARTS:
            continue
        for part, words, frame in parts:
            why = missing(name, frame)
            if why and names:
                raise InputError(f"{name}: cannot be drawn of {folder}: {why}")
            if not why:
                yield name, fresh(f"{name}-{part}" if part else name, stems), words, frame


def _make_room(folder: Path, files: Sequence[str], *, anew: bool) -> None:
    # What was drawn of a study, perhaps of other parts, goes; what is not ours stays. The record lists the files before they
    # are there: whoever is killed while drawing leaves nothing that nobody owns.
    if (folder / FIGURES).is_symlink():
        return
    new, ours = {f"{FIGURES}/{file}" for file in files}, drawn_in(folder)
    put_aside(folder / name for name in sorted(new - ours))
    if anew:
        remove_files(folder, sorted(ours - new))
    list_drawn(folder, new if anew else new | ours)
