"""Expected ends of jobs that outlast their estimates: the engine's rule, applied without its plans.

An engine that plans corrects expectations when it plans; if a policy decides, nothing is planned. A job is corrected at exactly
the instants at which it exceeds the expectation, so that the result does not depend on when it is read.
"""

from collections.abc import Iterator, Mapping
from heapq import heapify, heappop, heappush

from bls.estimates import CORRECTIONS_NS
from bls.running_jobs import RunView


class Corrections:
    """Running jobs that may exceed their expected end, by that instant."""

    def __init__(self) -> None:
        self._pending: list[tuple[int, int]] = []  # a heap of (expected end, row)
        self._ends: dict[int, int] = {}  # expected end of each

    def watch(self, run: RunView, row: int) -> None:
        """Add a job that has started, or has a new expected end."""
        self._put(run, row, run.jobs.expected_end_ns.item(row))

    def forget(self, row: int) -> None:
        """Remove a job that does not run any more."""
        self._ends.pop(row, None)

    def moved(self, place: Mapping[int, int]) -> None:
        """Change the rows of running jobs."""
        self._ends = {place[row]: end for row, end in self._ends.items()}
        self._pending = [(end, place[row]) for end, row in self._pending if row in place]
        heapify(self._pending)

    def found(self, run: RunView) -> Iterator[tuple[int, int]]:
        """Jobs that have outlasted their expected ends since the last call, with their new expected ends. A job that has run
        for its whole request has no later expected end."""
        now = run.now_ns
        while self._pending and self._pending[0][0] <= now:
            end, row = heappop(self._pending)
            if self._ends.get(row) != end:
                continue  # it has left, or has another expected end
            corrected = _corrected(run, row, now)
            self._put(run, row, corrected)
            yield row, corrected

    def _put(self, run: RunView, row: int, end: int) -> None:
        self._ends[row] = end
        if end < _last(run, row):
            heappush(self._pending, (end, row))


def _corrected(run: RunView, row: int, now: int) -> int:
    # As ``bls.engine.scheduling_pass`` does it, for jobs that the engine has not corrected.
    steps, last = CORRECTIONS_NS, _last(run, row)
    end, times = run.jobs.expected_end_ns.item(row), run.jobs.corrections.item(row)
    while end <= now and end < last:
        step = steps[min(times, len(steps) - 1)]
        end = end + step if step < last - end else last
        times += 1
    return int(end)


def _last(run: RunView, row: int) -> int:
    # The instant at which it has run for its whole request.
    jobs = run.jobs
    return int(jobs.start_ns.item(row) + jobs.walltime_ns.item(row) + jobs.stretch_ns.item(row))
