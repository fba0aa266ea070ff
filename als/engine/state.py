"""The state of the application engine: every number of one application that runs, in a few arrays."""

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

#: A limit that no instant reaches: advance to the end.
NEVER = 2**63 - 1

#: Numbers of the key of a random stream.
KEYS = 20


class Phases(State):
    """The phases of a program."""

    kind: Ints  # LOOP, SERIAL or GRAPH
    rule: Ints  # row of its rule
    mode: Ints  # of a graph: how its tasks come to cores, BY_TECHNIQUE … ON_CORES of als.engine.dag.state
    order: Ints  # of a graph: BY_RANK where its tasks wait by upward rank


class Cores(State, dim="cores"):
    """Of each core of the application; chunks are what the technique has handed out."""

    # Heap of the cores whose requests will arrive, by (instant, core)
    ask_ns: Ints = column()
    ask_core: Ints = column()
    finish_ns: Ints = column()  # when its last task ended; the start if it had none
    busy_ns: Ints = column()  # time that it has spent on tasks, up to the end of its last noted chunk
    away: Ints = column()  # 1 where it was sent away, and waits for the barrier
    asked_ns: Ints = column()  # when it asked for its latest chunk
    work_ns: Ints = column()  # when that chunk's first task began, or is to begin
    held_size: Ints = column()  # its size; 0 once its end was noted
    held_first: Ints = column()  # its tasks that have not ended by the latest change: held_first … held_stop - 1
    held_stop: Ints = column()  # likewise
    held_from_ns: Ints = column()  # from when on the first of these runs
    began_ns: Ints = column()  # when that task began, if it has
    shift_ns: Ints = column()  # what task times are counted from, so that squares stay small: the chunk's first task
    released_ns: Ints = column()  # when the core was released, NEVER if it was not: it is never there again
    for_good: Ints = column()  # 1 where it is lost for good
    wanted: Ints = column(codes=codes.WhyWanted)  # why it is wanted by others; 0: it is not
    rank: Ints = column()  # its place among the cores that the technique hands out to
    owes_ns: Ints = column()  # what the changes of width cost it, and it has not paid yet
    scaled: Ints = column()  # where speeds were scaled, the part of its speed that it runs at, parts per billion
    held_work: Floats = column()  # work of its first task from held_from_ns on, GFLOP; negated if that had begun before
    # Sum of (time - shift_ns)² over the chunk's tasks that have ended by the latest change
    done_squares: Floats = column()
    squares: Floats = column()  # the same over all of them
    ranked: Floats = column()  # by places among the cores that are handed out to: their speeds, GFLOP/s


class Ahead(State, dim="cores"):
    """What a simulation ahead has of its own, as in ApplicationState; of size 0 where no rule is chosen so."""

    numbers: Ints = column("numbers")  # what the application's numbers are meanwhile
    # As in ``ApplicationState``
    cores: Cores = column()
    taken: Bytes = column("tasks")
    facts: Floats = column(FACTS)
    memo: Floats = column("memo")


# What all applications that choose nothing have in common: nothing is ever written there.
_NO_AHEAD = Ahead.none()


class ApplicationState(State):
    """The whole state of one application: N tasks in I parts (F phases, perhaps repeated) on P cores."""

    now_ns: int = 0  # everything before this instant has been simulated
    status: int = 0  # of ``als.engine.codes``
    began_ns: int = 0  # when it began
    n_chunks: int = 0  # chunks assigned so far, in all parts
    n_ran: int = 0  # once finished or stopped: tasks that ran, at least in part
    overhead_ns: int = 0  # h: what a chunk costs before its tasks
    master: int = 0  # 1 where a master pays it, one request after another, and not each core for itself
    master_free_ns: int = 0  # when the master has served what has arrived
    scheduling_ns: int = 0  # what cores have spent, or are to spend, between asking for a chunk and its first task
    answer: int = 0  # what the rule at fault answered
    part: int = 0  # which part runs: phase part % F of time step part // F
    next_task: int = 0  # first task of the part that was never assigned, of those that are assigned in order
    n_left: int = 0  # tasks of the part that are not assigned now
    n_holes: int = 0  # of these, those before next_task: put back, or of a rule that chooses its tasks
    n_put_back: int = 0  # of these, those that a lost core had, and that no rule chooses
    lowest_hole: int = 0  # no such task is before this one
    n_requests: int = 0  # chunks assigned since the rule began
    # Tasks left when the rule began, its N; 0 if the width has changed since the last was handed out
    rule_tasks: int = 0
    rule_base: int = 0  # task from which a rule that chooses its tasks counts
    rule: int = 0  # row of the rule that is asked
    memo_lo: int = 0  # its share of the memo
    memo_hi: int = 0  # likewise
    n_asking: int = 0  # cores that work, or wait for an answer: the size of the heap
    n_present: int = 0  # cores that are there, and are not released
    open: int = 0  # 1 where a rule's 0 is overruled: a core is absent, and the others have nothing else to do
    away_ns: int = 0  # latest instant at which a core was sent away
    barrier_ns: int = 0  # earliest instant at which the next part can begin
    choose_ns: int = 0  # at the first request from this instant on, prepare the rule, or choose one
    ahead_chunks: int = 0  # chunks that were simulated to choose rules
    fruitless: int = 0  # losses in a row that put tasks back, without a task having ended in between
    # Where cores that the job does not need any more are released: the last part that is not serial, -1 if all are
    last_wide: int = NEVER
    n_released: int = 0  # cores that are
    n_gone: int = 0  # cores that are lost for good
    last_lost: int = 0  # once it has ended so: the core that was lost last for good; -1 where they came and went
    n_hinted: int = 0  # cores that are wanted by others
    n_leaving: int = 0  # cores that are to leave as they ask next
    width: int = 0  # how many cores the technique hands out to; 0 as long as no core has come or is to leave: all
    wish: int = 0  # how many cores it wished for last; before, how many it began with
    scale: int = 0  # the part of its speed that a core that comes runs at, parts per billion; 0 until a speed is scaled
    lengths: Floats = column("tasks", constant=True)  # work of each task, GFLOP; the parts' tasks one behind the other
    # Part ``i`` has the tasks ``part_first[i]`` up to, not including, ``part_first[i + 1]``
    part_first: Ints = column("bounds", constant=True)
    phases: Phases = column()  # part ``i`` is phase ``i % F``
    table: RuleTable  # the rules of all techniques of the run
    speed: Floats = column("cores")  # GFLOP/s of each core, now; 0 for one that is not there
    core_number: Ints = column("cores")  # what the task records call each core
    latency_ns: Ints = column("cores")  # what a message between this core and the master takes
    cores: Cores = column()  # each core
    taken: Bytes = column("tasks")  # 1 for a task that is assigned, 0 for one that is not, 2 for one that was put back
    facts: Floats = column(FACTS)  # what a rule is told, at the places of ``als.techniques.contract``
    memo: Floats = column("memo")  # the rules' own, phase by phase, and rule by rule within a phase that chooses
    keys: Words = column(KEYS, constant=True)  # of the job's random stream
    words: Words = column(4)  # work space
    chosen: Ints = column("rules")  # how often each rule was chosen; of size 0 if there is nothing to choose
    ahead: Ahead  # room for simulating ahead
    # Task records, -1 where a task never ran; of size 0 if they are not kept
    start_ns: Ints = column("records", fill=-1)
    end_ns: Ints = column("records", fill=-1)
    core: Shorts = column("records", fill=-1)
    chunk: Shorts = column("records", fill=-1)
    graph: GraphState = column()  # where a part is a graph
    # For how many cores it wishes as a part of each phase begins, 0 for none; of size 0 if it never does
    wishes: Ints = column("wishes", constant=True)
    wished_ns: Ints = column("wished", fill=NEVER)  # when each part wished, ``NEVER`` if it did not
    hooks: Ints  # what only some applications do (``als.engine.hooks``)


def new_state(
    *,
    memo: int,
    keep_tasks: bool,
    selects: bool,
    graph: GraphState = NO_GRAPH,
    wishes: Array | None = None,
    **given: Any,
) -> ApplicationState:
    """A state with columns of its own; ``memo`` numbers of memo for all phases, ``selects`` as of ``als.engine.hooks.table``.

    ``given`` are the columns that are not its own, and the initial values of own ones: at least ``lengths``, ``part_first``
    and ``speed``.
    """
    n_tasks, n_parts = len(given["lengths"]), len(given["part_first"]) - 1
    sizes = {
        "numbers": len(first_numbers(ApplicationState)),
        "tasks": n_tasks,
        "bounds": n_parts + 1,
        "cores": len(given["speed"]),
        "memo": memo,
        "rules": len(given["table"].calls) if selects else 0,
        "records": n_tasks if keep_tasks else 0,
        "wishes": 0 if wishes is None else len(wishes),
        "wished": 0 if wishes is None else n_parts,
    }
    ahead = Ahead.new(sizes) if selects else _NO_AHEAD
    return ApplicationState.new(sizes, ahead=ahead, graph=graph, wishes=() if wishes is None else wishes, **given)


@compiled(inner=True)
def part_kind(state: ApplicationState) -> int:
    """What the present part is: LOOP, SERIAL or GRAPH."""
    return int(state.phases.kind[state.part % state.phases.kind.size])


@compiled(inner=True)
def memo_begin(phases: Phases, rules: RuleTable, phase: int, n_cores: int) -> int:
    """Where the memo of a phase begins."""
    total = 0
    for earlier in range(phase):
        if phases.kind[earlier] != SERIAL:
            total += memo_size(rules, phases.rule[earlier], n_cores)
    return int(total)


@compiled()
def whole_memo(phases: Phases, rules: RuleTable, n_cores: int) -> int:
    """How many numbers of memo the phases need together."""
    return memo_begin(phases, rules, phases.kind.size, n_cores)


@compiled(inner=True)
def show_slots(app: ApplicationState, slots: int) -> None:
    """Let this number of slots be in use; there is room for all that there may ever be."""
    app.speed, app.core_number = resized(app.speed, slots), resized(app.core_number, slots)
    app.latency_ns = resized(app.latency_ns, slots)
    app.memo = resized(app.memo, whole_memo(app.phases, app.table, slots))
