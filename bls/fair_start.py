"""Fair start times: the start of each job if no job that arrived later existed (docs/reference/metrics.md, "Fairness").

For a row r (a job, or a later attempt) that joined the queue at t, *later-arriving* jobs are those whose first attempt joined
after t, those that joined at t after r, and those that never joined and were cancelled after t. For a later attempt, all jobs
that first join at t are later-arriving. Everything else is as in the run until t; so are outages and cancellations after t.

No decision before t depends on later arrivals, so the state of the run just before t is that of the run without them. The run
is repeated. Before each instant at which jobs join, a fork continues with the jobs up to r alone until r has started; then
its writes are undone. A fork writes only to rows of running, waiting and joining jobs, so its cost depends on the length of the
queue.

Source: G. Sabin, G. Kochhar and P. Sadayappan, "Job fairness in non-preemptive job scheduling", ICPP 2004.
"""

from typing import NamedTuple

import numpy as np

from bls.conflicts import FAIR_START
from bls.engine import state as b
from bls.engine.features.order import features_of
from bls.engine.status import FAULTS, BatchStatus
from bls.inputs import Chosen
from bls.policies import AnyPolicy
from bls.scheduler_options import Rules
from bls.simulator import BatchSimulator
from traces.base.options import check
from traces.compiled import Array
from traces.kernels.snapshots import Snapshot


class FinishedRows(NamedTuple):
    """The rows of the table of jobs of a finished run: int64 (rows,) each, first attempts first, in workload order."""

    job_id: Array
    start_ns: Array
    end_ns: Array
    state: Array  # indices in ``traces.ledger.STATES``
    eligible_ns: Array


def check_fair_start(policy: AnyPolicy, rules: Rules) -> None:
    """Raise InputError if parts of a run cannot be repeated: the policy decides in Python and may keep state, decisions cost
    their measured time, or jobs release cores before their end."""
    check(FAIR_START, Chosen(rules, policy))


def fair_starts(finished: FinishedRows, fresh: BatchSimulator) -> Array:
    """Return the fair start time of every row, as defined above: int64 (rows,), in ns, -1 for rows without one.

    ``fresh`` is a simulator of the same workload and options, not yet advanced and without observers; it is consumed. Raises
    InputError as :func:`check_fair_start`, PluginError if a plug-in fails, RuntimeError if ``fresh`` does not repeat the run.
    """
    check_fair_start(fresh.policy, fresh.rules)
    return _Replay(finished, fresh).run()


class _Replay:
    # The repeated run, and its forks.

    def __init__(self, finished: FinishedRows, fresh: BatchSimulator) -> None:
        self.fresh, self.snapshot = fresh, Snapshot(fresh.state)
        self.n = n = len(fresh.workload)
        rows, jobs = len(finished.job_id), fresh.state.jobs
        self.start, self.end, self.state = finished.start_ns, finished.end_ns, finished.state
        self.eligible = finished.eligible_ns
        same = np.array_equal(finished.job_id[:n], fresh.workload.job_id)
        if not same or not np.isin(finished.job_id, fresh.workload.job_id).all():
            raise RuntimeError("the workload has other jobs than the run")
        order = np.argsort(finished.job_id[:n], kind="stable")
        self.origin = order[np.searchsorted(finished.job_id[:n], finished.job_id, sorter=order)]
        self.before = np.full(rows, -1, np.int64)  # the row of the previous attempt
        last = np.arange(n)
        for row in range(n, rows):
            self.before[row] = last[self.origin[row]]
            last[self.origin[row]] = row
        lasted = np.where(self.start[last] >= 0, self.end[last] - self.start[last], jobs.walltime_ns[:n])
        self.length = np.where(jobs.run_ns[:n] >= 0, jobs.run_ns[:n], lasted)

        eligible, self.cancel, self.childless = self.eligible[:n], jobs.cancel_ns[:n].copy(), np.zeros(0, np.int64)
        joined = np.flatnonzero(eligible >= 0)
        self.sequence = joined[np.lexsort((joined, -jobs.preset[joined], eligible[joined]))]
        self.place = np.full(n, -1, np.int64)
        self.place[self.sequence] = np.arange(len(joined))
        self.joins = np.append(eligible[self.sequence], b.NEVER)
        # Jobs that are cancelled before they can join: nothing else happens to them.
        absent = np.flatnonzero(eligible < 0)
        self.absent = absent[np.argsort(self.cancel[absent], kind="stable")]
        self.leaves = np.append(self.cancel[self.absent], b.NEVER)

    def run(self) -> Array:
        fair: Array = self.start.copy()
        if self._is_fcfs():
            return fair
        self.fresh.state.jobs.run_ns[:] = -1  # every start and end is reported
        rows = [row for row in np.flatnonzero(self.eligible >= 0).tolist() if self._may_differ(row)]
        for row in sorted(rows, key=self.eligible.__getitem__):
            t = int(self.eligible[row])
            self._advance_before(t)
            fair[row] = self._fork(row, t)
        return fair

    def _is_fcfs(self) -> bool:
        # FCFS without backfilling: no later job can delay an earlier one.
        state = self.fresh.state
        settings = state.settings
        return bool(
            settings.order == b.STATIC
            and np.array_equal(state.jobs.rank[: self.n], np.arange(self.n))
            and np.array_equal(state.jobs.begin_ns[: self.n], state.jobs.submit_ns[: self.n])
            and settings.max_reservations == 0
            and not any(feature.overtakes for feature in features_of(state))
        )

    def _may_differ(self, row: int) -> bool:
        # Only if another job joined between its arrival and its start.
        t, start = self.eligible[row], self.start[row]
        at = self.place[row] + 1 if row < self.n else np.searchsorted(self.joins, t)
        later = min(self.joins[at], self.leaves[np.searchsorted(self.leaves, t, "right")])
        return bool(start < 0 or later <= start)

    def _advance_before(self, t: int) -> None:
        # Advance until all events before the instant have happened.
        fresh = self.fresh
        fresh.state.observe_after_ns = t - 1
        while True:
            status = self._advance(fresh)
            if status == BatchStatus.LOOK:
                return
            if status == BatchStatus.STARTED:
                for row in fresh.started():
                    stopped = self.state[row] != b.COMPLETED
                    if fresh.state.jobs.start_ns[row] != self.start[row] or not fresh.outcome(
                        row, int(self.end[row]), bool(stopped)
                    ):
                        raise RuntimeError(f"row {row} starts at {fresh.now_ns} ns, which it did not in the run")
            elif self._settle(status) and status != BatchStatus.PAUSED:
                raise RuntimeError(f"the run ended before {t} ns, when jobs joined")

    def _advance(self, simulator: BatchSimulator) -> int:
        return simulator.enter(max(1, self.n))

    def _settle(self, status: int) -> bool:
        settled = self.fresh.settle(status)
        self.snapshot = Snapshot(self.fresh.state)
        return settled

    def _fork(self, row: int, t: int) -> int:
        # The start of a row that joins now if no job arrives later.
        fresh = self.fresh
        first = np.searchsorted(self.joins, t)
        joining = self.sequence[first : self.place[row] + 1] if row < self.n else self.childless
        while True:
            main = fresh.state
            running = main.running.key[: main.running.n]
            leaving = self.absent[np.searchsorted(self.leaves, t) : np.searchsorted(self.leaves, t, "right")]
            rows = np.unique(np.concatenate([_waiting(main), running, joining, leaving]))
            self.snapshot.keep(_places(main, rows))
            fork = fresh.at(self._without_others(rows, joining, row, t))
            try:
                while (status := self._advance(fork)) == BatchStatus.PAUSED:
                    pass
                if status in _ENDS:
                    return int(main.jobs.start_ns[row])
                if status in FAULTS:
                    fork.settle(status)
            finally:
                self.snapshot.put_back({"rows": slice(main.n_rows, fork.state.n_rows)})
            # A table is too small, or a list too short: it is extended in the run itself.
            self._settle(status)

    def _without_others(self, rows: Array, joining: Array, row: int, t: int) -> b.BatchState:
        state = self.fresh.state
        jobs, origins = state.jobs, self.origin[rows]
        jobs.run_ns[rows] = self.length[origins]
        jobs.run_ns[row if row < self.n else self.before[row]] = -1  # the engine suspends when it starts
        withdrawn = np.unique(origins[self.cancel[origins] < b.NEVER])
        withdrawn = withdrawn[self.cancel[withdrawn] >= t]
        state.other_events.next_cancel = state.next_arrival = 0
        state.observe_after_ns = self.cancel[self.origin[row]]
        by_themselves = jobs.depends_on[joining] < 0
        cancel_order = withdrawn[np.lexsort((withdrawn, self.cancel[withdrawn]))]
        others = state.other_events._replace(cancels=cancel_order)
        state = state._replace(arrivals=np.sort(joining[by_themselves]), other_events=others)
        if not len(state.dependencies.first):
            return state
        # Jobs that waited for others and join at this instant; and wake-ups.
        children = joining[~by_themselves]
        ns, job = state.other_events.arriving.entries()
        stay = (job >= b.WAKE_UP_KEY) | np.isin(job, children)
        state.other_events.arriving.refill(ns[stay], job[stay])
        children = children[np.lexsort((children, jobs.depends_on[children]))]
        child_first = np.searchsorted(jobs.depends_on[children], np.arange(self.n + 1))
        return state._replace(dependencies=state.dependencies._replace(first=child_first, row=children))


#: Statuses that end a fork: the row has started, or never will.
_ENDS = (BatchStatus.STARTED, BatchStatus.DONE, BatchStatus.LOOK, BatchStatus.STUCK, BatchStatus.ATTEMPTS)


def _waiting(state: b.BatchState) -> Array:
    # The rows in the queue.
    words = state.queue_words[: state.queue_starts[1]]
    at = np.flatnonzero(words)
    word, bit = np.nonzero((words[at, None] >> np.arange(32)) & 1)
    return np.asarray(state.by_rank[at[word] * 32 + bit])


def _places(state: b.BatchState, rows: Array) -> dict[str, Array]:
    # The arrays to which a fork may write if it writes to these rows only.
    groups = np.zeros(0, np.int64)
    if state.prediction.runs.size:
        # Only these jobs can end, and so change predictions. The last group counts predictions.
        groups = np.unique(state.prediction.group[:, state.jobs.origin[rows]])
        groups = np.append(groups[groups >= 0], len(state.prediction.runs) - 1)
    return dict.fromkeys(b.BY_ROW, rows) | {"jobs": state.jobs.rank[rows], "groups": groups}
