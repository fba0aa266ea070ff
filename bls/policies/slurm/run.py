"""Slurm's cycle in a run: its threads receive the events of the view, and the jobs that they start are the answer."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from bls.options import BLS
from bls.policies.slurm.cycle import NEVER, Threads
from bls.policies.slurm.parameters import SlurmCycle
from bls.policies.slurm.places import ConsTres, Linear, SlurmJob
from bls.seen.jobs import SeenJob
from bls.seen.machine import take_lowest
from bls.seen.news import JobEligible, JobEnded, JobSubmitted
from bls.view import View
from traces.base.errors import InputError
from traces.base.time import NS_PER_S
from traces.records.gpus import WHOLE_GPU


class SlurmRun:
    """Slurm's cycle in one run."""

    unaware_of: ClassVar = SlurmCycle.unaware_of

    def __init__(self, how: SlurmCycle) -> None:
        self.name, self._how = how.name, how
        self._threads: Threads | None = None
        self._jobs: dict[int, SlurmJob] = {}  # by row
        self._submitted = 0
        self._starts: list[tuple[SlurmJob, dict[int, int], str]] = []
        self._counts = {"main": 0, "backfill": 0}

    def decide(self, view: View) -> Iterator[tuple[SeenJob, list[int], str]]:
        """The jobs that slurmctld starts at this instant, their cores, and the scheduler that starts them."""
        threads = self._threads or self._come_up(view)
        now_ns = view.now_ns
        self._tell(view, threads, now_ns)
        threads.run_to(now_ns)
        starts, self._starts = self._starts, []
        if starts:
            waiting = {job.row: job for job in view.waiting}
            is_free = view.is_free.copy()
            for job, on, by in starts:
                self._counts[by] += 1
                seen = waiting[job.row]
                if view.rules.kill_at_walltime:
                    job.kill_ns = threads.kill_ns(job, now_ns)
                    view.kill_after(seen, job.kill_ns - now_ns)
                yield seen, take_lowest(is_free, self._first, on), by
        next_ns = threads.next_ns()
        if next_ns < NEVER:
            view.wake_at(max(next_ns, now_ns + 1))

    def finish(self, view: View) -> None:
        """All jobs have ended."""
        view.news()

    def totals(self) -> dict[str, int]:
        """Number of jobs that each of the schedulers has started."""
        return {f"started_by_{by}": count for by, count in self._counts.items()}

    def _come_up(self, view: View) -> Threads:
        how = self._how
        self._first = view.platform.first_core.tolist()
        cores = [stop - first for first, stop in zip(self._first[:-1], self._first[1:], strict=True)]
        linear = max(cores) == 1 if how.select == "auto" else how.select == "linear"
        if linear and max(cores) > 1:
            hosts = f"hosts of {max(cores)} cores; allowed: hosts of one core, or cons_tres"
            raise InputError(f"batch policy {how.name}: select=linear: {hosts}")
        self._gpus, self._kinds = np.diff(view.platform.first_gpu).tolist(), view.platform.gpu_kind_of_host.tolist()
        places, up_ns = Linear(cores) if linear else ConsTres(cores, self._gpus), view.now_ns - how.lead_ns
        self._threads = Threads(how, places, (1 << len(cores)) - 1, up_ns, view.date_ns, self._note_start)
        return self._threads

    def _note_start(self, job: SlurmJob, on: dict[int, int], by: str) -> None:
        self._starts.append((job, on, by))

    def _slurm_job(self, seen: SeenJob) -> SlurmJob:
        request, platform = seen.request, seen.facts.platform
        gpus = request.gpus
        if any(request.resources.values()) or (request.unit_cores > 1 and gpus is None):
            asks = f"job {seen.job_id} requests more than cores"
            raise InputError(f"{BLS:{self.name}}: {asks}; allowed: jobs of single cores, or with whole GPUs")
        if gpus is not None and gpus.milli < WHOLE_GPU:
            asks = f"job {seen.job_id} requests {gpus.milli} thousandths of a GPU"
            raise InputError(f"{BLS:{self.name}}: {asks}; allowed: whole GPUs")
        unit_ns = self._how.minute * NS_PER_S
        limit_s = max(1, -(-seen.walltime_ns // unit_ns)) * self._how.minute
        self._submitted += 1
        first = self._how.priority_of(seen.cores, limit_s, len(self._first) - 1, self._first[-1])
        found = SlurmJob(self._submitted, seen.row, seen.cores, limit_s, first, unit=request.unit_cores)
        if gpus is not None:
            found.per_unit, found.per_node = (gpus.count, 0) if gpus.per == "unit" else (0, gpus.count)
            kinds = {k for k, kind in enumerate(platform.gpu_kinds) if not gpus.kinds or kind in gpus.kinds}
            nodes = enumerate(zip(self._gpus, self._kinds, strict=True))
            found.able = sum(1 << node for node, (has, kind) in nodes if has >= gpus.count and kind in kinds)
        return found

    def _tell(self, view: View, threads: Threads, now_ns: int) -> None:
        ended: list[JobEnded] = []
        came: list[SeenJob] = []
        for news in view.news():
            match news:
                case JobEnded():
                    ended.append(news)
                case JobEligible() | JobSubmitted() if news.job.eligible_ns >= 0:
                    came.append(news.job)
        for news in sorted(ended, key=lambda news: news.job.row):
            job = self._jobs.pop(news.job.row, None)
            if job is None:
                continue
            if news.job.start_ns < 0:
                threads.withdrawn(job, now_ns)
            elif job.kill_ns == now_ns:
                threads.killed(job, now_ns, ended=news.how != "killed")
            else:
                threads.ended(job, now_ns)
        for seen in sorted(came, key=lambda seen: seen.row):
            job = self._jobs[seen.row] = self._slurm_job(seen)
            threads.submitted(job, now_ns)
