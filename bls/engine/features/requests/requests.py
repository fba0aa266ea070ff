"""Requests of running jobs for more or fewer cores.

They are reported after the start, when the application is known, and made at their instants, after the releases of the
instant; a scheduling pass follows.
"""

from typing import TYPE_CHECKING

import numpy as np

from bls.engine import state as b
from bls.engine.features.report_results import ACCEPTED, FULL, REFUSED
from bls.engine.hooks import HOOK
from bls.engine.job_lifecycle import is_open
from traces.algorithms.event_heap import drop_top, push, remove_keys
from traces.compiled import compiled
from traces.kernels.signatures import Ints

if TYPE_CHECKING:
    from bls.engine.validation import BatchChecks


@compiled(inner=True)
def drop_width_requests(state: b.BatchState, job: int) -> None:
    """Remove the future requests of a job."""
    requests, of_row = state.requests, state.requests.of_row
    if of_row.width.size == 0 or of_row.count[job] == 0:
        return
    count, key = of_row.count[job], b.WIDTH_REQUEST_KEY + job
    remove_keys(state.releases.due, key, key + 1)
    first = of_row.first[job]
    if first + count == requests.n_future:
        requests.n_future = first
    else:
        requests.future.job[first : first + count] = -1
    of_row.count[job] = 0


@compiled(HOOK)
def make_width_requests(state: b.BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """Make the requests of the instant ``begin``, after its releases."""
    of_row, requests, due = state.requests.of_row, state.requests.future, state.releases.due
    while due.n > 0 and due.ns[0] == now:
        job = due.key[0] - b.WIDTH_REQUEST_KEY
        drop_top(due)
        k = of_row.first[job]
        of_row.width[job], of_row.n_made[job] = requests.cores[k], requests.place[k] + 1
        of_row.first[job] += 1
        of_row.count[job] -= 1
        if of_row.count[job] > 0:
            push(due, requests.at_ns[k + 1], b.WIDTH_REQUEST_KEY + job)
        state.changed = 1
    return 0


@compiled()
def report_width_requests(state: b.BatchState, job: int, width_request_ns: Ints, cores: Ints, until_ns: int) -> int:
    """Report the requests for cores that the running ``job`` makes before ``until_ns``; its outcome or promise follows.

    They replace its earlier reported requests that are still to come. ``width_request_ns`` are the instants of all requests
    since its start, ascending; ``2**63 - 1``: none. Request i is for ``cores[i % F]`` cores, with F entries in ``cores``.

    Returns ``ACCEPTED``; ``REFUSED``, with nothing reported, if a request is in the past or outside the job's widths, or a past
    request is missing; or ``FULL`` if the table must grow first (:func:`grow_width_requests`).
    """
    origin = state.jobs.origin[job]
    if not is_open(state, job):
        return REFUSED
    drop_width_requests(state, job)
    requests, of_row = state.requests.future, state.requests.of_row
    first, least, most = state.requests.n_future, state.widths.least[origin], state.widths.most[origin]
    last, made, n = state.now_ns, of_row.n_made[job], 0
    if made > 0 and (width_request_ns.size < made or width_request_ns[made - 1] > last):
        return REFUSED
    for k in range(made, width_request_ns.size):
        at, wanted = width_request_ns[k], cores[k % cores.size]
        if at >= until_ns:
            continue
        if at < last or wanted < least or wanted > most or least == most:
            return REFUSED
        if first + n == requests.job.size:
            return FULL
        requests.job[first + n], requests.at_ns[first + n] = job, at
        requests.cores[first + n], requests.place[first + n] = wanted, k
        last = at
        n += 1
    if n > 0:
        state.requests.n_future = first + n
        of_row.first[job], of_row.count[job] = first, n
        push(state.releases.due, requests.at_ns[first], b.WIDTH_REQUEST_KEY + job)
    return ACCEPTED


def grow_width_requests(state: b.BatchState, more: int) -> None:
    """Make room for ``more`` requests and for future ones, if there is too little."""
    needed = state.requests.n_future + more
    if needed > len(state.requests.future.job):
        state.requests.future.grow(width_requests=needed + len(state.requests.future.job))


def check_requests(checks: "BatchChecks") -> None:
    """Check that exactly the jobs with future requests are in the heap of releases."""
    key = checks.state.releases.due.entries()[1]
    rows = key[key >= b.WIDTH_REQUEST_KEY] - b.WIDTH_REQUEST_KEY
    for row in np.setxor1d(rows, np.flatnonzero(checks.state.requests.of_row.count)):
        checks.fault(f"{checks.name(row)}: its future requests and the heap of releases disagree")
