"""Hints to running jobs: another job waits for some of their cores."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from traces.compiled import Array
from traces.records.declared import column
from traces.records.events import INT64, NAMED, RUNNING_JOB, UINT64, Happening, JobEvents, counted, instant_text

if TYPE_CHECKING:
    from traces.ledger import Ledger


class HintRecords(JobEvents):
    """One row each time a running job receives a hint that another job waits for some of its cores, sorted as ``JobRecords``,
    then by instant."""

    name = "hints"
    shown = "a running job receives the number of its cores that another job waits for"
    attributes = (
        RUNNING_JOB,
        ("waiting job", "number of the job that waits, -1 if none does any more", INT64),
        ("lack", "how many cores the waiting job lacks", UINT64),
        ("wanted", "how many cores of the running job are wanted", UINT64),
    )
    missing = "no hints: no job received any (coordination hint)"
    at_end: ClassVar[bool] = True

    command_ns: Array = column("instant; not after the job's `end_ns`", "ns")
    waiting: Array = column(
        "the row of the job that waits, the head of the queue or one named by a policy; −1 if none waits any more",
        table="row",
        text="waiting_job",
    )
    lack: Array = column("number of cores that the waiting job lacks; of named cores, how many others hold")
    wanted: Array = column("number of the running job's cores that are wanted from then on")

    def faults(self, ledger: Ledger) -> Iterator[tuple[Array, Callable[[int], str]]]:
        """As for every kind; and the waiting job does wait, for cores that the job has."""
        yield from super().faults(ledger)
        jobs, at, other = ledger.jobs, self.command_ns, self.waiting
        most = jobs.held_cores[self.job]
        if ledger.widths is not None:
            most = most + ledger.widths.given_by(self.job, at)
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
