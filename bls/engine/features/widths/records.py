"""Changes of the widths of running jobs: they get cores, are requested to return some, or request another number."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from bls.engine.codes import Resize, RunningCommand
from bls.engine.features.commands.records import commands_of
from traces.compiled import Array
from traces.records import events
from traces.records.declared import column

if TYPE_CHECKING:
    from bls.engine.state import BatchState
    from traces.ledger import JobRecords, Ledger


class WidthRecords(events.JobEvents):
    """One row each time a running job gets a core, is requested to return one, or requests another number of cores, sorted as
    ``JobRecords``, then by instant, requests first.

    The job has a core from the instant at which it gets it. It later releases a core that it is to return, or keeps it to its
    end.
    """

    name = "widths"
    shown = "a running job gets cores, is requested to return cores, or requests another number of cores"
    attributes = (
        events.RUNNING_JOB,
        ("given", "how many cores it is given", events.UINT64),
        ("asked", "how many cores it is requested to return", events.UINT64),
        ("wished", "number of cores that it requests, 0 if as before", events.UINT64),
    )
    missing = "no changes of widths: no job was malleable (malleable, resize)"
    holds: ClassVar[bool] = True

    command_ns: Array = column("instant; before the job's `end_ns`", "ns")
    core: Array = column("global number of the core; for a request, the number of cores")
    change: Array = column(
        "1: it got the core; −1: the core was requested back; 0: it requested this number of cores from then on"
    )

    @classmethod
    def of_state(cls, state: BatchState) -> Self | None:
        """Given and requested cores so far, and requests of jobs: the number of cores, and 0."""
        if state.settings.resizing == Resize.NO_RESIZE:
            return None
        commands = commands_of(state, RunningCommand.GIVEN, RunningCommand.ASKED_FOR)
        changes = commands.job, commands.at_ns, commands.core, commands.what
        if state.settings.resizing != Resize.EVOLVE:
            return cls(*changes)
        made = state.requests.future.front(state.requests.n_future)
        made = made.take((made.job >= 0) & (made.at_ns <= state.now_ns))
        requested = made.job, made.at_ns, made.cores, np.zeros_like(made.job)
        both = [np.concatenate(columns) for columns in zip(requested, changes, strict=True)]
        order = np.lexsort((both[1], both[0]))
        return cls(*(column[order] for column in both))

    @property
    def holding(self) -> Array:
        """Cores that jobs got."""
        return np.asarray(self.change > 0)

    @property
    def of_core(self) -> Array:
        """All except requests."""
        return np.asarray(self.change != 0)

    @property
    def cores_gained(self) -> Array:
        """One core for each that a job gets; cores that it is requested to return it still holds."""
        return (self.change > 0).astype(np.int64)

    def points(self, jobs: JobRecords) -> events.Points:
        """Group the changes of one job at one instant."""
        requested = np.where(self.change == 0, self.core, 0)
        at, job, sums = events.at_once(self.command_ns, self.job, self.change > 0, self.change < 0, requested)
        return events.Points(at, [jobs.job_id[job], *sums])

    def faults(self, ledger: Ledger) -> Iterator[tuple[Array, Callable[[int], str]]]:
        """As for every kind; and cores are the machine's."""
        yield from super().faults(ledger)
        core, n_cores = self.core, ledger.machine.n_cores
        beyond = np.where(self.change == 0, (core < 1) | (core > n_cores), core >= n_cores)
        wrong = (core < 0) | beyond | (np.abs(self.change) > 1)
        yield wrong, lambda k: f"change {self.change[k]} of core {core[k]}"

    def reason_of_release(self, job: int, cores: Array) -> str:
        """The reason if the job was requested to return all these cores."""
        mine = self.job == job
        if not np.isin(cores, self.core[mine & (self.change < 0)]).all():
            return ""
        return "as it had to" if self.change[mine].all() else "as it requested fewer"

    def sentences(self, job: int, numbers: Array, others: Collection[events.JobEvents]) -> Iterator[events.Happening]:
        """The changes at the first instants, and the number of others."""
        mine = np.flatnonzero(self.job == job)
        instants = np.unique(self.command_ns[mine])
        for ns in instants[: events.NAMED].tolist():
            now = mine[self.command_ns[mine] == ns]
            for n in self.core[now[self.change[now] == 0]].tolist():
                yield events.Happening(ns, f"requested {events.counted(n, 'core')}")
            for change, verb in ((1, "given"), (-1, "had to return")):
                cores = np.sort(self.core[now[self.change[now] == change]])
                if len(cores):
                    yield events.Happening(ns, f"{verb} {events.cores_named(cores)}")
        if len(instants) > events.NAMED:
            more, last = events.counted(len(instants) - events.NAMED, "time"), int(instants[-1])
            what = (
                "given cores, or had to return some," if self.change[mine].all() else "requested others, or got them,"
            )
            yield events.Happening(last, f"{what} {more} more, the last at {events.instant_text(last)}", dated=False)
