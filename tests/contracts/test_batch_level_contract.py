"""The contract of batch levels, driven as the couplings with processes drive them."""

from itertools import pairwise
from typing import Any, cast

import pytest

import bridge
from bls import BatchStatus, HostGroup, Platform, Workload
from bridge.couplings import BatchLevel
from bridge.replay.agenda import Answers
from bridge.replay.book import ReplayedRows
from bridge.replay.course import Course
from bridge.replay.level import SlurmLevel
from bridge.replay.messages import SlurmLaunch
from bridge.scenarios.ready import ReadyScenario
from traces.lifecycle import Ending

S = 10**9
#: Number, submit, run time, cores, estimate.
JOBS = Workload.from_jobs([(7, 0, 4, 2, 9), (8, 0, 2, 1, 9), (9, 1, 3, 3, 9), (4, 2, 1, 2, 9)])
SCENARIO = ReadyScenario.of(JOBS, Platform((HostGroup(1, 4, 4.0),)), bridge.Scenario.flat(als="static"))


class Controller:
    """Takes the place of slurmctld: it starts the jobs in the order of their submits, as soon as cores are free."""

    def __init__(self) -> None:
        self.book = ReplayedRows(JOBS, SCENARIO.platform.first_core, {"n0": 0})
        self.answers = Answers(recorded=False)
        self.now_ns = 0
        self._ends: dict[int, int] = {}
        self._next = 0

    def ends(self, row: int, end_ns: int) -> None:
        self._ends[row] = end_ns

    def go_on(self) -> None:
        row, held = self._next, sum(int(JOBS.cores[one]) for one in self.book.running)
        if row < len(JOBS) and JOBS.submit_ns[row] <= self.now_ns and held + JOBS.cores[row] <= 4:
            self._next += 1
            self.book.submit(row, row)
            self.book.start(row, SlurmLaunch(row, "n0", (int(JOBS.cores[row]),)), self.now_ns)
            self.answers.ask(row)
            return
        coming = [int(one) for one in JOBS.submit_ns[self._next :] if one > self.now_ns]
        self.now_ns = min([*self._ends.values(), *coming])
        for ended in [one for one, end_ns in self._ends.items() if end_ns == self.now_ns]:
            del self._ends[ended]
            self.book.end(ended, Ending.COMPLETED, self.now_ns)


LEVELS: dict[str, Any] = {
    "simulator": SCENARIO.batch_simulator,
    "slurm": lambda: SlurmLevel(SCENARIO, cast(Course, Controller())),
}


@pytest.mark.parametrize("name", LEVELS)
def test_jobs_start_run_and_end(name: str) -> None:
    level: BatchLevel = LEVELS[name]()
    open_rows: list[int] = []
    while (status := level.advance(1)) != BatchStatus.DONE:
        assert status in (BatchStatus.STARTED, BatchStatus.DUE, BatchStatus.PAUSED)
        for row in level.started():
            assert level.start_ns(row) <= level.now_ns
            assert level.stop_ns(row) is None
            assert sum(hi - lo for lo, hi in level.allocation(row)) == JOBS.cores[row]
            assert level.promise(row, level.now_ns if level.dealings.awaits_outcomes else level.start_ns(row) + S)
            open_rows.append(row)
        assert level.started() == []
        if status == BatchStatus.DUE:
            for row in open_rows:
                assert level.outcome(row, level.start_ns(row) + int(JOBS.run_ns[level.origin(row)]))
            open_rows.clear()
    column, (first, lo, hi) = level.column, level.allocations()
    assert level.ended == level.rows == len(column("origin")) == len(JOBS)
    assert [level.job_number(row) for row in range(level.rows)] == [7, 8, 9, 4]
    assert column("start_ns").tolist() == [0, 0, 4 * S, 7 * S]
    assert (column("end_ns") - column("start_ns")).tolist() == JOBS.run_ns.tolist()
    assert set(column("state").tolist()) == {Ending.COMPLETED}
    assert [int((hi - lo)[a:b].sum()) for a, b in pairwise(first)] == JOBS.cores.tolist()
    assert (level.deadline_ns > JOBS.submit_ns).all()
    assert level.interrupted() == []
