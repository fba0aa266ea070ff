"""What a batch simulation tells of its running jobs, and is told of them: starts, releases, hints, widths, and their ends."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bls.engine import growing
from bls.engine import loop as engine
from bls.engine import state as b
from bls.engine.cores import intervals_of
from bls.engine.features.running.losses import tell_loss
from bls.engine.features.running.reached import take_back
from bls.engine.features.running.releases import FULL, TOLD, stop_after, tell_releases
from bls.engine.features.running.state import Told
from bls.engine.features.running.wishes import tell_wishes
from bls.engine.state import BatchState
from traces.compiled import Array


class RunningJobs:
    """The jobs of a batch simulation, by row: of what is known of them, and is told, all that is of the applications' concern.

    Attributes
    ----------
    state : BatchState
        That of the engine.
    """

    state: BatchState

    @property
    def rows(self) -> int:
        """How many rows there are: jobs, and later attempts of jobs that were cut."""
        return int(self.state.n_rows)

    def column(self, name: str) -> Array:
        """A column of ``bls.engine.jobs.Jobs``, of all rows; it changes as the simulation goes on."""
        column: Array = getattr(self.state.jobs, name)
        return column[: self.rows]

    def started(self) -> list[int]:
        """The rows that await an answer."""
        rows: list[int] = self.state.started[self.state.n_answered : self.state.n_started].tolist()
        return rows

    def running(self) -> Array:
        """The rows of the jobs that run."""
        found: Array = np.flatnonzero((self.column("start_ns") >= 0) & (self.column("state") < 0))
        return found

    def allocation(self, row: int) -> Iterator[tuple[int, int]]:
        """The half-open intervals of cores that a row's job started with."""
        firsts, counts = self._given_at_start()
        first = int(firsts[row])
        for k in range(first, first + int(counts[row])):
            yield int(self.state.pool.lo[k]), int(self.state.pool.hi[k])

    def latest_allocation(self, row: int) -> Iterator[tuple[int, int]]:
        """The half-open intervals of the cores that a row's job held when it was last given some, at its start or later; it may
        have released some since."""
        jobs, state = self.state.jobs, self.state
        first = jobs.held_first.item(row)
        stop = first + jobs.held_count.item(row)
        yield from zip(state.pool.lo[first:stop].tolist(), state.pool.hi[first:stop].tolist(), strict=True)

    @property
    def awaits_outcomes(self) -> bool:
        """Whether the outcome of a job counts from its start on, and not only at its end: a promise of it is not enough."""
        return self.releases or self.directs or bool(self.state.settings.promises == 1)

    @property
    def releases(self) -> bool:
        """Whether jobs release cores before their end."""
        return self.state.settings.releases in (b.BY_CORE, b.BY_HOST)

    def release(self, row: int, core_number: Array, released_ns: Array, end_ns: int) -> bool:
        """Tell when a job that has started releases cores, before its outcome is told; False if that cannot be.

        Parameters as of ``bls.engine.features.running.releases.tell_releases``.
        """
        return tell_releases(self.state, row, core_number, released_ns, end_ns) == TOLD

    def release_columns(self) -> tuple[Array, Array, Array]:
        """All releases so far: rows, cores and instants, in the order of rows and cores."""
        row, core, instant = self.state.releases.front(self.state.n_released)
        order = np.lexsort((instant, core, row))
        return row[order], core[order], instant[order]

    @property
    def hints(self) -> bool:
        """Whether running jobs are told for which of their cores others wait."""
        return bool(self.state.settings.after_hints != 0)

    @property
    def resizes(self) -> bool:
        """Whether running jobs are given cores, or asked for some."""
        return bool(self.state.settings.resizing != b.NO_RESIZE)

    @property
    def evolves(self) -> bool:
        """Whether running jobs are given cores, or asked for some, as they wish."""
        return bool(self.state.settings.resizing == b.EVOLVE)

    def width_range(self, row: int) -> tuple[int, int]:
        """Between which numbers of cores the width of a row's job may change; twice the same where it may not."""
        jobs, origin = self.state.jobs, self.origin(row)
        return int(jobs.min_cores[origin]), int(jobs.max_cores[origin])

    def wish(self, row: int, wished_ns: Array, cores: Array, until_ns: int) -> bool:
        """Tell for how many cores a job that has started wishes, before its outcome is told; False if that cannot be.

        Parameters as of ``bls.engine.features.running.wishes.tell_wishes``.
        """
        while (answer := tell_wishes(self.state, row, wished_ns, cores, until_ns)) == FULL:
            self.grow_wishes(len(wished_ns))
        return answer == TOLD

    def grow_wishes(self, more: int) -> None:
        """Make room for so many more wishes, where there is too little."""
        growing.grow_wishes(self.state, more)

    @property
    def directs(self) -> bool:
        """Whether running jobs are directed, by a policy or a limit to power: the speeds of their cores are scaled, or they are
        ended."""
        return bool(self.state.settings.directs != 0)

    @property
    def scales(self) -> bool:
        """Whether the speeds of running jobs' cores are scaled."""
        return bool(self.state.settings.directs & (b.SCALES | b.SLOWS))

    @property
    def reaches(self) -> bool:
        """Whether running jobs are told anything."""
        return bool(self.state.settings.after_pass != 0)

    @property
    def molds(self) -> bool:
        """Whether jobs may start with other numbers of cores than they ask for."""
        return bool(self.state.settings.molds == 1)

    def resized(self, row: int) -> tuple[list[int], list[int]]:
        """The cores that a running job was last given, and those that it was asked for, in the order in which they were."""
        told = self._told_last(row)
        core, change = told.core, told.what
        return core[change == b.GIVEN].tolist(), core[change == b.ASKED_FOR].tolist()

    def _told_last(self, row: int) -> Told:
        # What a running job was told last.
        first, count = self.state.jobs.told_first[row], self.state.jobs.told_count[row]
        return self.state.told.take(np.arange(first, first + count))

    def _all_told(self, *kinds: int) -> Told:
        # What running jobs were told so far, of these kinds, by row, then by time.
        told = self.state.told.front(self.state.n_told)
        told = told.take(np.isin(told.what, kinds))
        return told.take(np.argsort(told.job, kind="stable"))

    def holds(self, row: int, core_number: Array) -> Array:
        """Which of these cores, by their numbers in the machine, a running job holds: bool."""
        found: Array = self.state.holder[core_number] == row
        return found

    def width_columns(self) -> tuple[Array, ...]:
        """All changes of the widths of running jobs so far, by row, then by time: rows, instants, cores, and ``GIVEN`` or
        ``ASKED_FOR`` of ``bls.engine.state``; and what they have wished for: how many cores, and 0."""
        told = self._all_told(b.GIVEN, b.ASKED_FOR)
        changes = told.job, told.at_ns, told.core, told.what
        if not self.evolves:
            return changes
        wishes = self.state.wishes.front(self.state.n_wishes)
        wishes = wishes.take((wishes.job >= 0) & (wishes.at_ns <= self.state.now_ns))
        wished = wishes.job, wishes.at_ns, wishes.cores, np.zeros_like(wishes.job)
        both = [np.concatenate(columns) for columns in zip(wished, changes, strict=True)]
        order = np.lexsort((both[1], both[0]))
        return tuple(column[order] for column in both)

    def scaled(self, row: int) -> list[tuple[int, int]]:
        """How the speeds of a running job's cores were last scaled: cores, by their numbers in the machine, or -1, all of them;
        and by what, parts per billion."""
        told = self._told_last(row)
        told = told.take(told.what == b.SCALED)
        return list(zip(told.core.tolist(), told.value.tolist(), strict=True))

    def hinted(self, row: int) -> bool:
        """Whether a running job was last told for which of its cores others wait."""
        return bool((self._told_last(row).what == b.HINTED).any())

    def scale_columns(self) -> tuple[Array, ...]:
        """All scales of speeds so far, by row, then by time: rows, instants, cores (-1: all of them), and scales, parts per
        billion."""
        told = self._all_told(b.SCALED)
        return told.job, told.at_ns, told.core, told.value

    def reached(self) -> list[int]:
        """The rows of the running jobs that the latest pass has something to tell, once: :meth:`wanted`."""
        rows: list[int] = self.state.reached[: self.state.n_reached].tolist()
        self.state.n_reached = 0
        return rows

    def wanted(self, row: int, core_number: Array) -> Array:
        """For which of its cores, by their numbers in the machine, a running job was last told that others wait:
        bool."""
        found: Array = (self.state.hinted[core_number] == row + 1) & (self.state.holder[core_number] == row)
        return found

    def take_back(self, row: int) -> bool:
        """Take back how a running job was to go on, since it was told something: it needs an outcome or a promise again, as of
        ``bls.engine.features.running.reached.take_back``."""
        return bool(take_back(self.state, row))

    def hint_columns(self) -> tuple[Array, ...]:
        """All that running jobs were told so far, by row, then by time.

        Rows, instants, the rows of the jobs that wait (-1: none does any more), for how many cores these wait, and how many
        of the told job's are wanted.
        """
        told = self._all_told(b.HINTED)
        return told.job, told.at_ns, told.core, told.value, told.wanted

    def put_off_stop(self, row: int, core_number: Array, released_ns: Array) -> bool:
        """Whether a job that was cut would have released the failing hosts by then: its application is to be run again, up to
        another :meth:`stop_ns`."""
        return bool(stop_after(self.state, row, core_number, released_ns))

    def origin(self, row: int) -> int:
        """The row of the workload that a row is an attempt at."""
        return int(self.state.jobs.origin[row])

    def start_ns(self, row: int) -> int:
        """When a row's job has started; -1 if it has not."""
        return int(self.state.jobs.start_ns[row])

    def job_number(self, row: int) -> int:
        """The workload's number of a row's job."""
        return int(self.state.jobs.number[row])

    def stop_ns(self, row: int) -> int | None:
        """The instant at which a job that has started is cut at the latest; None if it is not."""
        stop = int(self.state.jobs.stop_ns[row])
        return None if stop == b.NEVER else stop

    @property
    def cuts(self) -> bool:
        """Whether a job may be cut before its end: at its walltime, by its user, as a host is lost."""
        state = self.state
        return bool(state.settings.kills == 1 or self.directs or state.cancel_order.size or state.host_events.ns.size)

    def promise(self, row: int, not_before_ns: int) -> bool:
        """Tell that a running job ends at ``not_before_ns`` or later; False if it takes back what is known."""
        return bool(engine.promise(self.state, row, not_before_ns))

    def outcome(self, row: int, end_ns: int, stopped: bool = False) -> bool:
        """Tell when a running job ends, and whether because it was cut; False if that cannot be."""
        return bool(engine.outcome(self.state, row, end_ns, stopped))

    def loss(self, row: int, end_ns: int, core: int) -> bool:
        """Tell when a running job ends because its cores are lost; False if that cannot be.

        Parameters as of ``bls.engine.features.running.losses.tell_loss``.
        """
        return bool(tell_loss(self.state, row, end_ns, core))

    @property
    def loses(self) -> bool:
        """Whether running jobs may lose all their cores."""
        return bool(self.state.settings.loses == 1)

    @property
    def losses(self) -> dict[int, str]:
        """Why jobs have ended whose cores were lost, or that a policy has ended, by row."""
        found = self.column("last_lost")
        losses = {row: _loss(int(found[row])) for row in np.flatnonzero(found).tolist()}
        return losses | dict.fromkeys(self._ended_by_policy(), "the batch policy ended it")

    def _ended_by_policy(self) -> list[int]:
        if not self.directs:
            return []
        state, end_ns = self.column("state"), self.column("end_ns")
        scaling = self.state.scaling.front(len(state))
        at, how = scaling.cut_at, scaling.cut_state
        rows: list[int] = np.flatnonzero((at > 0) & (end_ns == at) & (state == how)).tolist()
        return rows

    def allocations(self) -> tuple[Array, Array, Array]:
        """All allocations, by rows: ``JobRecords.allocation_first, allocation_lo, allocation_hi``."""
        at, count = self._given_at_start()
        first = np.zeros(len(count) + 1, np.int64)
        np.cumsum(count, out=first[1:])
        source = intervals_of(at, count)
        return first, self.state.pool.lo[source], self.state.pool.hi[source]

    def _given_at_start(self) -> tuple[Array, Array]:
        # Where in the pool each row's cores are that it started with.
        if not self.resizes:
            return self.column("held_first"), self.column("held_count")
        changed = self.column("given_count") > 0
        first = np.where(changed, self.column("given_first"), self.column("held_first"))
        return first, np.where(changed, self.column("given_count"), self.column("held_count"))


def _loss(noted: int) -> str:
    # What a value of the column ``last_lost`` means, in words.
    return (
        "its cores came and went before any task ended"
        if noted < 0
        else f"all its cores were lost, core {noted - 1} last"
    )
