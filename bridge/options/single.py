"""The options that ``loop`` and ``graph`` have in common: the application level alone, on cores of its own."""

from dataclasses import dataclass
from typing import Annotated, Any

from als.options import ASSIGNMENT, CORES, LATENCY, OVERHEAD, SPEEDS
from bridge.options.declared import CORE_SPEED, FORCE, HOSTS, OUT, TRACE
from traces.base.options import SEED


@dataclass(frozen=True)
class CoreOptions:
    """Cores, and changes of their speeds."""

    cores: Annotated[int | None, CORES] = CORES.default
    core_speed: Annotated[str, CORE_SPEED] = CORE_SPEED.default
    hosts: Annotated[int, HOSTS] = HOSTS.default
    speeds: Annotated[list[str] | None, SPEEDS] = None

    def given(self) -> dict[str, Any]:
        """Return the arguments of ``bridge.single``, without the speeds."""
        return {"hosts": self.hosts, "speeds": tuple(self.speeds or ())}


@dataclass(frozen=True)
class ChunkCosts:
    """Cost of a chunk."""

    overhead: Annotated[int, OVERHEAD] = OVERHEAD.default
    latency: Annotated[int, LATENCY] = LATENCY.default
    assignment: Annotated[str, ASSIGNMENT] = ASSIGNMENT.default

    def given(self) -> dict[str, Any]:
        """Return the arguments of ``bridge.single``."""
        return {"overhead_ns": self.overhead, "latency_ns": self.latency, "assignment": self.assignment}


@dataclass(frozen=True)
class Written:
    """Seed and output."""

    seed: Annotated[int, SEED] = SEED.default
    out: Annotated[str | None, OUT] = OUT.default
    trace: Annotated[str | None, TRACE] = TRACE.default
    force: Annotated[bool, FORCE] = FORCE.default
