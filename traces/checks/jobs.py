"""Invariants of the columns of every run's jobs."""

from collections.abc import Callable

import numpy as np

from traces.base.errors import TwolevelError
from traces.compiled import Array
from traces.ledger import STATES, WHY, JobRecords
from traces.lifecycle import NEVER_RAN, RAN, Ending, Reason


class InvariantError(TwolevelError):
    """A fault of this project, or of an application simulator: a record that no correct run makes. The message names it."""


def refuse(wrong: Array, words: Callable[[int], str]) -> None:
    """Raise InvariantError for the first wrong row, which ``words`` describes by its index."""
    if len(bad := np.flatnonzero(wrong)):
        raise InvariantError(words(int(bad[0])))


def check_jobs(jobs: JobRecords) -> None:
    """Check the jobs' instants, words and attempts; ``traces.checks.ledger.check_ledger`` lists the rules. Raises
    InvariantError for the first wrong job."""
    for name, place, words in (("why", jobs.why, WHY), ("state", jobs.state, STATES)):
        allowed = f"allowed: the place of one of {', '.join(words)}"
        for row in np.flatnonzero((place < 0) | (place >= len(words)))[:1]:
            raise InvariantError(f"job {jobs.job_id[row]} has {name} {place[row]}; {allowed}")
    _check_times(jobs)
    _check_attempts(jobs)


def _check_times(jobs: JobRecords) -> None:
    started = jobs.started
    nothing = (jobs.start_ns == -1) & (jobs.end_ns == -1) & (jobs.held_cores == 0) & (jobs.tasks == 0)
    for wrong, what in (
        # A job withdrawn before it could be eligible has -1.
        (
            (started | (jobs.eligible_ns != -1)) & (jobs.eligible_ns < jobs.begin_ns),
            "is eligible before its submission or its begin",
        ),
        (jobs.begin_ns < jobs.submit_ns, "may be eligible before its submission"),
        (started & (jobs.start_ns < jobs.submit_ns), "starts before its submission"),
        (started & (jobs.start_ns < jobs.eligible_ns), "starts before it is eligible"),
        (started & (jobs.end_ns < jobs.start_ns), "ends before it starts"),
        (~started & ~nothing, "never started, but has left something"),
        (~started & ~np.isin(jobs.state, [*NEVER_RAN]), "never started, but ended as only a job that ran can"),
        (started & ~np.isin(jobs.state, [*RAN]), "started, but ended as only a job that never ran can"),
        (started == (jobs.why == Reason.NEVER), "started, or did not, otherwise than it says"),
    ):
        if len(bad := np.flatnonzero(wrong)):
            row = bad[0]
            raise InvariantError(
                f"job {jobs.job_id[row]} {what}: submitted {jobs.submit_ns[row]}, eligible {jobs.eligible_ns[row]}, "
                f"started {jobs.start_ns[row]}, ended {jobs.end_ns[row]} ns, why {WHY[jobs.why[row]]}, "
                f"state {STATES[jobs.state[row]]}, {jobs.held_cores[row]} cores, {jobs.tasks[row]} tasks"
            )


def _check_attempts(jobs: JobRecords) -> None:
    order = np.lexsort((jobs.attempt, jobs.job_id))
    again = jobs.job_id[order[1:]] == jobs.job_id[order[:-1]]
    before, after = order[:-1][again], order[1:][again]  # consecutive attempts of one job
    first, last = np.ones(len(jobs), np.bool_), np.ones(len(jobs), np.bool_)
    first[after], last[before] = False, False
    for rows, what in (
        (np.flatnonzero(first & (jobs.attempt != 0)), "has no attempt before it"),
        (after[jobs.attempt[after] != jobs.attempt[before] + 1], "does not follow on the attempt before it"),
        (after[after < before], "stands before an earlier attempt"),
        (np.flatnonzero(last & (jobs.state == Ending.REQUEUED)), "was requeued, but no attempt follows"),
        (before[jobs.state[before] != Ending.REQUEUED], "was not requeued, but an attempt follows"),
        (after[jobs.eligible_ns[after] != jobs.end_ns[before]], "does not wait from the end of the attempt before it"),
        (1 + np.flatnonzero((jobs.attempt[:-1] > 0) & (jobs.attempt[1:] == 0)), "stands after later attempts"),
    ):
        if len(rows):
            raise InvariantError(f"job {jobs.job_id[rows[0]]}: attempt {jobs.attempt[rows[0]]} {what}")
