"""How one loop alone is run: its technique, its cores, what a chunk costs."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from als.application import MAX_LATENCY_NS
from als.core_speeds import CoreSpeeds, core_speeds
from als.schedulers import loop_technique
from als.techniques import AnyTechnique
from bridge.scenarios.application_level import ASSIGNMENTS
from bridge.single.own_cores import check_speeds, first_core, latencies_ns
from traces.base.errors import InputError, one_of
from traces.base.ranges import whole
from traces.base.time import MAX_NS
from traces.compiled import Array

__all__ = ["MAX_STEPS", "MAX_TASKS", "LoopOptions"]

#: A loop has no more time steps, and tasks of all steps, than this.
MAX_STEPS, MAX_TASKS = 10_000, 100_000_000


@dataclass(frozen=True)
class LoopOptions:
    """How a loop is run.

    Attributes
    ----------
    als : str, Technique or Selection
        Its technique, or the technique's name.
    core_speed_gflops : tuple of float
        Speed of each of the P cores, GFLOP/s.
    overhead_ns : int
        What each chunk costs.
    latency_ns : int
        What a message between the master's host, the first, and another one takes; there and back for each chunk.
    hosts : int
        Over how many hosts the cores are dealt in blocks, the first ones being larger by one core where they differ.
    assignment : str
        One of :data:`ASSIGNMENTS`.
    steps : int
        How often the loop is repeated, with a barrier after each time; a technique may learn from step to step.
    speeds : tuple of str
        What changes the cores' speeds, as ``als.core_speeds`` has it.
    seed : int
        Of all that is drawn.
    technique, changing : Technique or Selection, CoreSpeeds
        What ``als`` and ``speeds`` name; found as this is built.
    """

    als: str | AnyTechnique
    core_speed_gflops: tuple[float, ...]
    overhead_ns: int = 0
    latency_ns: int = 0
    hosts: int = 1
    assignment: str = "distributed"
    steps: int = 1
    speeds: tuple[str, ...] = ()
    seed: int = 0
    technique: AnyTechnique = field(init=False, compare=False, repr=False)
    changing: CoreSpeeds = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_speeds(self.core_speed_gflops)
        whole("--overhead", self.overhead_ns, 0, MAX_NS)
        whole("--latency", self.latency_ns, 0, MAX_LATENCY_NS)
        whole("--hosts", self.hosts, 1, len(self.core_speed_gflops))
        if self.assignment not in ASSIGNMENTS:
            raise one_of("assignment", self.assignment, ASSIGNMENTS, "--assignment")
        whole("--steps", self.steps, 1, MAX_STEPS)
        whole("--seed", self.seed, 0, 2**64 - 1)
        found = loop_technique(self.als) if isinstance(self.als, str) else self.als
        if found.only_cores not in (None, self.n_cores):
            raise InputError(
                f"technique {found.name}: its weights are for {found.only_cores} cores, not {self.n_cores}"
            )
        object.__setattr__(self, "technique", found)
        object.__setattr__(self, "changing", core_speeds(self.speeds, self.n_cores, self.seed))

    @property
    def n_cores(self) -> int:
        """P."""
        return len(self.core_speed_gflops)

    @property
    def first_core(self) -> Array:
        """First core of each host, and P; int64 (hosts + 1,)."""
        return first_core(self.n_cores, self.hosts)

    @property
    def latencies_ns(self) -> Array:
        """What a message between each core and the master takes, int64 (P,)."""
        return latencies_ns(self.n_cores, self.hosts, self.latency_ns)

    def names(self) -> dict[str, Any]:
        """The options as a record has them; equal speeds of cores as one number."""
        named = {one.name: getattr(self, one.name) for one in fields(self) if one.init}
        equal = len(set(self.core_speed_gflops)) == 1
        speeds = self.core_speed_gflops[0] if equal else list(self.core_speed_gflops)
        als = self.als if isinstance(self.als, str) else self.als.name
        return named | {"als": als, "cores": self.n_cores, "core_speed_gflops": speeds}
