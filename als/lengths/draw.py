"""Draw tasks: turn the lengths of a :class:`LengthModel` into the loop of a job."""

import functools
import math

import numpy as np

from als.lengths.contract import (
    FILL,
    NEXT_LENGTH,
    NORMAL,
    PATTERN,
    SCALED,
    TIMES,
    WORK,
    WORK_NORMAL,
    LengthModel,
)
from als.options import MAX_TASKS_PER_JOB
from als.streams import TASK_LENGTHS, new_stream, next_word, normal_from_word, start_stream
from traces.base.errors import InputError, PluginError
from traces.base.time import MAX_NS
from traces.compiled import Array, as_value, caller, compiled, function_table
from traces.kernels.signatures import Entry, Floats, Ints, Words

# Results of draw_loop other than a number of tasks.
NO_ROOM = -1
IMPOSSIBLE = -2

# This many draws in a row that are not above 0 cannot be chance: no distribution here reaches even a hundred.
_MOST_REDRAWN = 10_000

_call = caller(NEXT_LENGTH)


@compiled(merged=True)
def _next_positive(
    keys: Words, cursor: Ints, words: Words, memo: Floats, entry: Entry, params: Floats, pattern: Floats,
    is_normal: bool, drift: float, k: int, n: int, mean_gflop: float,
) -> float:  # fmt: skip
    """Return the next length above 0; 0 if there is none."""
    if drift != 0.0:  # the paper's draw may have more than n tasks: the mean does not drift further
        mean_gflop *= 1.0 + drift * (min((k + 0.5) / n, 1.0) - 0.5)
    for _ in range(_MOST_REDRAWN):
        if is_normal:
            length = mean_gflop + params[0] * mean_gflop * normal_from_word(next_word(keys, cursor, words))
        else:
            length = _call(entry, (k, n, mean_gflop, params, pattern, memo, keys, cursor, words))
        if length > 0.0 and length < math.inf:
            return float(length)
    return 0.0


@compiled(inner=True)
def _correct_sum(lengths: Floats, n: int, missing: int, short: int) -> None:
    """Spread ``missing`` ns over durations in whole ns, or take them away; ``short`` durations are 1 ns and stay so."""
    if missing > 0:
        each, more = missing // n, missing % n
        for k in range(n if each > 0 else more):
            lengths[k] += each + (1 if k < more else 0)
        return
    surplus = -missing
    while surplus > 0 and short < n:
        each, more = surplus // (n - short), surplus % (n - short)
        for k in range(n):
            if each == 0 and more == 0:
                break
            if lengths[k] > 1.0:
                taken = min(each + (1 if more > 0 else 0), int(lengths[k]) - 1)
                more = max(more - 1, 0)
                lengths[k] -= taken
                surplus -= taken
                if lengths[k] <= 1.0:
                    short += 1


@compiled(inner=True)
def _keep_work(
    lengths: Floats, n: int, drawn_gflop: float, total_gflop: float, n_cores: int, core_ns: float, speed_gflops: float
) -> bool:
    """Scale lengths whose sum is ``drawn_gflop`` to the work of the loop; return whether that is possible."""
    whole = math.floor(core_ns)
    rest = np.rint((core_ns - whole) * n_cores)
    total_ns = float(whole) * n_cores + rest
    # A loop with less than 1 ns per task has no whole ns to distribute: each task takes 1 ns in any case.
    in_ns = total_ns >= n
    factor = (total_ns if in_ns else total_gflop) / drawn_gflop
    if not (factor > 0.0 and factor < math.inf):
        return False
    if not in_ns:
        for k in range(n):
            lengths[k] *= factor
            if not lengths[k] > 0.0:  # numbers too far apart
                return False
        return True
    # Products and sums may exceed 64 bits. They wrap around, so the difference is still right.
    missing, short, longest = int(n_cores) * int(whole) + int(rest), 0, 0.0
    for k in range(n):
        ns = np.rint(lengths[k] * factor)
        if ns <= 1.0:
            ns = 1.0
            short += 1
        lengths[k] = ns
        longest = max(longest, ns)
        missing -= int(ns)
    if missing != 0 and longest < MAX_NS:  # longer ones end the run with an error
        _correct_sum(lengths, n, missing, short)
    for k in range(n):
        lengths[k] = speed_gflops * (lengths[k] / 1e9)
    return True


@compiled()
def draw_loop(
    lengths: Floats, keys: Words, cursor: Ints, words: Words, memo: Floats, entry: Entry, params: Floats, pattern: Floats,
    mode: int, drift: float, n: int, mean_gflop: float, total_gflop: float, n_cores: int, core_ns: float, speed_gflops: float,
) -> int:  # fmt: skip
    """Draw the task lengths of one loop. Returns the number of tasks written; ``NO_ROOM``; or ``IMPOSSIBLE`` if a length is not
    above 0 and finite.

    The loops of a job take their random words from one stream, which the caller starts (:func:`als.streams.start_stream`) once
    per job; ``memo`` is work space. With ``WORK``, ``WORK_NORMAL`` and ``PATTERN`` durations at ``speed_gflops`` are rounded to
    whole ns, half to even, and at least 1. If their sum is then not P · ``core_ns`` (rounded once), missing ns are added to the
    first tasks, or surplus ns are taken from the first tasks of more than 1 ns: the same number for each task, and 1 more for
    the first of them.

    - ``entry``: index of the model's rule in a :func:`traces.compiled.function_table`
    - ``drift``: the model's, 0 unless its lengths are drawn one after another
    - ``n``: :meth:`LengthModel.tasks` of the wanted number of tasks
    - ``mean_gflop``: not computed as total / n, so that a task of the mean length takes the recorded run time to the nanosecond
    - ``total_gflop``: sum of the lengths except for rounding; with ``FILL`` and ``NORMAL``, reached with the last task
    - ``core_ns``: time of the loop's work over P cores, at ``speed_gflops``; 0: durations need not be whole ns
    """
    memo[:] = 0.0
    is_normal = mode in (NORMAL, WORK_NORMAL)
    stream = keys, cursor, words, memo, entry, params, pattern, is_normal, drift
    reached = 0.0
    if mode in (FILL, NORMAL):
        at = 0
        while True:
            length = _next_positive(*stream, at, n, mean_gflop)
            if length == 0.0:
                return IMPOSSIBLE
            if at == lengths.size:
                return NO_ROOM
            lengths[at] = length
            at += 1
            reached += length
            if reached >= total_gflop:
                return at
    if n > lengths.size:
        return NO_ROOM
    for k in range(n):
        if mode in (WORK, WORK_NORMAL):
            length = _next_positive(*stream, k, n, mean_gflop)
        else:
            length = _call(entry, (k, n, mean_gflop, params, pattern, memo, keys, cursor, words))
        if not (length > 0.0 and length < math.inf):
            return IMPOSSIBLE
        lengths[k] = speed_gflops * (length / 1e9) if mode == TIMES else length
        reached += length
    if mode in (WORK, WORK_NORMAL, PATTERN, SCALED):
        rounded_ns = 0.0 if mode == SCALED else core_ns
        return n if _keep_work(lengths, n, reached, total_gflop, n_cores, rounded_ns, speed_gflops) else IMPOSSIBLE
    return n


def fault(model: LengthModel, status: int) -> PluginError | InputError:
    """Return the error for a result of :func:`draw_loop` below 0; ``NO_ROOM`` means that no more room is allowed."""
    if status == IMPOSSIBLE:
        return PluginError(f"lengths {model.name}: a task length that is not above 0 and finite")
    return InputError(f"lengths {model.name}: more than {MAX_TASKS_PER_JOB} tasks in one job")


@functools.lru_cache(maxsize=64)
def rule_of(model: LengthModel) -> tuple[Array, Array]:
    """Return a model's rule, as a table of one function, and its parameters, as for :func:`draw_loop`."""
    # Cached, since most jobs of a process have lengths of one model. It keeps the model's rule alive.
    try:
        kernel = as_value(model.next_length, NEXT_LENGTH)
    except TypeError as error:
        raise PluginError(f"lengths {model.name}: next_length is not made by length_kernel: {error}") from error
    return function_table([kernel]), np.array(model.params, np.float64)


def drawn(
    model: LengthModel,
    seed: int,
    job: int,
    n: int,
    mean_gflop: float,
    total_gflop: float,
    *,
    n_cores: int = 1,
    core_ns: float = 0.0,
    speed_gflops: float = 1.0,
) -> Array:
    """Return the task lengths of a job with one loop, float64 in GFLOP. ``n`` is the wanted number of tasks (P·K); the others
    are as for :func:`draw_loop`. Without the last three, durations are not rounded to ns. Raises InputError if there are more
    than ``MAX_TASKS_PER_JOB``; PluginError if the model's lengths are invalid."""
    rule, params = rule_of(model)
    memo = np.empty(model.memo_size)
    keys, cursor, words = new_stream(seed, job, TASK_LENGTHS)
    size, n = model.room(n), model.tasks(n)
    given = keys, cursor, words, memo, rule[0], params, model.pattern, model.mode, model.drift
    while True:
        lengths = np.empty(size, np.float64)
        start_stream(cursor, TASK_LENGTHS)
        stop = draw_loop(lengths, *given, n, mean_gflop, total_gflop, n_cores, core_ns, speed_gflops)
        if stop >= 0:
            return lengths[:stop]
        if stop == IMPOSSIBLE or size >= MAX_TASKS_PER_JOB or not model.fills:
            raise fault(model, stop)
        size = min(2 * size, MAX_TASKS_PER_JOB)


@compiled()
def length_cov(lengths: Floats, first: int, stop: int) -> float:
    """The population's standard deviation over the mean of ``lengths[first:stop]``; NaN if it is empty."""
    n = stop - first
    if n <= 0:
        return math.nan
    total = 0.0
    for k in range(first, stop):
        total += lengths[k]
    mean = total / n
    squares = 0.0
    for k in range(first, stop):
        squares += (lengths[k] - mean) * (lengths[k] - mean)
    return math.sqrt(squares / n) / mean


def earliest_end_ns(start_ns: int, total_gflop: float, mean_gflop: float, speed_gflops: Array) -> int:
    """Return an instant, ns, before which a job cannot end if its speeds do not rise: all its work at the speed of all its
    cores.

    The time of each task is rounded by up to half a nanosecond, so the bound is a thousandth lower, which covers 2,000 times
    the expected number of tasks if a task takes a millisecond. For shorter tasks the bound is the start.

    Parameters
    ----------
    start_ns : int
    total_gflop : float
        A lower bound on the sum of its task lengths.
    mean_gflop : float
        Mean task length.
    speed_gflops : float64 (P,)
        Speed of each core.
    """
    if mean_gflop / float(speed_gflops.max()) < 1e-3:
        return start_ns
    return min(start_ns + math.floor(0.999e9 * total_gflop / float(speed_gflops.sum())), MAX_NS)
