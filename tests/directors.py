"""Policies that direct running jobs, for tests: what they do is drawn from a seed and the instant, and so the same again."""

import random
from collections.abc import Iterator
from typing import Any

FACTORS = (1.0, 0.5, 0.75, 1 / 3, 1.7, 0.25)


class Director:
    """First come, first served; scales running jobs and those that it starts, all cores or some, and now and then ends one.

    ``share``: of the jobs that are scaled in a pass; ``ends``: of those that are cancelled, and as many again that are
    requeued; ``whole``: whether all cores of a job are scaled, always.
    """

    name = "director"
    directs: tuple[str, ...] = ("speeds", "ends")

    def __init__(self, seed: int, share: float = 0.4, ends: float = 0.02, *, whole: bool = False) -> None:
        self.seed, self.share, self.ends, self.whole = seed, share, ends, whole
        #: What it has done: instant, job number, attempt, and the factor or ``cancel`` or ``requeue``.
        self.done: list[tuple[int, int, int, float | str]] = []

    def decide(self, view: Any) -> Iterator[Any]:
        chance = random.Random(f"{self.seed} {view.now_ns}")
        free, starts = view.free_cores, []
        for job in view.waiting:
            if job.cores > free or not self.may_start(view, job, starts):
                break
            free -= job.cores
            starts.append(job)
            yield job
        for job in [*view.running, *starts]:
            if chance.random() < self.share:
                cores, factor = None, chance.choice((*FACTORS, chance.uniform(0.1, 2.0)))
                if not self.whole and job not in starts and chance.random() < 0.4:
                    held = [core for lo, hi in view.allocation(job) for core in range(lo, hi)]
                    cores = chance.sample(held, chance.randint(1, len(held)))
                view.scale(job, factor, cores)
                self._note(view, job, factor)
            drawn = chance.random()
            if drawn < self.ends:
                view.cancel(job)
                self._note(view, job, "cancel")
            elif drawn < 2 * self.ends:
                view.requeue(job)
                self._note(view, job, "requeue")
        if view.n_running and chance.random() < 0.5:
            view.wake_after(chance.randrange(1, 3 * 10**9))

    def may_start(self, view: Any, job: Any, starts: list[Any]) -> bool:
        """Whether there is enough power for a fitting job in addition to those that this pass starts."""
        return True

    def _note(self, view: Any, job: Any, what: float | str) -> None:
        self.done.append((view.now_ns, job.job_id, job.attempt, what))
