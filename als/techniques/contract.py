"""The contract of loop-scheduling techniques: one function returns the number of tasks for a core that requests work.

The function is compiled (:func:`technique_kernel`) and has one of two forms. The plain form is enough for a rule that
counts tasks and requests::

    next_chunk(n_tasks, n_cores, core, request, remaining, memo) -> int

the full form also has times, speeds and its own parameters::

    next_chunk(n_tasks, n_cores, core, request, remaining, facts, speed, params, memo) -> int

- ``n_tasks``: N, the number of tasks of the loop.
- ``n_cores``: P, the number of the job's cores.
- ``core``: The requesting core, 0 <= core < P, counted within the job.
- ``request``: Number of chunks of this loop assigned before (i = 0, 1, …); with 0 a loop begins.
- ``remaining``: R >= 1, the number of tasks of the loop not yet assigned. A technique that :attr:`Technique.learns` is also
  called with R = 0, to record each core's last chunk; its result is then ignored.
- ``facts``: float64 array of facts about the loop and this core's last chunk, at the indices below. Read-only, except
  ``FIRST``.
- ``speed``: float64 array (P,): GFLOP/s of each core now; 0 for an absent core.
- ``params``: float64 array: :attr:`Technique.params`.
- ``memo``: float64 array of ``memo_size + P * memo_per_core`` numbers that belongs to this loop of this job: the only memory of
  a technique between requests. It is zeros when a loop begins; if the technique learns, it is zeros when the job begins, and
  kept from one time step to the next.

The result is the size of the chunk, 1 … R, or 0 if the core gets no more tasks. The engine checks it, and reports an error with
the technique's name if it is out of range, or if all cores got 0 while tasks are left. The function must not raise: compiled
code cannot catch exceptions, and the engine would see a 0.

If a core is lost, the engine puts back its unfinished tasks: R grows again, and these tasks are assigned first.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from als.parameters import Checked, floats
from traces.base.errors import InputError, shown
from traces.base.plugins import compiled_rule
from traces.compiled import Array, types

# Indices of ``facts``.
MEAN_S = 0  # µ, mean time of the loop's tasks at the mean speed of the cores present when it begins, s (if ``moments``)
SIGMA_S = 1  # σ, standard deviation (the population's) of these times, s (if ``moments``)
OVERHEAD_S = 2  # h, cost of a chunk besides its tasks, s: overhead, and the mean time of a request's two messages
STEP = 3  # number of the time step, from 0
NOW_NS = 4  # instant at which the request is served
LAST_SIZE = 5  # tasks of this core's last chunk; 0 if it had none since the job began, or if it was reported before
LAST_WORK_NS = 6  # time of that chunk's tasks, from the first's start to the last's end
# from the core's request for that chunk to its end: with overhead, messages and waiting for the master
LAST_TOTAL_NS = 7
LAST_SQUARES = 8  # sum over its tasks of (time - their mean time)², ns² (if ``learns``)
UNIFORM = 9  # a number between 0 and 1, drawn for each request (if ``random``)
FIRST = 10  # written by a technique that ``places``: the first task of the chunk, counted within the loop
AHEAD = 11  # 1 if the loop is only simulated ahead, to choose among techniques; else 0
FACTS = 12

_PLAIN = ("n_tasks", "n_cores", "core", "request", "remaining", "memo")
_FULL = ("n_tasks", "n_cores", "core", "request", "remaining", "facts", "speed", "params", "memo")

_i64 = types.int64
_column = types.Column(types.float64)

NEXT_CHUNK = _i64(_i64, _i64, _i64, _i64, _i64, _column)  #: the signatures of the two forms
NEXT_CHUNK_FULL = _i64(_i64, _i64, _i64, _i64, _i64, _column, _column, _column, _column)


class TechniqueParameters(Protocol):
    """A technique's parameters: a frozen dataclass, checked when it is made, whose fields may be given after its name.

    Fields are ``int``, ``float``, ``str`` or ``bool``, possibly ``| None`` for "from the job".
    """

    def technique(self) -> "Technique": ...


@dataclass(frozen=True)
class Technique:
    """A loop-scheduling technique."""

    name: str  #: name in the literature, in lower case, without parameters
    next_chunk: Callable[..., int]  #: the rule, decorated with :func:`technique_kernel`
    memo_size: int = 0  #: size of its memory per loop, >= 0
    source: str = ""  #: source of its definition
    memo_per_core: int = 0  #: additional size per core
    params: tuple[float, ...] = ()  #: passed to the rule as ``params``; NaN by convention for "from the job"
    moments: bool = False  #: whether it reads ``MEAN_S`` and ``SIGMA_S``
    learns: bool = False  #: whether it is called after every chunk, and keeps its memo over time steps
    #: Whether it chooses the tasks of a chunk, in ``facts[FIRST]``; none of them may have been assigned before. Otherwise a
    #: chunk is the next tasks in order.
    places: bool = False
    random: bool = False  #: whether it reads ``UNIFORM``
    only_cores: int | None = None  #: the number of cores that its weights are for; None: any
    parameters: TechniqueParameters | None = None  #: the parameters that may follow its name; None: none
    #: Whether the rule has the plain form.
    plain: bool = field(init=False, default=True)
    #: Whether its memo is its whole memory of a job. A technique in Python has an object for each job.
    by_memo: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not callable(self.next_chunk):
            raise InputError(f"technique {self.name}: next_chunk must be a function, not {shown(self.next_chunk)}")
        count = len(inspect.signature(self.next_chunk).parameters)
        if count not in (len(_PLAIN), len(_FULL)):
            raise InputError(
                f"technique {self.name}: next_chunk takes {count} arguments; "
                f"allowed: {', '.join(_PLAIN)}; or {', '.join(_FULL)}"
            )
        object.__setattr__(self, "plain", count == len(_PLAIN))
        object.__setattr__(self, "params", floats(f"technique {self.name}", self.params))
        for name in ("memo_size", "memo_per_core"):
            if not 0 <= getattr(self, name) <= 2**20:
                raise InputError(f"technique {self.name}: {name} {getattr(self, name)}; allowed: 0 to {2**20}")

    def __hash__(self) -> int:
        # Techniques are looked up for every job, so hash by identity rather than by all fields.
        return hash((self.name, self.params))

    def error(self) -> BaseException | None:
        """Return the exception that its rule has raised since the last call; None except for techniques in Python."""
        return None

    def forget_all(self) -> None:
        """Drop everything kept for jobs, when no job runs. Only techniques in Python keep anything."""

    def asked(self, *counts: int, facts: Array, speed: Array, params: Array, memo: Array) -> int:
        """Return the rule's result for one request, for either form, called from Python. ``counts``: the arguments ``n_tasks``
        to ``remaining``."""
        if self.plain:
            return int(self.next_chunk(*counts, memo))
        return int(self.next_chunk(*counts, facts, speed, params, memo))


class RuleParameters(Checked):
    """Parameters passed in their order as ``params`` to a technique's rule, checked as :class:`Checked`.

    Keywords of the class are attributes of its :class:`Technique`: ``class Gss(RuleParameters, name="gss", next_chunk=…)``.
    """

    noun = "technique"
    _declared: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls, *, name: str = "", **declared: Any) -> None:
        super().__init_subclass__()
        if name:
            cls.name = name  # type: ignore[assignment, method-assign]
        if declared:
            cls._declared = declared

    def technique(self) -> Technique:
        """Return the technique with these parameters."""
        return self.made()

    def made(self, **others: Any) -> Technique:
        """Return the technique with other attributes than the declared ones."""
        # Parameters that are not given are moments of the loop's own tasks.
        moments = None in (getattr(self, "mu", 0.0), getattr(self, "sigma", 0.0))
        declared = {"moments": moments, **self._declared, **others}
        return Technique(self.name, params=self.numbers(), parameters=self, **declared)


def technique_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function to one of the two forms of a technique, recognised by its number of arguments.

    Raises
    ------
    InputError
        If it has neither number.
    """
    return compiled_rule(function, "technique_kernel", (NEXT_CHUNK, _PLAIN), (NEXT_CHUNK_FULL, _FULL))


PREFIX = "select:"  #: prefix of a selection


@dataclass(frozen=True)
class Selection:
    """``select:gss,fac,awf-b``: a choice among techniques by simulation ahead (SimAS).

    When a loop begins, the engine simulates it with every candidate, without future changes of the cores. The candidate whose
    loop ends first runs; among equals the first named. Raises InputError if there are fewer than two, or one is given twice.

    Source: Mohammed and Ciorba, Concurrency and Computation 32(15), 2020, doi:10.1002/cpe.5648.
    """

    candidates: tuple[Technique, ...]  #: at least two
    every_ns: int = 0  #: the rest of the loop is simulated again at the first request after each such time; 0: never
    name: str = "select"  #: as it was given
    written: tuple[str, ...] = ()  #: each candidate's name in tables; default: the candidates' names

    def __post_init__(self) -> None:
        if len(self.candidates) < 2:
            raise InputError(
                f"{self.name}: candidates: {len(self.candidates)}; allowed: two or more, as select:gss,fac"
            )
        if not self.written:
            object.__setattr__(self, "written", tuple(candidate.name for candidate in self.candidates))
        seen = [(candidate.name, candidate.params) for candidate in self.candidates]
        for place, one in enumerate(seen):
            if one in seen[:place]:
                raise InputError(f"{self.name}: {one[0]} twice; allowed: each candidate once")

    @property
    def only_cores(self) -> int | None:
        """The number of cores that its candidates are for; None: any."""
        return next((one.only_cores for one in self.candidates if one.only_cores is not None), None)
