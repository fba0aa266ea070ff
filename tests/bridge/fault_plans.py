"""Faults of a simulated run, drawn from its seed."""

import random
from dataclasses import dataclass

from small_scenarios import INTERRUPTED, KINDS, VARIANTS
from virtual_network import Link
from virtual_processes import BEFORE_HELLO, FAULTS, HARMLESS, SPOILS, WITH_JOBS, Fault

#: How often all processes have the same fault, so that runs end in errors; and how often the others have a rare one.
_ONLY_P, _RARE_P = 0.12, 0.2

#: Of three seeds one is of a run with other hosts.
_EVERY = 3

#: What can be wrong with a host: with its messages, before it has joined, and after.
HOST_SPOILS = ("garbage", "garbage at once", "says it twice")
_LOST = ("killed", "stopped", "cut off", "cut off")
_WITHOUT_SERVER = ("fork server killed", "fork server stopped", "fork server dies often")
_AS_IT_ENDS = ("fork server dies as it ends", "unborn as it ends")
_HOST_FAULTS = (
    *HOST_SPOILS, "wrong token", "other package", "other version", *_LOST, *_WITHOUT_SERVER, *_AS_IT_ENDS
)  # fmt: skip


@dataclass
class HostPlan:
    name: str  # of the host; two commands may be on one
    workers: int
    at_s: float  # when it is started, after the run has begun to listen
    patience_s: float  # for how long it waits for the run
    kind: str  # of its fault, or empty
    fault_s: float  # how long after its start a fault comes that comes once
    seconds: float  # how long it lasts
    prepares_s: float  # how long its fork server takes to load the simulator
    lives: int  # how often it is started again


class Plan:
    """The meaning of a seed. It is drawn from while the run is simulated, which is as repeatable as the run."""

    def __init__(self, seed: int) -> None:
        draw = self.draw = random.Random(seed)
        self.kind, self.variant = draw.choice((*KINDS, "graphs")), draw.randrange(VARIANTS)  # graphs have most steps
        self.keep_tasks = draw.random() < 0.8
        self.coupling = draw.choice(("pool", "process"))
        self.workers = draw.randint(1, 4)
        self.timeout_s = draw.choice((1.0, 2.0, 4.0, 10.0))
        # The processes are of a user's simulator, which requests lengths, and cannot follow commands to running jobs.
        self.told = draw.random() < 0.4 and self.kind not in INTERRUPTED
        self.conserves_work = draw.random() < 0.7
        #: Instants are multiples of this, s, so that things happen at once; 0: hardly ever.
        self.beat_s = draw.choice((0.0, 0.0, 1 / 64, 1 / 4))
        self._latency_s = draw.choice((0.002, 0.02, 0.1))
        #: Whether little is under way at once; not where each piece takes long, or a process that is not slow seems slow.
        self.narrow = self.beat_s < 0.1 and self._latency_s < 0.05 and draw.random() < 0.5
        self._room, self._high = (2048, 512) if self.narrow else (2**18, 2**16)
        self._faulty = draw.choice((0.0, 0.1, 0.3, 0.6))
        self._kinds: tuple[str, ...] = draw.choice((FAULTS, WITH_JOBS, BEFORE_HELLO, SPOILS, WITH_JOBS + HARMLESS))
        if draw.random() < _ONLY_P:
            self._faulty, self._kinds = draw.choice((0.8, 1.0)), (draw.choice(FAULTS),)
        elif draw.random() < _RARE_P:  # a failure after transfers; an answer after the quit
            transfers = self.kind == "graphs" and self.keep_tasks
            rare = "failed after records" if transfers or self.coupling == "pool" else "twice"
            self._faulty, self._kinds = 0.4, (rare,)
        self.server = self._instants(0.2, 5, ("killed", "killed", "killed", "stopped"))
        self.leaps = self._instants(0.1, 2, (100.0, 1000.0))
        self.interrupts = self._instants(0.07, 2, ("SIGINT",))
        self.hosts = self._hosts() if seed % _EVERY == _EVERY - 1 else []

    def _instants(self, share: float, most: int, whats: tuple[object, ...]) -> list[tuple[float, object]]:
        if self.draw.random() >= share:
            return []
        times = [10 ** self.draw.uniform(-2.5, 1.0) for _ in range(self.draw.randint(1, most))]
        return [(at_s, self.draw.choice(whats)) for at_s in sorted(times)]

    def _hosts(self) -> list[HostPlan]:
        draw = self.draw
        self.told = False  # hosts have our own simulator
        self.workers = draw.choice((0, 0, 0, 1, 2))
        faulty = draw.choice((0.0, 0.3, 0.6, 0.9))
        kinds = draw.choice((_HOST_FAULTS, _LOST, HOST_SPOILS, _WITHOUT_SERVER))
        if draw.random() < _RARE_P:  # a message while the run says that it is over
            faulty, kinds, self.workers = 1.0, _AS_IT_ENDS, 1
        return [
            self._host(draw, draw.choice(kinds) if draw.random() < faulty else "") for _ in range(draw.randint(1, 3))
        ]

    def _host(self, draw: random.Random, kind: str) -> HostPlan:
        late, slow = draw.random() < 0.3, draw.random() < 0.2
        prepares_s = 10 ** draw.uniform(-2.0, 2.0) if slow else draw.uniform(0.0, 0.1)
        return HostPlan(
            name=draw.choice(("h1", "h1", "h2", "h3")),
            workers=draw.randint(1, 2),
            at_s=10 ** draw.uniform(-2.0, 1.5) if late else draw.uniform(0.0, 0.02),
            patience_s=draw.choice((0.0, 2.0, 60.0)),
            kind=kind,
            fault_s=10 ** draw.uniform(-2.0, 1.0),
            seconds=10 ** draw.uniform(-1.0, 2.5),
            # Before it was ready: else there would be another.
            prepares_s=100.0 if kind == "fork server dies as it ends" else prepares_s,
            lives=draw.choice((0, 0, 1, 3)),
        )

    def link(self) -> Link:
        return Link(self._latency_s * self.draw.random(), self._room, self._high, self.beat_s)

    def fault(self) -> Fault:
        kind = self.draw.choice(self._kinds) if self.draw.random() < self._faulty else ""
        if kind == "failed" and self.kind == "graphs" and self.keep_tasks:
            kind = "failed after records"
        if kind == "false promise" and self.draw.random() < 0.5:
            kind = "killed"
        return Fault(kind, self.draw, self.timeout_s)
