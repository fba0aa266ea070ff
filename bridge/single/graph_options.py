"""Options of a single graph: scheduler, cores, and the network between their hosts."""

from dataclasses import dataclass, field
from typing import Any

from als.application_parts import GraphPart
from als.core_speeds import CoreSpeeds, core_speeds
from als.network import BYTES_PER_GBIT, network_model, network_state
from als.network.state import NONE, NetworkState
from als.network.topologies import topology
from als.options import ALS, ASSIGNMENT, LATENCY, NETWORK, ORDER, OVERHEAD, SPEEDS, WORKERS
from als.planners import Planner
from als.planners.contract import MAPPED, Mapped
from als.schedulers import AnyScheduler, scheduler
from als.techniques import Selection, Technique
from als.workers import WorkerKind
from bls.options import TOPOLOGY
from bridge.options.declared import HOSTS
from bridge.single.own_cores import OwnCores
from traces.base.errors import InputError, begins_at, shown
from traces.base.options import LINK_BANDWIDTH, LINK_LATENCY, MEMORY_BANDWIDTH, SEED, holds, knows_its_keywords
from traces.compiled import Array


@knows_its_keywords
@dataclass(frozen=True)
class GraphOptions(OwnCores):
    """How a graph is run: its scheduler, cores and network.

    ``als`` is a scheduler or its name (``als.schedulers.scheduler``), ``core_speed_gflops`` the speed of each core, GFLOP/s.
    The cores are divided among the hosts in blocks; if these differ, the first ones are larger by one core. The bandwidth also
    determines the bytes of edges of a generated graph. Costs of chunks need a technique, an order no planner. Raises InputError
    if an option is not allowed, or has no effect.
    """

    als: str | AnyScheduler
    core_speed_gflops: tuple[float, ...]
    hosts: int = holds(HOSTS)
    order: str = holds(ORDER)
    network: str = holds(NETWORK)
    topology: str = holds(TOPOLOGY)
    bandwidth_gbps: float = holds(LINK_BANDWIDTH)
    link_latency_ns: float = holds(LINK_LATENCY)
    memory_gbps: float | None = holds(MEMORY_BANDWIDTH)
    overhead_ns: int = holds(OVERHEAD)
    latency_ns: int = holds(LATENCY)
    assignment: str = holds(ASSIGNMENT)
    speeds: tuple[str, ...] = holds(SPEEDS)
    workers: tuple[str, ...] = holds(WORKERS)
    seed: int = holds(SEED)
    # The objects named by ``workers``, ``als``, the network and ``speeds``
    kinds: tuple[WorkerKind, ...] = field(init=False, compare=False, repr=False)
    scheduler: Technique | Planner | Mapped = field(init=False, compare=False, repr=False)
    state: NetworkState = field(init=False, compare=False, repr=False)
    changing: CoreSpeeds = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        self.check_cores()
        object.__setattr__(self, "scheduler", self._found())
        if self.order != ORDER.default:
            self.check_order_use()
        if not isinstance(self.scheduler, Technique):
            self._check_no_costs(self.scheduler.name)
        object.__setattr__(self, "state", self._network())
        object.__setattr__(self, "changing", core_speeds(self.speeds, self.n_cores, self.seed))

    def _found(self) -> Technique | Planner | Mapped:
        found = scheduler(self.als, where=str(ALS)) if isinstance(self.als, str) else self.als
        if isinstance(found, Selection):
            raise InputError(
                f"{ALS}: {found.name} looks ahead to the end of a loop; allowed with a graph: a technique, a planner, "
                f"{MAPPED.name}"
            )
        if not isinstance(found, Technique | Planner | Mapped):
            raise InputError(f"als: {shown(found)}; allowed: a name, a Technique, a Planner or MAPPED")
        self.check_weights(found.name, found.only_cores)
        return found

    def _check_no_costs(self, planner: str) -> None:
        given = ((OVERHEAD, self.overhead_ns), (LATENCY, self.latency_ns), (ASSIGNMENT, self.assignment))
        for option, value in given:
            if value != option.default:
                raise InputError(f"{option}: not with {planner}: no core requests chunks; allowed: a technique")

    def check_order_use(self) -> None:
        """Refuse any order, the default one too, if a planner has its own, with an InputError."""
        if isinstance(planner := self.scheduler, Planner):
            raise InputError(f"{ORDER}: not with {planner.name}, which plans every task's place before the start")

    def _network(self) -> NetworkState:
        model, where = network_model(self.network), str(TOPOLOGY)
        try:
            topology(self.topology, where).parameters(self.hosts)
        except InputError as error:
            raise InputError(error.text if begins_at(error.text, where) else f"{where}: {error.text}") from None
        return network_state(
            model,
            self.topology,
            hosts=self.hosts,
            bandwidth_gbps=self.bandwidth_gbps,
            latency_ns=self.link_latency_ns,
            memory_gbps=self.memory_gbps,
        )

    @property
    def has_network(self) -> bool:
        """Whether data take time, so that there are transfers."""
        return int(self.state.kind) != NONE

    @property
    def bytes_per_gflop(self) -> float:
        """Number of bytes that a link carries while the slowest core computes a GFLOP."""
        return self.bandwidth_gbps * BYTES_PER_GBIT / min(self.core_speed_gflops)

    def part(self, host: Array | None, core: Array | None = None) -> GraphPart:
        """The graph for the application; ``host`` and ``core`` of each task are used only if it is mapped."""
        by_rank = self.order == "rank"
        if not isinstance(self.scheduler, Mapped):
            return GraphPart(self.scheduler, by_rank=by_rank)
        if host is None or core is None:
            return GraphPart(self.scheduler, by_rank=by_rank, host=host)
        return GraphPart(self.scheduler, by_rank=by_rank, core=self.first_core[host] + core)

    def names(self) -> dict[str, Any]:
        """The options for a record; equal speeds of cores as one number."""
        order = None if isinstance(self.scheduler, Planner) else self.order
        return super().names() | {"order": order, "speeds": list(self.speeds)}
