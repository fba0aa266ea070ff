"""Input and output of ``twolevel compare``: two results of ``twolevel run``; a table, a record and figures."""

from collections.abc import Collection, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bls.workloads.job_words import JobWords
from bridge.compare.comparison import RUNS, Comparison, Link, chain, compare_jobs, overtakers, ranked
from bridge.compare.delay_causes import LINKS
from bridge.runs.directory import metric, read_record, write_record
from bridge.runs.library_versions import versions
from bridge.runs.stored import ids_of, job_words, run_title
from traces.base.errors import InputError, shown_name
from traces.ledger_tables import stored_events
from traces.records.events import JobEvents
from traces.tables import DataFrame, read_jobs, write_rows

METRICS = ("makespan_ns", "mean_wait_ns")  #: the metrics of both runs that are shown

#: The captions of the figures, by the names of their files; filled with the numbers of jobs.
FIGURES = {
    "delays": "Delay of each job's start in B, by its start in A (n = {compared} jobs)",
    "chain": "Chain of causes of one job's delay (n = {compared} compared jobs)",
}


class RunFolder(NamedTuple):
    """A result of ``twolevel run``: where it is, its record, its table of jobs, and events of running jobs if there are any."""

    folder: Path
    record: dict[str, Any]
    jobs: DataFrame
    events: Collection[JobEvents] = ()

    def metric(self, name: str) -> Any:
        """A metric of its record, or None."""
        return metric(self.record, name)


def read_run(folder: Path) -> RunFolder:
    """Read a folder written by ``twolevel run``. Raises InputError if it is not one."""
    record = read_record(folder)
    if record.get("arguments") is None:
        raise InputError(f"{folder / 'run.json'}: is not a record of twolevel run: it has no arguments")
    jobs = read_jobs(folder / "jobs.parquet")
    return RunFolder(folder, record, jobs, stored_events(folder, len(jobs)).values())


def compare_runs(a: RunFolder, b: RunFolder) -> Comparison:
    """Compare two results. Errors as :func:`bridge.compare.comparison.compare_jobs`."""
    return compare_jobs(a.jobs, b.jobs, (a.events, b.events), ids_of(a.record, a.jobs))


#: Values that stand for an option that is not given; of a list there may be none.
_EMPTY: tuple[object, ...] = (None, "", [])


def _text(value: Any) -> str:
    if value is None or value == "":
        return "not given"
    if isinstance(value, list):
        return " ".join(map(str, value)) or "none"
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)


def _machine(record: dict[str, Any]) -> str:
    try:
        hosts = record["platform"]["hosts"]
        return " + ".join(f"{one['count']} × {one['cores']} cores of {one['speed_gflops']} GFLOP/s" for one in hosts)
    except (KeyError, TypeError):
        return "unknown"


def differing(a: RunFolder, b: RunFolder) -> dict[str, tuple[str, str]]:
    """Differences between the records of two runs, with both values: options, platform, version."""
    found = {}
    options = [run.record["arguments"] for run in (a, b)]
    for name in dict.fromkeys([*options[0], *options[1]]):
        pair = options[0].get(name), options[1].get(name)
        if pair[0] != pair[1] and not (pair[0] in _EMPTY and pair[1] in _EMPTY):  # a record may state this, or omit it
            found[name] = _text(pair[0]), _text(pair[1])
    if a.record.get("platform") != b.record.get("platform"):
        pair = _machine(a.record), _machine(b.record)
        found["machine"] = pair if pair[0] != pair[1] else (pair[0], "another of as many hosts")
    written_by = [str((run.record.get("versions") or {}).get("twolevel")) for run in (a, b)]
    if written_by[0] != written_by[1]:
        found["twolevel"] = (written_by[0], written_by[1])
    return found


def job_rows(compared: Comparison, word: str, a: RunFolder, b: RunFolder) -> list[int]:
    """Rows of the compared attempts at the job that a word names (:mod:`bls.workloads.job_words`). Raises InputError if
    there are none: the job is not in both runs, or has not started in both."""
    first = [job_words(run.folder) for run in (a, b)]
    job = JobWords(first[0].named or first[1].named).one(word, "--job")
    numbers = compared.delays["job_id"].to_numpy()
    rows = np.flatnonzero(numbers == job).tolist()
    if rows:
        return list(rows)
    named, inside = shown_name(word), [bool((run.jobs["job_id"] == job).any()) for run in (a, b)]
    if all(inside):
        raise InputError(f"--job: {named} did not start in both runs")
    if any(inside):
        raise InputError(f"--job: {named} is only in {RUNS[inside.index(True)]}; allowed: a job of both runs")
    known = f"; they have {numbers.min()} to {numbers.max()}" if len(numbers) else ""
    raise InputError(f"--job: {named} is in neither run{known}")


def write_comparison(
    compared: Comparison,
    a: RunFolder,
    b: RunFolder,
    folder: Path,
    *,
    row: int | None,
    top: int,
    power: Mapping[str, Any] | None = None,
) -> None:
    """Write delays.parquet, comparison.json with ``top`` rows of every ranking, the figures and their captions. ``row``: of the
    job whose chain is drawn, if any. ``power``: costs and savings of power limits, if both runs have power."""
    from traces.figures.compare.delay_chain import delay_chain_figure
    from traces.figures.compare.start_delays import start_delays_figure
    from traces.figures.drawing.canvas import save_all
    from traces.figures.drawing.for_paper import write_captions

    delays = compared.delays
    columns = {str(name): column.to_numpy() for name, column in delays.items()}
    texts = {name: column.tolist() for name, column in columns.items() if column.dtype == object}
    write_rows(columns | texts, folder / "delays.parquet")
    links = [] if row is None else chain(compared, row)
    late = None if row is None else str(delays["chain_of"].iloc[row])
    record: dict[str, Any] = {
        "runs": {name: str(run.folder) for name, run in zip(RUNS, (a, b), strict=True)},
        "differing": differing(a, b),
        "versions": versions(),
        "jobs": compared.counts,
        **{name: [a.metric(name), b.metric(name)] for name in METRICS},
        **({} if power is None else {"power": dict(power)}),
        **rankings(compared, top),
        "chain_of": late,
        "chain": [_link(compared, link, str(late)) for link in links],
    }
    write_record(folder / "comparison.json", record)
    figures = {"delays": start_delays_figure(delays)} if len(delays) else {}
    if late is not None:
        figures["chain"] = delay_chain_figure(delays.iloc[[link.row for link in links]], late=late)
    differences = ", ".join(f"{name} {first} → {second}" for name, (first, second) in record["differing"].items())
    about = f"A: {run_title(a.record)}; B: {run_title(b.record)}; differences: {differences or 'none'}."
    for name, figure in figures.items():
        save_all(figure, [folder / f"{name}.{form}" for form in ("svg", "png")])
        shows = FIGURES[name].format_map(compared.counts)
        write_captions(folder, {name: f"{about} {shows}. Two single runs: no confidence interval."})


def rankings(compared: Comparison, top: int) -> dict[str, list[dict[str, Any]]]:
    """The most affected jobs, and the jobs that affected others most, ``top`` rows of each."""
    table: Any = compared.delays[[*_RANKED]]
    rows = {name: ranked(compared, column, top, later=later) for name, (column, later) in _RANKINGS.items()}
    return {name: table.iloc[places].to_dict("records") for name, places in rows.items()}


#: Each ranking's column, and whether its largest values come first, or the most negative ones.
_RANKINGS = {
    "most_delayed": ("start_delta_ns", True),
    "most_advanced": ("start_delta_ns", False),
    "most_delaying": ("later_ns", True),
    "most_advancing": ("earlier_ns", False),
}

#: The columns of the rankings.
_RANKED = (
    *("job_id", "attempt", "start_delta_ns", "run_delta_ns", "chain_of", "chain_links", "chain_run_ns"),
    *("chain_order_ns", "root_job", "root_start_delta_ns", "later_jobs", "later_ns", "earlier_jobs", "earlier_ns"),
)


def _link(compared: Comparison, link: Link, run: str) -> dict[str, Any]:
    # As everywhere, only if its place in the order differs between the runs.
    passed = [] if link.cause in LINKS and not link.order_ns else overtakers(compared, link.row, run)
    return asdict(link) | {"overtaken_by": compared.delays["job_id"].to_numpy()[passed].tolist()}
