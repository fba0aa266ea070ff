"""The inline coupling, which calls both engines in this process (``bridge.couplings.inline_kernel``)."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy

import numpy as np

from als.application_faults import application_fault
from als.engine import hooks as application_hooks
from als.engine.dag import state as graphs
from als.engine.devices import NO_DEVICES, ROUTE_ROOM, Devices, DeviceSlots
from als.engine.state import ApplicationState, new_state
from als.graphs.contract import MAX_EDGES_PER_JOB
from als.graphs.draw import new_drawing_room
from als.lengths.draw import IMPOSSIBLE, NO_ROOM
from als.network.state import NONE, NetworkState
from als.options import MAX_TASKS_PER_JOB
from als.programs import table as program_drawing
from als.programs.table import Programs
from bls.engine.status import BatchStatus
from bls.simulator import BatchSimulator
from bridge.couplings import Applications, TaskColumns, check_devices, core_gflop
from bridge.couplings import inline_state as i
from bridge.couplings.inline_kernel import drive, reorder
from bridge.couplings.inline_state import HOOKS, InlineState, InlineStatus
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.scenario import Execution
from bridge.watches import Pace, Watch
from traces.base.options import named
from traces.compiled import Array, as_value, function_table, own
from traces.kernels.slabs import give_again
from traces.ledger import TaskRecords, TransferRecords


def run_inline(
    scenario: ReadyScenario, simulator: BatchSimulator, *, keep_tasks: bool, watch: Watch, execution: Execution
) -> Applications:
    """Run a scenario inline (``execution`` is ignored); a ``bridge.couplings.Coupling``."""
    run = InlineRun(scenario, simulator, keep_tasks=keep_tasks)
    done = run.go_on(watch)
    assert done
    return run.applications()


class InlineRun:
    """A run of both engines in this process, which pauses when its batch simulator does. ``keep_tasks``: whether to keep a
    record of every task."""

    def __init__(self, scenario: ReadyScenario, simulator: BatchSimulator, *, keep_tasks: bool) -> None:
        assert scenario.programs is not None
        self.scenario, self.programs = scenario, scenario.programs
        self.simulator, self.keep_tasks = simulator, keep_tasks
        check_devices(scenario, simulator)
        self.inline = new_inline_state(scenario, simulator, keep_tasks=keep_tasks)

    def fork(self, simulator: BatchSimulator) -> InlineRun:
        """Return an independent copy, with a fork of the batch simulator."""
        other = copy(self)
        # Between two instants only saved applications are active, so both copies can share the work space.
        other.simulator, other.inline = simulator, with_application(self.inline.fork(), self.inline.application)
        other._settle()
        return other

    def _settle(self) -> None:
        # Kept applications have moved.
        if len(self.inline.saved.flags):
            from bridge.couplings.inline_kept import settle

            settle(self.inline)

    def go_on(self, watch: Watch) -> bool:
        """Run to the end (True), or until the batch simulator pauses (False)."""
        simulator, pace = self.simulator, Pace()
        self._check()
        while True:
            status = drive(simulator.state, self.inline, min(pace.ends(), simulator.most_ends))
            for hooks in (HOOKS, application_hooks.HOOKS, application_hooks.GRAPH_HOOKS, program_drawing.HOOKS):
                hooks.check()
            self.programs.rules.forget_all()  # applications with Python objects run to their ends within drive()
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
        # Make the room that the loop needs, or raise its fault.
        inline, simulator, programs, row = self.inline, self.simulator, self.programs, int(self.inline.job)
        job = simulator.job_number(row)
        if status == InlineStatus.LENGTHS_FULL and len(inline.application.lengths) < MAX_TASKS_PER_JOB:
            self.inline = with_room(inline, programs)
            for kept in np.flatnonzero(inline.saved.first >= 0).tolist():  # their work space has changed
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
        elif status == InlineStatus.WIDTH_REQUESTS_FULL:
            from bls.engine.features.requests.requests import grow_width_requests

            grow_width_requests(simulator.state, len(inline.application.width_request_ns))
        elif status == InlineStatus.ROWS_SHORT:
            inline.grow_rows(len(simulator.state.jobs.number))
            self._settle()
        elif status == InlineStatus.RELEASES_FAULT:
            raise RuntimeError(f"job {job} releases cores that it does not hold, or requests cores in the past")
        elif status == InlineStatus.OUTCOME_FAULT:
            raise RuntimeError(f"job {job} ends at an impossible instant")
        else:
            assert status == InlineStatus.APPLICATION_FAULT
            raise application_fault(int(inline.fault_status), inline.shared.app, programs.rules, f"job {job}: ")

    def applications(self) -> Applications:
        """The results of all applications, at the end."""
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
    # 1.5 times the entries, and room for one more job.
    return len(column) + len(column) // 2 + len(of_one)


def _in_workload_order(columns: Iterable[Array], rows: Array, first: Array) -> list[Array]:
    """The first of each job's ``rows`` in workload order, and the sorted columns; before they were at ``first``, by start."""
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


def _application_room(
    scenario: ReadyScenario, widest: int, memo: int, *, changes: bool, width_requests: bool
) -> ApplicationState:
    # Room for one application of the largest size.
    programs, rules = scenario.programs, scenario.options.batch
    assert programs is not None
    resizes = rules.resizing > 0
    room, edges = programs.room(scenario.program, scenario.workload.cores)
    graph = graphs.NO_GRAPH
    if scenario.fetches:
        graph = graph._replace(net=scenario.network)
    if programs.has_graph:
        graph = _graph_room(programs, room, edges, widest, scenario.network, resizes)
    return new_state(
        lengths=np.empty(room),
        part_first=np.zeros(programs.most_parts + 1, np.int64),
        phases=programs.table.phases,
        table=programs.table.rules,
        speed=np.empty(widest),
        memo=memo,
        keep_tasks=False,
        selects=programs.rules.selects,
        hooks=application_hooks.table(
            programs.table.phases,
            selects=programs.rules.selects,
            changes=changes or scenario.speeds.state.component.size > 0,
            hints=rules.hints,
            resizes=resizes,
            width_requests=width_requests,
            devices=programs.has_devices,
        ),
        graph=graph,
        devices=Devices.none({"device_slots": widest} | ROUTE_ROOM) if programs.has_devices else NO_DEVICES,
        width_requests=np.zeros(len(programs.table.width_shares), np.int64) if width_requests else None,
    )


def new_inline_state(scenario: ReadyScenario, simulator: BatchSimulator, *, keep_tasks: bool) -> InlineState:
    """The inline state for a scenario and its simulator."""
    programs, program, level = scenario.programs, scenario.program, scenario.options.application
    assert programs is not None
    cores, speeds = scenario.workload.cores, scenario.speeds.state
    n = len(cores)
    rules, widths = scenario.options.batch, scenario.constraints.widths
    resizes = rules.resizing > 0
    width_requests = rules.resized == "evolve" and bool(programs.table.width_shares.any())
    most = np.maximum(cores, widths.max_cores) if (resizes or rules.molds) and widths is not None else cores
    widest = int(most.max()) if n else 1
    room, edges = programs.room(program, cores)
    expected = programs.expected_tasks(program, cores)
    # The draws exceed their sum by about half a task per job.
    rows = expected + expected // 64 + 2 * n + room if keep_tasks else 0
    memo = programs.memo(program, most)
    work = _application_room(scenario, widest, memo, changes=simulator.dealings.cuts, width_requests=width_requests)
    network, varies = scenario.network.kind != NONE, speeds.component.size > 0
    sends = keep_tasks and edges > 0 and network
    objects = not all(one.by_memo for one in programs.rules.techniques)
    replays = simulator.dealings.commanded and (objects or (programs.has_graph and network))
    saves = simulator.dealings.commanded and not replays
    n_rules = len(programs.rules.names) if programs.rules.selects else 0
    shared = i.Running.new({"cores": widest}, app=work)
    used = {i.SPEEDS: varies, i.VARYING: varies, i.GRAPHS: programs.has_graph}
    used |= {
        i.START: saves,
        i.COME_DUE: saves,
        i.INTERRUPT: simulator.dealings.commanded,
        i.WIDTH_REQUESTS: width_requests,
        i.DEVICES: programs.has_devices,
    }
    state = InlineState(
        core_speed=own(scenario.platform.core_speed_gflops, np.float64),
        asked=own(cores, np.int64),
        core_gflop=own(core_gflop(scenario), np.float64),
        program=own(program, np.int64),
        table=programs.table,
        speeds=speeds,
        room=new_drawing_room(edges, programs.most_parts, memo=programs.draw_memo, keys=work.keys),
        own_gflops=np.zeros(widest),
        application=work,
        outcomes=i.Outcomes.new({"rows": n, "rules": n_rules, "graphs": n if programs.has_graph else 0}),
        tasks=TaskColumns.new({"records": rows}),
        transfers=graphs.TransferColumns.new({"transfers": 2 * edges if sends else 0}),
        running=shared,
        device_slots=DeviceSlots.new({"device_slots": widest if programs.has_devices else 0}),
        device_works=np.empty(int(programs.table.work_kinds.max()) * room),
        device_on=np.zeros(len(programs.table.on) if programs.has_devices else 0, np.int64),
        gpu_rows=scenario.gpu_rows,
        shared=shared,
        seed=np.array([scenario.model.seed], np.uint64),
        costs=i.InlineCosts(
            scenario.options.application.overhead_ns,
            level.latency_ns,
            int(level.master),
            int(bool(rules.releases)),
            level.resize_ns,
            scenario.platform.slowest_gflops,
            scenario.bytes_per_gflop,
        ),
        engines=function_table(
            [(not need or getattr(simulator.dealings, need)) and as_value(named(at), of) for at, of, need in i.ENGINES]
        ),
        hooks=HOOKS.filled([slot for slot, there in used.items() if there]),
        journal=i.CommandJournal.none(
            {"rows": n, "entries": n, "wanted": 16 * n, "cores": widest} if replays else None
        ),
        saved=i.SavedStates.none(
            {"rows": n, "words": 256 * min(n, 64), "ahead": 256, "cores": widest} if saves else None
        ),
    )
    return with_application(state, work)


def _graph_room(
    programs: Programs, n_tasks: int, n_edges: int, widest: int, network: NetworkState, resizes: bool
) -> graphs.GraphState:
    # The work space of one job's graphs, of the largest size.
    ends = np.empty(n_edges, np.int64)
    plans = resizes and bool(programs.rules.planners)
    return graphs.new_graph_state(
        graphs.Edges(np.zeros(0, np.int64), ends, ends, np.empty(n_edges)),
        np.zeros(widest, np.int64),
        np.zeros(widest, np.int64),
        network,
        application_hooks.graph_table(network.kind != NONE),
        n_tasks=n_tasks,
        plan_room=programs.rules.plan_room(n_tasks, n_edges, widest),
        replanning=graphs.replanning_room(n_tasks if plans else 0, n_edges if plans else 0, widest if resizes else 0),
    )


def with_application(inline: InlineState, work: ApplicationState) -> InlineState:
    """The same state with other arrays of an application, or other room for edges; the phases of its program stay."""
    room, graph = inline.room, work.graph
    if graph.exists:
        graph = graph._replace(source=room.source, target=room.target, bytes=room.bytes)
    app = work._replace(table=inline.table.rules, graph=graph, phases=inline.shared.app.phases._replace())
    app.status = inline.shared.app.status
    shared = inline.shared._replace(app=app)
    return inline._replace(application=work, running=shared, shared=shared)


def with_room(inline: InlineState, programs: Programs) -> InlineState:
    """The same state with room for twice as many tasks and edges of one job, up to ``MAX_TASKS_PER_JOB``."""
    work = inline.application
    more = min(2 * len(work.lengths), MAX_TASKS_PER_JOB)
    ahead = work.ahead._replace(taken=np.zeros(more, np.uint8)) if len(work.ahead.taken) else work.ahead
    grown = work._replace(lengths=np.empty(more), taken=np.zeros(more, np.uint8), ahead=ahead)
    if not programs.has_graph:
        return with_application(inline, grown)
    edges = min(2 * len(inline.room.source) + 16, MAX_EDGES_PER_JOB)
    graph = _graph_room(programs, more, edges, len(work.speed), work.graph.net, len(work.graph.replanning.speed) > 0)
    room = new_drawing_room(edges, programs.most_parts, memo=programs.draw_memo, keys=work.keys)
    works = np.empty(int(programs.table.work_kinds.max()) * more)
    return with_application(inline._replace(room=room, device_works=works), grown._replace(graph=graph))
