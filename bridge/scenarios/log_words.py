"""What is said of a log whose jobs were held, or asked for what a run does not count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from bls.options import MEMORY, REQUESTS
from bls.workloads.workload import Workload

if TYPE_CHECKING:
    from bls.machine.platform import Platform
    from bridge.scenarios.scenario import Scenario

#: Further columns of logs that say how many GPUs a job had.
_GPUS = ("gpus", "gpu")


def log_words(jobs: Workload, platform: Platform | None = None, options: Iterable[Scenario] = ()) -> Iterator[str]:
    """Lines about held jobs, about GPUs that are not counted, and about memory that the log does not know.

    Parameters
    ----------
    jobs : Workload
        Selected.
    platform : Platform, optional
        The machine of the runs that simulate them.
    options : iterable of Scenario
        Of these runs; none where the log is only described.
    """
    options = list(options)
    if words := held_words(int(np.count_nonzero(jobs.held))):
        yield words
    asked = [column > 0 for name, column in jobs.extras.items() if name.lower() in _GPUS]
    with_gpus = int(np.count_nonzero(np.any(asked, axis=0))) if asked else 0
    has_gpus = platform is not None and any("gpu" in name.lower() for name in platform.resource_names)
    if with_gpus and not (has_gpus and options and all(one.batch.requests is not None for one in options)):
        yield (
            f"{_jobs(with_gpus)} requested GPUs. They are not simulated, so too many such jobs may run at once; declare them "
            f"with {REQUESTS} and in the platform's hosts"
        )
    if any(one.batch.memory == "swf" for one in options) and not np.any(jobs.memory_kb > 0):
        yield f"{MEMORY:swf}: the log records no memory requests, so memory limits no job"


def held_words(jobs: int) -> str:
    """A line about jobs that were held after their submit; empty if there are none."""
    if not jobs:
        return ""
    was, rest = (
        ("was", "it starts at that time at the earliest, and its wait counts")
        if jobs == 1
        else ("were", "they start at that time at the earliest, and their waits count")
    )
    return f"{_jobs(jobs)} {was} held after the submit (begin, Eligible): {rest} from then"


def _jobs(n: int) -> str:
    return f"{n:,} job{'s' * (n > 1)} of the log"
