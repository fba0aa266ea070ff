"""What workers have reported of the jobs of a run, in the columns that every coupling gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from als.engine.dag.metrics import GRAPH_METRICS, transfer_room
from als.engine.metrics import LOOP_METRICS, measure
from als.programs.table import Programs
from bridge.couplings.contract import Applications
from bridge.couplings.orders import Orders
from bridge.couplings.places import Places
from bridge.protocol.messages import Measurement, Outcome, Records, Transfers
from bridge.protocol.packing import unpack_float64, unpack_int32, unpack_int64
from bridge.scenarios.scenario import Scenario
from bridge.workers.assignment import Report
from traces.base.errors import PeerError
from traces.compiled import Array
from traces.ledger import TaskRecords, TransferRecords

__all__ = ["Reports"]

#: A table in parts, each of so many columns.
_Parts = list[tuple[Array, ...]]


@dataclass(frozen=True)
class _Done:
    """What became of the application of one row; as it stands, of a row that never started."""

    tasks: int = 0
    chunks: int = 0
    length_gflop: float = 0.0
    loops: Array = field(default_factory=lambda: np.full(len(LOOP_METRICS), np.nan))
    chosen: tuple[int, ...] = ()
    ahead_chunks: int = 0
    records: _Parts = field(default_factory=list)  # the columns of TaskRecords but the first
    transfers: _Parts = field(default_factory=list)  # the columns of TransferRecords but the first
    graph: Measurement | None = None


class Reports:
    """Collects the reports of a run.

    Parameters
    ----------
    scenario : Scenario
    orders : Orders
        Who gave the orders.
    keep_tasks : bool
        Whether records were asked for.
    """

    def __init__(self, scenario: Scenario, orders: Orders, *, keep_tasks: bool) -> None:
        assert scenario.programs is not None
        self._scenario, self._orders, self._keep_tasks = scenario, orders, keep_tasks
        self._programs: Programs = scenario.programs
        self._done: dict[int, _Done] = {}

    def note(self, row: int, report: Report) -> None:
        """What a worker has reported of a row's job.

        Raises
        ------
        PeerError
            If it cannot be.
        """
        outcome, start_ns = report.outcome, self._orders.start_ns(row)
        places = self._orders.ended(row)
        self._check_chosen(row, outcome)
        loops = np.empty(len(LOOP_METRICS))
        measure(
            loops,
            start_ns,
            np.array(unpack_int64(outcome.finish_ns)),
            np.array(unpack_int64(outcome.busy_ns)),
            self._orders.speed(places.latest, start_ns),
            np.nan if outcome.stopped or outcome.last_lost is not None else report.length_gflop,
            report.length_cov,
            outcome.scheduling_ns,
            outcome.chunks,
        )
        self._done[row] = _Done(
            tasks=outcome.ran,
            chunks=outcome.chunks,
            length_gflop=report.length_gflop,
            loops=loops,
            chosen=outcome.chosen,
            ahead_chunks=outcome.ahead_chunks,
            records=[_task_columns(part, places) for part in report.records],
            transfers=[_transfer_columns(part) for part in report.transfers],
            graph=outcome.graph,
        )

    def applications(self, n_rows: int, cost: dict[str, Any]) -> Applications:
        """The columns of so many rows, of which some may never have started."""
        nothing = _Done()
        rows = [self._done.get(row, nothing) for row in range(n_rows)]
        loops = np.array([row.loops for row in rows], np.float64).reshape(len(rows), len(LOOP_METRICS))
        keep, has_graph = self._keep_tasks, self._programs.has_graph
        return Applications(
            np.array([row.tasks for row in rows], np.int64),
            np.array([row.chunks for row in rows], np.int64),
            np.array([row.length_gflop for row in rows], np.float64),
            loops,
            self._chosen(rows),
            np.array([row.ahead_chunks for row in rows], np.int64),
            TaskRecords(*_joined([row.records for row in rows], _NO_TASKS)) if keep else None,
            graphs=np.array([_graph_values(row.graph) for row in rows]).reshape(-1, len(GRAPH_METRICS))
            if has_graph
            else None,
            transfers=TransferRecords(*_joined([row.transfers for row in rows], transfer_room(0)))
            if keep and self._scenario.sends
            else None,
            cost=cost,
        )

    def _chosen(self, rows: list[_Done]) -> Array | None:
        # A worker counts the rules of one program; in the table they stand behind those of the programs before it.
        rules = self._programs.rules
        if not rules.selects:
            return None
        chosen = np.zeros((len(rows), len(rules.names)), np.int64)
        for row, done in enumerate(rows):
            if done.chosen:
                first = self._programs.rule_first(int(self._scenario.program[self._orders.origin(row)]))
                chosen[row, first : first + len(done.chosen)] = done.chosen
        return chosen

    def _check_chosen(self, row: int, outcome: Outcome) -> None:
        if not outcome.chosen:
            return
        origin, rules = self._orders.origin(row), self._programs.rules
        first = self._programs.rule_first(int(self._scenario.program[origin]))
        most = len(rules.names) - first if rules.selects else 0
        if len(outcome.chosen) > most:
            what = f"the outcome's chosen has {len(outcome.chosen)} numbers; allowed: up to {most}"
            raise PeerError(f"job {self._orders.job_number(row)}: {what}")


_NO_TASKS = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))


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


def _joined(rows: list[_Parts], none: tuple[Array, ...]) -> tuple[Array, ...]:
    """The columns of all rows, and before them where each row's begin; ``none`` are columns of the same types."""
    first = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([sum(len(part[0]) for part in parts) for parts in rows], out=first[1:])
    parts = [none, *(part for parts in rows for part in parts)]  # it may be that no job ever started
    return (first, *(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _graph_values(graph: Measurement | None) -> list[float]:
    """The values of GRAPH_METRICS, NaN where there is none."""
    values = [None if graph is None else getattr(graph, name) for name, _ in GRAPH_METRICS]
    return [np.nan if value is None else float(value) for value in values]
