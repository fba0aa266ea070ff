"""The inline coupling: both engines called in this process (see ``bridge.couplings.inline_kernel``)."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy

import numpy as np

from als.application_faults import application_fault
from als.engine import hooks as application_hooks
from als.engine.dag import hooks as graph_hooks
from als.lengths.draw import IMPOSSIBLE, NO_ROOM
from als.options import MAX_TASKS_PER_JOB
from als.programs import drawing as program_drawing
from bls.engine.growing import grow_wishes
from bls.engine.status import BatchStatus
from bls.simulator import BatchSimulator
from bridge.couplings.contract import Applications
from bridge.couplings.inline_kernel import drive, reorder
from bridge.couplings.inline_state import HOOKS, new_inline_state, with_application, with_room
from bridge.couplings.inline_status import InlineStatus
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.scenario import Execution
from bridge.watches import Pace, Watch
from traces.compiled import Array
from traces.kernels.slabs import give_again
from traces.ledger import TaskRecords, TransferRecords


def run_inline(
    scenario: ReadyScenario, simulator: BatchSimulator, *, keep_tasks: bool, watch: Watch, execution: Execution
) -> Applications:
    """Run a scenario inline (``execution`` has no say here); a ``bridge.couplings.contract.Coupling``."""
    run = InlineRun(scenario, simulator, keep_tasks=keep_tasks)
    done = run.go_on(watch)
    assert done
    return run.applications()


class InlineRun:
    """A run of both engines in this process, which pauses where its batch simulator does. ``keep_tasks``: whether to
    keep a record of every task."""

    def __init__(self, scenario: ReadyScenario, simulator: BatchSimulator, *, keep_tasks: bool) -> None:
        assert scenario.programs is not None
        self.scenario, self.programs = scenario, scenario.programs
        self.simulator, self.keep_tasks = simulator, keep_tasks
        self.inline = new_inline_state(scenario, simulator, keep_tasks=keep_tasks)

    def fork(self, simulator: BatchSimulator) -> InlineRun:
        """Return a copy that goes on by itself, with a fork of the batch simulator."""
        other = copy(self)
        # Between two instants no application is under way but those that are saved: both share the room for another.
        other.simulator, other.inline = simulator, with_application(self.inline.fork(), self.inline.application)
        other._settle()
        return other

    def _settle(self) -> None:
        # Kept applications have moved.
        if len(self.inline.saved.flags):
            from bridge.couplings.inline_saved import settle

            settle(self.inline)

    def go_on(self, watch: Watch) -> bool:
        """Run until everything is done (true), or until the batch simulator pauses (false)."""
        simulator, pace = self.simulator, Pace()
        self._check()
        while True:
            status = drive(simulator.state, self.inline, min(pace.ends(), simulator.most_ends))
            for hooks in (HOOKS, application_hooks.HOOKS, graph_hooks.HOOKS, program_drawing.HOOKS):
                hooks.check()
            self.programs.rules.forget_all()  # applications of which these keep objects run to their ends within drive()
            watch(simulator.ended, simulator.now_ns)
            simulator.check(status)
            if status < 0:
                self._make_room(status)
            self._check()
            if status >= 0 and simulator.settle(status) and status in (BatchStatus.DONE, BatchStatus.LOOK):
                return bool(status == BatchStatus.DONE)

    def _check(self) -> None:
        if self.simulator.checks:
            from bridge.couplings.inline_validation import validate_inline

            validate_inline(self.simulator.state, self.inline)

    def _make_room(self, status: int) -> None:
        # For what the loop has run out of room for; or raise its fault.
        inline, simulator, programs, row = self.inline, self.simulator, self.programs, int(self.inline.job)
        job = simulator.job_number(row)
        if status == InlineStatus.LENGTHS_FULL and len(inline.application.lengths) < MAX_TASKS_PER_JOB:
            self.inline = with_room(inline, programs)
            for kept in np.flatnonzero(inline.saved.first >= 0).tolist():  # their work space is another one from now on
                give_again(inline.saved.words, int(inline.saved.first[kept]), inline.shared, self.inline.shared)
        elif status in (InlineStatus.LENGTHS_FULL, InlineStatus.LENGTHS_FAULT):
            place = int(self.scenario.program[simulator.origin(row)])
            drawing = NO_ROOM if status == InlineStatus.LENGTHS_FULL else IMPOSSIBLE
            raise programs.fault(drawing, place, inline.application.part_first, f"job {job}: ")
        elif status == InlineStatus.LEDGER_FULL:
            inline.tasks.grow(records=_more(inline.tasks.start_ns, inline.application.lengths))
        elif status == InlineStatus.TRANSFERS_FULL:
            inline.transfers.grow(transfers=_more(inline.transfers.source, inline.room.source))
        elif status == InlineStatus.JOURNAL_FULL:
            inline.journal.make_room(len(inline.core_speed))
        elif status == InlineStatus.SAVED_FULL:
            inline.saved.make_room(simulator.running())
            self._settle()
        elif status == InlineStatus.WISHES_FULL:
            grow_wishes(simulator.state, len(inline.application.wished_ns))
        elif status == InlineStatus.ROWS_SHORT:
            inline.grow_rows(len(simulator.state.jobs.number))
            self._settle()
        elif status == InlineStatus.RELEASES_FAULT:
            raise RuntimeError(f"job {job} releases cores that it does not hold, or wishes in the past")
        elif status == InlineStatus.OUTCOME_FAULT:
            raise RuntimeError(f"job {job} ends at another instant than can be")
        else:
            assert status == InlineStatus.APPLICATION_FAULT
            raise application_fault(int(inline.fault_status), inline.shared.app, programs.rules, f"job {job}: ")

    def applications(self) -> Applications:
        """What became of all applications, once everything is done."""
        inline, keep_tasks, rows = self.inline, self.keep_tasks, self.simulator.rows
        if len(inline.outcomes.n_rows) < rows:
            inline.grow_rows(rows)
        found = inline.outcomes.front(rows)
        tasks = transfers = None
        if keep_tasks:
            tasks = TaskRecords(*_in_workload_order(inline.tasks, found.n_rows, found.first))
        if keep_tasks and self.scenario.sends:
            transfers = TransferRecords(*_in_workload_order(inline.transfers, found.n_transfers, found.transfer_first))
        chosen = found.chosen if self.programs.rules.selects else None
        graphs = found.graph_values if self.programs.has_graph else None
        what = found.n_tasks, found.n_chunks, found.length_gflop, found.loops, chosen, found.ahead_chunks, tasks
        return Applications(*what, graphs=graphs, transfers=transfers)


def _more(column: Array, of_one: Array) -> int:
    # Half as many entries again, and those of one more job.
    return len(column) + len(column) // 2 + len(of_one)


def _in_workload_order(columns: Iterable[Array], rows: Array, first: Array) -> list[Array]:
    """Where each job's ``rows`` begin in workload order, and the columns so; they were at ``first``, as jobs started."""
    wanted = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(rows, out=wanted[1:])
    used = int(wanted[-1])
    if np.array_equal(first[rows > 0], wanted[:-1][rows > 0]):
        return [wanted, *(column[:used] for column in columns)]
    ordered = [np.empty(used, column.dtype) for column in columns]
    for source, target in zip(columns, ordered, strict=True):
        words = source.itemsize // 4
        reorder(source.view(np.int32), target.view(np.int32), words * first, words * wanted)
    return [wanted, *ordered]
