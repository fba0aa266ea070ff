"""The state of the application engine: every number of one application that runs, in a few arrays."""

from __future__ import annotations

import numpy as np

from als.engine.dag.state import NO_GRAPH, GraphState
from als.engine.rule_table import RuleTable, memo_size
from als.techniques.contract import FACTS
from traces.compiled import Array, compiled, own
from traces.kernels.signatures import Bytes, Floats, Floats2, Ints, Ints2, Shorts, Words
from traces.kernels.state import State

__all__ = ["COUNTERS", "GRAPH", "LOOP", "NEVER", "SERIAL", "Ahead", "ApplicationState", "new_state", "whole_memo"]

# Entries of ApplicationState.counters.
NOW = 0  # everything before this instant has been simulated
STATUS = 1
CHUNKS = 2  # chunks assigned so far, in all parts
RAN = 3  # once finished or stopped: tasks that ran, at least in part
OVERHEAD = 4  # h, ns that a chunk costs before its tasks
MASTER = 5  # whether a master pays it, one request after another, and not each core for itself
MASTER_FREE = 6  # when the master has served what has arrived
SCHEDULING = 7  # ns that cores have spent, or are to spend, between asking for a chunk and its first task
ANSWER = 8  # what the rule at fault answered
PART = 9  # which part runs: phase PART % F of time step PART // F
NEXT = 10  # first task of the part that was never assigned, of those that are assigned in order
LEFT = 11  # tasks of the part that are not assigned now
HOLES = 12  # of these, those before NEXT: put back, or of a rule that chooses its tasks
PUT_BACK = 27  # of these, those that a lost core had, and that no rule chooses
LOWEST = 13  # no such task is before this one
REQUESTS = 14  # chunks assigned since the rule began
TASKS = 15  # tasks that were left when the rule began: its N; 0 if the width has changed since the last was handed out
BASE = 16  # task from which a rule that chooses its tasks counts
RULE = 17  # row of the rule that is asked
MEMO_LO = 18  # its share of the memo
MEMO_HI = 19
ASKING = 20  # cores that work, or wait for an answer: the size of the heap
PRESENT = 21  # cores that are there, and are not released
OPEN = 22  # whether a rule's 0 is overruled: a core is absent, and the others have nothing else to do
AWAY_NS = 23  # latest instant at which a core was sent away
BARRIER = 24  # earliest instant at which the next part can begin
CHOOSE_NS = 25  # at the first request from this instant on, prepare the rule, or choose one
AHEAD_CHUNKS = 26  # chunks that were simulated to choose rules
FRUITLESS = 28  # losses in a row that put tasks back, without a task having ended in between
RELEASES = 29  # 1 where cores that the job does not need any more are released
WIDE = 30  # if so: the last part that is not serial, -1 if all are
RELEASED = 31  # how many cores are
GONE = 32  # cores that are lost for good
LAST_LOST = 33  # once it has ended so: which of its cores was the last to be lost for good; -1 where they came and went
HINTED = 34  # how many cores are wanted by others
LEAVING = 35  # how many cores are to leave as they ask next
WIDTH = 36  # how many cores the technique hands out to; 0 as long as no core has come or is to leave: all
START = 37
WISH = 38  # how many cores it wished for last; before, how many it began with
SCALE = 39  # what part of its speed a core that comes runs at, in parts per billion; 0 as long as no core's speed was scaled
COUNTERS = 40

# Rows of ApplicationState.cores.
AWAY = 0  # whether this core was sent away, and waits for the barrier
ASKED_NS = 1  # when it asked for its latest chunk
WORK_NS = 2  # when that chunk's first task began, or is to begin
HELD_SIZE = 3  # its size; 0 once its end was noted
HELD_FIRST = 4  # the tasks of it that have not ended by the latest change
HELD_STOP = 5
HELD_FROM_NS = 6  # from when the first of these runs on
BEGAN_NS = 7  # when that task began, if it has
SHIFT_NS = 8  # what task times are counted from, so that squares stay small: the time of the chunk's first task
RELEASED_NS = 9  # when this core was released, NEVER if it was not: it is never there again
FOR_GOOD = 10  # whether it is lost for good: it never comes back
WANTED = (
    11  # FOR_ANOTHER where the batch level has said that another job waits for this core, TO_LEAVE where it is to leave
)
RANK = 12  # its place among the WIDTH cores
OWES_NS = 13  # what the changes of width cost it, and it has not paid yet
SCALED = 14  # where speeds were scaled: what part of its speed it runs at, in parts per billion
CORE_ROWS = 15

# Values of WANTED.
FOR_ANOTHER, TO_LEAVE = 1, 2

# Rows of ApplicationState.amounts.
HELD_WORK = 0  # work of that first task from HELD_FROM_NS on, GFLOP; negated if it had begun before
DONE_SQUARES = 1  # sum of (time - SHIFT_NS)² over the chunk's tasks that have ended by the latest change
SQUARES = 2  # the same over all of them
RANKED = 3  # by places among the WIDTH cores: their speeds, GFLOP/s
AMOUNT_ROWS = 4

# Columns of ApplicationState.phases.
KIND = 0
PHASE_RULE = 1
PHASE_MODE = 2  # of a graph: how its tasks come to cores, als.engine.dag.state
PHASE_ORDER = 3  # of a graph: whether its tasks wait by upward rank
PHASE_COLUMNS = 4

# Kinds of phases.
LOOP = 0
SERIAL = 1
GRAPH = 2

#: A limit that no instant reaches: advance to the end.
NEVER = 2**63 - 1


class Ahead(State):
    """What a simulation ahead has of its own; of size 0 where no rule is chosen so. Shapes as in ApplicationState."""

    counters: Ints
    cores: Ints2
    amounts: Floats2
    ask_ns: Ints
    ask_core: Ints
    finish_ns: Ints
    busy_ns: Ints
    taken: Bytes
    facts: Floats
    memo: Floats


class ApplicationState(State):
    """The whole state of one application: N tasks in I parts (F phases, perhaps repeated) on P cores.

    Attributes
    ----------
    counters : int64 (COUNTERS,)
        See the names above.
    lengths : float64 (N,)
        Work of each task, GFLOP; the parts' tasks one behind the other.
    part_first : int64 (I + 1,)
        Part ``i`` has the tasks ``part_first[i]`` up to, not including, ``part_first[i + 1]``.
    phases : int64 (F, PHASE_COLUMNS)
        Kind and rule of each phase; part ``i`` is phase ``i % F``.
    table : RuleTable
    speed : float64 (P,)
        GFLOP/s of each core, now; 0 for one that is not there.
    core_number : int64 (P,)
        What the task records call each core.
    latency_ns : int64 (P,)
        What a message between this core and the master takes.
    ask_ns, ask_core : int64 (P,)
        Heap of the cores whose requests will arrive, by (instant, core).
    finish_ns : int64 (P,)
        When each core's last task ended; the start if it had none.
    busy_ns : int64 (P,)
        Time that each core has spent on tasks, up to the end of its last noted chunk.
    cores : int64 (CORE_ROWS, P)
    amounts : float64 (AMOUNT_ROWS, P)
    taken : uint8 (N,)
        1 for a task that is assigned, 0 for one that is not, 2 for one that was put back.
    facts : float64 (FACTS,)
        What a rule is told.
    memo : float64
        The rules' own, phase by phase, and rule by rule within a phase that chooses.
    keys : uint64 (20,)
        Of the job's random stream.
    words : uint64 (4,)
        Work space.
    chosen : int64 (R,) or (0,)
        How often each rule was chosen; empty if there is nothing to choose.
    ahead : Ahead
    start_ns, end_ns : int64 (N,) or (0,)
        Task records, -1 where a task never ran; empty if they are not kept.
    core, chunk : int32 (N,) or (0,)
        Likewise.
    graph : GraphState
        Beside it, where a part is a graph.
    wishes : int64 (F,) or (0,)
        For how many cores it wishes as a part of each phase begins, 0 for none; empty if it never wishes.
    wished_ns : int64 (I,) or (0,)
        When each part wished, ``NEVER`` if it did not.
    hooks : int64
        ``als.engine.hooks``.
    """

    counters: Ints
    lengths: Floats
    part_first: Ints
    phases: Ints2
    table: RuleTable
    speed: Floats
    core_number: Ints
    latency_ns: Ints
    ask_ns: Ints
    ask_core: Ints
    finish_ns: Ints
    busy_ns: Ints
    cores: Ints2
    amounts: Floats2
    taken: Bytes
    facts: Floats
    memo: Floats
    keys: Words
    words: Words
    chosen: Ints
    ahead: Ahead
    start_ns: Ints
    end_ns: Ints
    core: Shorts
    chunk: Shorts
    graph: GraphState
    wishes: Ints
    wished_ns: Ints
    hooks: Ints


def new_state(
    lengths: Array,
    part_first: Array,
    phases: Array,
    table: RuleTable,
    speed: Array,
    core_number: Array,
    latency_ns: Array,
    *,
    memo: int,
    keep_tasks: bool,
    selects: bool,
    changes: bool,
    hints: bool = False,
    resizes: bool = False,
    graph: GraphState = NO_GRAPH,
    wishes: Array | None = None,
) -> ApplicationState:
    """A state with arrays of its own; ``memo`` numbers of memo for all phases, the rest of ``als.engine.hooks.table``."""
    from als.engine import hooks  # which know of states

    n_tasks, n_cores = len(lengths), len(speed)
    return ApplicationState(
        counters=np.zeros(COUNTERS, np.int64),
        lengths=own(lengths, np.float64),
        part_first=own(part_first, np.int64),
        phases=own(phases, np.int64),
        table=table,
        speed=np.array(speed, np.float64),
        core_number=own(core_number, np.int64),
        latency_ns=own(latency_ns, np.int64),
        ask_ns=np.empty(n_cores, np.int64),
        ask_core=np.empty(n_cores, np.int64),
        finish_ns=np.empty(n_cores, np.int64),
        busy_ns=np.empty(n_cores, np.int64),
        cores=np.zeros((CORE_ROWS, n_cores), np.int64),
        amounts=np.zeros((AMOUNT_ROWS, n_cores)),
        taken=np.zeros(n_tasks, np.uint8),
        facts=np.zeros(FACTS),
        memo=np.zeros(memo),
        keys=np.zeros(20, np.uint64),
        words=np.zeros(4, np.uint64),
        chosen=np.zeros(len(table.calls) if selects else 0, np.int64),
        ahead=_ahead(n_tasks, n_cores, memo) if selects else _NO_AHEAD,
        start_ns=np.full(n_tasks, -1, np.int64) if keep_tasks else _NO_INSTANTS,
        end_ns=np.full(n_tasks, -1, np.int64) if keep_tasks else _NO_INSTANTS,
        core=np.full(n_tasks, -1, np.int32) if keep_tasks else _NO_NUMBERS,
        chunk=np.full(n_tasks, -1, np.int32) if keep_tasks else _NO_NUMBERS,
        graph=graph,
        wishes=_NO_INSTANTS if wishes is None else own(wishes, np.int64),
        wished_ns=_NO_INSTANTS if wishes is None else np.full(len(part_first) - 1, NEVER),
        hooks=hooks.table(
            phases, selects=selects, changes=changes, hints=hints, resizes=resizes, wishes=wishes is not None
        ),
    )


def _ahead(n_tasks: int, n_cores: int, memo: int) -> Ahead:
    return Ahead(
        counters=np.zeros(COUNTERS, np.int64),
        cores=np.zeros((CORE_ROWS, n_cores), np.int64),
        amounts=np.zeros((AMOUNT_ROWS, n_cores)),
        ask_ns=np.empty(n_cores, np.int64),
        ask_core=np.empty(n_cores, np.int64),
        finish_ns=np.empty(n_cores, np.int64),
        busy_ns=np.empty(n_cores, np.int64),
        taken=np.zeros(n_tasks, np.uint8),
        facts=np.zeros(FACTS),
        memo=np.zeros(memo),
    )


# What all applications that choose nothing and keep no records have in common: nothing is ever written there.
_NO_AHEAD = _ahead(0, 0, 0)
_NO_INSTANTS = np.zeros(0, np.int64)
_NO_NUMBERS = np.zeros(0, np.int32)


@compiled()
def whole_memo(phases: Ints2, rules: Ints2, n_cores: int) -> int:
    """How many numbers of memo the phases need together."""
    total = 0
    for phase in range(phases.shape[0]):
        if phases[phase, KIND] != SERIAL:
            total += memo_size(rules, phases[phase, PHASE_RULE], n_cores)
    return int(total)
