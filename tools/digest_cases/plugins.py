"""Plug-ins of the matrix, one of every kind that a user can write, named by this file's path."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from als import Planner, Technique, length_kernel, planner_kernel, technique_kernel
from als.graphs.contract import NO_ROOM, GraphDraft, GraphModel, graph_kernel
from als.lengths import LengthModel
from als.network import SharingModel
from als.planners import PlanningProblem
from als.streams import next_word, uniform_from_word
from bls import KnownJobs, ScorePolicy, SeenJob, View, Workload, score_kernel
from bls.estimates import HistoryEstimator
from traces.compiled import Array


class Greedy:
    """Starts all jobs that fit, in the order of arrival."""

    name = "greedy"

    def decide(self, view: View) -> Iterator[SeenJob]:
        """The waiting jobs that fit, one after another."""
        free = view.free_cores
        for job in view.waiting:
            if job.cores <= free:
                free -= job.cores
                yield job


class Sleeper:
    """Starts the shortest job that fits, only at full quarters of an hour."""

    name = "sleeper"

    def decide(self, view: View) -> list[SeenJob]:
        """One job per quarter of an hour; if all have waited for an hour, all that fit."""
        quarter = 900 * 10**9
        if view.now_ns % quarter:
            view.wake_at((view.now_ns // quarter + 1) * quarter)
            return []
        free, chosen = view.free_cores, []
        for job in sorted(view.waiting, key=lambda job: (job.estimate_ns, job.job_id)):
            if job.cores <= free:
                free -= job.cores
                chosen.append(job)
        if view.n_waiting > len(chosen):
            view.wake_at(view.now_ns + quarter)
        return chosen


@dataclass(frozen=True)
class Widest:
    """A key per job, with a parameter: the widest job first, or with ``turn`` the narrowest."""

    name: str = "widest"
    turn: bool = False

    def keys(self, jobs: KnownJobs) -> Array:
        """The cores."""
        return np.asarray(jobs.cores if self.turn else -jobs.cores)


@score_kernel
def _slowdown(
    now_ns: int,
    waiting: Any,
    n_waiting: int,
    eligible_ns: Any,
    submit_ns: Any,
    estimate_ns: Any,
    cores: Any,
    numbers: Any,
    memory: Any,
    key: Any,
) -> int:
    for k in range(n_waiting):
        row = waiting[k]
        key[k] = -(now_ns - submit_ns[row]) / estimate_ns[row]
    return 0


LARGEST_SLOWDOWN = ScorePolicy("largest-slowdown", _slowdown)

LAST_THREE = HistoryEstimator("last-three", (("user", "cores"), ("queue",)), mean_of=3, least=1)


class Half:
    """Half of the request."""

    name = "half"

    def planned_ns(self, workload: Workload, seed: int) -> Array:
        """Half of every job's request, plus 1 ns."""
        return np.asarray(workload.estimate_ns // 2 + 1)


class EveryHour:
    """Notes the numbers of waiting and running jobs and of free cores every hour."""

    name = "every-hour"
    every_ns = 3600 * 10**9

    def look(self, view: View) -> dict[str, int]:
        """A row."""
        return {"waiting": view.n_waiting, "running": view.n_running, "free_cores": view.free_cores}


class Always:
    """Notes the job with the longest wait at every instant, if there is one."""

    name = "always"
    every_ns = None

    def look(self, view: View) -> dict[str, int] | None:
        """A row, or none."""
        for job in view.waiting:
            return {"job": job.job_id, "wait_ns": view.now_ns - job.eligible_ns, "attempt": job.attempt}
        return None


class Careful:
    """A rule in plain Python: a third of the fair share, at most three times the core's last chunk."""

    def begin(self, loop: Any) -> None:
        """Reset the state."""
        self.last: list[int] = [max(1, loop.n_tasks // (10 * loop.n_cores))] * loop.n_cores

    def chunk(self, ask: Any) -> int:
        """The chunk for one request."""
        share: int = ask.remaining // (3 * ask.n_cores)
        size: int = max(1, min(share, 3 * self.last[ask.core]))
        self.last[ask.core] = size
        return size


@dataclass
class Measured:
    """A rule in plain Python with a parameter, which learns from the duration of chunks and is notified of each core's last."""

    part: float = 0.5
    seen_ns: int = 0

    def chunk(self, ask: Any) -> int:
        """Larger chunks after fast ones."""
        self.seen_ns += ask.last_work_ns
        quick = int(ask.last_total_ns <= 1.2 * ask.last_work_ns)
        remaining: int = ask.remaining
        return max(1, min(remaining, int(self.part * remaining / ask.n_cores) + quick))

    def finished(self, ask: Any) -> None:
        """The core's last chunk."""
        self.seen_ns += ask.last_work_ns


@technique_kernel
def _thirds(n_tasks: int, n_cores: int, core: int, request: int, remaining: int, memo: Any) -> int:
    if request % n_cores == 0:
        memo[0] = -(-2 * remaining // (3 * n_cores))
    size: int = min(int(memo[0]), remaining)
    return size


THIRDS = Technique("thirds", _thirds, memo_size=1)


@length_kernel
def _weibull(
    k: int, n: int, mean: float, params: Any, pattern: Any, memo: Any, keys: Any, cursor: Any, words: Any
) -> float:
    u = uniform_from_word(next_word(keys, cursor, words))
    return float(mean * params[1] * (-math.log(u)) ** params[0])


WEIBULL = LengthModel("weibull", _weibull, params=(0.5, 1 / math.gamma(1.5)), cov=0.52)


@graph_kernel
def _ladder(draft: GraphDraft) -> int:
    gflop, source, target, bytes_, size = draft.gflop, draft.source, draft.target, draft.bytes, draft.size
    rungs = max(1, draft.n_tasks // 2)
    size[0], size[1] = 2 * rungs, 3 * rungs - 2
    if size[0] > gflop.size or size[1] > source.size:
        return NO_ROOM
    e = 0
    for k in range(rungs):
        left, right = 2 * k, 2 * k + 1
        gflop[left], gflop[right] = draft.params[0], 1.0
        source[e], target[e], bytes_[e] = left, right, 1.0
        e += 1
        if k < rungs - 1:
            source[e], target[e], bytes_[e] = left, left + 2, 1.0
            source[e + 1], target[e + 1], bytes_[e + 1] = right, right + 2, 1.0
            e += 2
    return 0


def _ladder_room(tasks: int, cores: int) -> tuple[int, int]:
    return max(2, tasks), max(1, 3 * (tasks // 2) - 2)


@dataclass(frozen=True)
class Ladder:
    """Two chains with cross edges."""

    name: str = "ladder"
    ratio: float = 2.0

    def graph(self, variation: float) -> GraphModel:
        """Use the run's variation."""
        return GraphModel(self.name, _ladder, np.array([self.ratio]), _ladder_room, ccr=1.0, cov=variation)


LADDER = Ladder()


@planner_kernel
def _fastest(problem: PlanningProblem) -> int:
    speed, fastest = problem.speed, 0
    for c in range(speed.size):
        if speed[c] > speed[fastest]:
            fastest = c
    if speed[fastest] == 0.0:
        return -1
    at = 0.0
    for task in problem.order:
        problem.core[task] = fastest
        problem.begin[task] = at
        at += problem.gflop[task] / speed[fastest]
    return 0


FASTEST = Planner("fastest", _fastest, "its definition", lambda n, e, p: 0, lambda n, e, p: 0)

SLOW_LINKS = SharingModel("slow-links", latency_factor=2.0, bandwidth_factor=0.5, weight_s=1000.0)
