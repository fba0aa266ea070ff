"""Work of the ``twolevel workload`` commands: read logs, write whole files, export results, generate jobs."""

from __future__ import annotations

import gzip
import math
import re
import shutil
import tempfile
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bls.analysis.likeness import distributions, likeness, likeness_table
from bls.machine.platform import MAX_CORES, HostGroup, Platform
from bls.options import JOBS, METHOD
from bls.workloads import read_workload
from bls.workloads.columns import rejects_text
from bls.workloads.generators.accasim import LIMITS, Gpus, generate_like, machine_of
from bls.workloads.generators.lublin import generate_lublin
from bls.workloads.header import TITLES, named_size, names_in
from bls.workloads.workload import Workload
from bridge.runs.directory import check_file, fresh_file, read_record
from bridge.runs.stored import hosts, ids_of
from bridge.scenarios.scenario import given_platform, platform_for
from bridge.standard_error import say, text_table
from traces.base.errors import InputError, did_you_mean, one_of, parse_real, parse_whole, shown
from traces.base.options import SEED
from traces.base.time import parse_duration_ns
from traces.compiled import Array
from traces.intervals import parse_intervals
from traces.ledger import MachineShape
from traces.tables import NAME, read_jobs, rows_frame

if TYPE_CHECKING:
    from bridge.cli.workload_commands import GenerationRequest

#: The formats in which a finished run can be written, and their file endings.
EXPORTS: dict[str, tuple[str, ...]] = {"swf": (".swf", ".swf.gz"), "batsim": (".csv",)}

#: File endings of workloads: SWF, or a table.
_TABLES = (".csv", ".csv.gz", ".parquet")
_WORKLOADS = (*EXPORTS["swf"], *_TABLES)

#: Data that SWF cannot hold, by name in ``unwritten``; further columns have the log's names.
_LOST = {
    "qos": "QOS",
    "preset": "which jobs run at the start",
    "cancel_ns": "when jobs are cancelled",
    "names": "names of jobs",
    "window": "which part of the log it is",
    "uncounted": "which jobs are not counted",
}

STATUSES = {"failed": 0, "completed": 1, "cancelled": 5, "unknown": -1}  #: SWF's statuses by name


def read(workload: str, form: str | None = None, *, cancelled: bool | None = False) -> Workload:
    """The workload that a user names: a file, or ``sample``; ``cancelled`` as of :func:`bls.workloads.read_workload`."""
    log = read_workload(workload, format=form, cancelled=cancelled)
    for remark in log.remarks:
        say(f"{workload}: {remark}")
    return log


def rejects_lines(log: Workload) -> list[str]:
    """The first rejected lines of each reason, one per line of text: reason, line, the field at fault, and its text."""
    if not any(log.rejects.values()):
        return ["no rejects"]
    lines = []
    for reason, count in log.rejects.items():
        first = [one for one in log.rejected if one.reason == reason]
        if count:
            lines.append(f"{reason}: {count}" + (f", the first {len(first)}" if 0 < len(first) < count else ""))
            lines += [f"  {one.place}" for one in first]
    return lines


def machine_of_log(log: Workload) -> Platform:
    """The machine of a log: as many cores as its header says (``MaxProcs``), or as its widest job has."""
    wanted = machine_of(log, None).cores
    known = named_size(log.header)[0] == wanted
    name = "the log's machine" if known else "the widest job's width"
    return Platform((HostGroup(count=1, cores=min(wanted, MAX_CORES), speed_gflops=1.0),), name=name)


def checked_output(output: str, force: bool, form: str = "") -> Path:
    """The file that a user names for a workload, or for a result in a form of :data:`EXPORTS`. Raises InputError if its ending
    is wrong, or it cannot be written."""
    endings = EXPORTS.get(form, _WORKLOADS)
    target = Path(output)
    if not target.name.lower().endswith(endings):
        raise InputError(f"-o: {shown(output)}; allowed: a name that ends in {' or '.join(endings)}")
    check_file(target, force)
    return target


def check_plot(plot: str | None) -> None:
    """Check the file that a user names for a figure, if any. Raises InputError if it is no figure, or cannot be written."""
    if plot is not None:
        from traces.figures.drawing.canvas import figure_format

        figure_format(Path(plot))
        check_file(Path(plot), True, "--plot")


def save(workload: Workload, target: Path, force: bool, *, made: bool = False) -> None:
    """Write a workload as SWF or a table, whole or not at all; report data that the format cannot hold, and their source, if
    known."""
    is_table = target.name.lower().endswith(_TABLES)
    with fresh_file(target, force) as partial:
        if is_table:
            from bls.workloads.writers.table import write_table

            lost = write_table(workload, partial)
        else:
            from bls.workloads.writers.swf import write_swf

            lost = write_swf(workload, partial)
    some = any(workload.rejects.values())
    rejects = f"; rejected: {rejects_text(workload.rejects, workload.rejected)}" if some else ""
    read = "" if made else f" of {workload.n_lines} lines read{rejects}"
    say(f"workload: {len(workload)} jobs written{read}")
    _say_lost(lost, "a table" if is_table else "SWF")


def say_lost_names(log: Workload, output: str) -> Workload:
    """Report the columns whose numbers lose their names if the workload is written to this file; return it."""
    if output.lower().endswith(_TABLES):
        return log
    from bls.workloads.writers.swf import unwritten

    gone, header = unwritten(log), log.header
    named = [name for name, names in log.labels.items() if names and name not in gone]
    if lost := [name for name in named if not names_in(header, TITLES.get(name, ""))]:
        say(f"not written, as SWF has no field for it: names of {', '.join(lost)}; their numbers are")
    return log


def export_result(folder: Path, form: str, target: Path, force: bool, log: Workload | None = None) -> None:
    """Write a finished run in a ``form`` of :data:`EXPORTS`, and report what has no field there. ``log``: the simulated log,
    whose users, groups, queues and comments go with the jobs, for SWF. Raises InputError if a file cannot be used."""
    from bls.workloads.writers.swf import result_as_workload, write_swf
    from traces.exporters import exporter
    from traces.ledger_tables import stored_ledger

    if log is not None and form != "swf":
        raise InputError(f"--workload: the form {form} has no place for what a log knows; allowed with --trace swf")
    machine = _machine(folder)
    frame = read_jobs(folder / "jobs.parquet")
    columns = {name: frame[name].to_numpy() for name in frame.columns}
    lost: tuple[str, ...] = ()
    with fresh_file(target, force) as partial:
        if log is not None:
            lost = write_swf(result_as_workload(columns, log), partial)
        else:
            try:
                ledger = replace(stored_ledger(columns, machine), ids=ids_of(read_record(folder), columns))
            except InputError as error:
                raise InputError(f"{folder / 'jobs.parquet'}: {error.text}") from None
            if form == "swf" and not ledger.ids and any(columns.get(NAME, ())):
                lost = ("names",)
            with tempfile.TemporaryDirectory(prefix=".export-", dir=partial.parent) as place:
                _put(exporter(form)(ledger, Path(place)), partial)
    say(f"{len(frame)} rows of jobs.parquet exported")
    _say_lost(lost)


def _say_lost(lost: tuple[str, ...], form: str = "SWF") -> None:
    if lost:
        say(f"not written, as {form} has no field for it: {', '.join(_LOST.get(name, name) for name in lost)}")


def numbers(text: str | None, column: Array, where: str, names: dict[str, int] | None = None) -> list[int] | None:
    """The numbers that a text such as ``3 5-9`` names; None for no text. Raises InputError if there are none."""
    if text is None:
        return None
    known = {"unknown": -1} | (names or {})
    words = text.replace(",", " ").split()
    named = {known[word.lower()] for word in words if word.lower() in known}
    others = [word for word in words if word.lower() not in known]
    if names and not all(word[0].isdigit() for word in others):
        raise InputError(f"{where}: {shown(text)}; allowed: {', '.join(known)}, or numbers such as 0-5")
    intervals = parse_intervals(" ".join(others), where)
    present = np.unique(column).tolist()
    found = [number for number in present if number in named or any(lo <= number < hi for lo, hi in intervals)]
    if not found:
        texts = ["unknown" if number == -1 else str(number) for number in present]
        some = " ".join(texts) if len(texts) <= 10 else f"{texts[0]} to {texts[-1]}"
        raise InputError(f"{where}: no job has any of {shown(text)}; there are {some}")
    return found


def bounds(text: str | None, where: str, *, durations: bool = False) -> tuple[int | None, int | None]:
    """The bounds in a text such as ``8-64``, ``8-``, ``-64`` or ``8``; of durations (``10m-2h``) in ns."""
    if text is None:
        return None, None
    low, dash, high = (part.strip() for part in text.partition("-"))
    if not low and not high:
        example = "10m-2h, 10m- or -2h" if durations else "8-64, 8- or -64"
        raise InputError(f"{where}: {shown(text)} is no range; allowed: e.g. {example}")
    ends = [None if not part else _bound(part, where, durations) for part in (low, high)]
    return ends[0], ends[1] if dash else ends[0]


def _bound(part: str, where: str, durations: bool) -> int:
    if durations:
        return parse_duration_ns(part, where)
    if not (part.isascii() and part.isdigit() and len(part) <= 18):
        raise InputError(f"{where}: {shown(part)} is no whole number; allowed: e.g. 8-64, 8- or -64")
    return int(part)


def _machine(folder: Path) -> MachineShape:
    first_core, host_names = hosts(folder)
    try:
        return MachineShape(str(read_record(folder)["platform"]["name"]), tuple(host_names), first_core)
    except (KeyError, TypeError):
        raise InputError(f"{folder / 'run.json'}: does not say which hosts the machine had") from None


def _put(written: Path, target: Path) -> None:
    if not target.name.endswith(".gz"):
        written.replace(target)
        return
    with written.open("rb") as plain, target.open("wb") as file, gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
        shutil.copyfileobj(plain, packed)


MODELS = ("lublin",)  #: the published models, by name
_RANGE = re.compile(r"([0-9]{1,18})-([0-9]{1,18})")

# Options that need a source.
_OF_LIKENESS = ("method", "speed_factor", "nodes_factor", "gpus", "limit", "plot")


def check_wanted(wanted: GenerationRequest) -> None:
    """Raise InputError for a request that cannot be met, before a long log is read."""
    METHOD.check(wanted.method)
    SEED.check(wanted.seed)
    JOBS.check(wanted.jobs, JOBS.short)
    for entry in fields(wanted):
        if wanted.like in MODELS and entry.name in _OF_LIKENESS and getattr(wanted, entry.name) != entry.default:
            raise InputError(f"--{entry.name.replace('_', '-')}: not with --like {wanted.like}, which has no source")
    check_plot(wanted.plot)


def generated(wanted: GenerationRequest, form: str | None = None) -> tuple[Workload | None, Workload]:
    """The source, if there is one, and the generated workload. Raises InputError if a value cannot be used."""
    gpus, limits = _gpus(wanted.gpus), _limits(tuple(wanted.limit or ()))
    platform = given_platform(wanted.platform)  # a file is checked before a long log is read
    if wanted.like in MODELS:
        if platform is None and wanted.platform is not None:
            raise InputError(f"--platform {wanted.platform}: not with --like {wanted.like}, which has no log")
        n_cores = (platform or Platform()).n_cores
        return None, generate_lublin(wanted.jobs, seed=wanted.seed, n_cores=n_cores)
    if not Path(wanted.like).exists() and (meant := did_you_mean(wanted.like, (*MODELS, "sample"))):
        raise InputError(f"--like: {shown(wanted.like)} is neither a file nor a model{meant}")
    source = read(wanted.like, form)
    if wanted.platform is not None:
        platform = platform_for(wanted.platform, source, replayed=True)
    made = generate_like(
        source,
        wanted.jobs,
        seed=wanted.seed,
        platform=platform,
        speed_factor=wanted.speed_factor,
        nodes_factor=wanted.nodes_factor,
        gpus=gpus,
        limits=limits,
        method=wanted.method,
    )
    return source, made


def write_requests(made: Workload, path: Path, force: bool) -> Path:
    """Write the requests of jobs on each host as a file (``bls.constraints.resource_requests``). Raises InputError."""
    columns = {"job_id": made.job_id} | {name: made.extras[name] for name in ("unit_cores", "gpu")}
    with fresh_file(path, force, "--requests") as partial:
        partial.write_text(rows_frame(columns).to_csv(index=False), encoding="utf-8")
    return path


def likeness_text(source: Workload, made: Workload) -> str:
    """The distances between both, and between the source's halves (``-`` if it is too short), as a table."""
    if min(len(source), len(made)) < 2:
        return "a single job has no distributions to be compared"
    rows = likeness_table(source, made)
    lines = [["distance to the source", "KS", "between halves", "Wasserstein", "between halves"]]
    for row in rows:
        cells = []
        for name in ("ks", "wasserstein"):
            half = row[f"{name}_halves"]
            cells += [f"{row[name]:.4g}", "-" if math.isnan(half) else f"{half:.4g}"]
        lines.append([f"{row['quantity']} [{row['unit']}]", *cells])
    return text_table(lines, left=1)


def draw(source: Workload, made: Workload, path: Path, names: tuple[str, str]) -> Path:
    """Draw the distributions of both, with the KS distance on each panel."""
    from traces.figures.drawing.canvas import save
    from traces.figures.workload.likeness import likeness_figure

    distances = {row["quantity"]: row["ks"] for row in likeness(source, made)}
    return save(likeness_figure(distributions(source, made), names=names, distances=distances), path)


def _gpus(text: str | None) -> Gpus | None:
    if text is None:
        return None
    try:
        share, cards, speed = text.split(":")
        return Gpus(parse_real(share), parse_whole(cards), parse_real(speed))
    except ValueError:
        raise InputError(f"--gpus: {shown(text)}; allowed: SHARE:CARDS:GFLOPS, as 0.25:2:933") from None


def _limits(texts: tuple[str, ...]) -> dict[str, tuple[int, int]] | None:
    limits = {}
    for text in texts:
        name, _, span = text.partition("=")
        if name not in LIMITS:
            raise one_of("limit", name, LIMITS, "--limit")
        match = _RANGE.fullmatch(span)
        if not match or name in limits:
            raise InputError(f"--limit: {shown(text)}; allowed: once for each name, as {name}=1-4")
        limits[name] = (int(match[1]), int(match[2]))
    return limits or None
