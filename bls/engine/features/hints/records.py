"""Hints to running jobs: another job waits for some of their cores."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from bls.engine.codes import Hints, RunningCommand
from bls.engine.features.commands.records import commands_of
from traces.compiled import Array
from traces.records.declared import column
from traces.records.events import INT64, NAMED, UINT64, Happening, JobEvents, counted, instant_text

if TYPE_CHECKING:
    from bls.engine.state import BatchState
    from traces.ledger import Ledger


class HintRecords(JobEvents):
    """One row each time a running job receives a hint that another job waits for some of its cores, sorted as ``JobRecords``,
    then by instant."""

    name = "hints"
    shown = "a running job receives the number of its cores that another job waits for"
    missing = "no hints: no job received any (coordination hint)"
    at_end: ClassVar[bool] = True

    command_ns: Array = column("instant; not after the job's `end_ns`", "ns")
    waiting: Array = column(
        "the row of the job that waits, the head of the queue or one named by a policy; −1 if none waits any more",
        table="row",
        text="waiting_job",
        attribute=("waiting job", "number of the job that waits, -1 if none does any more", INT64),
    )
    lack: Array = column(
        "number of cores that the waiting job lacks; of named cores, how many others hold",
        attribute=("lack", "how many cores the waiting job lacks", UINT64),
    )
    wanted: Array = column(
        "number of the running job's cores that are wanted from then on",
        attribute=("wanted", "how many cores of the running job are wanted", UINT64),
    )

    @classmethod
    def of_state(cls, state: BatchState) -> Self | None:
        """The hints so far."""
        if state.settings.hints == Hints.NO_HINTS:
            return None
        commands = commands_of(state, RunningCommand.HINTED)
        return cls(commands.job, commands.at_ns, commands.core, commands.value, commands.wanted)

    def faults(self, ledger: Ledger) -> Iterator[tuple[Array, Callable[[int], str]]]:
        """As for every kind; and the waiting job does wait, for cores that the job has."""
        yield from super().faults(ledger)
        jobs, at, other = ledger.jobs, self.command_ns, self.waiting
        most = jobs.held_cores[self.job]
        for one in ledger.events:
            most = most + one.given_by(self.job, at)
        yield (self.wanted < 0) | (self.wanted > most), lambda k: f"{self.wanted[k]} of its {most[k]} cores are wanted"
        waits = other >= 0
        wrong = waits & ((jobs.eligible_ns[other] > at) | (jobs.started[other] & (jobs.start_ns[other] < at)))
        wrong |= (self.wanted > 0) & ~waits
        yield wrong, lambda k: f"row {other[k]} does not wait for its cores at {at[k]} ns"

    def sentences(self, job: int, numbers: Array, others: Collection[JobEvents]) -> Iterator[Happening]:
        """The first hints, each with the waiting job, and the number of others."""
        mine = np.flatnonzero(self.job == job)
        for k in mine[:NAMED].tolist():
            if self.waiting[k] < 0:
                text = "received the hint that no job waits for its cores any more"
            else:
                other, lack = numbers[self.waiting[k]], counted(int(self.lack[k]), "core")
                own = (
                    f"it assigns tasks to {int(self.wanted[k])} of its cores last"
                    if self.wanted[k]
                    else "none of its cores"
                )
                text = f"received the hint that job {other} waits for {lack}: {own}"
            yield Happening(int(self.command_ns[k]), text)
        if len(mine) > NAMED:
            more, last = counted(len(mine) - NAMED, "more hint"), int(self.command_ns[mine[-1]])
            yield Happening(last, f"received {more}, the last at {instant_text(last)}", dated=False)
