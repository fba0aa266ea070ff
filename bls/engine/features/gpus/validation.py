"""Invariants of GPUs."""

import numpy as np

from bls.engine import state as b
from bls.engine.validation import BatchChecks
from bls.machine.platform import accepts_kind
from traces.intervals import intervals_of


def check_gpus(checks: BatchChecks) -> None:
    """Check that running jobs have the GPUs that they request on their hosts, and that the profile counts what is left."""
    state, jobs, gpus = checks.state, checks.jobs, checks.state.gpus
    origin, host_of = jobs.origin, state.host_of
    rows = np.union1d(checks.held, checks.kept)
    first, count = gpus.first[rows], gpus.count[rows]
    wrong = (first < 0) | (first + gpus.most[origin[rows]] > gpus.n_used) | (count > gpus.most[origin[rows]])
    checks.no_job((checks.are(rows[wrong]), "has no room for its GPUs"))
    owner, gpu = np.repeat(rows, count), gpus.lists.gpu[intervals_of(first, count)]
    able = accepts_kind(gpus.kinds[origin[owner]], gpus.kind[gpus.host[gpu]])
    checks.no_job((checks.are(owner[~able]), "has a GPU of another kind"))
    per_unit = gpus.per_unit[origin[rows]] * (jobs.cores[rows] // jobs.unit_cores[rows])
    checks.no_job(
        (checks.are(rows[(per_unit > 0) & (count != per_unit)]), "has another number of GPUs than it requests")
    )
    on_hosts = np.unique(np.stack([checks.owner, host_of[checks.held_cores]]), axis=1)  # where running jobs have cores
    there = np.isin(owner * checks.n_hosts + gpus.host[gpu], on_hosts[0] * checks.n_hosts + on_hosts[1])
    if state.settings.releases == b.NO_RELEASES:
        checks.no_job((checks.are(owner[checks.holds[owner] & ~there]), "has a GPU on a host on which it has no core"))
    milli = gpus.milli[origin[owner]]
    total = state.totals[gpus.amount :][: len(gpus.host)]

    def taken(mask: np.ndarray) -> np.ndarray:
        return np.bincount(gpu[mask], milli[mask], len(gpus.host)).astype(np.int64)

    checks.none(taken(there) > total, lambda k: f"more than all of GPU {k} is held")
    if state.cores_profile.ns[0] == state.now_ns:
        planned = (jobs.expected_end_ns[owner] > state.now_ns) | (state.settings.plans == 0)
        now = np.where(checks.holds[owner], there & planned, jobs.slot_ns[owner] <= state.now_ns)
        left = state.cores_profile.now.amounts[gpus.amount :][: len(gpus.host)]
        checks.counts(lambda k: f"thousandths that are left of GPU {k}", left, total - taken(now))
