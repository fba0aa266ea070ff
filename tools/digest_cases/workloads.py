"""The workloads of the matrix: generated ones, the same in every process, and the sample."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

from bls import Workload, read_workload, sample_path

#: Generated workloads by name: (seed, jobs, widest job, mean seconds between submits, seconds of the longest request, share of
#: withdrawn jobs).
SPECS: dict[str, tuple[int, int, int, int, int, float]] = {
    "busy": (1, 160, 96, 120, 3600, 0.0),
    "crowded": (2, 120, 64, 20, 3600, 0.0),
    "sparse": (3, 60, 128, 2000, 7200, 0.0),
    "narrow": (4, 120, 4, 60, 1800, 0.0),
    "withdrawn": (5, 120, 64, 60, 3600, 0.4),
    "level": (6, 40, 48, 300, 1800, 0.0),
    "few": (7, 14, 24, 200, 600, 0.0),
}

_STEPS = (0.02, 0.1, 0.25, 0.5, 1.0)


def _job(draw: random.Random, k: int, submit_s: int, longest_s: int, widest: int, withdrawn: float) -> dict[str, Any]:
    estimate = int(longest_s * draw.choice(_STEPS))
    powers = [width for width in (1, 2, 4, 8, 16, 32, 64, 128) if width <= widest]
    cores = draw.choice(powers) if draw.random() < 0.7 else 1 + draw.randrange(widest)
    # Many end early, some exactly at their request, a few run beyond it.
    run = max(1, int(estimate * draw.choice((0.05, 0.3, 0.6, 0.9, 1.0, 1.0, 1.3)))) + draw.choice((0, 0, 0.25))
    job = {
        "job_id": 10 + 3 * k,
        "submit_s": submit_s,
        "run_s": run,
        "cores": cores,
        "estimate_s": estimate,
        "user": draw.randrange(6),
        "group": draw.randrange(3),
        "queue": 1 + draw.randrange(3),
        "partition": 1 + draw.randrange(2),
        "qos": draw.randrange(3),
        "memory_kb": draw.choice((-1, 2**18, 2**20, 2**21)),
        "wait_s": draw.randrange(60),
        "status": 1,
        "application": draw.randrange(1, 6),
        "preceding": 10 + 3 * draw.randrange(k) if k and draw.random() < 0.3 else -1,
        "think_s": draw.choice((0, 0, 30, 600)),
    }
    if draw.random() < withdrawn:
        job["cancel_s"] = submit_s + draw.randrange(estimate)
    return job


@cache
def workload(name: str) -> Workload:
    """A workload by its name: ``sample``, ``given`` (jobs with as many cores as the cases request by number), ``named``
    (``busy``, whose jobs have names), or one of :data:`SPECS`."""
    if name == "sample":
        return read_workload(sample_path())
    if name == "given":
        return Workload.from_jobs([(10 + 3 * k, 40 * k, 300 - 7 * k, 4 + 1 + k % 3, 400) for k in range(14)], name)
    seed, n, widest, gap_s, longest_s, withdrawn = SPECS["busy" if name == "named" else name]
    draw, submit_s, jobs = random.Random(seed), 0, []
    for k in range(n):
        # Some jobs have equal submits.
        submit_s += draw.choice((0, draw.randrange(2 * gap_s), draw.randrange(4 * gap_s)))
        jobs.append(_job(draw, k, submit_s, longest_s, widest, withdrawn))
    if name == "named":
        jobs = [{**job, "application": None, "name": _name(job["application"], k)} for k, job in enumerate(jobs)]
    return Workload.from_jobs(jobs, source=name)


def _name(application: int, k: int) -> str | None:
    return None if application == 1 else f"{'abcd'[application - 2]}_{k % 3}"


def withdrawn_swf() -> str:
    """A log in SWF in which every third job was cancelled before it started."""
    draw, submit_s, lines = random.Random(11), 0, ["; MaxProcs: 64"]
    for k in range(60):
        submit_s += draw.randrange(120)
        cores, estimate = 2 ** draw.randrange(6), draw.choice((120, 600, 1800))
        run, status = (-1, 5) if k % 3 == 2 else (draw.randrange(1, estimate), 1)
        wait = draw.randrange(400)
        lines.append(
            f"{k + 1} {submit_s} {wait} {run} {cores} -1 -1 {cores} {estimate} -1 {status} {k % 5} 1 -1 1 1 -1 -1"
        )
    return "\n".join(lines) + "\n"
