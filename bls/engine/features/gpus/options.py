"""Conflicts of requests of numbered GPUs."""

from typing import Any, Final

from bls.engine.features.core_choices import STREAMED, allocator_text, unaware
from bls.engine.features.widths.options import CHANGES
from bls.options import ALLOCATOR, REQUESTS
from traces.base.options import Conflict, has


def _first(run: Any, per_host: bool = False) -> int | None:
    # The number of the first job that requests GPUs, or GPUs on each host of several units, if there is one.
    asked = run.constraints.requests
    if asked is None or asked.gpus is None:
        return None
    several = (asked.gpus.per_host > 0) & (run.workload.cores > asked.unit_cores)
    found = several if per_host else asked.gpus.any
    return int(run.workload.job_id[found.argmax()]) if found.any() else None


_REQUESTED: Final = has(
    f"{REQUESTS} of GPUs of hosts", lambda run: _first(run) is not None, lambda run: f"GPUs of job {_first(run)}",
    requests="gpus.csv")

RUN: Final[tuple[Conflict, ...]] = (
    Conflict(CHANGES, _REQUESTED, "as it is unspecified which GPUs other widths have", "none"),
)
STREAM: Final = (
    Conflict(STREAMED, has(
        f"{ALLOCATOR:fgd}", lambda run: run.allocator.by_classes, allocator_text, allocator="fgd",
    ), reason="{second}: it weighs the requests of all jobs", allowed="another one"),
)
UNAWARE: Final = (
    unaware("gpus", _REQUESTED, "resources of hosts, as resources = { gpu = 4 }"),
    unaware("gpus per host", has(
        f"{REQUESTS} of GPUs per host by jobs of several units", lambda run: _first(run, True) is not None,
        lambda run: f"GPUs per host of job {_first(run, True)}, of several units", requests="gpus-per-host.csv",
    ), "GPUs per task or job"),
)
