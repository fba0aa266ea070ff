"""What a loop-scheduling technique is: one function that says how many tasks a core gets when it asks.

The function is compiled (:func:`technique_kernel`) and has one of two forms. The plain one is enough for a rule that
counts tasks and requests::

    next_chunk(n_tasks, n_cores, core, request, remaining, memo) -> int

the full one also sees times, speeds and its own parameters::

    next_chunk(n_tasks, n_cores, core, request, remaining, facts, speed, params, memo) -> int

``n_tasks``
    N, the number of tasks of the loop.
``n_cores``
    P, the number of the job's cores.
``core``
    The core that asks, 0 <= core < P, counted within the job.
``request``
    How many chunks of this loop were assigned before this one (i = 0, 1, …); 0 tells that a loop begins.
``remaining``
    R >= 1, the number of tasks of the loop not yet assigned. A technique that :attr:`Technique.learns` is also asked
    with R = 0, so that it hears of each core's last chunk; its answer does not matter then.
``facts``
    float64 array of what is known of the loop and of this core's last chunk, by the numbers below. To be read, but for
    ``FIRST``.
``speed``
    float64 array (P,): GFLOP/s of each core now; 0 for a core that has not come yet, or is lost.
``params``
    float64 array: :attr:`Technique.params`.
``memo``
    float64 array of ``memo_size + P * memo_per_core`` numbers that belongs to this loop of this job alone: the only
    thing that a technique may keep from one request to the next. It is zeros where a loop begins, but if the technique
    learns: then it is zeros at the job's start, and kept from one time step to the next.

The answer is the size of the chunk, 1 … R, or 0 to say that this core gets nothing more. The engine checks the answer and
names the technique if it is out of range, or if every core was sent away with tasks left. The function must not raise:
compiled code has nobody to catch it, and the engine sees only a 0.

If a core is lost, the engine puts back what it had not finished: R grows again, and those tasks are handed out first.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from als.parameters import Checked, floats
from traces.base.errors import InputError, shown
from traces.base.plugins import compiled_rule
from traces.compiled import Array, types

# Places in ``facts``.
MEAN_S = 0  # µ, mean time of the loop's tasks at the mean speed of the cores present as it begins, s (if ``moments``)
SIGMA_S = 1  # σ, standard deviation (the population's) of these times, s (if ``moments``)
OVERHEAD_S = (
    2  # h, what a chunk costs beside its tasks, s: overhead, and the mean of the requests' messages there and back
)
STEP = 3  # number of the time step, from 0
NOW_NS = 4  # instant at which the request is served
LAST_SIZE = 5  # tasks of this core's last chunk; 0 if it had none since the job began, or was told of already
LAST_WORK_NS = 6  # time of that chunk's tasks, from the first's start to the last's end
# from the core's request for that chunk to its end: with overhead, messages and waiting for the master
LAST_TOTAL_NS = 7
LAST_SQUARES = 8  # sum over its tasks of (time - their mean time)², ns² (if ``learns``)
UNIFORM = 9  # a number between 0 and 1, drawn anew for each request (if ``random``)
FIRST = 10  # written by a technique that ``places``: the first task of the chunk, counted within the loop
AHEAD = 11  # 1 where the loop is only simulated ahead, to choose among techniques; else 0
FACTS = 12

_PLAIN = ("n_tasks", "n_cores", "core", "request", "remaining", "memo")
_FULL = ("n_tasks", "n_cores", "core", "request", "remaining", "facts", "speed", "params", "memo")

_i64 = types.int64
_column = types.Column(types.float64)

#: The signatures of the two forms.
NEXT_CHUNK = _i64(_i64, _i64, _i64, _i64, _i64, _column)
NEXT_CHUNK_FULL = _i64(_i64, _i64, _i64, _i64, _i64, _column, _column, _column, _column)


class TechniqueParameters(Protocol):
    """A technique's parameters: a frozen dataclass, checked where it is made, whose fields are written behind its name.

    Fields are ``int``, ``float``, ``str`` or ``bool``, perhaps ``| None`` for "from the job"; ``fsc:h=1e-6,sigma=0.2``
    is ``replace(parameters, h=1e-6, sigma=0.2).technique()``.
    """

    def technique(self) -> Technique:
        """The technique with these parameters."""
        ...


@dataclass(frozen=True)
class Technique:
    """A loop-scheduling technique.

    Attributes
    ----------
    name : str
        As the literature names it, in lower case, without parameters.
    next_chunk : callable
        The rule, decorated with :func:`technique_kernel`.
    memo_size, memo_per_core : int
        How many numbers it keeps per loop, and how many more per core, >= 0.
    source : str
        Where its definition comes from.
    params : tuple of float
        What the rule finds in ``params``; NaN by agreement for "from the job".
    moments : bool
        Whether it reads ``MEAN_S`` and ``SIGMA_S``.
    learns : bool
        Whether it hears of every chunk, and keeps its memo over time steps.
    places : bool
        Whether it says which tasks a chunk has, in ``facts[FIRST]``; none of them may have been assigned before. Without
        it a chunk is the next tasks in order.
    random : bool
        Whether it reads ``UNIFORM``.
    only_cores : int or None
        The only number of cores that its weights are for; None: any.
    parameters : Parameters or None
        What may be written behind its name; None: nothing.
    """

    name: str
    next_chunk: Callable[..., int]
    memo_size: int = 0
    source: str = ""
    memo_per_core: int = 0
    params: tuple[float, ...] = ()
    moments: bool = False
    learns: bool = False
    places: bool = False
    random: bool = False
    only_cores: int | None = None
    parameters: TechniqueParameters | None = None
    #: Whether the rule has the plain form.
    plain: bool = field(init=False, default=True)
    #: Whether its memo is all that it keeps of a job. One in Python has an object for each.
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
        # Techniques are looked up for every job: not by the hashes of all their fields.
        return hash((self.name, self.params))

    def error(self) -> BaseException | None:
        """What its rule has raised since this was last asked; None but for one in Python."""
        return None

    def forget_all(self) -> None:
        """No job runs now: what is kept for any may go. There is something only for a rule in Python."""

    def asked(
        self,
        n_tasks: int,
        n_cores: int,
        core: int,
        request: int,
        remaining: int,
        facts: Array,
        speed: Array,
        params: Array,
        memo: Array,
    ) -> int:
        """The rule's answer to one request, whichever form it has; for whoever asks from Python."""
        if self.plain:
            return int(self.next_chunk(n_tasks, n_cores, core, request, remaining, memo))
        return int(self.next_chunk(n_tasks, n_cores, core, request, remaining, facts, speed, params, memo))


class RuleParameters(Checked, ABC):
    """Parameters that the rule of a technique finds in ``params`` in their order, checked as :class:`Checked` says."""

    noun = "technique"

    @abstractmethod
    def technique(self) -> Technique:
        """The technique with these parameters."""

    def made(self, next_chunk: Callable[..., int], source: str, **traits: Any) -> Technique:
        """The technique of a rule with these parameters; ``traits`` are further attributes of :class:`Technique`."""
        return Technique(self.name, next_chunk, source=source, params=self.numbers(), parameters=self, **traits)


def technique_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function to one of the two forms of a technique, told apart by the number of its arguments.

    Raises
    ------
    InputError
        If it has as many arguments as neither.
    """
    return compiled_rule(function, "technique_kernel", (NEXT_CHUNK, _PLAIN), (NEXT_CHUNK_FULL, _FULL))


#: What a selection begins with.
PREFIX = "select:"


@dataclass(frozen=True)
class Selection:
    """``select:gss,fac,awf-b``: several techniques, of which the one runs that does best in a simulation ahead (SimAS).

    As a loop begins the engine simulates it with every candidate, from inside the application level: with the lengths
    of its tasks, the speeds that the cores have at that instant and all costs, but without knowing what will happen to
    the cores later. The candidate whose loop ends first runs; of equal ones the first named. With ``every=60s`` what is
    left of the loop is simulated again at the first request after each such time, and the rest may go to another.

    Source: Mohammed and Ciorba, "SimAS: A Simulation-assisted Approach for the Scheduling Algorithm Selection under
    Perturbations", Concurrency and Computation 32(15), 2020, doi:10.1002/cpe.5648.

    Attributes
    ----------
    candidates : tuple of Technique
        At least two.
    every_ns : int
        How long a choice stands at least; 0: for the whole loop.
    name : str
        As it was written.
    written : tuple of str
        What each candidate is called in tables: as it was written; default: the candidates' names.

    Raises
    ------
    InputError
        If there are fewer than two candidates, or one twice.
    """

    candidates: tuple[Technique, ...]
    every_ns: int = 0
    name: str = "select"
    written: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.candidates) < 2:
            raise InputError(f"{self.name}: {len(self.candidates)} candidates; allowed: two or more, as select:gss,fac")
        if not self.written:
            object.__setattr__(self, "written", tuple(candidate.name for candidate in self.candidates))
        seen = [(candidate.name, candidate.params) for candidate in self.candidates]
        for place, one in enumerate(seen):
            if one in seen[:place]:
                raise InputError(f"{self.name}: {one[0]} twice")

    @property
    def only_cores(self) -> int | None:
        """The only number of cores that its candidates are for; None: any."""
        return next((one.only_cores for one in self.candidates if one.only_cores is not None), None)
