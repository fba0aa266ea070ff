"""Scaled speeds of running jobs' cores."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Self

import numpy as np

from bls.engine.codes import Directs, RunningCommand
from bls.engine.features.commands.records import commands_of
from traces.base.scale import WHOLE
from traces.compiled import Array
from traces.records.declared import column
from traces.records.events import INT64, NAMED, UINT64, Happening, JobEvents, counted, instant_text

if TYPE_CHECKING:
    from bls.engine.state import BatchState
    from traces.ledger import Ledger


class ScaleRecords(JobEvents):
    """One row each time the speed of a running job's core, or of all its cores, is scaled, sorted as ``JobRecords``, then by
    instant."""

    name = "scales"
    shown = "the speeds of a running job's cores are scaled"
    missing = "no scaled speeds: neither its policy nor a limit to power directs running jobs"

    command_ns: Array = column("instant of the change; from the job's `start_ns` on, before its `end_ns`", "ns")
    core: Array = column(
        "global number of the core; −1: all cores of the job, including later ones",
        attribute=("core", "number of the core, -1 for all of the job's", INT64),
    )
    scale: Array = column(
        "factor of its own speed from then on",
        table="factor",
        parts=WHOLE,
        text="parts_per_billion",
        attribute=("parts per billion", "fraction of its own speed at which it runs from then on", UINT64),
    )

    @classmethod
    def of_state(cls, state: BatchState) -> Self | None:
        """The scaled speeds so far."""
        if not state.settings.directs & (Directs.SCALES | Directs.SLOWS):
            return None
        commands = commands_of(state, RunningCommand.SCALED)
        return cls(commands.job, commands.at_ns, commands.core, commands.value)

    def faults(self, ledger: Ledger) -> Iterator[tuple[Array, Callable[[int], str]]]:
        """As for every kind; and cores are the machine's, and no scale is 0."""
        yield from super().faults(ledger)
        wrong = (self.core < -1) | (self.core >= ledger.machine.n_cores) | (self.scale < 1)
        yield wrong, lambda k: f"core {self.core[k]} is scaled by {self.scale[k]}"

    def sentences(self, job: int, numbers: Array, others: Collection[JobEvents]) -> Iterator[Happening]:
        """The first changes of speeds, and the number of others; events without a change are omitted."""
        mine = self._changing(job)
        for k in mine[:NAMED]:
            core, factor = int(self.core[k]), self.scale[k] / WHOLE
            which, whose = ("all of its cores run", "their") if core < 0 else (f"core {core} runs", "its")
            speed = f"{whose} own speed" if factor == 1.0 else f"{factor:.10g} times {whose} own speed"
            yield Happening(int(self.command_ns[k]), f"from here on {which} at {speed}")
        if len(mine) > NAMED:
            more, last = counted(len(mine) - NAMED, "time"), int(self.command_ns[mine[-1]])
            yield Happening(last, f"scaled {more} more, the last at {instant_text(last)}", dated=False)

    def _changing(self, job: int) -> list[int]:
        # The job's events that change a speed.
        of_all, of_core, found = WHOLE, dict[int, int](), []
        for k in np.flatnonzero(self.job == job).tolist():
            core, scale = int(self.core[k]), int(self.scale[k])
            before = {of_all, *of_core.values()} if core < 0 else {of_core.get(core, of_all)}
            if before != {scale}:
                found.append(k)
            if core < 0:
                of_all = scale
                of_core.clear()
            else:
                of_core[core] = scale
        return found
