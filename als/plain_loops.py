"""One loop after another, each drawn and run to its end in the same room: no :class:`als.application.Application` for each."""

from __future__ import annotations

import functools

import numpy as np

from als.application_parts import phase_key, phase_rules
from als.engine import loop as engine
from als.engine import state as s
from als.engine.hooks import table
from als.engine.state import ApplicationState, whole_memo
from als.lengths.contract import LengthModel
from als.lengths.draw import draw_loop, length_cov, rule_of
from als.lengths.draw import room as tasks_of
from als.schedulers import AnyScheduler
from als.streams import TASK_LENGTHS, fill_round_keys, start_stream
from als.techniques import Technique
from traces.algorithms.copying import copy_first
from traces.compiled import Array, as_value, caller, compiled, function_table, resized, types
from traces.kernels.signatures import Floats, Ints, StateKind, Words
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
_CORES, _TASKS = 1024, 16_384


class LoopRoom(State):
    """Room for one loop, as large as any before needed, and what became of the latest one."""

    mode: int = 0  # of the lengths
    # Of the latest loop:
    end_ns: int = 0  # when it ended
    tasks: int = 0  # its tasks
    ran: int = 0  # those that ran, at least in part
    chunks: int = 0  # chunks that were assigned
    scheduling_ns: int = 0  # what cores have spent between asking for a chunk and its first task
    total_gflop: float = 0.0  # work of its tasks
    cov: float = 0.0  # the coefficient of variation of their lengths
    application: ApplicationState
    lengths: Floats  # (room,): work of each task, GFLOP
    drawn: Words = column(20)  # the round keys of the job's streams
    cursor: Ints = column(3)  # where in the stream its lengths are drawn
    words: Words = column(4)  # work space
    memo: Floats = column("memo")  # what the lengths' rule keeps
    params: Floats  # of the lengths
    pattern: Floats  # of the lengths
    rule: Ints  # (1,): the lengths' rule by its address
    engines: Ints  # (3,): what begins an application, runs it, and draws its tasks


@compiled(inner=True)
def show_slots(app: ApplicationState, slots: int) -> None:
    """Let this number of slots of an application be in use; there is room for all that it may ever have."""
    app.speed, app.core_number = resized(app.speed, slots), resized(app.core_number, slots)
    app.latency_ns = resized(app.latency_ns, slots)
    app.ask_ns, app.ask_core = resized(app.ask_ns, slots), resized(app.ask_core, slots)
    app.finish_ns, app.busy_ns = resized(app.finish_ns, slots), resized(app.busy_ns, slots)
    app.memo = resized(app.memo, whole_memo(app.phases, app.table, slots))


@compiled()
def run_loop(
    room: LoopRoom, speed: Floats, latency_ns: Ints, seed: np.uint64, job: np.uint64, n: int, mean_gflop: float,
    total_gflop: float, n_cores: int, core_ns: float, speed_gflops: float, start_ns: int, overhead_ns: int,
    master: bool, stop_ns: int,
) -> int:  # fmt: skip
    """Draw the tasks of a loop and run it to its end, or to ``stop_ns``; returns an ``ApplicationStatus``.

    Parameters are as of ``als.lengths.draw.draw_loop`` and of the engine; messages take no time if ``latency_ns`` is empty.
    What cannot be drawn, or has no room, returns a negative number.
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
    """Runs loops of one technique whose lengths are of one model.

    Parameters
    ----------
    technique : Technique
        A compiled one.
    model : LengthModel

    Attributes
    ----------
    found : LoopRoom
        What became of the latest loop.
    finish_ns, busy_ns : int64 (room,)
        Of its cores, as in ``ApplicationState``.
    """

    def __init__(self, technique: Technique, model: LengthModel) -> None:
        self._rules, self._phases = phase_rules((phase_key(technique),))
        self._model = model
        self._reserve(_CORES, _TASKS)

    def _reserve(self, n_cores: int, n_tasks: int) -> None:
        self._cores, self._tasks = n_cores, n_tasks
        self.application = s.new_state(
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
        self.finish_ns, self.busy_ns = self.application.finish_ns, self.application.busy_ns
        rule, params = rule_of(self._model)
        self.found = LoopRoom.new(
            {"memo": self._model.memo_size},
            application=self.application,
            lengths=np.empty(n_tasks),
            params=params,
            pattern=self._model.pattern,
            mode=self._model.mode,
            rule=rule,
            engines=_engines(),
        )

    def run(self, speed: Array, latency_ns: Array, n: int, *rest: float) -> int:
        """Run one loop: the parameters of :func:`run_loop` behind the room, but ``n`` comes third."""
        tasks = tasks_of(self._model, n)
        if len(speed) > self._cores or tasks > self._tasks:
            self._reserve(max(2 * len(speed), self._cores), max(2 * tasks, self._tasks))
        seed, job, *others = rest
        return int(run_loop(self.found, speed, latency_ns, seed, job, self._model.tasks(n), *others))


@functools.cache
def _engines() -> Array:
    return function_table([as_value(engine.begin, _BEGIN), as_value(engine.run_until_stop, _RUN), as_value(draw_loop, _DRAW)])


def is_plain(given: AnyScheduler) -> bool:
    """Whether loops of it can be run so: a compiled technique, for any number of cores."""
    return isinstance(given, Technique) and given.by_memo and given.only_cores is None
