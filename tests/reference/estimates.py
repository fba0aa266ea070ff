"""What the scheduler thinks how long jobs run: said before, or predicted from all that have ended; and corrections of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from reference.machine import Job, Rules


@dataclass
class Memory:
    """All that have ended and tell of others, in the order in which they ended: (job, how long it ran)."""

    rules: Rules
    ended: list[tuple[Job, int]] = field(default_factory=list)

    def planned(self, job: Job) -> int:
        if job.window is not None:
            return job.estimate  # of a reservation: the window was made for what it asks for
        if self.rules.predictor is not None:
            predicted = self.predicted(job)
            return job.estimate if predicted is None else min(max(predicted, 1), job.estimate)
        if job.planned is None:
            return job.estimate
        return min(job.planned, job.estimate) if self.rules.kill else job.planned

    def predicted(self, job: Job) -> int | None:
        predictor = self.rules.predictor
        assert predictor is not None
        for level in predictor.levels:
            if any(getattr(job, name) < 0 for name in level):
                continue
            alike = [ran for other, ran in self.ended if all(getattr(other, x) == getattr(job, x) for x in level)]
            if len(alike) >= predictor.least:
                latest = alike[-predictor.mean_of :]
                return sum(latest) // len(latest)
        return None


def expected_end(start: int, planned: int, request: int, now: int, corrections: Sequence[int]) -> int:
    """When a job that runs is expected to end: it is corrected each time that it runs longer, and has until its request."""
    end, last, times = start + planned, start + request, 0
    while end <= now and end < last:
        end = min(end + corrections[min(times, len(corrections) - 1)], last)
        times += 1
    return max(end, now + 1)
