"""The contract of distributions of task lengths: one function returns the length of the next task.

The function is compiled (:func:`length_kernel`)::

    next_length(k, n, mean, params, pattern, memo, keys, cursor, words) -> float

- ``k``: the task, 0, 1, … in the order of the loop; with 0 a loop begins
- ``n``: number of tasks of the loop; with the paper's draw, approximately
- ``mean``: wanted mean of the lengths, GFLOP
- ``params``, ``pattern``: float64 arrays of the model; ``pattern`` is read-only
- ``memo``: float64 array of at least ``memo_size`` numbers, zeros where a loop begins: the only memory between two tasks
- ``keys, cursor, words``: the job's stream of random words: :func:`als.streams.next_word` returns the next one

The function returns the task's length in GFLOP. It must not raise, since compiled code cannot catch exceptions, and must not
make arrays. :attr:`LengthModel.mode` says how the lengths become a loop of work L:

- ``WORK``: exactly n tasks, multiplied by the factor that makes their sum L. Their durations are whole nanoseconds whose sum is
  exact (:func:`als.lengths.draw.draw_loop`). A length that is not above 0 is drawn again, for the same ``k``.
- ``FILL``: the paper's draw: tasks are drawn until their sum reaches L (two-level paper, section 5.1), so that their number
  varies a little and the work exceeds L. A length that is not above 0 is drawn again, for the same ``k``.
- ``WORK_NORMAL``, ``NORMAL``: as ``WORK`` and ``FILL``, for the normal distribution with coefficient of variation
  ``params[0]``: the rule is not called, since a call through a pointer takes longer than such a draw.
- ``COUNT``: exactly n tasks, with their lengths unchanged.
- ``PATTERN``: as ``WORK``, for lengths of a pattern without random numbers: the rule may ignore ``mean``, and a length that is
  not above 0 is an error.
- ``SCALED``: as ``PATTERN``, without rounding to nanoseconds.
- ``TIMES``: exactly n tasks, whose lengths are times on the machine's slowest core, ns.

With a drift d, the mean of task k of n is µ·(1 + d·((k + ½)/n - ½)): lengths increase along the loop, or decrease for d < 0.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from als.options import MAX_TASKS_PER_JOB, VARIATION
from als.parameters import floats
from traces.base.errors import InputError, real, shown, whole
from traces.base.plugins import compiled_rule
from traces.compiled import Array, own, types

# How the lengths become a loop.
FILL, COUNT, SCALED, NORMAL, WORK, WORK_NORMAL, PATTERN, TIMES = range(8)

#: The modes of lengths that are drawn one after another, with a mean that may change along the loop.
RANDOM = FILL, NORMAL, WORK, WORK_NORMAL

#: The ways to make a loop of lengths, by the word after ``draw=``: the mode that replaces each mode.
DRAWS = {
    "work": {FILL: WORK, NORMAL: WORK_NORMAL, SCALED: PATTERN},
    "paper": {WORK: FILL, WORK_NORMAL: NORMAL, PATTERN: SCALED},
}

#: Largest allowed coefficient of variation (standard deviation over mean); the paper studies 0 to 0.25.
MAX_COV = VARIATION.highest

#: Largest allowed drift, upwards or downwards: at 2 the first lengths, or the last, would have the mean 0.
MAX_DRIFT = 1.9

_ARGUMENTS = ("k", "n", "mean", "params", "pattern", "memo", "keys", "cursor", "words")

_i64, _f64 = types.int64, types.float64
_column, _words = types.Column(_f64, 1), types.Column(types.uint64, 1)

#: The signature of the rule.
NEXT_LENGTH = _f64(_i64, _i64, _f64, _column, _column, _column, _words, types.Column(_i64, 1), _words)


@runtime_checkable
class LengthParameters(Protocol):
    """Parameters that make a :class:`LengthModel`: a frozen dataclass whose fields (``int``, ``float``, ``str`` or ``bool``)
    may be given after its name; ``gamma:cov=0.5`` is ``replace(gamma, cov=0.5).lengths(variation)``. A model returns itself."""

    @property
    def name(self) -> str:
        """Name in the literature, in lower case."""

    def lengths(self, variation: float) -> "LengthModel":
        """Return the model; ``variation`` is the run's coefficient of variation, used unless a field gives another."""


@dataclass(frozen=True, eq=False)
class LengthModel:
    """A distribution of task lengths with its parameters."""

    name: str  #: name in the literature, in lower case, without parameters
    next_length: Callable[..., float]  #: the rule, decorated with :func:`length_kernel`
    params: tuple[float, ...] = ()  #: passed to the rule
    pattern: Array = field(default_factory=lambda: np.empty(0))  #: float64, passed to the rule
    memo_size: int = 0  #: size of its memory along a loop, >= 0
    mode: int = (
        WORK  #: ``WORK``, ``FILL``, ``COUNT``, ``PATTERN``, ``SCALED``, ``WORK_NORMAL``, ``NORMAL`` or ``TIMES``
    )
    #: fixed number of tasks of a loop, whatever its cores; None: as the run says. Not with ``FILL`` or ``NORMAL``.
    count: int | None = None
    #: standard deviation over mean, before lengths that are not above 0 are drawn again; None: unknown, or different for each n
    cov: float | None = None
    source: str = ""  #: source of its definition
    #: standard deviation of the sum of n lengths over µ·√n, for large n: above ``cov`` if neighbours are alike; None:
    #: ``cov``. It determines the room for a loop's tasks.
    sum_cov: float | None = None
    drift: float = 0.0  #: change of the mean along the loop, over the mean, -``MAX_DRIFT`` to ``MAX_DRIFT``; 0: none

    def __post_init__(self) -> None:
        where = f"lengths {self.name}"
        if not callable(self.next_length):
            raise InputError(f"{where}: next_length must be a function, not {shown(self.next_length)}")
        object.__setattr__(self, "params", floats(where, self.params))
        whole(f"{where}: memo_size", self.memo_size, 0, 2**20)
        whole(f"{where}: mode", self.mode, FILL, TIMES)
        real(f"{where}: drift", self.drift, -MAX_DRIFT, MAX_DRIFT)
        if self.drift and self.mode not in RANDOM:
            raise InputError(
                f"{where}: drift {self.drift:g}; allowed: 0, for lengths that are not drawn one after another"
            )
        if self.count is not None:
            whole(f"{where}: count", self.count, 1, MAX_TASKS_PER_JOB)
            if self.fills:
                raise InputError(
                    f"{where}: count {self.count}; allowed: None, where tasks are drawn until the work is reached"
                )
        object.__setattr__(self, "pattern", own(self.pattern, np.float64))

    def lengths(self, variation: float) -> "LengthModel":
        """Return itself, whatever the run's variation."""
        return self

    def with_draw(self, draw: str) -> "LengthModel":
        """Return the model with the draw that a key of :data:`DRAWS` names; equal lengths stay the same."""
        mode = DRAWS[draw].get(self.mode)
        return self if mode is None else replace(self, mode=mode)

    def with_drift(self, drift: float) -> "LengthModel":
        """Return the model with a drift, and the coefficient of variation that it then has in long loops. Equal lengths remain
        equal apart from the drift."""
        if drift == 0.0:
            return self
        squares = 1.0 + drift * drift / 12.0  # mean of the squared means, over µ²
        cov, sum_cov = (
            None if one is None else math.sqrt((1.0 + one * one) * squares - 1.0) for one in (self.cov, self.sum_cov)
        )
        mode = WORK if self.next_length is _equal_length else self.mode
        return replace(self, mode=mode, cov=cov, sum_cov=sum_cov, drift=drift)

    @property
    def fills(self) -> bool:
        """Whether tasks are drawn until the work is reached."""
        return self.mode in (FILL, NORMAL)

    def room(self, n: int) -> int:
        """Return the room for the tasks of a loop that should have ``n``: rarely too little, and never if their number is
        fixed. If tasks are drawn until the work is reached: their mean number plus eight standard deviations."""
        if not self.fills:
            return self.tasks(n)
        known = [cov for cov in (self.sum_cov, self.cov, 1.0) if cov is not None]
        return int(n + 8.0 * known[0] * math.sqrt(float(n)) + 8.0)

    def tasks(self, n: int) -> int:
        """Return the actual or expected number of tasks of a loop that should have ``n``."""
        return n if self.count is None else self.count


def length_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function to a distribution's rule.

    Raises
    ------
    InputError
        If its number of arguments is wrong.
    """
    return compiled_rule(function, "length_kernel", (NEXT_LENGTH, _ARGUMENTS))


@length_kernel
def _equal_length(
    k: int, n: int, mean: float, params: Array, pattern: Array, memo: Array, keys: Array, cursor: Array, words: Array
) -> float:
    return mean


@dataclass(frozen=True)
class Plain:
    """A distribution without parameters."""

    name: str
    model: LengthModel = field(metadata={"parameter": False})

    def lengths(self, variation: float) -> LengthModel:
        return self.model


def equal_lengths(name: str = "equal") -> LengthModel:
    """Return equal lengths under the name of a distribution with variation 0."""
    return LengthModel(name, _equal_length, mode=COUNT, cov=0.0, source="two-level paper, section 5.1 (variation 0)")
