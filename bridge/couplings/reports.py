"""The workers' reports of the jobs of a run, in the columns of all couplings."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from als.engine.dag.state import TransferColumns
from als.metrics import GRAPH_METRICS
from als.metrics.loops import LOOP_METRICS, measure
from als.programs.table import Programs
from bridge.couplings import Applications, BatchLevel, TaskColumns
from bridge.couplings.orders import Orders
from bridge.couplings.places import Places
from bridge.protocol.messages import Outcome, Records, Transfers
from bridge.protocol.packing import unpack_float64, unpack_int32, unpack_int64
from bridge.scenarios.ready import ReadyScenario
from bridge.workers.assignment import JobReport
from traces.base.errors import PeerError
from traces.compiled import Array
from traces.ledger import TaskRecords, TransferRecords

_Parts = list[tuple[Array, ...]]  #: a table in parts, each with the same columns


class _Done(NamedTuple):
    """The result of the application of one row."""

    outcome: Outcome
    rules: slice  # rules of the table that its ``chosen`` counts
    length_gflop: float
    loops: Array
    records: _Parts  # the columns of TaskRecords but the first
    transfers: _Parts  # the columns of TransferRecords but the first


class Reports:
    """Collects the reports of a run. ``orders``: its orders. ``keep_tasks``: whether records were requested."""

    def __init__(self, scenario: ReadyScenario, level: BatchLevel, orders: Orders, *, keep_tasks: bool) -> None:
        assert scenario.programs is not None
        self._scenario, self._level, self._orders, self._keep_tasks = scenario, level, orders, keep_tasks
        self._programs: Programs = scenario.programs
        self._done: dict[int, _Done] = {}

    def note(self, row: int, report: JobReport) -> None:
        """Store a worker's report of a row's job. Raises PeerError if it is not possible."""
        outcome, start_ns = report.outcome, self._level.start_ns(row)
        places, rules = self._orders.ended(row), self._rules_of(row, outcome)
        loops = np.empty(len(LOOP_METRICS))
        finish_ns, busy_ns = np.array(unpack_int64(outcome.finish_ns)), np.array(unpack_int64(outcome.busy_ns))
        done = np.nan if outcome.stopped or outcome.last_lost is not None else report.length_gflop
        speed, drives = self._orders.speed(places.latest, start_ns), self._orders.drives(row, places.latest)
        speed = self._programs.speed_of_slots(self._program(row), speed, drives)
        what = loops, start_ns, finish_ns, busy_ns, speed, done, report.length_cov
        measure(*what, outcome.scheduling_ns, outcome.chunks)
        records = [_task_columns(part, places) for part in report.records]
        transfers = [_transfer_columns(part) for part in report.transfers]
        self._done[row] = _Done(outcome, rules, report.length_gflop, loops, records, transfers)

    def applications(self, n_rows: int, cost: dict[str, Any]) -> Applications:
        """The columns of all rows; some may never have started."""
        tasks, chunks, ahead_chunks = np.zeros((3, n_rows), np.int64)
        length_gflop, loops = np.zeros(n_rows), np.full((n_rows, len(LOOP_METRICS)), np.nan)
        rules, keep, has_graph = self._programs.rules, self._keep_tasks, self._programs.has_graph
        chosen = np.zeros((n_rows, len(rules.names)), np.int64) if rules.selects else None
        graphs = np.full((n_rows, len(GRAPH_METRICS)), np.nan) if has_graph else None
        records: list[_Parts] = [[] for _ in range(n_rows)]
        transfers: list[_Parts] = [[] for _ in range(n_rows)]
        for row, done in self._done.items():
            outcome = done.outcome
            tasks[row], chunks[row], ahead_chunks[row] = outcome.ran, outcome.chunks, outcome.ahead_chunks
            length_gflop[row], loops[row] = done.length_gflop, done.loops
            records[row], transfers[row] = done.records, done.transfers
            if chosen is not None:
                chosen[row, done.rules] = outcome.chosen
            if graphs is not None and outcome.graph is not None:  # None becomes NaN
                graphs[row] = [getattr(outcome.graph, name) for name, _ in GRAPH_METRICS]
        of_tasks = TaskRecords(*_joined(records, TaskColumns.none())) if keep else None
        sent = TransferRecords(*_joined(transfers, TransferColumns.none())) if keep and self._scenario.sends else None
        what = tasks, chunks, length_gflop, loops, chosen, ahead_chunks, of_tasks
        return Applications(*what, graphs=graphs, transfers=sent, cost=cost)

    def _program(self, row: int) -> int:
        return int(self._scenario.program[self._level.origin(row)])

    def _rules_of(self, row: int, outcome: Outcome) -> slice:
        # A worker counts the rules of one program, which follow those of earlier programs in the table.
        rules, n = self._programs.rules, len(outcome.chosen)
        first = self._programs.rule_first[self._program(row)]
        most = len(rules.names) - first if rules.selects else 0
        if n > most:
            what = f"the outcome's chosen has {n} numbers; allowed: up to {most}"
            raise PeerError(f"job {self._level.job_number(row)}: {what}")
        return slice(first, first + n)


def _task_columns(part: Records, places: Places) -> tuple[Array, ...]:
    """Records in the columns of TaskRecords, with global core numbers; a task that never ran has -1 everywhere."""
    start_ns, core, chunk = unpack_int64(part.start_ns), unpack_int32(part.core), unpack_int32(part.chunk)
    never = start_ns < 0
    return (
        start_ns,
        unpack_int64(part.end_ns),
        np.where(never, np.int32(-1), places.cores_of(np.maximum(core, 0), start_ns)),
        np.where(never, np.int32(-1), chunk),
        unpack_float64(part.length_gflop),
    )


def _transfer_columns(part: Transfers) -> tuple[Array, ...]:
    return (
        unpack_int32(part.source),
        unpack_int32(part.target),
        unpack_float64(part.bytes),
        unpack_int64(part.sent_ns),
        unpack_int64(part.arrived_ns),
    )


def _joined(rows: list[_Parts], none: Iterable[Array]) -> tuple[Array, ...]:
    """The first entry of each row, and the joined columns; ``none``: empty columns of the same types."""
    first = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([sum(len(part[0]) for part in parts) for parts in rows], out=first[1:])
    parts = [none, *(part for parts in rows for part in parts)]  # perhaps no job has started
    return (first, *(np.concatenate(columns) for columns in zip(*parts, strict=True)))
