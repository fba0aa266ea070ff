"""State of the application engine: one running application."""

from typing import Any

from als.engine import codes
from als.engine.dag.state import NO_GRAPH, GraphState
from als.engine.rule_table import RuleTable, memo_size
from als.techniques.contract import FACTS
from traces.compiled import Array, compiled, resized
from traces.kernels.signatures import Bytes, Floats, Ints, Shorts, Words
from traces.kernels.state import State, column, first_numbers

# The codes, as integers for kernels:
FOR_ANOTHER, TO_LEAVE = map(int, codes.WhyWanted)
LOOP, SERIAL, GRAPH = map(int, codes.PhaseKind)

NEVER = 2**63 - 1  #: a limit that no instant reaches: advance to the end
KEYS = 20  #: numbers of the key of a random stream
MOST_DEFERRED = 64  #: most deferred scales per application


class Phases(State):
    """The phases of a program."""

    kind: Ints  # LOOP, SERIAL or GRAPH
    rule: Ints  # row of its rule
    mode: Ints  # of a graph: how its tasks are assigned, BY_TECHNIQUE … ON_CORES of als.engine.dag.state
    order: Ints  # of a graph: BY_RANK if its tasks wait by upward rank


class Cores(State, dim="cores"):
    """A row for each core of the application."""

    ask_ns: Ints = column()  # arrivals of requests; a heap with ask_core, by (instant, core)
    ask_core: Ints = column()  # their cores
    finish_ns: Ints = column()  # end of its last task; the start if it had none
    busy_ns: Ints = column()  # time spent on tasks, up to its last noted chunk
    away: Ints = column()  # 1 if it was sent away, and waits for the barrier
    asked_ns: Ints = column()  # request of its latest chunk
    work_ns: Ints = column()  # begin of that chunk's first task
    held_size: Ints = column()  # size of that chunk; 0 once its end was noted
    held_first: Ints = column()  # first task that had not ended at the latest change
    held_stop: Ints = column()  # one past the last such task
    held_from_ns: Ints = column()  # the first of these runs from then on
    began_ns: Ints = column()  # begin of that task, if it has begun
    shift_ns: Ints = column()  # subtracted from task times to keep squares small: time of the chunk's first task
    released_ns: Ints = column()  # release of the core, for good; NEVER if not released
    for_good: Ints = column()  # 1 if it is lost for good
    wanted: Ints = column(codes=codes.WhyWanted)  # why it is wanted elsewhere; 0: not wanted
    rank: Ints = column()  # its place among the cores of the technique
    owes_ns: Ints = column()  # unpaid cost of changes of width
    scaled: Ints = column()  # scale of its speed, parts per billion
    held_work: Floats = column()  # work of its first task after held_from_ns, GFLOP; negated if it had begun before
    done_squares: Floats = column()  # sum of (time - shift_ns)² over tasks that ended before the latest change
    squares: Floats = column()  # the same sum over all tasks of the chunk
    ranked: Floats = column()  # speeds by ``rank``, GFLOP/s


class DeferredScales(State, dim="deferred"):
    """Scales of all cores that are not applied yet (``als.engine.scaling``)."""

    n: int = 0  # number of deferred scales
    scale: int = 0  # latest scale of all cores, parts per billion; 0 if none may be deferred
    since_ns: int = 0  # its instant
    left_ns: float = 0.0  # least time from then on, at scale 1, without visible effect
    farthest_ns: float = 0.0  # longest rest of a chunk, ns at scale 1
    at_ns: Ints = column()  # instants of the deferred scales
    scales: Ints = column()  # the scales, parts per billion
    factors: Floats = column()  # the scales as factors of a core's own speed


class Ahead(State, dim="cores"):
    """Copies of columns of ``ApplicationState`` for simulating ahead; empty if no rule is chosen this way."""

    numbers: Ints = column("numbers")  # the scalars of the state
    cores: Cores = column()  # cores
    taken: Bytes = column("tasks")  # states of tasks
    facts: Floats = column(FACTS)  # facts for rules
    memo: Floats = column("memo")  # memo


# Shared by all applications that choose no rule, and never written.
_NO_AHEAD = Ahead.none()


class ApplicationState(State):
    """State of one application: N tasks in I parts (F phases, perhaps repeated) on P cores."""

    now_ns: int = 0  # everything before this instant has been simulated
    status: int = 0  # of ``als.engine.codes``
    began_ns: int = 0  # start of the application
    n_chunks: int = 0  # chunks assigned so far, in all parts
    n_ran: int = 0  # tasks that ran, at least in part; known at the end
    overhead_ns: int = 0  # h: overhead of a chunk before its tasks
    master: int = 0  # 1 if a master pays the overhead, one request after another; 0: each core
    master_free_ns: int = 0  # the master has served all arrived requests then
    scheduling_ns: int = 0  # time of all cores between requests and first tasks
    answer: int = 0  # wrong answer of a rule
    part: int = 0  # running part: phase part % F of time step part // F
    next_task: int = 0  # first task never assigned, of those assigned in order
    n_left: int = 0  # tasks of the part that are not assigned now
    n_holes: int = 0  # tasks of n_left before next_task
    n_put_back: int = 0  # tasks of n_holes that a lost core had, and that no rule chooses
    lowest_hole: int = 0  # no hole is before this task
    n_requests: int = 0  # chunks assigned since the rule began
    rule_tasks: int = 0  # N: tasks left when the rule began; 0 if the width has changed since then
    rule_base: int = 0  # a rule that chooses its tasks counts from this task
    rule: int = 0  # row of the present rule
    memo_lo: int = 0  # begin of its section of the memo
    memo_hi: int = 0  # end of this section
    n_asking: int = 0  # cores that work, or wait for an answer: the size of the heap
    n_present: int = 0  # cores that are present, and not released
    open: int = 0  # 1 if tasks are handed out though the rule answers 0: a core is absent, and the others are idle
    away_ns: int = 0  # latest instant at which a core was sent away
    barrier_ns: int = 0  # earliest begin of the next part
    choose_ns: int = 0  # at the first request from this instant on, prepare the rule, or choose one
    ahead_chunks: int = 0  # chunks that were simulated to choose rules
    fruitless: int = 0  # losses in a row that put tasks back, without the end of a task in between
    last_wide: int = NEVER  # if idle cores are released: the last part that is not serial, -1 if all are
    n_released: int = 0  # released cores
    n_gone: int = 0  # cores lost for good
    last_lost: int = 0  # the last of these, once all are lost; -1 if cores came and went
    n_hinted: int = 0  # cores that are wanted elsewhere
    n_leaving: int = 0  # cores that leave at their next request
    width: int = 0  # cores of the technique; 0 (all) while no core has come or is leaving
    request_width: int = 0  # number of cores requested last; at first the cores at the start
    scale: int = 0  # scale of the speed of cores that come, parts per billion; 0 until a speed is scaled
    deferred: DeferredScales = column()  # scales that are not applied yet
    lengths: Floats = column("tasks", constant=True)  # work of each task, GFLOP, part by part
    part_first: Ints = column("bounds", constant=True)  # part i has the tasks part_first[i] … part_first[i + 1] - 1
    phases: Phases = column()  # part i is phase i % F
    table: RuleTable  # the rules of all techniques of the run
    speed: Floats = column("cores")  # present speed of each core, GFLOP/s; 0 if it is absent
    core_number: Ints = column("cores")  # number of each core in task records
    latency_ns: Ints = column("cores")  # latency of messages between a core and the master
    cores: Cores = column()  # each core
    taken: Bytes = column("tasks")  # of each task: 1 assigned, 0 not assigned, 2 put back
    facts: Floats = column(FACTS)  # facts for a rule, at the places of ``als.techniques.contract``
    memo: Floats = column("memo")  # numbers that rules keep, phase by phase, then rule by rule
    keys: Words = column(KEYS, constant=True)  # of the job's random stream
    words: Words = column(4)  # work space
    chosen: Ints = column("rules")  # how often each rule was chosen; empty if none is chosen
    ahead: Ahead  # room for simulating ahead
    start_ns: Ints = column("records", fill=-1)  # task records, empty if not kept; -1: never ran
    end_ns: Ints = column("records", fill=-1)  # end
    core: Shorts = column("records", fill=-1)  # core
    chunk: Shorts = column("records", fill=-1)  # number of its chunk
    graph: GraphState = column()  # of a part that is a graph
    width_requests: Ints = column("width_requests", constant=True)  # cores requested by each phase; 0: none
    width_request_ns: Ints = column("width_requested", fill=NEVER)  # instant of each part's request; NEVER: none
    hooks: Ints  # kernels that only some applications call (``als.engine.hooks``)


def new_state(
    *,
    memo: int,
    keep_tasks: bool,
    selects: bool,
    graph: GraphState = NO_GRAPH,
    width_requests: Array | None = None,
    **given: Any,
) -> ApplicationState:
    """Make a state with ``memo`` numbers for rules, and ``given`` fields; ``selects`` as in ``als.engine.hooks.table``."""
    n_tasks, n_parts = len(given["lengths"]), len(given["part_first"]) - 1
    sizes = {
        "numbers": len(first_numbers(ApplicationState)),
        "deferred": 0,
        "tasks": n_tasks,
        "bounds": n_parts + 1,
        "cores": len(given["speed"]),
        "memo": memo,
        "rules": len(given["table"].calls) if selects else 0,
        "records": n_tasks if keep_tasks else 0,
        "width_requests": 0 if width_requests is None else len(width_requests),
        "width_requested": 0 if width_requests is None else n_parts,
    }
    ahead = Ahead.new(sizes) if selects else _NO_AHEAD
    return ApplicationState.new(
        sizes, ahead=ahead, graph=graph, width_requests=() if width_requests is None else width_requests, **given
    )


@compiled(inner=True)
def part_kind(state: ApplicationState) -> int:
    """Kind of the present part: LOOP, SERIAL or GRAPH."""
    return int(state.phases.kind[state.part % state.phases.kind.size])


@compiled(inner=True)
def memo_begin(phases: Phases, rules: RuleTable, phase: int, n_cores: int) -> int:
    """Begin of a phase's section of the memo."""
    total = 0
    for earlier in range(phase):
        if phases.kind[earlier] != SERIAL:
            total += memo_size(rules, phases.rule[earlier], n_cores)
    return int(total)


@compiled()
def whole_memo(phases: Phases, rules: RuleTable, n_cores: int) -> int:
    """Size of the memo of all phases."""
    return memo_begin(phases, rules, phases.kind.size, n_cores)


@compiled(inner=True)
def show_slots(app: ApplicationState, slots: int) -> None:
    """Set the number of slots in use; room for all possible slots is there."""
    app.speed, app.core_number = resized(app.speed, slots), resized(app.core_number, slots)
    app.latency_ns = resized(app.latency_ns, slots)
    app.memo = resized(app.memo, whole_memo(app.phases, app.table, slots))
