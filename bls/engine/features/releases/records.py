"""Cores that running jobs release before their ends."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from bls.engine.codes import Release
from traces.compiled import Array
from traces.records import events
from traces.records.declared import column

if TYPE_CHECKING:
    from bls.engine.state import BatchState
    from traces.ledger import JobRecords


class ReleaseRecords(events.JobEvents):
    """One row per core that a job releases before its end, sorted as ``JobRecords``, then by core, then by instant.

    The core was part of the job's allocation, or given to it later; from this instant on it is free for other jobs, or for the
    same job again.
    """

    name = "releases"
    shown = "a running job gives cores back"
    attributes = (
        ("releasing job", "number of the running job that gives cores back", events.INT64),
        ("released", "how many cores it gives back", events.UINT64),
    )
    missing = "no releases: no core was given back before its job's end (coordination release)"
    instant: ClassVar[str] = "released_ns"
    order: ClassVar[tuple[str, ...]] = ("core", "released_ns")
    frees: ClassVar[bool] = True
    holds: ClassVar[bool] = True

    core: Array = column("global number of the core")
    released_ns: Array = column("instant; before the job's `end_ns`", "ns")

    @classmethod
    def of_state(cls, state: BatchState) -> Self | None:
        """The releases so far; None also if only hosts that go out of service release cores."""
        if state.settings.releases not in (Release.BY_CORE, Release.BY_HOST):
            return None
        row, core, instant = state.releases.made.front(state.releases.n_made)
        order = np.lexsort((instant, core, row))
        return cls(row[order], core[order], instant[order])

    @property
    def cores_gained(self) -> Array:
        """Each event takes one core from its job."""
        return np.full(len(self), -1)

    def points(self, jobs: JobRecords) -> events.Points:
        """Group the cores that one job releases at one instant."""
        at, job, sums = events.at_once(self.released_ns, self.job, np.ones(len(self)))
        return events.Points(at, [jobs.job_id[job], *sums])

    def sentences(self, job: int, numbers: Array, others: Collection[events.JobEvents]) -> Iterator[events.Happening]:
        """The releases at the first instants, with reasons, and the number of cores that followed."""
        mine = np.flatnonzero(self.job == job)
        mine = mine[np.argsort(self.released_ns[mine], kind="stable")]
        at, instants = self.released_ns[mine], np.unique(self.released_ns[mine])
        for ns in instants[: events.NAMED].tolist():
            cores = self.core[mine][at == ns]
            reasons = filter(None, (one.reason_of_release(job, cores) for one in others))
            why = next(reasons, "no longer needed")
            yield events.Happening(ns, f"released {events.cores_named(cores)}, {why}")
        if len(instants) > events.NAMED:
            later = events.counted(int(np.count_nonzero(at > instants[events.NAMED - 1])), "core")
            last = int(instants[-1])
            yield events.Happening(last, f"released {later} more, the last at {events.instant_text(last)}", dated=False)
