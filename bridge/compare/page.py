"""The report page of a comparison of two runs: of what ``twolevel compare --out`` has written, or of the runs."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bridge.compare.comparison import RUNS, Comparison, ranked
from bridge.compare.record import METRICS, compare_runs, rankings, read_run, write_comparison
from bridge.report.metric_texts import Metric, metric_of
from bridge.report.page import Page
from bridge.report.parts import (
    Command,
    Explorer,
    Facts,
    Figures,
    Lines,
    Section,
    Table,
    Timeline,
    figure_address,
    file_address,
    versions_of,
)
from bridge.runs.again import path_word
from bridge.runs.directory import read_record
from bridge.runs.page import left_out, parts_of_folder, timeline_of
from bridge.scratch import scratch_folder
from traces.base.errors import InputError
from traces.base.time import format_ns
from traces.tables import read_rows
from traces.timeline import timeline_text

if TYPE_CHECKING:
    import pandas as pd

RECORD = "comparison.json"

#: The columns that one sees first.
_SHOWN = (
    *("job_id", "cores", "submit_ns", "start_a_ns", "start_b_ns", "start_delta_ns", "run_delta_ns", "end_delta_ns"),
    *("cause_b", "cause_job_b", "chain_links", "later_jobs"),
)

#: The columns that a page cannot do without.
_NEEDED = (
    *("job_id", "attempt", "start_delta_ns", "start_a_ns", "start_b_ns", "cause_a", "cause_b"),
    *("cause_job_a", "cause_job_b", "cause_attempt_a", "cause_attempt_b"),
)

_FIGURES = {
    "delays": "How much later each job started in B than in A, by its start in A",
    "chain": "The chain of causes of one job's delay",
}

_TOP = 10


def comparison_page(folder: Path) -> Page:
    """The page of a folder of ``twolevel compare --out``. Raises InputError if it is none, or cannot be read."""
    record = read_record(folder, RECORD, "compare --out")
    delays = read_rows(folder / "delays.parquet", _NEEDED)
    try:
        runs = {name: str(record["runs"][name]) for name in RUNS}
        counts = {str(name): int(count) for name, count in record["jobs"].items()}
        files = {name: folder / f"{name}.svg" for name in _FIGURES}
        images = [(file_address(path), _FIGURES[name]) for name, path in files.items() if path.is_file()]
        return _page(images, record, delays, runs, counts, _timelines(runs, delays))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(f"{folder / RECORD}: is not a record of twolevel compare --out") from None


def page_of_two(a: Path, b: Path) -> Page:
    """The page of two results of ``twolevel run``, which are compared for it; errors as ``twolevel compare``'s."""
    runs = read_run(a), read_run(b)
    compared = compare_runs(*runs)
    moved = [ranked(compared, "start_delta_ns", 1, later=later) for later in (True, False)]
    drawn = next((found[-1] for found in moved if found), None)
    with scratch_folder() as place:
        write_comparison(compared, *runs, place, row=drawn, top=_TOP)
        return comparison_page(place)


def page_of_comparison(compared: Comparison) -> Page:
    """The page of what was compared in Python, of which nobody knows what the runs were."""
    from traces.figures.compare.start_delays import start_delays_figure

    delays = compared.delays
    images = [(figure_address(start_delays_figure(delays)), _FIGURES["delays"])] if len(delays) else []
    return _page(images, rankings(compared, _TOP), delays, {}, compared.counts)


def _page(
    images: Sequence[tuple[str, str]],
    record: Mapping[str, Any],
    delays: pd.DataFrame,
    runs: Mapping[str, str],
    counts: Mapping[str, int],
    timelines: Sequence[Section] = (),
) -> Page:
    sections = [
        *timelines,
        Section(
            "statistics",
            "Statistics",
            [Explorer("delays-data", "start_a_ns", "start_delta_ns", "cause_b")],
            "A point is a job: when it started in A, and how much later it did in B.",
        ),
    ]
    if images:
        sections.append(Section("figures", "Figures", [Figures(images)]))
    if moved := _rankings(record):
        sections.append(Section("rankings", "Who was moved, and who moved others", moved))
    table = Table("delays-data", "Compared jobs", delays, _SHOWN, "job_id")
    about = "Differences are B minus A. Headings sort; the filter takes words and conditions, as start_delta>1h."
    sections.append(Section("jobs", "Jobs", [table], about))
    if runs:
        sections.append(Section("again", "What was compared", _what(record, runs)))
    title = " → ".join(Path(runs[name]).name for name in RUNS) if runs else "Two runs"
    return Page("Comparison", title, _lead(record, counts, delays), _main(record, counts), sections)


def _timelines(runs: Mapping[str, str], delays: pd.DataFrame) -> list[Section]:
    # Of both runs, or of none where one is no longer what was compared: then its causes would be another run's.
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
        about = f"What every core did in {Path(folder).name}; click on a job to learn why it started then."
        part = Timeline(columns, f"timeline-{side}-data")
        sections.append(Section(f"timeline-{side}", f"Timeline of {name}", [part], about, left_out(parts)))
    return sections


def _lead(record: Mapping[str, Any], counts: Mapping[str, int], delays: pd.DataFrame) -> list[str]:
    n = counts["compared"]
    first = f"Of {n:,} jobs that started in both runs, {counts['later']:,} started later in B, "
    first += f"{counts['earlier']:,} earlier and {counts['same']:,} at the same instant."
    parts = [first]
    if len(delays):
        far = [int(delays["start_delta_ns"].max()), int(delays["start_delta_ns"].min())]
        most = [f"{format_ns(abs(one))} {word}" for one, word in zip(far, ("later", "earlier"), strict=True) if one]
        if most:
            parts.append(f"The furthest moves are {' and '.join(most)}.")
    said = []
    for name, pair in _pairs(record):
        a, b = (metric_of(name, one) for one in pair)
        said.append(f"{a.name} {a.value} in A, {b.value} in B")
    if said:
        words = "; ".join(said)
        parts.append(f"{words[0].upper()}{words[1:]}.")
    parts.append("This compares two single runs.")
    return parts


def _main(record: Mapping[str, Any], counts: Mapping[str, int]) -> list[Metric]:
    found = [Metric("compared jobs", f"{counts['compared']:,}")]
    found += [
        Metric(words, f"{counts[name]:,}") for name, words in (("later", "later in B"), ("earlier", "earlier in B"))
    ]
    for name, pair in _pairs(record):
        by, one = round(pair[1] - pair[0]), metric_of(name, pair[0])
        size = f"{'−' if by < 0 else '+'}{format_ns(abs(by))}" if by else "0 s"
        found.append(Metric(f"{one.name}, B − A", size, "", one.definition))
    return found


def _pairs(record: Mapping[str, Any]) -> list[tuple[str, list[Any]]]:
    # The metrics that are known of both runs.
    pairs = [(name, record.get(name)) for name in METRICS]
    return [(name, pair) for name, pair in pairs if isinstance(pair, list) and len(pair) == 2 and None not in pair]


def _rankings(record: Mapping[str, Any]) -> list[Lines]:
    parts = []
    for key, title, words in (
        ("most_delayed", "Started later in B, by most", "started {by} later"),
        ("most_advanced", "Started earlier in B, by most", "started {by} earlier"),
        ("most_delaying", "Ran longer in B, and so delayed others most", "ran {ran} longer: {later_jobs} jobs later"),
        (
            "most_advancing",
            "Ran shorter in B, and so brought others forward most",
            "ran {ran} shorter: {earlier_jobs} jobs earlier",
        ),
    ):
        lines = []
        for one in record.get(key) or []:
            told = {"by": format_ns(abs(one["start_delta_ns"])), "ran": format_ns(abs(one["run_delta_ns"])), **one}
            again = f" (attempt {one['attempt']})" if one["attempt"] else ""
            lines.append(f"job {one['job_id']}{again} {words.format_map(told)}")
        if lines:
            parts.append(Lines(title, lines))
    return parts


def _what(record: Mapping[str, Any], runs: Mapping[str, str]) -> list[Any]:
    rows = [(name, a, b) for name, (a, b) in record.get("differing", {}).items()]
    command = shlex.join(["twolevel", "compare", *(path_word(runs[name]) for name in RUNS), "--out", "again"])
    return [
        Command("To compare them again:", command),
        Facts([("folder", runs["A"], runs["B"]), *rows], ("what differs", "A", "B")),
        versions_of(record),
    ]
