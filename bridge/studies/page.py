"""The report page of a study, finished or under way."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.report import parts as p
from bridge.report.metric_texts import Metric, metric_of
from bridge.report.page import Page
from bridge.runs.again import path_word
from bridge.runs.directory import read_record
from bridge.studies import drawing
from bridge.studies.input.run_options import column_name
from bridge.studies.results import COMPARISONS, RESULTS, compared, metric_names, results_so_far, why_no_comparison
from bridge.studies.study import Study
from bridge.studies.study_record import RECORD, read_study_record
from traces.metric_units import interval_text
from traces.statistics.comparisons import option_columns
from traces.tables import read_rows

if TYPE_CHECKING:
    import pandas as pd

#: The metrics of cells that are shown first.
_SHOWN = (
    *("makespan_ns", "mean_wait_ns", "p95_wait_ns", "max_wait_ns", "mean_bounded_slowdown"),
    *("computing_utilisation", "utilisation", "mean_imbalance"),
)

_IN_LEAD = ("makespan_ns", "mean_wait_ns")  #: the metrics of the first lines of a page

#: The columns of a comparison that are shown first. The ratio, with its interval, and the means are texts in fitting units.
_COMPARED = ("option", "base", "value", "metric", "ratio", "mean of base", "mean of value", "seeds")

_MOST_FIGURES = 12  #: number of figures on a page


class StudyState(NamedTuple):
    """Progress of a study."""

    study: Study
    results: pd.DataFrame  # one row per cell and seed that has ended, as in results.parquet
    finished: bool  # whether its tables are written


def state_of(folder: Path) -> StudyState:
    """Return the progress of the study in a folder. Raises InputError if there is none, or it cannot be read."""
    study = read_study_record(folder).study()
    finished = (folder / RESULTS).is_file()
    return StudyState(study, drawing.read_results(folder) if finished else results_so_far(study, folder), finished)


def study_page(folder: Path, state: StudyState | None = None, live_s: int = 0) -> Page:
    """The page of a study, which reloads itself every ``live_s`` seconds, 0: never. Raises InputError as :func:`state_of`."""
    state = state or state_of(folder)
    study, finished = state.study, state.finished
    record = read_record(folder, RECORD, "study")
    varied = tuple(column_name(name) for name in study.varied)
    results = state.results.assign(combination=_combinations(varied, state.results))
    planned = islice(drawing.planned_figures(study, folder), _MOST_FIGURES) if finished else ()
    figures = [_image(name, words, frame) for name, _, words, frame in planned]
    comparisons = _comparisons(study, folder, state.results, varied) if finished else []
    sections = _sections(results, varied, figures, comparisons)
    sections.append(p.Section("again", "What was run", _what(record, study, folder)))
    cells, seeds = len(study.cells), len(study.seeds)
    of = _many(seeds, study.replicates.unit)
    first = f"{_many(cells, 'combination')} × {of}: {_many(len(study), 'run')}; "
    first += "all finished" if finished else f"{len(results):,} finished so far"
    lead = [*([study.description] if study.description else []), *_lead(first, results)]
    main = _main(cells, seeds, results, len(study))
    return Page("Study", study.name or folder.name, lead, main, sections, live_s)


def page_of_rows(source: str, results: pd.DataFrame) -> Page:
    """The page of a grid in Python: its rows as a frame with the columns of results.parquet."""
    varied = tuple(name for name in option_columns(results) if results[name].nunique() > 1)
    results = results.assign(combination=_combinations(varied, results))
    figures = [
        _image(name, part.words, part.frame)
        for name in drawing.OF_RESULTS
        for part in drawing.parts_of_rows(source, results, name)
        if not drawing.missing(name, part.frame)
    ][:_MOST_FIGURES]
    cells, seeds = results["combination"].nunique(), results["seed"].nunique()
    first = f"{_many(cells, 'combination')} × {_many(seeds, 'seed')}: {_many(len(results), 'run')}"
    sections = _sections(results, varied, figures, [])
    return Page("Grid", source, _lead(first, results), _main(cells, seeds, results, len(results)), sections)


def _sections(
    results: pd.DataFrame, varied: Sequence[str], figures: Sequence[tuple[str, str]], comparisons: Sequence[p.Section]
) -> list[p.Section]:
    metrics = _first_metrics(results)
    if not len(results) or not metrics:
        return [*comparisons]
    if (results["error"] != "").all():
        words = ["combination", "seed", "error"]
        table = p.Table("results-data", "Runs", results[words], words)
        return [p.Section("runs", "Runs", [table], "All runs failed.")]
    explorer = p.Explorer("results-data", metrics[0], "combination")
    about = "One point per run; lines are means of groups."
    sections = [p.Section("diagram", "Diagram", [explorer], about)]
    if figures:
        sections.append(p.Section("figures", "Figures", [p.Figures(figures)]))
    numbers = [name for name in metric_names(results) if results[name].dtype.kind in "iuf"]
    keys = [name for name in dict.fromkeys(["cell", "workload", *varied]) if name in results.columns]
    groups = results.groupby(keys, sort=False, dropna=False)
    cells = groups[numbers].mean().reset_index().merge(groups.size().rename("runs").reset_index())
    table = p.Table("cells-data", "Combinations", cells, [*keys, "runs", *metrics])
    sections.append(p.Section("cells", "Combinations", [table], "Means over seeds."))
    failed = ["error"] if (results["error"] != "").any() else []
    runs = p.Table("results-data", "Runs", results, ["combination", "seed", *failed, *metrics])
    about = "Click a heading to sort. The filter takes words and conditions, e.g. seed=3 makespan>1h."
    return [*sections, *comparisons, p.Section("runs", "Runs", [runs], about)]


def _comparisons(study: Study, folder: Path, results: pd.DataFrame, varied: Sequence[str]) -> list[p.Section]:
    # As stored; a study that was run in Python has none stored.
    written = (folder / COMPARISONS).is_file()
    found = read_rows(folder / COMPARISONS, ("option", "metric")) if written else compared(study, results)[1]
    if found is None:
        why = why_no_comparison(study)
        return [p.Section("compared", "Comparisons", [p.Lines("", [f"{why[0].upper()}{why[1:]}."])])] if why else []
    about = (
        "Paired over seeds. If the 95 % interval excludes 1, the difference is significant at the 5 % level with respect to "
        "the seeds (not to other workloads)."
    )
    if study.exact:
        about = "Nothing is random, so differences are exact and have no interval."
    table = p.Table("compared-data", "Comparisons", _in_units(found), [*varied, *_COMPARED])
    return [p.Section("compared", "Comparisons", [table], about)]


def _in_units(found: pd.DataFrame) -> pd.DataFrame:
    # Ratios with their intervals, and means in units that fit each metric; the exact numbers stay in further columns.
    known = zip(found["ratio"], found["ratio_low"], found["ratio_high"], strict=True)
    ratios = [interval_text(*row) if math.isfinite(row[0]) else "" for row in known]
    frame = found.rename(columns={"ratio": "ratio_mean"}).assign(ratio=ratios)
    for of in ("base", "value"):
        pairs = zip(found["metric"], found[f"mean_{of}"], strict=True)
        frame[f"mean of {of}"] = [_with_unit(str(metric), mean) for metric, mean in pairs]
    return frame


def _with_unit(metric: str, mean: float) -> str:
    if not math.isfinite(mean):
        return ""
    shown = metric_of(metric, mean)
    return f"{shown.value} {shown.unit}".strip()


def _first_metrics(results: pd.DataFrame) -> list[str]:
    return [name for name in _SHOWN if name in results.columns] or metric_names(results)[:1]


def _many(n: int, word: str) -> str:
    return f"{n:,} {word}{'s' * (n != 1)}"


def _combinations(varied: Sequence[str], results: pd.DataFrame) -> list[str]:
    # The varying options, one text per row.
    names = [name for name in varied if name in results.columns]
    if results["workload"].nunique() > 1:
        names = ["workload", *names]
    if not names:
        return ["all"] * len(results)
    texts = results[names].map(lambda value: f"{value:g}" if isinstance(value, float) else str(value))
    return [" × ".join(words) for words in texts.to_numpy()]


def _lead(first: str, results: pd.DataFrame) -> list[str]:
    failed = int((results["error"] != "").sum())
    lead = [f"{first}{f', {failed:,} with an error' if failed else ''}."]
    ended = results[results["error"] == ""] if len(results) else results
    if not len(ended):
        return lead
    known = [name for name in _IN_LEAD if name in results.columns] or _first_metrics(results)
    for metric in known:
        means = ended.groupby("combination", sort=False)[metric].mean().dropna()
        if len(means) < 2:
            continue
        low, high = (_extreme(metric, means, float(value)) for value in (means.min(), means.max()))
        words = metric_of(metric, float(means.min())).name
        words = words if words.startswith("mean ") else f"mean {words}"
        if means.min() == means.max():
            lead.append(f"The {words} is the same in all combinations: {low.partition(' (')[0]}.")
        else:
            lead.append(f"Lowest {words}: {low}. Highest: {high}.")
    return lead


def _extreme(metric: str, means: pd.Series[float], value: float) -> str:
    # ``4 h 12 min (sjf × fac)``, or how many combinations tie.
    names = means.index[means == value]
    best = str(names[0]) if len(names) == 1 else f"{len(names)} combinations tie"
    return f"{_with_unit(metric, value)} ({best})"


def _main(cells: int, seeds: int, results: pd.DataFrame, total: int) -> list[Metric]:
    return [
        Metric("combinations", f"{cells:,}"),
        Metric("seeds", f"{seeds:,}"),
        Metric("finished runs", f"{len(results):,}", f"of {total:,}"),
        Metric("failed runs", f"{int((results['error'] != '').sum()):,}"),
    ]


def _image(name: str, words: str, frame: pd.DataFrame) -> tuple[str, str]:
    return p.figure_address(drawing.STUDY_FIGURES[name](frame, words)), drawing.caption(name, words, frame)


def _what(record: dict[str, Any], study: Study, folder: Path) -> list[p.PagePart]:
    inputs = record.get("inputs") or {}
    again = f"twolevel repeat {shlex.quote(path_word(folder))}"
    return [
        p.Command("Command that repeats it and compares every number:", again),
        p.Command("The study's file, for twolevel study FILE --out DIR:", study.text.strip()),
        p.Facts([(name, str(one.get("path"))) for name, one in inputs.items()], ("input", "file"), "Input files"),
        p.versions_of(record),
    ]
