"""The inline coupling: both engines called in this process (see ``bridge.couplings.inline_kernel``)."""

from __future__ import annotations

import numpy as np

from als.application import application_fault
from als.engine import hooks as application_hooks
from als.engine.dag import hooks as graph_hooks
from als.engine.metrics import LOOP_METRICS
from als.lengths.contract import MAX_TASKS_PER_JOB
from als.lengths.draw import IMPOSSIBLE, NO_ROOM
from als.programs import drawing as program_drawing
from bls.engine import loop as engine
from bls.engine.state import NUMBER, ORIGIN
from bls.simulator import BatchSimulator
from bridge.couplings import inline_kernel as kernel
from bridge.couplings.contract import Applications, Pace, PeerOptions, Watch, core_gflop
from bridge.scenarios.scenario import Scenario
from traces.compiled import Array
from traces.ledger import TaskRecords, TransferRecords

__all__ = ["run_inline"]

_NAMES = [name for name, _ in LOOP_METRICS]
_IMBALANCE, _COV = _NAMES.index("imbalance"), _NAMES.index("cov")


def run_inline(
    scenario: Scenario, simulator: BatchSimulator, *, keep_tasks: bool, watch: Watch, peers: PeerOptions
) -> Applications:
    """Run a scenario inline (``peers`` has no say here); a ``bridge.couplings.contract.Coupling``."""
    workload, options, programs = scenario.workload, scenario.options, scenario.programs
    assert programs is not None
    costs = kernel.Costs(
        options.overhead_ns, options.level.latency_ns, int(options.level.master), scenario.bytes_per_gflop
    )
    inline = kernel.new_inline_state(
        workload.cores,
        workload.job_id,
        core_gflop(scenario),
        scenario.platform.core_speed_gflops,
        scenario.platform.core_host,
        programs,
        scenario.program,
        scenario.speeds.state,
        scenario.network,
        scenario.model.seed,
        costs,
        keep_tasks=keep_tasks,
        cuts=simulator.cuts,
    )
    pace = Pace()
    while True:
        status = kernel.drive(simulator.state, inline, min(pace.ends(), simulator.most_ends))
        for hooks in (kernel.HOOKS, application_hooks.HOOKS, graph_hooks.HOOKS, program_drawing.HOOKS):
            hooks.check()
        programs.rules.forget_all()  # applications run to their ends within drive()
        watch(simulator.ended, simulator.now_ns)
        if simulator.checks:
            from bridge.couplings.inline_validation import validate_inline

            simulator.check(status)
            validate_inline(simulator.state, inline)
        if status == kernel.LENGTHS_FULL and len(inline.application.lengths) < MAX_TASKS_PER_JOB:
            inline = kernel.with_room(inline, programs)
        elif status in (kernel.LENGTHS_FULL, kernel.LENGTHS_FAULT):
            row = int(inline.cursor[kernel.FAULT_JOB])
            place = int(scenario.program[simulator.state.jobs[ORIGIN, row]])
            drawing = NO_ROOM if status == kernel.LENGTHS_FULL else IMPOSSIBLE
            raise programs.fault(drawing, place, inline.part_first, f"job {int(simulator.state.jobs[NUMBER, row])}: ")
        elif status == kernel.LEDGER_FULL:
            inline = _grown(inline)
        elif status == kernel.TRANSFERS_FULL:
            inline = kernel.with_transfers(inline)
        elif status == kernel.ROWS_SHORT:
            inline = kernel.with_rows(inline, simulator.state.jobs.shape[1])
        elif status == kernel.APPLICATION_FAULT:
            job = int(simulator.state.jobs[NUMBER, inline.cursor[kernel.FAULT_JOB]])
            status = int(inline.cursor[kernel.FAULT_STATUS])
            raise application_fault(status, inline.application, programs.rules, f"job {job}: ")
        elif simulator.settle(status) and status == engine.DONE:
            break
    if len(inline.n_rows) != simulator.rows:
        inline = kernel.with_rows(inline, simulator.rows)
    return Applications(
        inline.n_tasks,
        inline.n_chunks,
        inline.length_gflop,
        inline.loops[:, _IMBALANCE].copy(),
        inline.loops[:, _COV].copy(),
        inline.loops,
        inline.chosen if programs.rules.selects else None,
        inline.ahead_chunks,
        _records(inline) if keep_tasks else None,
        graphs=inline.graph_values if programs.has_graph else None,
        transfers=_transfers(inline) if keep_tasks and scenario.sends else None,
    )


def _grown(inline: kernel.InlineState) -> kernel.InlineState:
    # Room for half as many task records again.
    more = len(inline.lengths) // 2 + len(inline.application.lengths)
    work = inline.application

    def grown(column: Array) -> Array:
        return np.concatenate([column, np.empty(more, column.dtype)])

    work = work._replace(
        start_ns=grown(work.start_ns),
        end_ns=grown(work.end_ns),
        core=grown(work.core),
        chunk=grown(work.chunk),
    )
    return kernel.with_application(inline._replace(lengths=grown(inline.lengths)), work)


def _records(inline: kernel.InlineState) -> TaskRecords:
    # From the order in which jobs started to workload order.
    work = inline.application
    n_rows, used = inline.n_rows, int(inline.cursor[kernel.LEDGER_USED])
    first = np.zeros(len(n_rows) + 1, np.int64)
    np.cumsum(n_rows, out=first[1:])
    columns = (work.start_ns, work.end_ns, work.core, work.chunk, inline.lengths)
    if np.array_equal(inline.first[n_rows > 0], first[:-1][n_rows > 0]):
        ordered = [column[:used] for column in columns]
    else:
        ordered = [np.empty(used, column.dtype) for column in columns]
        for source, target in zip(columns, ordered, strict=True):
            kernel.reorder(source, target, inline.first, first)
    return TaskRecords(first, *ordered)


def _transfers(inline: kernel.InlineState) -> TransferRecords:
    rows = inline.n_transfers
    first = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(rows, out=first[1:])
    ordered = [np.empty(int(first[-1]), column.dtype) for column in inline.transfers]
    for source, target in zip(inline.transfers, ordered, strict=True):
        kernel.reorder(source, target, inline.transfer_first, first)
    return TransferRecords(first, *ordered)
