"""The interface of executors of a study: an executor takes units and returns the outcome of each, in any order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bls.machine.platform import Platform
from bls.workloads.workload import Workload
from bridge.runs.afterwards import Afterwards
from bridge.scenarios.scenario import Scenario
from traces.compiled import Array

if TYPE_CHECKING:
    from bridge.replay.chosen import SlurmChoice


@dataclass(frozen=True, eq=False)
class Prepared:
    """Data that several units share; sent to a worker once."""

    workload: Workload  # fitted and selected
    platform: Platform
    known_jobs: Array | None  # int64, all job numbers that a file of requests may name


@dataclass(frozen=True, eq=False)
class Unit:
    """A cell and a seed: one run."""

    place: int  # index in the study
    prepared: int  # index of its shared data
    options: Scenario  # of the run, including the seed
    afterwards: Afterwards = Afterwards({})  # noqa: RUF009  # frozen; metrics to compute from its result
    metrics: tuple[str, ...] | None = None  # requested metrics; None: all
    keep: tuple[str, ...] = ()  # tables to be written into ``folder``
    folder: Path | None = None
    record: Mapping[str, Any] | None = None  # for the run.json there
    group: str = ""  # units with equal groups differ in their batch level only
    key: str = ""  # of the cell; written to kept results
    slurm: SlurmChoice | None = None  # of a replay, if Slurm decides; the seed selects the phase
    scratch: Path | None = None  # folder for Slurm's temporary files


@dataclass(frozen=True)
class WorkSummary:
    """A summary of the work, for choosing and checking the executor."""

    units: int  # number
    files: Mapping[Path, str]  # files that are read where a unit is run, and their SHA-256
    folder: Path | None  # folder into which files are written where a unit is run


@dataclass(frozen=True)
class UnitOutcome:
    """The outcome of a unit."""

    place: int
    metrics: dict[str, Any] | None  # None if it failed
    error: str = ""  # reason of its failure, one line; empty without
    code: int = 0  # exit code of a run with this failure
    no_room: bool = False  # whether it failed because a disk is full
    jobs: int = 0  # number of simulated jobs
    # wall_s, simulation_s: total time, and time of the simulation alone
    wall_s: float = 0.0
    simulation_s: float = 0.0
    # additional time that a worker waited for kernels to be compiled, wall s; 0 in the requesting process
    compiled_s: float = 0.0
    worker: str = ""


class Executor(Protocol):
    """Runs units.

    A failed unit has an outcome that states so; an executor raises only if it cannot continue. Closing the iterator stops
    all work under way.
    """

    def outcomes(self, units: Iterable[Unit], prepared: Mapping[int, Prepared]) -> Iterator[UnitOutcome]:
        """Run all units; yield the outcome of each when it has ended. ``units`` is consumed as there is room for more."""
