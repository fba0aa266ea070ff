"""The programs of a run as arrays that kernels take, and the drawing of a job's tasks by its program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from als.engine_state import KIND, LOOP, PHASE_COLUMNS, PHASE_RULE, SERIAL, whole_memo
from als.lengths import LengthModel
from als.lengths.contract import MAX_TASKS_PER_JOB, NEXT_LENGTH
from als.lengths.draw import IMPOSSIBLE, NO_ROOM, draw_loop, fault, room
from als.program import Loop, Program
from als.rule_table import Rules, RuleTable
from als.streams import TASK_LENGTHS, fill_round_keys, start_stream
from als.techniques import AnyTechnique
from traces.compiled import Array, as_value, compiled, function_table
from traces.errors import InputError

__all__ = ["ProgramTable", "Programs", "draw_program", "drawn_program"]

# Further columns of ProgramTable.phases.
_TASKS = PHASE_COLUMNS  # N of a loop, or 0: so many a core
_TASKS_PER_CORE = PHASE_COLUMNS + 1
_LENGTHS = PHASE_COLUMNS + 2  # row of the lengths
_COLUMNS = PHASE_COLUMNS + 3

# Columns of ProgramTable.lengths.
_MODE = 0
_COUNT = 1  # how many tasks the lengths have of their own, or 0
_PARAMS_FIRST = 2
_PARAMS_STOP = 3
_PATTERN_FIRST = 4
_PATTERN_STOP = 5
_MEMO_SIZE = 6
_LENGTHS_COLUMNS = 7

# Columns of ProgramTable.programs.
_PHASE_FIRST = 0
_PHASE_STOP = 1
_STEPS = 2
_REDRAW = 3
_PROGRAM_COLUMNS = 4


class ProgramTable(NamedTuple):
    """What the kernels know of the programs of a run.

    Attributes
    ----------
    programs : int64 (n, _PROGRAM_COLUMNS)
    phases : int64 (F, _COLUMNS)
        The phases of all programs; the engine looks at the first columns.
    shares : float64 (F,)
        Each phase's share of the job.
    rules : RuleTable
    lengths : int64 (L, _LENGTHS_COLUMNS)
    calls : int64 (L,)
        The lengths' rules by their addresses.
    params, pattern : float64
        Of all lengths.
    """

    programs: Array
    phases: Array
    shares: Array
    rules: RuleTable
    lengths: Array
    calls: Array
    params: Array
    pattern: Array


class Programs:
    """The programs of a run, looked up and made into a table.

    Parameters
    ----------
    programs : sequence of Program
        Filled: each loop says its technique.
    variation : float
        The run's, for lengths that are given none of their own.

    Attributes
    ----------
    table : ProgramTable
    rules : Rules

    Raises
    ------
    InputError, PluginError
        If something that they name cannot be.
    """

    def __init__(self, programs: Sequence[Program], variation: float) -> None:
        self._programs = tuple(programs)
        techniques: list[AnyTechnique] = []
        models: list[LengthModel] = []
        rows: list[list[int]] = []
        places: list[list[int]] = []
        for program in programs:
            places.append([len(rows), len(rows) + len(program.phases), program.steps, int(program.redraw)])
            for phase in program.phases:
                if isinstance(phase, Loop):
                    techniques.append(phase.found_technique())
                    models.append(phase.found_lengths(variation=variation))
                    rows.append(
                        [LOOP, len(techniques) - 1, phase.tasks or 0, phase.tasks_per_core or 1, len(models) - 1]
                    )
                else:
                    rows.append([SERIAL, 0, 1, 0, 0])
        self._models = models
        self._kept = [as_value(model.next_length, NEXT_LENGTH) for model in models]
        # A program may have no loop; the kernels look at the first rule's row all the same.
        self.rules = Rules(techniques or [_no_technique()])
        for row in rows:
            row[PHASE_RULE] = self.rules.row[row[PHASE_RULE]]
        params = [np.array(model.params, np.float64) for model in models]
        patterns = [np.array(model.pattern, np.float64) for model in models]
        self.table = ProgramTable(
            np.array(places, np.int64).reshape(-1, _PROGRAM_COLUMNS),
            np.array(rows, np.int64).reshape(-1, _COLUMNS),
            np.array([share for program in programs for share in program.shares]),
            self.rules.table,
            _lengths_rows(models, params, patterns),
            function_table(self._kept),
            np.concatenate([np.zeros(0), *params]),
            np.concatenate([np.zeros(0), *patterns]),
        )

    @property
    def draw_memo(self) -> int:
        """How much work space drawing needs."""
        return max((model.memo_size for model in self._models), default=0)

    @property
    def most_parts(self) -> int:
        """The largest number of parts."""
        return max(len(program.phases) * program.steps for program in self._programs)

    def rule_first(self, place: int) -> int:
        """The row of the first rule of a program."""
        first, stop = self.table.programs[place, [_PHASE_FIRST, _PHASE_STOP]]
        loops = self.table.phases[first:stop]
        rows = loops[loops[:, KIND] == LOOP, PHASE_RULE]
        return int(rows.min()) if len(rows) else 0

    def memo(self, place: Array, cores: Array) -> int:
        """How much memo one of these jobs can need, whose programs and cores are given."""
        phases, rules = self.table.phases, self.table.rules.rules
        sizes = [0]
        for program, widest in self._widest(place, cores):
            first, stop = self.table.programs[program, [_PHASE_FIRST, _PHASE_STOP]]
            sizes.append(int(whole_memo(phases[first:stop], rules, widest)))
        return max(sizes)

    def room(self, place: Array, cores: Array) -> int:
        """Room for the tasks of one of these jobs, hardly ever too little."""
        return max((self._room(program, widest) for program, widest in self._widest(place, cores)), default=1)

    def _widest(self, place: Array, cores: Array) -> list[tuple[int, int]]:
        # The programs that jobs run, and the most cores of a job that runs each.
        return [(int(program), int(cores[place == program].max())) for program in np.unique(place)]

    def _room(self, place: int, n_cores: int) -> int:
        first, stop, steps, _ = (int(number) for number in self.table.programs[place])
        total = 0
        for row in self.table.phases[first:stop]:
            if row[KIND] == LOOP:
                total += room(self._models[row[_LENGTHS]], int(row[_TASKS] or n_cores * row[_TASKS_PER_CORE]))
            else:
                total += 1
        return total * steps

    def expected_tasks(self, place: Array, cores: Array) -> int:
        """About how many tasks the jobs have, whose programs and cores are given."""
        total = 0
        for at, program in enumerate(self._programs):
            mine = cores[place == at]
            for phase in program.phases:
                if isinstance(phase, Loop):
                    fixed = phase.count or phase.tasks
                    tasks = len(mine) * fixed if fixed else int(mine.sum()) * (phase.tasks_per_core or 1)
                else:
                    tasks = len(mine)
                total += tasks * program.steps
        return total

    def fault(self, status: int, place: int, part_first: Array, job: str = "") -> Exception:
        """The error for an answer of :func:`draw_program` that is no number of tasks.

        Parameters
        ----------
        status : int
            The answer.
        place : int
            The job's program.
        part_first : ndarray
            As :func:`draw_program` has left it.
        job : str
            As ``"job 17: "`` where it is known.
        """
        phase = self._programs[place].phases[int(part_first[0])]
        if not isinstance(phase, Loop):
            return InputError(f"{job}more than {MAX_TASKS_PER_JOB} tasks")
        error = fault(phase.found_lengths(), status)
        return type(error)(f"{job}{error}")


def _no_technique() -> AnyTechnique:
    from als.techniques.ss import SS

    return SS


def _lengths_rows(models: list[LengthModel], params: list[Array], patterns: list[Array]) -> Array:
    rows = np.zeros((len(models), _LENGTHS_COLUMNS), np.int64)
    param = pattern = 0
    for place, model in enumerate(models):
        rows[place] = (
            model.mode,
            model.count or 0,
            param,
            param + len(params[place]),
            pattern,
            pattern + len(patterns[place]),
            model.memo_size,
        )
        param += len(params[place])
        pattern += len(patterns[place])
    return rows


@compiled(borrows=True)
def draw_program(
    lengths: Array,
    part_first: Array,
    table: ProgramTable,
    place: int,
    seed: np.uint64,
    job: int,
    keys: Array,
    cursor: Array,
    words: Array,
    memo: Array,
    n_cores: int,
    core_gflop: float,
) -> int:
    """Draw the tasks of a job, part by part.

    Parameters
    ----------
    lengths : float64 (room,)
    part_first : int64 (parts + 1 or more,)
        Written: where the tasks of each part begin, and after the last where they end; if they cannot be drawn, first of
        all the phase that is to blame.
    table : ProgramTable
    place : int
        The job's program.
    seed, job : int
        Key of the job's stream; the round keys stay in ``keys``.
    keys, cursor, words, memo
        Work space: uint64 (20,), int64 (3,), uint64 (4,), float64.
    n_cores : int
        P.
    core_gflop : float
        Its length over P, L/P, GFLOP.

    Returns
    -------
    int
        The number of tasks; or as ``als.lengths.draw.draw_loop``.
    """
    fill_round_keys(keys, seed, np.uint64(job))
    start_stream(cursor, TASK_LENGTHS)
    phase_first, phase_stop = table.programs[place, _PHASE_FIRST], table.programs[place, _PHASE_STOP]
    steps, redraw = table.programs[place, _STEPS], table.programs[place, _REDRAW] != 0
    part = at = 0
    part_first[0] = 0
    for step in range(steps):
        for phase in range(phase_first, phase_stop):
            a_core = core_gflop * table.shares[phase] / steps
            if step > 0 and not redraw:
                first = part_first[phase - phase_first]
                n = part_first[phase - phase_first + 1] - first
                if at + n > lengths.size:
                    part_first[0] = phase - phase_first
                    return NO_ROOM
                for k in range(n):
                    lengths[at + k] = lengths[first + k]
                at += n
            elif table.phases[phase, KIND] == SERIAL:
                if at == lengths.size:
                    part_first[0] = phase - phase_first
                    return NO_ROOM
                lengths[at] = a_core
                at += 1
            else:
                row = table.lengths[table.phases[phase, _LENGTHS]]
                n = table.phases[phase, _TASKS]
                mean = a_core / table.phases[phase, _TASKS_PER_CORE]
                if row[_COUNT] > 0:
                    n = row[_COUNT]
                if n > 0:
                    mean = a_core * n_cores / n
                else:
                    n = n_cores * table.phases[phase, _TASKS_PER_CORE]
                stop = draw_loop(
                    lengths,
                    at,
                    keys,
                    cursor,
                    words,
                    memo,
                    table.calls[table.phases[phase, _LENGTHS]],
                    table.params[row[_PARAMS_FIRST] : row[_PARAMS_STOP]],
                    table.pattern[row[_PATTERN_FIRST] : row[_PATTERN_STOP]],
                    row[_MODE],
                    n,
                    mean,
                    a_core * n_cores,
                )
                if stop < 0:
                    part_first[0] = phase - phase_first
                    return int(stop)
                at = stop
            part += 1
            part_first[part] = at
    return int(at)


def drawn_program(
    programs: Programs, place: int, seed: int, job: int, n_cores: int, core_gflop: float
) -> tuple[Array, Array]:
    """The task lengths of one job, float64 in GFLOP, and how many tasks each of its parts has, int64.

    Parameters
    ----------
    programs : Programs
    place : int
        The job's program.
    seed, job, n_cores, core_gflop
        As for :func:`draw_program`.

    Raises
    ------
    InputError, PluginError
        If the tasks cannot be drawn.
    """
    keys, cursor, words = np.empty(20, np.uint64), np.empty(3, np.int64), np.empty(4, np.uint64)
    part_first = np.zeros(programs.most_parts + 1, np.int64)
    size = programs.room(np.array([place]), np.array([n_cores]))
    while True:
        lengths = np.empty(size)
        n = draw_program(
            lengths,
            part_first,
            programs.table,
            place,
            np.uint64(seed),
            job,
            keys,
            cursor,
            words,
            np.zeros(programs.draw_memo),
            n_cores,
            core_gflop,
        )
        if n >= 0:
            steps = int(programs.table.programs[place, _STEPS])
            parts = steps * int(
                programs.table.programs[place, _PHASE_STOP] - programs.table.programs[place, _PHASE_FIRST]
            )
            return lengths[:n], np.diff(part_first[: parts + 1])
        if n == IMPOSSIBLE or size >= MAX_TASKS_PER_JOB:
            raise programs.fault(n, place, part_first)
        size = min(2 * size, MAX_TASKS_PER_JOB)
