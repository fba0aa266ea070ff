"""A trial of placements, which a policy makes on a copy of the free cores before it answers."""

from collections.abc import Callable, Iterable, Mapping

from bls.engine.features.python import decided as kernels
from bls.engine.state import BY_ROW, OF_JOBS
from bls.running_jobs import RunView
from bls.seen.answers import placed
from bls.seen.jobs import SeenJob
from traces.base.errors import PluginError, shown
from traces.intervals import intervals_of


class Trial:
    """Places waiting jobs one after another, as the engine would now, without changing the run.

    It is valid until ``decide`` returns. The placed jobs may then be the answer, in the same order and without cores: the
    allocator chooses the same ones. They may also be given with cores, unless hosts are not shared and the allocator took an
    unneeded host, since it chooses by number. ``free_cores``: cores that neither running nor placed jobs hold.
    """

    def __init__(
        self, run: RunView, waiting: Mapping[int, SeenJob], row_of: Callable[[int], int], goes_on: Callable[[], bool]
    ) -> None:
        self._waiting, self._row_of, self._goes_on = waiting, row_of, goes_on
        self._limits = run.platform.n_cores, run.allocator.whole_hosts  # for named cores
        self._placed: set[int] = set()
        # Facts about jobs and hosts are shared: they may be large, and a trial does not change them.
        self._state = run.state.fork(BY_ROW | OF_JOBS | {"host_log"})
        kernels.begin_trial(self._state)

    @property
    def free_cores(self) -> int:
        """Cores on hosts that are up that neither running nor placed jobs hold."""
        return int(self._state.free_cores)

    def place(self, job: SeenJob) -> list[int] | None:
        """Place a waiting job with the allocator.

        Returns
        -------
        list of int, or None
            The numbers of its cores, ascending; None if it cannot start now in addition to the placed jobs.

        Raises
        ------
        PluginError
            If the job does not wait or is placed already, or the policy has answered.
        """
        self._check("place", job)
        count = kernels.try_allocator(self._state, self._row_of(job.row))
        if count <= 0:
            return None
        self._placed.add(job.row)
        pool = self._state.pool
        lo, hi = (column[self._state.pool_used :][:count] for column in (pool.lo, pool.hi))
        return [*intervals_of(lo, hi - lo).tolist()]

    def take(self, job: SeenJob, cores: Iterable[int]) -> bool:
        """Place a waiting job on named cores.

        Parameters
        ----------
        job : SeenJob
            A job of ``View.waiting``.
        cores : iterable of int
            Numbers in the machine, as many as it requests.

        Returns
        -------
        bool
            Whether it may have them now.

        Raises
        ------
        PluginError
            As :meth:`place`, or if the cores are invalid or not of the requested number.
        """
        self._check("take", job)
        named = placed((job, cores), *self._limits)[1]
        assert named is not None
        state, count = self._state, len(named)
        state.choice.lo[:count], state.choice.hi[:count] = zip(*named, strict=True)
        if kernels.try_named(state, self._row_of(job.row), count) == 0:
            return False
        self._placed.add(job.row)
        return True

    def _check(self, what: str, job: object) -> None:
        if not self._goes_on():
            raise PluginError(f"trial: {what}() after decide(); allowed: while it decides")
        if not isinstance(job, SeenJob) or self._waiting.get(self._row_of(job.row)) is not job:
            named = f"job {job.job_id}, which is not waiting" if isinstance(job, SeenJob) else shown(job)
            raise PluginError(f"trial: {what}() was given {named}; allowed: jobs of view.waiting")
        if job.row in self._placed:
            raise PluginError(f"trial: {what}() was given job {job.job_id}, which it has placed already")
