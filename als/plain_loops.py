"""One loop after another, each drawn and run to its end in the same room: no :class:`als.application.Application` for each."""

from __future__ import annotations

import functools
from typing import TypeGuard

import numpy as np

from als.application_parts import phase_key, phase_rules
from als.engine import loop as engine
from als.engine import state as s
from als.engine.hooks import table
from als.engine.state import ApplicationState, show_slots, whole_memo
from als.lengths.contract import LengthModel
from als.lengths.draw import draw_loop, length_cov, rule_of
from als.lengths.draw import room as tasks_of
from als.schedulers import AnyScheduler
from als.streams import TASK_LENGTHS, fill_round_keys, start_stream
from als.techniques import Technique
from traces.algorithms.copying import copy_first
from traces.compiled import Array, as_value, caller, compiled, function_table, types
from traces.kernels.signatures import Floats, Ints, Shorts, StateKind, Words
from traces.kernels.state import State, column

_APPLICATION, _INTS, _FLOATS = StateKind(ApplicationState), types.Column(types.int64, 1), types.Column(types.float64, 1)
_WORDS = types.Column(types.uint64, 1)
# The engine and the drawing are called through pointers, so that their machine code is not written out here again.
_BEGIN = types.Signature(None, (_APPLICATION, types.int64, types.int64, types.boolean, types.boolean))
_RUN = types.int64(_APPLICATION, types.int64)
_DRAW = types.int64(
    *(_FLOATS, _WORDS, _INTS, _WORDS, _FLOATS, types.int64, _FLOATS, _FLOATS, types.int64, types.int64),
    *(types.float64, types.float64, types.int64, types.float64, types.float64),
)
_begin, _run, _draw = caller(_BEGIN), caller(_RUN), caller(_DRAW)

#: Room at first; there is more once a job needs more.
_CORES, _TASKS = 256, 4096


class LoopRoom(State):
    """Room for one loop, used again for the next, and the results of the latest."""

    mode: int = 0  # of the lengths
    # Of the latest loop:
    end_ns: int = 0  # when it ended
    tasks: int = 0  # its tasks
    ran: int = 0  # those that ran, at least in part
    chunks: int = 0  # chunks that were assigned
    scheduling_ns: int = 0  # what cores have spent between asking for a chunk and its first task
    total_gflop: float = 0.0  # work of its tasks
    cov: float = 0.0  # the coefficient of variation of their lengths
    finish_ns: Ints  # (room,): of each core, as in ``ApplicationState``
    busy_ns: Ints  # likewise
    application: ApplicationState
    lengths: Floats = column("tasks")  # work of each task, GFLOP
    # Task records, as in ``ApplicationState``
    started_ns: Ints = column("tasks")
    ended_ns: Ints = column("tasks")
    core: Shorts = column("tasks")
    chunk: Shorts = column("tasks")
    drawn: Words = column(20)  # the round keys of the job's streams
    cursor: Ints = column(3)  # where in the stream its lengths are drawn
    words: Words = column(4)  # work space
    memo: Floats = column("memo")  # what the lengths' rule keeps
    params: Floats  # of the lengths
    pattern: Floats  # of the lengths
    rule: Ints  # (1,): the lengths' rule by its address
    engines: Ints  # (3,): what begins an application, runs it, and draws its tasks


@compiled()
def run_loop(
    room: LoopRoom, seed: np.uint64, job: np.uint64, n: int, mean_gflop: float, total_gflop: float, n_cores: int,
    core_ns: float, speed_gflops: float, speed: Floats, latency_ns: Ints, overhead_ns: int, master: bool, start_ns: int,
    stop_ns: int, keep_tasks: bool,
) -> int:  # fmt: skip
    """Draw the tasks of a loop, and run it to its end or to a stop.

    Parameters
    ----------
    room : LoopRoom
        Receives the results.
    seed, job : int
        Key of the job's streams.
    n, mean_gflop, total_gflop, n_cores, core_ns, speed_gflops
        As of :func:`als.lengths.draw.draw_loop`.
    speed : float64 (P,)
        GFLOP/s of each core.
    latency_ns : int64 (P,) or (0,)
        What a message between each core and the master takes; empty: nothing.
    overhead_ns, master, start_ns, stop_ns
        As of ``als.engine.loop``; ``stop_ns`` may be ``NEVER``.
    keep_tasks : bool
        Whether to record the tasks: in the room's columns, as far as ``tasks``.

    Returns
    -------
    int
        An ``ApplicationStatus``; below 0 if the tasks cannot be drawn, as of ``draw_loop``.
    """
    app, width = room.application, speed.size
    fill_round_keys(room.drawn, seed, job)
    fill_round_keys(app.keys, seed, job)
    start_stream(room.cursor, TASK_LENGTHS)
    model = room.rule[0], room.params, room.pattern, room.mode
    sizes = n, mean_gflop, total_gflop, n_cores, core_ns, speed_gflops
    drawn = _draw(room.engines[2], (room.lengths, room.drawn, room.cursor, room.words, room.memo, *model, *sizes))
    if drawn < 0:
        return int(drawn)
    show_slots(app, width)
    app.lengths = room.lengths[:drawn]
    app.part_first[1] = drawn
    kept = drawn if keep_tasks else 0
    app.start_ns, app.end_ns = room.started_ns[:kept], room.ended_ns[:kept]
    app.core, app.chunk = room.core[:kept], room.chunk[:kept]
    for k in range(kept):
        app.start_ns[k] = app.end_ns[k] = app.core[k] = app.chunk[k] = -1
    copy_first(app.speed, speed, width)
    for c in range(width):
        app.latency_ns[c] = latency_ns[c] if latency_ns.size > 0 else 0
    _begin(room.engines[0], (app, start_ns, overhead_ns, master, False))
    status = _run(room.engines[1], (app, stop_ns))
    room.end_ns, room.tasks, room.ran, room.chunks = engine.end_ns(app), drawn, app.n_ran, app.n_chunks
    room.scheduling_ns, room.total_gflop = app.scheduling_ns, engine.total_gflop(app)
    room.cov = length_cov(app.lengths, 0, drawn)
    return int(status)


class PlainLoops:
    """Loops of one technique, in one room.

    Parameters
    ----------
    technique : Technique
        One of those that :func:`is_plain` accepts.
    """

    def __init__(self, technique: Technique) -> None:
        self._rules, self._phases = phase_rules((phase_key(technique),))
        self._room = self._made(_CORES, _TASKS, memo=0)
        self._model: LengthModel | None = None

    def room_for(self, model: LengthModel, n_cores: int, n_tasks: int) -> LoopRoom:
        """The room, large enough for a loop of ``n_tasks`` on so many cores, their lengths of ``model``."""
        room, needed = self._room, tasks_of(model, n_tasks)
        cores, tasks, memo = len(room.application.cores.away), len(room.lengths), len(room.memo)
        if n_cores > cores or needed > tasks or model.memo_size > memo:
            more = needed + min(needed, _TASKS) if needed > tasks else 0
            room = self._room = self._made(max(cores, n_cores), max(tasks, more), max(memo, model.memo_size))
            self._model = None
        if model is not self._model:
            room.rule, room.params = rule_of(model)
            room.mode, room.pattern, self._model = model.mode, model.pattern, model
        return room

    def _made(self, n_cores: int, n_tasks: int, memo: int) -> LoopRoom:
        application = s.new_state(
            lengths=np.empty(n_tasks),
            part_first=np.zeros(2, np.int64),
            phases=self._phases,
            table=self._rules.table,
            speed=np.zeros(n_cores),
            core_number=np.arange(n_cores),
            latency_ns=np.zeros(n_cores, np.int64),
            memo=whole_memo(self._phases, self._rules.table, n_cores),
            keep_tasks=False,
            selects=False,
            hooks=table(self._phases, selects=False, changes=False),
        )
        return LoopRoom.new(
            {"memo": memo, "tasks": n_tasks},
            application=application,
            finish_ns=application.cores.finish_ns,
            busy_ns=application.cores.busy_ns,
            params=np.empty(0),
            pattern=np.empty(0),
            rule=np.zeros(1, np.int64),
            engines=_engines(),
        )


@functools.cache
def _engines() -> Array:
    kernels = (engine.begin, _BEGIN), (engine.run_until_stop, _RUN), (draw_loop, _DRAW)
    return function_table([as_value(*one) for one in kernels])


def is_plain(given: AnyScheduler) -> TypeGuard[Technique]:
    """Whether loops of it can be run so: a compiled technique, for any number of cores."""
    return isinstance(given, Technique) and given.by_memo and given.only_cores is None
