"""What a policy in Python does to running jobs in a pass, read and checked, and handed to the engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Any

from bls.engine import state as b
from bls.engine.state import BatchState
from bls.seen.answers import AnswerError
from bls.seen.jobs import SeenJob
from traces.base.errors import InputError, PluginError, shown
from traces.base.ranges import whole
from traces.base.scale import scale_of

__all__ = ["Directions"]

#: All cores of a job.
_ALL = -1


class Directions:
    """What a policy has decided about running jobs in the pass under way, by their rows."""

    def __init__(self) -> None:
        self._jobs: dict[int, SeenJob] = {}
        self._scales: dict[int, dict[int, int]] = {}
        self._ends: dict[int, int] = {}

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def scale(self, job: SeenJob, factor: Any, cores: Iterable[Any] | None, held: Set[int] | None) -> None:
        """Scale the speeds of a job's cores: of all, or of those that are named, of those that are ``held``.

        Raises
        ------
        PluginError
            If the factor is none, a core is not the job's or is named twice, or that was said of the job in this pass already.
        """
        where = f"scale() of job {job.job_id}"
        try:
            scale = scale_of(factor)
            named = [_ALL] if cores is None else [whole("core", core, 0, 2**62) for core in cores]
        except InputError as error:
            raise PluginError(f"{where}: {error}") from None
        scales = self._scales.setdefault(job.row, {})
        for core in named:
            if core in scales:
                what = "all of its cores" if core == _ALL else f"core {core}"
                raise PluginError(f"{where}: {what} twice in one pass")
            if core != _ALL and (held is None or core not in held):
                allowed = "all of its cores, as it does not run yet" if held is None else "cores that it holds"
                raise PluginError(f"{where}: core {core}; allowed: {allowed}")
            scales[core] = scale
        self._jobs[job.row] = job

    def end(self, job: SeenJob, state: int) -> None:
        """End a job, which has this state then.

        Raises
        ------
        PluginError
            If it is ended in this pass already.
        """
        if job.row in self._ends:
            raise PluginError(f"job {job.job_id} is ended twice in one pass; allowed: cancel() or requeue(), once")
        self._ends[job.row] = state
        self._jobs[job.row] = job

    def put(self, state: BatchState, running: Set[int], started: Sequence[int]) -> None:
        """Hand it to the engine, for jobs that run or are started in this pass; after that there is nothing more.

        Raises
        ------
        AnswerError
            If a job neither runs nor is started.
        """
        entries: list[tuple[int, int, int, int]] = []
        starts = set(started)
        for row, job in self._jobs.items():
            if row not in running and row not in starts:
                raise AnswerError(f"directs job {shown(job.job_id)}, which does not run, and which it does not start")
            scales = self._scales.get(row, {})
            entries += [(row, b.SCALED, core, scales[core]) for core in sorted(scales)]
            if row in self._ends:
                entries.append((row, b.ENDED_BY, _ALL, self._ends[row]))
        state.sizes[b.N_DIRECTED] = len(entries)
        if entries:
            state.directed[:, : len(entries)] = list(zip(*entries, strict=True))
        for told in (self._jobs, self._scales, self._ends):
            told.clear()
