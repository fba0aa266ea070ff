"""What goes wrong in a simulated run: everything drawn from its seed."""

from __future__ import annotations

import random

from small_scenarios import KINDS, VARIANTS
from virtual_network import Link
from virtual_processes import BEFORE_HELLO, FAULTS, HARMLESS, SPOILS, WITH_JOBS, Fault

__all__ = ["STRANGERS", "Plan"]

#: What strangers do.
STRANGERS = ("silent", "leaves", "garbage", "wrong token", "oversized", "half a hello")

#: How often all processes have the same fault, so that runs come to their ends in errors; and how often, of the others, one
#: that leads to what hardly ever happens else.
_ONLY_P, _RARE_P = 0.12, 0.2


class Plan:
    """What a seed means.

    Attributes
    ----------
    seed : int
    draw : random.Random
        Goes on being drawn from while the run is simulated, which is as repeatable as the run.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        draw = self.draw = random.Random(seed)
        self.kind, self.variant = draw.choice((*KINDS, "graphs")), draw.randrange(VARIANTS)  # graphs have most steps
        self.keep_tasks = draw.random() < 0.8
        self.coupling = draw.choice(("pool", "process"))
        self.workers = draw.randint(1, 4)
        self.timeout_s = draw.choice((1.0, 2.0, 4.0, 10.0))
        # The processes are of somebody else's, who asks for lengths, and cannot follow what running jobs are told.
        self.told = draw.random() < 0.4 and self.kind not in ("hints", "widths", "evolving")
        self.conserves_work = draw.random() < 0.7
        #: Instants are multiples of this, s, so that things happen at once; 0: hardly ever.
        self.beat_s = draw.choice((0.0, 0.0, 1 / 64, 1 / 4))
        self._latency_s = draw.choice((0.002, 0.02, 0.1))
        #: Whether little is under way at once; not where each piece takes long, or what is not slow would seem to be.
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
        self.strangers = self._instants(0.3, 6, STRANGERS)
        self.server = self._instants(0.2, 5, ("killed", "killed", "killed", "paused", "stopped"))
        self.partitions = self._instants(0.15, 3, (0.5 * self.timeout_s, 2.0 * self.timeout_s))
        self.leaps = self._instants(0.1, 2, (100.0, 1000.0))
        self.interrupts = self._instants(0.07, 2, ("SIGINT",))

    def _instants(self, share: float, most: int, whats: tuple[object, ...]) -> list[tuple[float, object]]:
        if self.draw.random() >= share:
            return []
        times = [10 ** self.draw.uniform(-2.5, 1.0) for _ in range(self.draw.randint(1, most))]
        return [(at_s, self.draw.choice(whats)) for at_s in sorted(times)]

    def link(self) -> Link:
        """A connection."""
        return Link(self._latency_s * self.draw.random(), self._room, self._high, self.beat_s)

    def fault(self) -> Fault:
        """What is wrong with the next process."""
        kind = self.draw.choice(self._kinds) if self.draw.random() < self._faulty else ""
        if kind == "failed" and self.kind == "graphs" and self.keep_tasks:
            kind = "failed after records"
        if kind == "false promise" and self.draw.random() < 0.5:
            kind = "killed"
        return Fault(kind, self.draw, self.timeout_s)
