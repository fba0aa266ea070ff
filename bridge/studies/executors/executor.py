"""What does the cells of a study: an executor takes units and gives back what became of each, in any order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bls.machine.platform import Platform
from bls.workloads.workload import Workload
from bridge.scenarios.scenario import Scenario
from traces.compiled import Array

if TYPE_CHECKING:
    from bridge.replay.chosen import SlurmChoice
    from bridge.runs.afterwards import Afterwards


@dataclass(frozen=True, eq=False)
class Prepared:
    """What several units have in common, and is sent to a worker once."""

    workload: Workload  # fitted and selected
    platform: Platform
    known_jobs: Array | None  # int64, all job numbers that a file of requests may name


@dataclass(frozen=True, eq=False)
class Unit:
    """A cell and a seed: one run."""

    place: int  # which of the study's
    prepared: int  # place of what it needs
    options: Scenario  # of the run, the seed among them
    afterwards: Afterwards | None = None  # what is computed from its result
    metrics: tuple[str, ...] | None = None  # which are wanted; None is all
    keep: tuple[str, ...] = ()  # what is written into ``folder``
    folder: Path | None = None
    record: Mapping[str, Any] | None = None  # for the run.json there
    group: str = ""  # units that have it in common differ in their batch level only
    key: str = ""  # of the cell; what is kept is marked with it
    slurm: SlurmChoice | None = None  # how Slurm decides at the batch level, if it does; the seed says at which phase
    scratch: Path | None = None  # where Slurm's files are meanwhile


@dataclass(frozen=True)
class WorkSummary:
    """What there is to do, as far as it matters for who does it."""

    units: int  # how many
    files: Mapping[Path, str]  # files that are read where a unit is run, and their SHA-256
    folder: Path | None  # into which files are written where a unit is run


@dataclass(frozen=True)
class UnitOutcome:
    """What became of a unit."""

    place: int
    metrics: dict[str, Any] | None  # None if it failed
    error: str = ""  # why it failed, one line; empty if it did not
    code: int = 0  # what a run that fails so ends with
    no_room: bool = False  # whether it failed as a disk is full
    jobs: int = 0  # how many were simulated
    # wall_s, simulation_s: what it took; and the simulation alone
    wall_s: float = 0.0
    simulation_s: float = 0.0
    # how long a worker has waited for kernels to be compiled beside that, wall s; 0 in the process that asks
    compiled_s: float = 0.0
    worker: str = ""


class Executor(Protocol):
    """Does units.

    A unit that fails gives an outcome that says so; an executor raises only where it cannot go on. Closing the iterator stops
    all that is under way.
    """

    def outcomes(self, units: Iterable[Unit], prepared: Mapping[int, Prepared]) -> Iterator[UnitOutcome]:
        """Do all units; each gives one outcome, as soon as it has ended. ``units`` is taken as there is room for more."""
        ...
