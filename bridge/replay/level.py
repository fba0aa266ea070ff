"""Slurm as the batch level, a ``bridge.couplings.BatchLevel``: slurmctld decides; this module only ends running jobs."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from bls.engine.status import BatchStatus
from bls.inputs import deadlines_ns
from bls.metrics.schedule import Downtime
from bls.running_jobs import Dealings
from bridge.replay.course import Course
from bridge.scenarios.ready import ReadyScenario
from traces.compiled import Array


class SlurmLevel:
    """The batch level of a replay; methods without a text are as in ``BatchLevel``."""

    #: Slurm ends jobs whatever applications have promised; and it decides only after the end of each started job is known.
    dealings = Dealings(directs=True, awaits_outcomes=True)

    running_jobs = None

    def __init__(self, scenario: ReadyScenario, course: Course) -> None:
        self._scenario, self._course = scenario, course
        self._book, self._answers = course.book, course.answers
        self._jobs = len(scenario.workload)
        self.deadline_ns = deadlines_ns(scenario.workload, scenario.options.batch.slack)

    @property
    def now_ns(self) -> int:
        return self._course.now_ns

    @property
    def ended(self) -> int:
        return self._book.ended

    @property
    def rows(self) -> int:
        return len(self._book)

    def column(self, name: str) -> Array:
        return np.asarray(getattr(self._book.columns, name))

    def allocations(self) -> tuple[Array, Array, Array]:
        return self._book.allocations()

    def records(self) -> dict[str, Any]:
        return {"gpus": self._book.gpu_records()} if self._scenario.platform.n_gpus else {}

    def started(self) -> list[int]:
        return list(self._answers.started)

    def interrupted(self) -> list[int]:
        """The rows of jobs that Slurm has ended, once."""
        found, self._answers.cut = self._answers.cut, []
        return found

    def origin(self, row: int) -> int:
        return int(self._book.columns.origin[row])

    def job_number(self, row: int) -> int:
        return int(self._scenario.workload.job_id[self.origin(row)])

    def start_ns(self, row: int) -> int:
        return int(self._book.columns.start_ns[row])

    def stop_ns(self, row: int) -> int | None:
        """The instant at which Slurm has ended it, if it has."""
        return self._answers.stop_ns.get(row)

    def allocation(self, row: int) -> Iterator[tuple[int, int]]:
        return iter(self._book.held[row])

    def promise(self, row: int, not_before_ns: int) -> bool:
        """Accept a promise without using it; only outcomes matter."""
        if row in self._answers.started:
            self._answers.started.remove(row)
        return True

    def take_back(self, row: int) -> bool:
        self._answers.unknown[row] = None
        return True

    def outcome(self, row: int, end_ns: int, stopped: bool = False) -> bool:
        """Set the end of a running job; of a job that Slurm has ended, what it computed until then."""
        self._answers.unknown.pop(row, None)
        self.promise(row, end_ns)
        if row in self._answers.stop_ns:
            return end_ns <= self._answers.stop_ns[row]
        self._course.ends(row, end_ns)
        return end_ns >= self.start_ns(row)

    def advance(self, max_ends: int) -> BatchStatus:
        """Run until an answer is needed, ``max_ends`` jobs have ended, or all have. Errors as of ``Course.go_on``."""
        upto = self.ended + max_ends
        while True:
            if self._answers.started:
                return BatchStatus.STARTED
            if self._answers.cut:
                return BatchStatus.INTERRUPTED
            if self._answers.unknown:
                return BatchStatus.DUE
            if self.ended == self._jobs:
                return BatchStatus.DONE
            if self.ended >= upto:
                return BatchStatus.PAUSED
            self._course.go_on()

    def downtime(self) -> Downtime:
        """Times at which hosts were down or in maintenance."""
        scenario = self._scenario
        return self._course.states.downtime(scenario.platform, scenario.constraints, self.now_ns)
