"""Transfers over time on links that they share, with all flows computed again at every change.

A flow waits for its latency, then it flows: at the rate that weighted max-min sharing gives it among the flows of that
moment. Shares may be floats, as the project computes, or fractions.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar

Real = TypeVar("Real", float, Fraction)

#: A link of a route: its key, bytes per second, seconds.
Link = tuple[Hashable, float, float]

#: What SimGrid calls its cross-traffic: the share of a flow that comes back as acknowledgements.
BACK = 0.05


def max_min(flows: Sequence[tuple[dict[Hashable, Real], Real, Real]], capacity: dict[Hashable, Real]) -> list[Real]:
    """Weighted max-min shares by progressive filling.

    ``flows``: of each flow: by link, how much of it a unit of the flow takes; the most it can do; its penalty.
    ``capacity``: of each link. Returns: Of each flow. All grow together, each as 1/penalty, until a link is full or
    a flow can do no more.
    """
    share: dict[int, Real] = {}
    while len(share) < len(flows):
        taken: dict[Hashable, Real] = {}  # by the flows that grow no more
        growth: dict[Hashable, Real] = {}  # of all others, as the common level rises by one
        for f, (weights, _, penalty) in enumerate(flows):
            for link, weight in weights.items():
                if f in share:
                    taken[link] = taken.get(link, 0) + weight * share[f]
                else:
                    growth[link] = growth.get(link, 0) + weight / penalty
        full = {link: max(capacity[link] - taken.get(link, 0), 0) / growth[link] for link in growth}
        own = {f: bound * penalty for f, (_, bound, penalty) in enumerate(flows) if f not in share}
        least = min([*full.values(), *own.values()])
        for f, level in own.items():
            weights, bound, penalty = flows[f]
            if level == least:
                share[f] = bound
            elif any(full[link] == least for link in weights):
                share[f] = least / penalty
    return [share[f] for f in range(len(flows))]


@dataclass(frozen=True)
class Network:
    """A network, by what it does to a transfer.

    ``kind``: ``none``: everything is there at once. ``hockney``: a route's latency, and the bytes through its
    narrowest link. ``sharing``: links are shared. ``route``: (source host, destination host) → links. ``memory``:
    within a host, bytes per second; without, what is there is there.
    """

    kind: str
    route: Callable[[int, int], list[Link]] = lambda a, b: []
    latency_factor: float = 1.0
    bandwidth_factor: float = 1.0
    weight_s: float = 0.0
    gamma: float = 4194304.0
    crosstraffic: bool = True
    memory: float | None = None


@dataclass(frozen=True)
class Flow:
    """Bytes from a host to another from an instant on, ns."""

    source: int
    target: int
    bytes: float
    start: int


@dataclass
class Moving:
    """A transfer under way.

    ``due`` is when its latency is paid, or its last byte arrives; None for one that flows at no rate yet. The bytes left
    are those of the instant ``since``, when its rate was last changed. All instants are ns of the transfers' clock.
    """

    shares: bool
    due: float | None
    left: float = 0.0
    weights: dict[Hashable, float] = field(default_factory=dict)
    bound: float = 0.0
    penalty: float = 1.0
    since: float = 0.0
    rate: float = 0.0
    flows: bool = False


class Transfers:
    """All transfers on a network; each is known by a name.

    They have a clock of their own, which counts from ``base`` and on which nothing is rounded.
    """

    def __init__(self, network: Network, base: int = 0) -> None:
        self.network, self.base = network, base
        self.clock = 0.0
        self.moving: dict[Hashable, Moving] = {}
        self.capacity: dict[Hashable, float] = {}
        self.changed = False

    def begin(self, name: Hashable, source: int, target: int, bytes_: float, t: int) -> bool:
        """A transfer begins; whether it is over, as it takes no time."""
        net, start = self.network, float(t - self.base)
        self.clock = max(self.clock, start)
        if net.kind == "none" or (source == target and (net.memory is None or bytes_ == 0)):
            return True
        if source == target:
            factor = net.bandwidth_factor if net.kind == "sharing" else 1
            self.moving[name] = Moving(False, start + bytes_ / (factor * net.memory) * 1e9)
        else:
            route = net.route(source, target)
            # What was written in decimal is meant: a latency in seconds may be off by its last digit in binary.
            latency_ns = round(sum(seconds for _, _, seconds in route) * 10**9, 6)
            latency = latency_ns / 10**9
            narrowest = min(bandwidth for _, bandwidth, _ in route)
            if net.kind == "hockney":
                self.moving[name] = Moving(False, start + (latency_ns + bytes_ / narrowest * 1e9))
                return False
            weights: dict[Hashable, float] = {}
            penalty = latency
            for key, bandwidth, _ in route:
                self.capacity[key] = bandwidth
                weights[key] = weights.get(key, 0) + 1
                penalty += net.weight_s / bandwidth
            if net.crosstraffic:
                for key, bandwidth, _ in net.route(target, source):
                    self.capacity[key] = bandwidth
                    weights[key] = weights.get(key, 0) + BACK
            bound = min(narrowest, net.gamma / (2 * latency)) if latency else narrowest
            paid = start + net.latency_factor * latency_ns
            self.moving[name] = Moving(True, paid, bytes_, weights, bound, penalty if latency else 1.0)
        return False

    def drop(self, name: Hashable) -> None:
        """End a transfer that is no longer needed, without arrival."""
        self.changed |= self.moving.pop(name).flows

    def next(self) -> float | None:
        self.share()
        return min((moving.due for moving in self.moving.values() if moving.due is not None), default=None)

    def next_ns(self) -> int | None:
        due = self.next()
        return None if due is None else self.base + round(due)

    def step(self) -> list[Hashable]:
        """Transfers that arrive at the next event, in the order in which they began."""
        arrived = []
        now = self.next()
        assert now is not None
        self.clock = max(self.clock, now)
        for name, moving in list(self.moving.items()):
            if moving.due != now:
                continue
            if moving.shares and not moving.flows:  # its latency is paid
                moving.flows, moving.since, moving.due = True, self.clock, None
            else:
                arrived.append(name)
                del self.moving[name]
            self.changed |= moving.shares
        self.share()
        return arrived

    def share(self) -> None:
        if not self.changed:
            return
        self.changed = False
        flowing = [moving for moving in self.moving.values() if moving.flows]
        shares = max_min([(one.weights, one.bound, one.penalty) for one in flowing], self.capacity)
        for moving, x in zip(flowing, shares, strict=True):
            rate = self.network.bandwidth_factor * x * 1e-9
            if rate != moving.rate or moving.due is None:
                moving.left = max(moving.left - moving.rate * (self.clock - moving.since), 0)
                moving.since, moving.rate = self.clock, rate
                moving.due = self.clock + moving.left / rate


def transfer_times(flows: Sequence[Flow], network: Network) -> list[float]:
    """When each flow arrives, ns."""
    transfers = Transfers(network)
    arrives = [-1.0] * len(flows)
    to_come = sorted(range(len(flows)), key=lambda f: flows[f].start)
    while to_come or transfers.moving:
        due = transfers.next()
        if to_come and (due is None or flows[to_come[0]].start <= due):
            f = to_come.pop(0)
            if transfers.begin(f, flows[f].source, flows[f].target, flows[f].bytes, flows[f].start):
                arrives[f] = float(flows[f].start)
            continue
        for name in transfers.step():
            assert isinstance(name, int)
            arrives[name] = transfers.clock
    return arrives
