"""When jobs that outlast their estimates are expected to end, as of the present instant: the engine's rule, without its plans.

An engine that plans ahead corrects what it expects of a job when it plans; where a policy decides, nothing is planned. A job
is corrected at the very instants at which it runs longer than expected, so that whoever looks finds the same.
"""

from collections.abc import Iterator, Mapping
from heapq import heapify, heappop, heappush

from bls.engine.state import BatchState


class Corrections:
    """The running jobs that may be expected to end too early, by the instant at which that is found out."""

    def __init__(self) -> None:
        self._pending: list[tuple[int, int]] = []  # a heap of (expected end, row)
        self._ends: dict[int, int] = {}  # when each is expected to end

    def watch(self, state: BatchState, row: int) -> None:
        """A job has started, or the engine expects another end of it."""
        self._put(state, row, state.jobs.expected_end_ns.item(row))

    def forget(self, row: int) -> None:
        """A job does not run any more."""
        self._ends.pop(row, None)

    def moved(self, place: Mapping[int, int]) -> None:
        """The jobs that run are in other rows from now on."""
        self._ends = {place[row]: end for row, end in self._ends.items()}
        self._pending = [(end, place[row]) for end, row in self._pending if row in place]
        heapify(self._pending)

    def found(self, state: BatchState) -> Iterator[tuple[int, int]]:
        """The jobs that have outlasted what was expected of them since this was last asked, and when they are expected to
        end now; a job that has run for all that it asked for has no later end than that."""
        now = state.now_ns
        while self._pending and self._pending[0][0] <= now:
            end, row = heappop(self._pending)
            if self._ends.get(row) != end:
                continue  # it has left, or is expected to end at another instant
            corrected = _corrected(state, row, now)
            self._put(state, row, corrected)
            yield row, corrected

    def _put(self, state: BatchState, row: int, end: int) -> None:
        self._ends[row] = end
        if end < _last(state, row):
            heappush(self._pending, (end, row))


def _corrected(state: BatchState, row: int, now: int) -> int:
    # As ``bls.engine.scheduling_pass`` does it, of what the engine has not corrected itself.
    steps, last = state.corrections_ns, _last(state, row)
    end, times = state.jobs.expected_end_ns.item(row), state.jobs.corrections.item(row)
    while end <= now and end < last:
        step = steps.item(min(times, len(steps) - 1))
        end = end + step if step < last - end else last
        times += 1
    return int(end)


def _last(state: BatchState, row: int) -> int:
    # When it has run for all that it asked for.
    jobs = state.jobs
    return int(jobs.start_ns.item(row) + jobs.walltime_ns.item(row) + jobs.stretch_ns.item(row))
