"""How one loop alone is run: its technique, its cores, what a chunk costs."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from als.core_speeds import CoreSpeeds, core_speeds
from als.options import ASSIGNMENT, LATENCY, OVERHEAD, SPEEDS, STEPS
from als.schedulers import loop_technique
from als.techniques import AnyTechnique
from bridge.options.declared import HOSTS
from bridge.single.own_cores import check_speeds, first_core, latencies_ns
from traces.base.errors import InputError
from traces.base.shared_options import SEED
from traces.compiled import Array

__all__ = ["LoopOptions"]


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
        ``distributed`` or ``master``.
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
    overhead_ns: int = OVERHEAD.default
    latency_ns: int = LATENCY.default
    hosts: int = HOSTS.default
    assignment: str = ASSIGNMENT.default
    steps: int = STEPS.default
    speeds: tuple[str, ...] = SPEEDS.default
    seed: int = SEED.default
    technique: AnyTechnique = field(init=False, compare=False, repr=False)
    changing: CoreSpeeds = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_speeds(self.core_speed_gflops)
        OVERHEAD.check(self.overhead_ns)
        LATENCY.check(self.latency_ns)
        HOSTS.check(self.hosts, highest=self.n_cores)
        ASSIGNMENT.check(self.assignment)
        STEPS.check(self.steps)
        SEED.check(self.seed)
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
