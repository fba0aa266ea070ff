"""Small slow drivers of techniques: cores of any speeds that ask when they are idle, or as a test says."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from als.techniques.contract import (
    FACTS,
    FIRST,
    LAST_SIZE,
    LAST_SQUARES,
    LAST_TOTAL_NS,
    LAST_WORK_NS,
    MEAN_S,
    NOW_NS,
    OVERHEAD_S,
    SIGMA_S,
    STEP,
    Technique,
)

S = 1_000_000_000


@dataclass(frozen=True)
class Chunk:
    """A chunk that was assigned: in which step, by whom, which tasks, from when on (with the overhead) until when."""

    step: int
    core: int
    first: int
    size: int
    asked_ns: int
    end_ns: int


def drive(
    technique: Technique,
    n_tasks: int,
    speeds: list[float],
    *,
    steps: int = 1,
    overhead_ns: int = 0,
    lengths: list[float] | None = None,
    sigma_s: float = 0.0,
    changes: dict[tuple[int, int], float] | None = None,
) -> list[Chunk]:
    """The chunks in the order in which they were assigned.

    The tasks are of 1 GFLOP each, or of ``lengths``; a core of speed v GFLOP/s needs length/v seconds, rounded to ns. Each
    step is the same loop again, after a barrier. ``changes[step, core]`` is a core's speed from that step on.
    """
    speed = np.array(speeds, np.float64)
    work = [1.0] * n_tasks if lengths is None else lengths
    n_cores = len(speeds)
    facts, params = np.zeros(FACTS), np.array(technique.params, np.float64)
    memo = np.zeros(technique.memo_size + n_cores * technique.memo_per_core)
    chunks: list[Chunk] = []
    now = 0
    last: list[tuple[float, ...]] = [(0.0, 0.0, 0.0, 0.0)] * n_cores
    for step in range(steps):
        for (at_step, core), changed in (changes or {}).items():
            if at_step == step:
                speed[core] = changed
        if not technique.learns:
            memo[:] = 0.0
        facts[STEP], facts[OVERHEAD_S], facts[SIGMA_S] = step, overhead_ns / S, sigma_s
        facts[MEAN_S] = sum(work) / n_tasks / speed.mean()
        asking = [(now, core) for core in range(n_cores)]
        taken = [False] * n_tasks
        request, left = 0, n_tasks
        while asking:
            now, core = heapq.heappop(asking)
            facts[NOW_NS] = now
            facts[[LAST_SIZE, LAST_WORK_NS, LAST_TOTAL_NS, LAST_SQUARES]] = last[core]
            last[core] = (0.0, 0.0, 0.0, 0.0)
            if not left and not technique.learns:
                continue
            facts[FIRST] = n_tasks - left
            size = technique.asked(n_tasks, n_cores, core, request, left, facts, speed, params, memo)
            if not left or size == 0:
                continue
            assert 0 < size <= left
            first = int(facts[FIRST])
            assert not any(taken[first : first + size])
            assert first + size <= n_tasks
            taken[first : first + size] = [True] * size
            times = [max(1, round(gflop / speed[core] * S)) for gflop in work[first : first + size]]
            mean = sum(times) / size
            last[core] = (size, sum(times), sum(times) + overhead_ns, sum((t - mean) ** 2 for t in times))
            end = now + overhead_ns + sum(times)
            chunks.append(Chunk(step, core, first, size, now, end))
            heapq.heappush(asking, (end, core))
            request += 1
            left -= size
        assert left == 0
        now = max(chunk.end_ns for chunk in chunks)
    return chunks


def said(chunks: list[Chunk]) -> str:
    """``core:size`` of each, with spaces between."""
    return " ".join(f"{chunk.core}:{chunk.size}" for chunk in chunks)


class Loop:
    """One loop: asks the rule, with facts that the test sets, and checks every answer."""

    def __init__(self, found: Technique, n: int, p: int, speed: list[float] | None = None) -> None:
        self.technique, self.n, self.p = found, n, p
        self.left, self.request = n, 0
        self.facts = np.zeros(FACTS)
        self.speed = np.array([1.0] * p if speed is None else speed)
        self.params = np.array(found.params, np.float64)
        self.memo = np.zeros(found.memo_size + p * found.memo_per_core)

    def ask(self, core: int, last: tuple[int, float] = (0, 0.0), *, left: int = 0, request: int | None = None) -> int:
        """The size that this core gets, which has had a chunk of so many tasks and ns."""
        self.left = left or self.left
        self.request = self.request if request is None else request
        self.facts[[LAST_SIZE, LAST_WORK_NS]] = last
        size = self.technique.asked(
            self.n, self.p, core, self.request, self.left, self.facts, self.speed, self.params, self.memo
        )
        assert 0 <= size <= self.left
        self.left -= size
        self.request += size > 0
        return size

    def sizes(self) -> list[int]:
        found: list[int] = []
        while self.left:
            found.append(self.ask(len(found) % self.p))
        return found
