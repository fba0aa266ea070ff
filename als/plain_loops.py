"""Loops drawn and run to their end one after another in the same memory, without an ``ApplicationSimulator`` for each."""

import functools
from typing import Annotated, Any, TypeAlias, TypeGuard

import numpy as np

from als.application_parts import phase_key, phase_rules
from als.engine import loop as engine
from als.engine import state as s
from als.engine.hooks import table
from als.engine.state import ApplicationState, show_slots, whole_memo
from als.lengths.contract import LengthModel
from als.lengths.draw import draw_loop, length_cov, rule_of
from als.schedulers import AnyScheduler
from als.streams import TASK_LENGTHS, fill_round_keys, start_stream
from als.techniques import Technique
from traces.compiled import Array, as_value, caller, compiled, function_table, types
from traces.kernels.signatures import Floats, Ints, Shorts, StateKind, Words
from traces.kernels.state import State, column

_APPLICATION, _INTS, _FLOATS = StateKind(ApplicationState), types.Column(types.int64, 1), types.Column(types.float64, 1)
_WORDS = types.Column(types.uint64, 1)
# The engine and the drawing are called through pointers, so that their machine code is not generated again here.
_BEGIN = types.Signature(None, (_APPLICATION, types.int64, types.int64, types.boolean, types.boolean))
_RUN = types.int64(_APPLICATION, types.int64)
_DRAW = types.int64(
    *(_FLOATS, _WORDS, _INTS, _WORDS, _FLOATS, types.int64, _FLOATS, _FLOATS, types.int64, types.float64),
    *(types.int64, types.float64, types.float64, types.int64, types.float64, types.float64),
)
Word: TypeAlias = Annotated[int, types.uint64]
_begin, _run, _draw = caller(_BEGIN), caller(_RUN), caller(_DRAW)

_CORES, _TASKS = 256, 4096  #: initial room; it grows when a job needs more


class LoopRoom(State):
    """Memory for one loop, reused for the next."""

    mode: int = 0  # mode of the lengths
    drift: float = 0.0  # their drift
    application: ApplicationState
    lengths: Floats = column("tasks")  # work of each task of the latest loop, GFLOP
    # Its task records, as in ``ApplicationState``
    start_ns: Ints = column("tasks")
    end_ns: Ints = column("tasks")
    core: Shorts = column("tasks")
    chunk: Shorts = column("tasks")
    drawn: Words = column(20)  # the round keys of the job's streams
    cursor: Ints = column(3)  # where in the stream its lengths are drawn
    words: Words = column(4)  # work space
    memo: Floats = column("memo")  # memory of the lengths' rule
    params: Floats  # of the lengths
    pattern: Floats  # of the lengths
    rule: Ints  # (1,): address of the lengths' rule
    engines: Ints  # (3,): addresses: begin an application, run it, draw its tasks


@compiled()
def run_loop(
    room: LoopRoom, seed: Word, job: Word, n: int, mean_gflop: float, total_gflop: float, n_cores: int,
    core_ns: float, speed_gflops: float, width: int, overhead_ns: int, master: bool, start_ns: int, stop_ns: int,
    keep_tasks: bool,
) -> tuple[int, int, int, int, int, int, float, float]:  # fmt: skip
    """Draw the tasks of a loop and run it on ``width`` cores, to its end or a stop. Their speeds and latencies are in the
    room's application.

    ``n``, ``mean_gflop``, ``total_gflop``, ``n_cores``, ``core_ns`` and ``speed_gflops`` are as for
    :func:`als.lengths.draw.draw_loop`; ``overhead_ns``, ``master``, ``start_ns`` and ``stop_ns``, which may be ``NEVER``, as
    for ``als.engine.loop``.

    Returns an ``ApplicationStatus`` (below 0 if the tasks cannot be drawn), its end, its number of tasks, the number of tasks
    that ran at least partly, its chunks, the time spent on scheduling, the work of its tasks, and the coefficient of variation
    of their lengths."""
    app = room.application
    fill_round_keys(room.drawn, np.uint64(seed), np.uint64(job))
    fill_round_keys(app.keys, np.uint64(seed), np.uint64(job))
    start_stream(room.cursor, TASK_LENGTHS)
    model = room.rule[0], room.params, room.pattern, room.mode, room.drift
    sizes = n, mean_gflop, total_gflop, n_cores, core_ns, speed_gflops
    drawn = _draw(room.engines[2], (room.lengths, room.drawn, room.cursor, room.words, room.memo, *model, *sizes))
    if drawn < 0:
        return int(drawn), 0, 0, 0, 0, 0, 0.0, 0.0
    show_slots(app, width)
    app.lengths = room.lengths[:drawn]
    app.part_first[1] = drawn
    kept = drawn if keep_tasks else 0
    app.start_ns, app.end_ns = room.start_ns[:kept], room.end_ns[:kept]
    app.core, app.chunk = room.core[:kept], room.chunk[:kept]
    for k in range(kept):
        app.start_ns[k] = app.end_ns[k] = app.core[k] = app.chunk[k] = -1
    _begin(room.engines[0], (app, start_ns, overhead_ns, master, False))
    status = _run(room.engines[1], (app, stop_ns))
    work, cov = engine.total_gflop(app), length_cov(app.lengths, 0, drawn)
    return int(status), engine.end_ns(app), drawn, app.n_ran, app.n_chunks, app.scheduling_ns, work, cov


class PlainLoops:
    """Loops of one technique in the same memory. ``technique``: accepted by :func:`is_plain`. ``columns``: the columns of
    cores and tasks by name, as in ``ApplicationState``, read and written without numpy: before a loop its ``speed`` and
    ``latency_ns``, after it ``finish_ns``, ``busy_ns``, ``lengths`` and task records."""

    def __init__(self, technique: Technique) -> None:
        self._rules, self._phases = phase_rules((phase_key(technique),))
        self._model: LengthModel | None = None
        self._make(_CORES, _TASKS, memo=0)

    def prepare(self, model: LengthModel, n_cores: int, n_tasks: int) -> None:
        """Enlarge the room for a loop of ``n_tasks`` on ``n_cores`` with lengths of ``model``."""
        room, needed = self.room, model.room(n_tasks)
        cores, tasks, memo = len(self.columns["speed"]), len(room.lengths), len(room.memo)
        if n_cores > cores or needed > tasks or model.memo_size > memo:
            more = needed + min(needed, _TASKS) if needed > tasks else 0
            self._make(max(cores, n_cores), max(tasks, more), max(memo, model.memo_size))
        if model is not self._model:
            self.room.rule, self.room.params = rule_of(model)
            self.room.mode, self.room.drift, self.room.pattern = model.mode, model.drift, model.pattern
            self._model = model

    def _make(self, n_cores: int, n_tasks: int, memo: int) -> None:
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
        sizes, model = {"memo": memo, "tasks": n_tasks}, {"params": np.empty(0), "pattern": np.empty(0)}
        rule, engines = np.zeros(1, np.int64), _engines()
        self.room = LoopRoom.new(sizes, application=application, **model, rule=rule, engines=engines)
        self._model, cores = None, application.cores
        columns: dict[str, Any] = {"speed": application.speed, "latency_ns": application.latency_ns}
        columns |= {"finish_ns": cores.finish_ns, "busy_ns": cores.busy_ns}
        columns |= {name: getattr(self.room, name) for name in ("lengths", "start_ns", "end_ns", "core", "chunk")}
        self.columns = {name: memoryview(column) for name, column in columns.items()}


@functools.cache
def _engines() -> Array:
    kernels = (engine.begin, _BEGIN), (engine.run_until_stop, _RUN), (draw_loop, _DRAW)
    return function_table([as_value(*one) for one in kernels])


def is_plain(given: AnyScheduler) -> TypeGuard[Technique]:
    """Return whether loops can run this way: with a compiled technique for any number of cores."""
    return isinstance(given, Technique) and given.by_memo and given.only_cores is None
