"""How one loop alone is run: its technique, its cores, what a chunk costs."""

from __future__ import annotations

from dataclasses import dataclass, field

from als.core_speeds import CoreSpeeds, core_speeds
from als.options import ASSIGNMENT, LATENCY, OVERHEAD, SPEEDS, STEPS
from als.schedulers import loop_technique
from als.techniques import AnyTechnique
from bridge.options.declared import HOSTS
from bridge.single.own_cores import OwnCores
from traces.base.shared_options import SEED


@dataclass(frozen=True)
class LoopOptions(OwnCores):
    """How a loop is run."""

    als: str | AnyTechnique  # its technique, or the technique's name
    core_speed_gflops: tuple[float, ...]  # speed of each of the P cores, GFLOP/s
    overhead_ns: int = OVERHEAD.default  # what each chunk costs
    # what a message between the master's host, the first, and another one takes; there and back for each chunk
    latency_ns: int = LATENCY.default
    # over how many hosts the cores are dealt in blocks, the first ones being larger by one core where they differ
    hosts: int = HOSTS.default
    assignment: str = ASSIGNMENT.default  # ``distributed`` or ``master``
    # how often the loop is repeated, with a barrier after each time; a technique may learn from step to step
    steps: int = STEPS.default
    speeds: tuple[str, ...] = SPEEDS.default  # what changes the cores' speeds, as ``als.core_speeds`` has it
    seed: int = SEED.default  # of all that is drawn
    # technique, changing: what ``als`` and ``speeds`` name; found as this is built
    technique: AnyTechnique = field(init=False, compare=False, repr=False)
    changing: CoreSpeeds = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        self.check_cores()
        STEPS.check(self.steps)
        found = loop_technique(self.als) if isinstance(self.als, str) else self.als
        self.check_weights(found.name, found.only_cores)
        object.__setattr__(self, "technique", found)
        object.__setattr__(self, "changing", core_speeds(self.speeds, self.n_cores, self.seed))
