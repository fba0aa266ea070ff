"""A trial of placements: what a policy asks before it answers, on a copy of what is free."""

from collections.abc import Callable, Iterable, Mapping

from bls.engine.features.planning import decided as kernels
from bls.engine.state import BY_ROW, OF_JOBS, BatchState
from bls.seen.answers import placed
from bls.seen.jobs import SeenJob
from traces.base.errors import PluginError, shown


class Trial:
    """Places jobs that wait, one beside the other, as the engine would now; nothing of the run changes.

    It is good until ``decide`` returns. What it has placed may then be given as the answer, in that order, without
    cores: the allocator chooses the same ones. Or with them, but where hosts are not shared, and the allocator took one
    that is not needed, as it goes by number. ``free_cores``: that no job holds, nor any that was placed.
    """

    def __init__(
        self,
        state: BatchState,
        waiting: Mapping[int, SeenJob],
        row_of: Callable[[int], int],
        n_cores: int,
        whole_hosts: bool,
        goes_on: Callable[[], bool],
    ) -> None:
        self._waiting, self._row_of, self._n_cores = waiting, row_of, n_cores
        self._whole_hosts, self._goes_on = whole_hosts, goes_on
        self._placed: set[int] = set()
        # What jobs are and what has become of hosts is shared: that may be much, and a trial does not change it.
        self._state = state.fork(BY_ROW | OF_JOBS | {"host_log"})
        kernels.begin_trial(self._state)

    @property
    def free_cores(self) -> int:
        """Cores that no job holds, nor any that was placed, on hosts that are up."""
        return int(self._state.free_cores)

    def place(self, job: SeenJob) -> list[int] | None:
        """Place a job where the allocator would. Returns the numbers of its cores, ascending; None, and nothing is placed, if
        it cannot start now beside the others. Raises PluginError if the job does not wait, or is placed already; or the
        policy has answered."""
        self._check("place", job)
        count = kernels.try_allocator(self._state, self._row_of(job.row))
        return self._cores(job, count) if count > 0 else None

    def take(self, job: SeenJob, cores: Iterable[int]) -> bool:
        """Place a job on these cores, as many as it asks for. Returns whether it may have them: False, and nothing is placed,
        where one is not free or is kept from it, or its units do not fit there. Raises PluginError as :meth:`place`; or if
        they are no cores, or another number than it asks for."""
        self._check("take", job)
        named = placed((job, cores), self._n_cores, self._whole_hosts)[1]
        assert named is not None
        state, count = self._state, len(named)
        state.chosen_lo[:count], state.chosen_hi[:count] = zip(*named, strict=True)
        if kernels.try_named(state, self._row_of(job.row), count) == 0:
            return False
        self._placed.add(job.row)
        return True

    def _cores(self, job: SeenJob, count: int) -> list[int]:
        self._placed.add(job.row)
        first = int(self._state.pool_used)
        lo, hi = (column[first : first + count].tolist() for column in (self._state.pool.lo, self._state.pool.hi))
        return [core for begin, stop in zip(lo, hi, strict=True) for core in range(begin, stop)]

    def _check(self, what: str, job: object) -> None:
        if not self._goes_on():
            raise PluginError(f"trial: {what}() after decide(); allowed: while it decides")
        if not isinstance(job, SeenJob) or self._waiting.get(self._row_of(job.row)) is not job:
            named = f"job {job.job_id}, which is not waiting" if isinstance(job, SeenJob) else shown(job)
            raise PluginError(f"trial: {what}() was given {named}; allowed: jobs of view.waiting")
        if job.row in self._placed:
            raise PluginError(f"trial: {what}() was given job {job.job_id}, which it has placed already")
