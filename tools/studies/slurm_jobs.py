"""Jobs for the studies with Slurm as the batch level: enough to keep 16 hosts busy, with users' requests, or better ones.

Times are in seconds. Each seed has its own jobs, which are the same with every kind of request.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bls.workloads.workload import Workload

#: Widths of jobs, each with its frequency in this list.
_CORES = (1, 1, 1, 2, 2, 4, 4, 8, 16)

#: Requested hours: as on Piz Daint, mostly round numbers, at most a day (RM-Replay, Figure 9).
_REQUESTS_H = (1, 2, 4, 6, 8, 9, 10, 12, 24)

_JOBS = 250

#: Widths of the jobs for the study of switches, by job number.
SWITCHED_CORES = np.random.default_rng(1).choice(
    (1, 2, 4, 8, 16, 32, 48), 300, p=(0.25, 0.25, 0.2, 0.15, 0.1, 0.035, 0.015)
)
_SWITCHED_LOAD = 1.1

#: Hosts of one core, and the work of all jobs over the capacity of these hosts until the last submit.
HOSTS, _LOAD = 16, 0.95


def requested(seed: int) -> Workload:
    """Jobs whose users request a round number of hours: one of the sufficient ones, at random."""
    return _workload(seed, _round)


def within_10_percent(seed: int) -> Workload:
    """The same jobs, with requests that exceed run times by up to a tenth."""
    return _workload(seed, lambda run, drawn: np.ceil(run * (1 + 0.1 * drawn)))


def short(seed: int) -> Workload:
    """Two hundred jobs of some minutes, with requests up to four times as long, for running clocks."""
    rng = np.random.default_rng(seed)
    run = np.clip(rng.lognormal(np.log(100), 0.8, 200), 10, 900).astype(np.int64)
    submit = np.cumsum(rng.exponential(20, 200)).astype(np.int64)
    cores = rng.choice(_CORES, 200)
    limit = np.ceil(run * rng.uniform(1.1, 4, 200) / 60).astype(np.int64) * 60
    return _jobs(submit, run, cores, limit)


def switched(seed: int) -> Workload:
    """Jobs for 64 hosts, 16 below each of four switches; the widths do not depend on the seed."""
    rng = np.random.default_rng(seed)
    n = len(SWITCHED_CORES)
    run = np.clip(rng.lognormal(np.log(2400), 0.9, n), 660, 43_200).astype(np.int64)
    within_s = (run * SWITCHED_CORES).sum() / 64 / _SWITCHED_LOAD
    gaps = rng.exponential(1, n)
    submit = (np.cumsum(gaps) / gaps.sum() * within_s).astype(np.int64)
    limit = np.ceil(run * rng.uniform(1.1, 4, n)).astype(np.int64)
    return _jobs(submit, run, SWITCHED_CORES, limit)


def switch_requests(share: float) -> str:
    """A request file for the widest share of these jobs: they accept no more of the four switches than they need."""
    asked = np.sort(np.argsort(-SWITCHED_CORES, kind="stable")[: round(share * len(SWITCHED_CORES))])
    rows = [f"{job + 1},{-(-int(SWITCHED_CORES[job]) // 16)}\n" for job in asked.tolist()]
    return "job_id,switches\n" + "".join(rows)


def _workload(seed: int, request: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Workload:
    rng = np.random.default_rng(seed)
    run = np.clip(rng.lognormal(np.log(1500), 1.2, _JOBS), 30, 86_400).astype(np.int64)
    cores = rng.choice(_CORES, _JOBS)
    gaps = rng.exponential(1, _JOBS)
    within_s = (run * cores).sum() / HOSTS / _LOAD
    submit = (np.cumsum(gaps) / gaps.sum() * within_s).astype(np.int64)
    limit = request(run, rng.uniform(0, 1, _JOBS)).astype(np.int64)
    return _jobs(submit, run, cores, limit)


def _round(run: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    seconds = 3600 * np.array(_REQUESTS_H)
    first = np.searchsorted(seconds, run)
    return seconds[first + (drawn * (len(seconds) - first)).astype(np.int64)]


def _jobs(submit: np.ndarray, run: np.ndarray, cores: np.ndarray, limit: np.ndarray) -> Workload:
    columns = (submit.tolist(), run.tolist(), cores.tolist(), limit.tolist())
    return Workload.from_jobs([(number, *job) for number, job in enumerate(zip(*columns, strict=True), 1)])
