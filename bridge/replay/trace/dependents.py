"""Jobs that wait for others to end: what they ask Slurm for, and when they may start."""

from __future__ import annotations

from bls.constraints.dependencies import Dependencies
from bls.options import DEPENDENCIES
from traces.base.errors import InputError


class Dependents:
    """Which job waits for which, by row of the workload. ``found``: None: no job waits for another. Raises InputError
    if a job waits for several others."""

    def __init__(self, found: Dependencies | None) -> None:
        if found is not None and found.several:
            raise InputError(f"{DEPENDENCIES}: jobs that wait for several others are not replayed; allowed: one each")
        self._found = found
        self._held_back: dict[int, list[int]] = {}

    def parent(self, job: int) -> int:
        """The job that one waits for; -1 for none."""
        return -1 if self._found is None else int(self._found.depends_on[job])

    def think_ns(self, job: int) -> int:
        """How long after that one's end it may start."""
        return 0 if self._found is None else int(self._found.think_ns[job])

    def children(self, job: int) -> list[int]:
        """The jobs that wait for one."""
        if self._found is None:
            return []
        found: list[int] = self._found.child_row[
            self._found.child_first[job] : self._found.child_first[job + 1]
        ].tolist()
        return found

    def hold_back(self, job: int) -> None:
        """A job is to be submitted, and the one that it waits for has not been yet."""
        self._held_back.setdefault(self.parent(job), []).append(job)

    def let_go(self, job: int) -> list[int]:
        """A job is submitted, or has left before it was: who was held back for it."""
        return self._held_back.pop(job, [])
