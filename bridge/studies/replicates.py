"""Replications of a study: seeds, windows of a log, shaken submits, or a single one if nothing is random."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bls.workloads import is_seeded, read_workload
from bls.workloads.reshape import replication, shaken, window_begins
from bls.workloads.workload import Workload
from bridge.scenarios.randomness import draws
from traces.base.errors import InputError, TwolevelError
from traces.base.time import format_ns, parse_duration_ns, parse_instant_ns

if TYPE_CHECKING:
    from bridge.studies.study import Cell, Study, WorkloadSource

#: The keys of a study, and options of a grid, that define the meaning of its seeds.
REPLICATION = ("replicate", "warmup", "shake")


@dataclass(frozen=True)
class Replicates:
    """The changes to the jobs for each seed, besides random numbers."""

    length_ns: int = 0  # each seed is the number of a window of the log, this long; 0: all seeds have the same jobs
    warm_up_ns: int = 0  # jobs within this time before the window are simulated and not counted
    shake_ns: int = 0  # each job is submitted later by less than this, except with seed 0; 0: not shaken

    @property
    def by_seed(self) -> bool:
        """Whether each seed has its own jobs."""
        return bool(self.length_ns or self.shake_ns)

    @property
    def unit(self) -> str:
        """The meaning of a seed: a window, a sample, or just a seed."""
        return "window" if self.length_ns else "sample" if self.shake_ns else "seed"


def given_replicates(
    length: str | None, warm_up: str | None, shake: str | None, where: Callable[[str], str] = "{}".format
) -> Replicates:
    """Replications from texts such as ``7d``. Raises InputError if one is not a time, or they conflict."""
    if warm_up is not None and length is None:
        raise InputError(f"{where('warmup')}: needs {where('replicate')}, the length of the windows")
    if shake is not None and length is not None:
        raise InputError(f"{where('shake')}: not with {where('replicate')}, which makes each window a replication")
    return Replicates(
        0 if length is None else parse_duration_ns(length, where("replicate")),
        0 if warm_up is None else parse_instant_ns(warm_up, where("warmup")),
        0 if shake is None else parse_duration_ns(shake, where("shake")),
    )


def replicate(
    jobs: Workload,
    log: Workload,
    n_cores: int,
    given: Replicates,
    begins: tuple[int, ...],
    seed: int,
    preset: bool | None,
) -> Workload:
    """The jobs of a seed: those of ``jobs`` in its window of the ``log``, or all with shaken submits."""
    if not given.length_ns:
        return shaken(jobs, seed, given.shake_ns)
    window = begins[seed], given.length_ns, given.warm_up_ns
    return replication(jobs, *window, preset=preset, n_cores=n_cores, whole=log)


def with_windows(study: Study, path_of: Callable[[WorkloadSource, Study], Path]) -> Study:
    """The study with the begins of its windows, and a seed for each by default. Raises InputError if a log has too few
    windows, or jobs are made by a function of the seed."""
    given = study.replicates
    for source in study.workloads:
        if given.by_seed and is_seeded(source.file):
            key = study.where.format("replicate" if given.length_ns else "shake")
            raise InputError(f"{key}: {source.file} makes the jobs of each seed")
    check_shaken(given, study.seeds, study.where.format)
    if not given.length_ns or study.windows:
        return study
    with contextlib.chdir(study.folders[0]):
        logs = ((source.name, read_workload(path_of(source, study))) for source in study.workloads)
        seeds, begins = of_windows(logs, given, study.seeds, study.where.format)
    return replace(study, seeds=seeds, windows=begins)


def check_shaken(given: Replicates, seeds: tuple[int, ...], where: Callable[[str], str] = "{}".format) -> None:
    """Check that some seed shakes the submits: seed 0 is the log itself. Raises InputError if seed 0 is the only one."""
    if given.shake_ns and set(seeds) == {0}:
        why = "seed 0, the only one, does not change the submits"
        raise InputError(f"{where('shake')}: {why}; allowed: several seeds, such as 10")


def of_windows(
    logs: Iterable[tuple[str, Workload]],
    given: Replicates,
    seeds: tuple[int, ...],
    where: Callable[[str], str] = "{}".format,
) -> tuple[tuple[int, ...], dict[str, tuple[int, ...]]]:
    """The numbers of the simulated windows, by default all, and the begins of each log's windows. Raises InputError."""
    how = given.length_ns, given.warm_up_ns
    begins = {name: window_begins(log, *how, where=where("replicate")) for name, log in logs}
    counts = {name: len(found) for name, found in begins.items()}
    said = " and ".join(f"{name} has {n} window{'s' * (n != 1)}" for name, n in counts.items())
    if not seeds and len(set(counts.values())) > 1:
        key = where("seeds").removeprefix("[study] ")
        raise InputError(f"{where('replicate')}: {said}; choose their number with {key}")
    seeds = seeds or tuple(range(min(counts.values())))
    if max(seeds) >= min(counts.values()):
        raise InputError(f"{where('seeds')}: there is no window {max(seeds)}: {said}, numbered from 0")
    return seeds, begins


def same_for_all_seeds(given: Replicates, options: Mapping[str, object]) -> bool:
    """Whether a run with these options, as :func:`bridge.scenarios.randomness.draws` takes them, is the same for every seed."""
    return not given.by_seed and not draws(options)


def nothing_drawn(study: Study, options_of: Callable[[Cell], dict[str, object]]) -> bool:
    """Whether no cell of a study uses random numbers, so that all seeds give the same."""
    if study.of_slurm or any(is_seeded(one.file) for one in study.workloads):
        return False
    try:
        return all(same_for_all_seeds(study.replicates, options_of(cell)) for cell in study.cells)
    except TwolevelError:
        return False  # a cell that cannot be run: a later check reports it


def replicates_words(given: Replicates, prepared: list[Workload]) -> str:
    """Description of the windows and their begins, one line; empty without windows."""
    if not given.length_ns or not prepared:
        return ""
    counted = sum(len(one) if one.uncounted is None else int((~one.uncounted).sum()) for one in prepared)
    empty = [one.window.empty for one in prepared if one.window is not None and one.window.empty]
    warm_up = f", each after a warm-up of {format_ns(given.warm_up_ns)}" if given.warm_up_ns else ""
    n = len(prepared)
    begins = f"{n - len(empty)} start with the jobs that the log records"
    if empty:
        begins += f", {len(empty)} with an empty machine: {empty[0]}"
    counts = f"metrics count the {counted:,} job{'s' * (counted != 1)} submitted within a window"
    return f"replications: {n} window{'s' * (n != 1)} of {format_ns(given.length_ns)}{warm_up}; {begins}; {counts}"
