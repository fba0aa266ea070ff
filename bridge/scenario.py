"""A scenario: one workload on one platform under one choice of both levels, checked and ready to run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from als.tasks import TaskModel
from als.techniques import Technique, technique
from bls.allocators import Allocator, allocator
from bls.platform import Platform, load_platform
from bls.policies import Policy, policy
from bls.selection import fit, select
from bls.simulator import MAX_SLACK
from bls.workload import Workload
from bls.workloads import read_workload
from traces.errors import InputError, shown
from traces.ranges import real, whole
from traces.time import NS_PER_S

__all__ = ["RECORDED", "Options", "Scenario", "load_workload", "platform_of"]

T = TypeVar("T")

#: The name that skips the application level.
RECORDED = "recorded"


@dataclass(frozen=True)
class Options:
    """What to simulate, how; the command line's options under the same names.

    Attributes
    ----------
    bls : str or Policy
        Batch policy: ``fcfs``, ``edf``, ``sjf``, ``FILE.py:NAME`` or an installed one.
    als : str or Technique
        Application technique: ``static``, ``ss``, ``gss``, ``fac``, ``FILE.py:NAME``, an installed one, or ``recorded``.
    variation : float
        Task variation factor, 0 to 10: standard deviation over mean of a job's task lengths.
    tasks_per_core : int
        Mean number of tasks a core, >= 1.
    seed : int
        0 to 2**64 - 1.
    slack : float
        EDF's deadline is submit + slack × estimate.
    overhead_ns : int
        What a core pays before each chunk.
    allocator : str or Allocator
        ``lowest``, ``given``, ``FILE.py:NAME`` or an installed one.
    """

    bls: str | Policy = "fcfs"
    als: str | Technique = "static"
    variation: float = 0.0
    tasks_per_core: int = 1
    seed: int = 0
    slack: float = 2.0
    overhead_ns: int = 0
    allocator: str | Allocator = "lowest"

    def __post_init__(self) -> None:
        object.__setattr__(self, "overhead_ns", whole("--overhead", self.overhead_ns, 0, 3600 * NS_PER_S))
        object.__setattr__(self, "slack", real("--slack", self.slack, 0.0, MAX_SLACK))

    def names(self) -> dict[str, object]:
        """The options as plain values, for a record of the run."""
        return {
            "bls": self.bls if isinstance(self.bls, str) else self.bls.name,
            "als": self.als if isinstance(self.als, str) else self.als.name,
            "variation": self.variation,
            "tasks_per_core": self.tasks_per_core,
            "seed": self.seed,
            "slack": self.slack,
            "overhead_ns": self.overhead_ns,
            "allocator": self.allocator if isinstance(self.allocator, str) else self.allocator.name,
        }


@dataclass(frozen=True, eq=False)
class Scenario:
    """Everything that determines the result of a run.

    Attributes
    ----------
    workload : Workload
        Fitted to the platform and selected.
    platform : Platform
    options : Options
    policy : Policy
    allocator : Allocator
    technique : Technique or None
        None where jobs last their recorded run times.
    model : TaskModel
    requested : mapping of int to str, or None
        Cores by job number, for the allocator ``given``.
    """

    workload: Workload
    platform: Platform
    options: Options
    policy: Policy
    allocator: Allocator
    technique: Technique | None
    model: TaskModel
    requested: Mapping[int, str] | None = None

    @classmethod
    def of(
        cls,
        workload: Workload,
        platform: Platform,
        options: Options,
        requested: Mapping[int, str] | None = None,
    ) -> Scenario:
        """Check the options against each other and look the plug-ins up.

        Raises
        ------
        InputError, PluginError
            If something is unknown or out of range.
        """
        known: Technique | None = None
        if options.als != RECORDED:
            known = _found("als", options.als, Technique, lambda name: technique(name, also=(RECORDED,)))
        model = TaskModel(options.variation, options.tasks_per_core, options.seed)
        if known is not None:
            model.check(workload.cores, workload.job_id)
        return cls(
            workload,
            platform,
            options,
            _found("bls", options.bls, Policy, policy),
            _found("allocator", options.allocator, Allocator, allocator),
            known,
            model,
            requested,
        )


def _found(where: str, given: object, kind: type[T], find: Callable[[str], T]) -> T:
    # A plug-in from what a user gives: its name, or itself.
    if isinstance(given, str):
        return find(given)
    if isinstance(given, kind):
        return given
    raise InputError(f"{where}: {shown(given)}; allowed: a name or a {kind.__name__}")


def platform_of(platform: Platform | str | Path | None) -> Platform:
    """A platform from what a user gives: a platform, the path of a TOML file, or None for the default."""
    if platform is None:
        return Platform()
    return platform if isinstance(platform, Platform) else load_platform(platform)


def load_workload(
    workload: Workload | str | Path, platform: Platform, *, selection: str = "all", oversize: str = "reject"
) -> Workload:
    """A workload from what a user gives, fitted to the platform, then selected.

    Raises
    ------
    InputError
        If it cannot be read, or nothing is left of it.
    """
    whole = workload if isinstance(workload, Workload) else read_workload(workload)
    return select(fit(whole, platform.n_cores, oversize), selection)
