"""A loop-scheduling technique written in plain Python: a class with a method ``chunk(self, ask)``.

The simplest one::

    class Mine:
        def chunk(self, ask):
            return -(-ask.remaining // ask.n_cores)

``chunk`` is called for each request with an :class:`Ask` and returns the number of tasks for the core, 1 to ``ask.remaining``.
Each job has its own object, made when the job begins: by calling a class, or by a deep copy of an object. Attributes of
``self`` belong to this job, and are kept from one time step to the next. Optional members:

- ``name``: Its name in tables and errors.
- ``begin(self, loop)``: Called with a :class:`LoopStart` when a loop begins: in each time step, before its first request.
- ``finished(self, ask)``: Called when a core requests tasks and none are left: ``ask.last_size`` and the times describe its
  last chunk.

Compiled code calls it through a C function. Exceptions cannot pass through it, so the first one is kept for
:meth:`PythonTechnique.error`.
"""

import copy
import ctypes
import inspect
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import index
from typing import Any

import numpy as np

from als.techniques import contract as f
from als.techniques.contract import Technique, technique_kernel
from traces.base.errors import RAISED_BY_PLUGINS, InputError, PluginError, TwolevelError, raised_text, shown
from traces.base.process import INTERRUPTS, called_by_kernels
from traces.compiled import Array, caller, compiled, jit_enabled, types


def _known(place: int, kind: type, doc: str) -> Any:
    # A property of Ask: the number at this index of ``facts``.
    return property(lambda ask: kind(ask._fact(place)), doc=doc)


class Ask:
    """One request of one core; valid until ``chunk`` returns.

    Attributes
    ----------
    core : int
        The requesting core, from 0, counted within the job.
    request : int
        Number of chunks of this loop assigned before.
    remaining : int
        Tasks of the loop not yet assigned.
    n_tasks, n_cores : int
        Tasks of the loop, cores of the job.
    """

    __slots__ = ("_facts", "_facts_at", "_live", "_speed_at", "core", "n_cores", "n_tasks", "remaining", "request")

    def __init__(self, n_tasks: int, n_cores: int) -> None:
        self.n_tasks, self.n_cores = n_tasks, n_cores
        self.core = self.request = self.remaining = 0
        self._facts: Any = ()
        self._facts_at = self._speed_at = 0
        self._live = False

    def _fact(self, place: int) -> float:
        # Read the caller's array, which exists only during the call.
        if not self._live:
            raise RuntimeError("an Ask can be read only until chunk() returns")
        value: float = self._facts[place]
        return value

    step: int = _known(f.STEP, int, "Number of the time step, from 0.")
    now_ns: int = _known(f.NOW_NS, int, "The instant at which the request is served, ns.")
    last_size: int = _known(f.LAST_SIZE, int, "Tasks of this core's last chunk; 0 if it had none, or it was reported.")
    last_work_ns: int = _known(f.LAST_WORK_NS, int, "Time of that chunk's tasks, ns.")
    last_total_ns: int = _known(f.LAST_TOTAL_NS, int, "Time from the core's request for that chunk to its end, ns.")
    mean_s: float = _known(f.MEAN_S, float, "Mean time of the loop's tasks at the mean speed of the cores, s.")
    sigma_s: float = _known(f.SIGMA_S, float, "Standard deviation of these times, s.")
    overhead_s: float = _known(f.OVERHEAD_S, float, "Cost of a chunk besides its tasks, s.")

    @property
    def speed_gflops(self) -> Array:
        """A copy of the speed of each core now, GFLOP/s, shape (P,); 0 for an absent core."""
        self._fact(f.STEP)
        return _floats_at(self._speed_at, self.n_cores)


@dataclass(frozen=True)
class LoopStart:
    """The facts known when a loop begins; see :class:`Ask`."""

    n_tasks: int
    n_cores: int
    step: int
    now_ns: int
    mean_s: float
    sigma_s: float
    overhead_s: float
    speed_gflops: Array


def _floats_at(address: int, count: int) -> Array:
    return np.array((ctypes.c_double * count).from_address(address), np.float64)


# The form of both functions that compiled code calls:
# - chunk: key of the job's object, core, request, remaining, addresses of facts and speed -> the chunk, -1: error
# - begin: key, 0 if there is none yet, tasks, cores, 0, addresses of facts and speed -> the key, -1: error
_FORM = types.int64(*[types.int64] * 6)
_FORM_C = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 6)

_call = caller(_FORM)

# Indices of ``params``: the addresses, which are below 2**53, and whether to call it with R = 0.
_CHUNK_AT, _BEGIN_AT, _FINISHED = 0, 1, 2

if jit_enabled():

    @compiled(inner=True)
    def _entry(address: float) -> Any:
        return np.int64(address)
else:

    def _entry(address: float) -> Any:
        function = _FORM_C(int(address))
        return lambda *arguments: function(*map(int, arguments))


@technique_kernel
def _next_chunk(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    if remaining == 0 and params[_FINISHED] == 0.0:
        return 0
    facts_at, speed_at = np.int64(facts.ctypes.data), np.int64(speed.ctypes.data)
    key = np.int64(memo[0])
    if facts[f.AHEAD] != memo[1]:
        # A simulation ahead must not change the job's object: here the memo is a copy, and the object must be copied.
        memo[1] = facts[f.AHEAD]
        if key > 0:
            copied = key, np.int64(-1), np.int64(n_cores), np.int64(0), facts_at, speed_at
            key = _call(_entry(params[_BEGIN_AT]), copied)
            if key < 0:
                return -1
            memo[0] = key
    if request == 0:
        begun = key, np.int64(n_tasks), np.int64(n_cores), np.int64(0), facts_at, speed_at
        key = _call(_entry(params[_BEGIN_AT]), begun)
        if key < 0:
            return -1
        memo[0] = key
    asked = key, np.int64(core), np.int64(request), np.int64(remaining), facts_at, speed_at
    return int(_call(_entry(params[_CHUNK_AT]), asked))


@dataclass(slots=True)
class _Job:
    rule: Any
    chunk: Callable[[Ask], Any]
    ask: Ask = field(default_factory=lambda: Ask(0, 0))


@dataclass(eq=False)
class _Calls:
    # The functions that compiled code calls, and the jobs' objects.
    name: str
    make: Callable[[], Any]
    failed: tuple[BaseException, str] | None = None
    jobs: dict[int, _Job] = field(default_factory=dict)
    ahead: int = 0
    keys: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    chunk_c: Any = None
    begin_c: Any = None

    def __post_init__(self) -> None:
        self.chunk_c = _FORM_C(self._chunk_called())
        self.begin_c = _FORM_C(self._begin_called)

    @called_by_kernels
    def _begin_called(self, key: int, n_tasks: int, n_cores: int, _zero: int, facts_at: int, speed_at: int) -> int:
        what = "it cannot be made"
        try:
            INTERRUPTS.raise_noted()
            if n_tasks < 0:
                what = "it cannot be copied"
                return self._copied(key)
            if key == 0:
                rule = self.make()
                key = next(self.keys)
                self.jobs[key] = _Job(rule, rule.chunk)
            job = self.jobs[key]
            job.ask = Ask(n_tasks, n_cores)
            begin = getattr(job.rule, "begin", None)
            if begin is not None:
                what = "begin() failed"
                facts = _floats_at(facts_at, f.FACTS)
                step, now_ns = int(facts[f.STEP]), int(facts[f.NOW_NS])
                mean_s, sigma_s, overhead_s = (float(facts[place]) for place in (f.MEAN_S, f.SIGMA_S, f.OVERHEAD_S))
                speed = _floats_at(speed_at, n_cores)
                begin(LoopStart(n_tasks, n_cores, step, now_ns, mean_s, sigma_s, overhead_s, speed))
        except BaseException as error:
            self.failed = self.failed or (error, what)
            return -1
        return key

    def _copied(self, key: int) -> int:
        # Only one copy exists at a time: each prediction begins with the job's present object.
        copied = next(self.keys)
        job = self.jobs[key]
        rule = copy.deepcopy(job.rule)
        self.jobs.pop(self.ahead, None)
        self.jobs[copied] = _Job(rule, rule.chunk, Ask(job.ask.n_tasks, job.ask.n_cores))
        self.ahead = copied
        return copied

    def _chunk_called(self) -> Callable[..., int]:
        # A closure, since attributes of self would be looked up at every call.
        jobs, interrupts, view = self.jobs, INTERRUPTS, ctypes.c_double * f.FACTS

        @called_by_kernels
        def called(key: int, core: int, request: int, remaining: int, facts_at: int, speed_at: int) -> int:
            try:
                if interrupts.noted:
                    interrupts.raise_noted()
                job = jobs[key]
                ask = job.ask
                if facts_at != ask._facts_at:
                    ask._facts, ask._facts_at = view.from_address(facts_at), facts_at
                ask._speed_at = speed_at
                ask.core, ask.request, ask.remaining, ask._live = core, request, remaining, True
                if remaining == 0:
                    job.rule.finished(ask)
                    ask._live = False
                    return 0
                size = job.chunk(ask)
                ask._live = False
                if type(size) is int and 1 <= size <= remaining:
                    return size
                return self._checked(size, remaining)
            except BaseException as error:
                self.failed = self.failed or (error, "chunk() failed" if remaining else "finished() failed")
                return -1

        return called

    def _checked(self, size: Any, remaining: int) -> int:
        try:
            number = 0 if isinstance(size, bool | np.bool_) else index(size)
        except TypeError:
            number = 0
        if 1 <= number <= remaining:
            return number
        raise PluginError(
            f"technique {self.name}: chunk() gave {shown(size)}; allowed: 1 to {remaining}, the tasks left"
        )

    def error(self) -> BaseException | None:
        """Return the first exception since the last call, as a fault of the technique if its rule raised it."""
        if self.failed is None:
            return None
        (error, what), self.failed = self.failed, None
        if not isinstance(error, RAISED_BY_PLUGINS) or isinstance(error, TwolevelError):
            return error
        raised = PluginError(f"technique {self.name}: {what}: {raised_text(error)}")
        raised.__cause__ = error
        return raised


@dataclass(frozen=True, init=False, eq=False)
class PythonTechnique(Technique):
    """A technique whose rule is a Python method. Raises InputError if it has no method ``chunk``.

    Parameters
    ----------
    found : type or object
        A class that is called without arguments, or an object, with ``chunk(self, ask)``; see the module.
    written : str
        The name that the user gave, as ``mine.py:Mine``; an attribute ``name`` of ``found`` takes precedence.
    """

    calls: _Calls = field(repr=False, kw_only=True)
    by_memo = False  # its memo only holds the key of its object

    def __init__(self, found: Any, written: str = "") -> None:
        written = written or (found.__name__ if isinstance(found, type) else type(found).__name__)
        if not callable(getattr(found, "chunk", None)):
            raise InputError(f"technique {written}: {shown(found)} has no method chunk(self, ask)")
        is_static = isinstance(inspect.getattr_static(found, "chunk"), staticmethod | classmethod)
        is_bound = not isinstance(found, type) or is_static
        given = (None,) if is_bound else (None, None)
        try:
            inspect.signature(found.chunk).bind(*given)
        except TypeError:
            raise PluginError(f"technique {written}: chunk() cannot be called as chunk(self, ask)") from None
        except ValueError:  # a builtin without a signature
            pass
        own_name = getattr(found, "name", None)
        name = own_name if isinstance(own_name, str) and own_name else written
        make = found if isinstance(found, type) else lambda: copy.deepcopy(found)
        calls = _Calls(name, make)
        object.__setattr__(self, "calls", calls)
        addresses = [ctypes.cast(function, ctypes.c_void_p).value or 0 for function in (calls.chunk_c, calls.begin_c)]
        if max(addresses) >= 2**53:
            raise InputError(f"technique {name}: this machine's addresses are too large for a technique in Python")
        params = (*map(float, addresses), float(callable(getattr(found, "finished", None))))
        super().__init__(name, _next_chunk, memo_size=2, source="the user's", params=params, moments=True, learns=True)

    def error(self) -> BaseException | None:
        """Return the exception raised since the last call, for the caller of the engine to raise; None if there is none."""
        return self.calls.error()

    def forget_all(self) -> None:
        """Drop the objects of all jobs."""
        self.calls.jobs.clear()
