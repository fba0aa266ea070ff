"""What ``twolevel workload generate`` does: reads its options, makes the jobs, says how far they are from the source."""

from __future__ import annotations

import math
import re
from dataclasses import fields
from pathlib import Path

from traces.base.options import SEED

from bls.analysis.likeness import distributions, likeness, likeness_table
from bls.machine.platform import Platform
from bls.options import JOBS, METHOD
from bls.workloads.generators import LIMITS, Gpus, generate_like, generate_lublin
from bls.workloads.workload import Workload
from bridge.cli.workload_files import read
from bridge.options.generation import GenerationRequest
from bridge.runs.directory import check_file, fresh_file
from bridge.scenarios.machine import given_platform, platform_for
from bridge.standard_error import text_table
from traces.base.errors import InputError, one_of, parse_real, parse_whole, shown

#: The published models, by name.
MODELS = ("lublin",)

_RANGE = re.compile(r"([0-9]{1,18})-([0-9]{1,18})")

# What needs a source.
_OF_LIKENESS = ("method", "speed_factor", "nodes_factor", "gpus", "limit", "plot")


def check_wanted(wanted: GenerationRequest) -> None:
    """Refuse what cannot be made, before a long log is read.

    Raises
    ------
    InputError
        If it is both or neither of ``like`` and ``model``, something needs a source, or a value is not allowed.
    """
    if (wanted.like is None) == (wanted.model is None):
        raise InputError(
            "--like, --model: one of the two says what to make; allowed: --like WORKLOAD or --model lublin"
        )
    if wanted.model is not None and wanted.model not in MODELS:
        raise one_of("model", wanted.model, MODELS, "--model")
    METHOD.check(wanted.method)
    SEED.check(wanted.seed)
    JOBS.check(wanted.jobs, JOBS.short)
    for entry in fields(wanted):
        if wanted.model is not None and entry.name in _OF_LIKENESS and getattr(wanted, entry.name) != entry.default:
            raise InputError(f"--{entry.name.replace('_', '-')}: needs --like; a model has no source")
    if wanted.plot is not None:
        from traces.figures.drawing.canvas import figure_format

        figure_format(Path(wanted.plot))  # before anything is drawn
        check_file(Path(wanted.plot), True, "--plot")


def generated(wanted: GenerationRequest, form: str | None = None) -> tuple[Workload | None, Workload]:
    """The source, if there is one, and the workload that was made.

    Raises
    ------
    InputError
        If the source cannot be read, or a value cannot be used.
    """
    gpus, limits = _gpus(wanted.gpus), _limits(tuple(wanted.limit or ()))
    platform = given_platform(wanted.platform)  # a file is checked before a long log is read
    if wanted.like is None:
        if platform is None and wanted.platform is not None:
            raise InputError(f"--platform {wanted.platform}: needs --like; a model has no log")
        n_cores = (platform or Platform()).n_cores
        return None, generate_lublin(wanted.jobs, seed=wanted.seed, n_cores=n_cores)
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
    """Write what jobs ask for on each node as a file of requests (``bls.constraints.resource_requests``).

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    columns = {"job_id": made.job_id} | {name: made.extras[name] for name in ("unit_cores", "gpu")}
    with fresh_file(path, force, "--requests") as partial, partial.open("w", encoding="utf-8") as file:
        file.write(",".join(columns) + "\n")
        for values in zip(*(column.tolist() for column in columns.values()), strict=True):
            file.write(",".join(map(str, values)) + "\n")
    return path


def likeness_text(source: Workload, made: Workload) -> str:
    """The distances between both, and beside them those between the source's halves, as an aligned table.

    A source that is too short to be halved has no such distances, ``-``.
    """
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
