"""What does the cells of a study: an executor takes units and gives back what became of each, in any order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bls.machine.platform import Platform
from bls.workloads.workload import Workload
from bridge.replay.chosen import SlurmChoice
from bridge.scenarios.scenario import Scenario
from traces.compiled import Array


@dataclass(frozen=True, eq=False)
class Prepared:
    """What several units have in common, and is sent to a worker once.

    Attributes
    ----------
    workload : Workload
        Fitted and selected.
    platform : Platform
    known_jobs : ndarray of int64 or None
        All job numbers that a file of requests may name.
    """

    workload: Workload
    platform: Platform
    known_jobs: Array | None


@dataclass(frozen=True, eq=False)
class Unit:
    """A cell and a seed: one run.

    Attributes
    ----------
    place : int
        Which of the study's.
    prepared : int
        Place of what it needs.
    options : Scenario
        Of the run, the seed among them.
    fair_start : bool
    metrics : tuple of str or None
        Which are wanted; None is all.
    keep : tuple of str
        What is written into ``folder``.
    folder : Path or None
    record : mapping
        For the run.json there.
    group : str
        Units that have it in common differ in their batch level only.
    key : str
        Of the cell; what is kept is marked with it.
    slurm : SlurmChoice or None
        How Slurm decides at the batch level, if it does; the seed says at which phase.
    scratch : Path or None
        Where Slurm's files are meanwhile.
    """

    place: int
    prepared: int
    options: Scenario
    fair_start: bool = False
    metrics: tuple[str, ...] | None = None
    keep: tuple[str, ...] = ()
    folder: Path | None = None
    record: Mapping[str, Any] | None = None
    group: str = ""
    key: str = ""
    slurm: SlurmChoice | None = None
    scratch: Path | None = None


@dataclass(frozen=True)
class Needs:
    """What there is to do, as far as it matters for who does it.

    Attributes
    ----------
    units : int
        How many.
    files : mapping of Path to str
        Files that are read where a unit is run, and their SHA-256.
    folder : Path or None
        Into which files are written where a unit is run.
    """

    units: int
    files: Mapping[Path, str]
    folder: Path | None


@dataclass(frozen=True)
class Outcome:
    """What became of a unit.

    Attributes
    ----------
    place : int
    metrics : dict or None
        None if it failed.
    error : str
        Why it failed, one line; empty if it did not.
    code : int
        What a run that fails so ends with.
    no_room : bool
        Whether it failed as a disk is full.
    jobs : int
        How many were simulated.
    wall_s, simulation_s : float
        What it took; and the simulation alone.
    compiled_s : float
        How long a worker has waited for kernels to be compiled beside that, wall s; 0 in the process that asks.
    worker : str
    """

    place: int
    metrics: dict[str, Any] | None
    error: str = ""
    code: int = 0
    no_room: bool = False
    jobs: int = 0
    wall_s: float = 0.0
    simulation_s: float = 0.0
    compiled_s: float = 0.0
    worker: str = ""


class Executor(Protocol):
    """Does units.

    A unit that fails gives an outcome that says so; an executor raises only where it cannot go on. Closing the iterator stops
    all that is under way.
    """

    def outcomes(self, units: Iterable[Unit], prepared: Mapping[int, Prepared]) -> Iterator[Outcome]:
        """Do all units; each gives one outcome, as soon as it has ended. ``units`` is taken as there is room for more."""
        ...
