"""The report page of a comparison of two runs, from the output of ``twolevel compare --out`` or from the runs."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bls.engine.features.records import START_DELAY
from bridge.compare.comparison import RUNS, Comparison, most_moved
from bridge.compare.record import FIGURES, METRICS, compare_runs, rankings, read_run, write_comparison
from bridge.report import parts as p
from bridge.report.metric_texts import Metric, metric_of
from bridge.report.page import Page
from bridge.runs.again import path_word
from bridge.runs.directory import read_record
from bridge.runs.page import left_out, parts_of_folder, timeline_of
from bridge.scratch import scratch_folder
from traces.base.errors import InputError
from traces.base.time import format_ns
from traces.tables import DataFrame, read_rows
from traces.timeline import timeline_text

RECORD = "comparison.json"

#: Columns that are visible at first, in this order: a phone shows the first three.
_SHOWN = (
    *("job_id", "start_delta_ns", "run_delta_ns", "cores", "cause_b", "cause_job_b", "submit_ns", "start_a_ns"),
    *("start_b_ns", "end_delta_ns", "chain_links", "later_jobs"),
)

#: The columns that a page needs.
_NEEDED = (
    *("job_id", "attempt", "start_delta_ns", "start_a_ns", "start_b_ns", "cause_a", "cause_b"),
    *("cause_job_a", "cause_job_b", "cause_attempt_a", "cause_attempt_b"),
)

#: Words for options in titles and tables; other options have their own names.
_OPTIONS = {"bls": "batch policy", "als": "technique", "variation": "variation Υ"}

_MOST_NAMED = 3  #: most options that a title names
_UNNAMED = {"twolevel", "tasks_table", "keep_decisions", "trace", "trace_detail", "trace_window", "trace_cores"}
_TOP = 10

#: Causes of the start of a job in a run (``cause_a``, ``cause_b``) in words, in which {job} is the job that caused it.
_CAUSES = {
    "submit": "started at its submit",
    "eligible": "started when it became eligible",
    START_DELAY.cause: f"waited for its {START_DELAY.awaited}",
    "pass": "started in a pass in which no job ended",
}

#: The title of each ranking, and its sentence about a job.
_RANKINGS = {
    "most_delayed": ("Largest delays in B", "started {by} later{cause}"),
    "most_advanced": ("Largest gains in B", "started {by} earlier{cause}"),
    "most_delaying": ("Longer runs in B that delayed other jobs most", "ran {ran} longer: delayed {later_jobs} jobs"),
    "most_advancing": (
        "Shorter runs in B that advanced other jobs most",
        "ran {ran} shorter: advanced {earlier_jobs} jobs",
    ),
}


def comparison_page(folder: Path) -> Page:
    """The page of a folder of ``twolevel compare --out``. Raises InputError if it is not such a folder, or cannot be read."""
    record = read_record(folder, RECORD, "compare --out")
    delays = read_rows(folder / "delays.parquet", _NEEDED)
    try:
        runs = {name: str(record["runs"][name]) for name in RUNS}
        counts = {str(name): int(count) for name, count in record["jobs"].items()}
        files = {words.format_map(counts): folder / f"{name}.svg" for name, words in FIGURES.items()}
        images = [(p.file_address(path), words) for words, path in files.items() if path.is_file()]
        return _page(images, record, delays, runs, counts, _timelines(runs, delays))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(f"{folder / RECORD}: is not a record of twolevel compare --out") from None


def page_of_two(a: Path, b: Path) -> Page:
    """Compare two results of ``twolevel run`` and return their page; errors as ``twolevel compare``."""
    runs = read_run(a), read_run(b)
    compared = compare_runs(*runs)
    with scratch_folder() as place:
        write_comparison(compared, *runs, place, row=most_moved(compared), top=_TOP)
        return comparison_page(place)


def page_of_comparison(compared: Comparison) -> Page:
    """The page of a comparison in Python, without folders of the runs."""
    from traces.figures.compare.start_delays import start_delays_figure

    drawn = [start_delays_figure(compared.delays)] if len(compared.delays) else []
    images = [(p.figure_address(figure), FIGURES["delays"].format_map(compared.counts)) for figure in drawn]
    return _page(images, rankings(compared, _TOP), compared.delays, {}, compared.counts)


def _page(
    images: Sequence[tuple[str, str]],
    record: Mapping[str, Any],
    delays: DataFrame,
    runs: Mapping[str, str],
    counts: Mapping[str, int],
    timelines: Sequence[p.Section] = (),
) -> Page:
    diagram = [p.Explorer("delays-data", "start_a_ns", "start_delta_ns", "cause_b")]
    sections = [*timelines, p.Section("diagram", "Diagram", diagram, "One point per job: start in A, delay in B.")]
    if images:
        sections.append(p.Section("figures", "Figures", [p.Figures(images)]))
    if moved := _rankings(record, delays):
        sections.append(p.Section("rankings", "Most affected jobs, and their causes", moved))
    table = p.Table("delays-data", "Compared jobs", delays, _SHOWN, "job_id")
    sort = "Click a heading to sort. The filter takes words and conditions, e.g. start_delta>1h."
    sections.append(p.Section("jobs", "Jobs", [table], f"Differences are B − A. {sort}"))
    if runs:
        sections.append(p.Section("again", "What was compared", _what(record, runs)))
    title = _title(record, runs) if runs else "Two runs"
    return Page("Comparison", title, _lead(record, counts, delays), _main(record, counts), sections)


def _title(record: Mapping[str, Any], runs: Mapping[str, str]) -> str:
    # The options that differ, except those about written files, or the folders if none does, or if too many do.
    found = {str(name): pair for name, pair in (record.get("differing") or {}).items() if name not in _UNNAMED}
    named = [f"{_OPTIONS.get(name, name)} {a} → {b}" for name, (a, b) in found.items()]
    if 0 < len(named) <= _MOST_NAMED:
        return ", ".join(named)
    return " → ".join(Path(runs[name]).name for name in RUNS)


def _timelines(runs: Mapping[str, str], delays: DataFrame) -> list[p.Section]:
    # Both timelines, or none if a folder now holds another run than the compared one.
    sections = []
    for name, folder in runs.items():
        side = name.lower()
        try:
            parts = parts_of_folder(Path(folder))
            keys = ["job_id", "attempt"]
            starts = delays[keys].merge(parts.jobs, on=keys, how="left")["start_ns"]
            if not np.array_equal(starts, delays[f"start_{side}_ns"]):
                return []
            of_side = {f"{cause}_{side}": cause for cause in ("cause", "cause_job", "cause_attempt")}
            causes = delays[[*keys, *of_side]].rename(columns=of_side)
            columns = timeline_text(timeline_of(parts, causes))
        except InputError:
            return []
        about = f"{Path(folder).name}: both timelines zoom and move together. Click a job to see why it started."
        part = p.Timeline(columns, f"timeline-{side}-data")
        sections.append(p.Section(f"timeline-{side}", f"Timeline of {name}", [part], about, left_out(parts)))
    return sections


def _lead(record: Mapping[str, Any], counts: Mapping[str, int], delays: DataFrame) -> list[str]:
    n = counts["compared"]
    first = f"Of {n:,} jobs that started in both runs, {counts['later']:,} started later in B, "
    first += f"{counts['earlier']:,} earlier and {counts['same']:,} at the same instant."
    parts = [first]
    if len(delays):
        far = {"delay": int(delays["start_delta_ns"].max()), "gain": int(delays["start_delta_ns"].min())}
        most = [f"largest {word} {format_ns(abs(one))}" for word, one in far.items() if one]
        parts += [f"{', '.join(most)}.".capitalize()] if most else []
    shown = ([metric_of(name, one) for one in pair] for name, pair in _pairs(record))
    if words := "; ".join(f"{a.name} {a.value} in A, {b.value} in B" for a, b in shown):
        parts.append(f"{words[0].upper()}{words[1:]}.")
    parts.append("This compares two single runs.")
    return parts


def _main(record: Mapping[str, Any], counts: Mapping[str, int]) -> list[Metric]:
    shown = {"compared": "compared jobs", "later": "later in B", "earlier": "earlier in B"}
    found = [Metric(words, f"{counts[name]:,}") for name, words in shown.items()]
    for name, pair in _pairs(record):
        by, one = round(pair[1] - pair[0]), metric_of(name, pair[0])
        size = f"{'−' if by < 0 else '+'}{format_ns(abs(by))}" if by else "0 s"
        found.append(Metric(f"{one.name}, B − A", size, "", one.definition))
    return found


def _pairs(record: Mapping[str, Any]) -> list[tuple[str, list[Any]]]:
    # The metrics that both runs have.
    pairs = [(name, record.get(name)) for name in METRICS]
    return [(name, pair) for name, pair in pairs if isinstance(pair, list) and len(pair) == 2 and None not in pair]


def _rankings(record: Mapping[str, Any], delays: DataFrame) -> list[p.Lines]:
    parts = []
    causes = _causes(delays)
    for key, (title, words) in _RANKINGS.items():
        lines = []
        for one in record.get(key) or []:
            cause = causes.get((one["job_id"], one["attempt"]), "")
            values = {"by": format_ns(abs(one["start_delta_ns"])), "ran": format_ns(abs(one["run_delta_ns"])), **one}
            again = f" (attempt {one['attempt']})" if one["attempt"] else ""
            lines.append(f"job {one['job_id']}{again} {words.format_map(values | {'cause': cause})}")
        if lines:
            parts.append(p.Lines(title, lines))
    return parts


def _causes(delays: DataFrame) -> dict[tuple[int, int], str]:
    # Cause of the start in each run of the compared attempts, by job and attempt.
    found = {}
    columns = ["job_id", "attempt", *(f"{name}_{side}" for side in "ab" for name in ("cause", "cause_job"))]
    for job, attempt, *sides in delays[columns].itertuples(index=False, name=None):
        texts = []
        for run, cause, other in zip(RUNS, sides[::2], sides[1::2], strict=True):
            words = _CAUSES.get(str(cause)) or (f"waited for job {other}" if int(other) >= 0 else "")
            texts += [f"in {run} it {words}"] if words else []
        found[job, attempt] = f": {', '.join(texts)}" if texts else ""
    return found


def _what(record: Mapping[str, Any], runs: Mapping[str, str]) -> list[Any]:
    rows = [(_OPTIONS.get(name, name), a, b) for name, (a, b) in record.get("differing", {}).items()]
    command = shlex.join(["twolevel", "compare", *(path_word(runs[name]) for name in RUNS), "--out", "again"])
    return [
        p.Command("To compare them again:", command),
        p.Facts([("folder", runs["A"], runs["B"]), *rows], ("what differs", "A", "B")),
        p.versions_of(record),
    ]
