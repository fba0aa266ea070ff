"""One application, simulated in steps: the engine with arrays of its own, for whoever drives it from Python."""

from __future__ import annotations

import math

import numpy as np

from als import engine
from als.techniques import NEXT_CHUNK, Technique
from traces.compiled import Array, as_value
from traces.errors import InputError, PluginError, shown
from traces.time import MAX_NS

__all__ = ["Application"]


class Application:
    """The application level of one job.

    Parameters
    ----------
    lengths_gflop : array of float64, shape (N,)
        Work of each task, > 0 and finite; N >= 1.
    core_speed_gflops : array of float64, shape (P,)
        Speed of each core, > 0 and finite; P >= 1.
    technique : Technique
        Which core gets which tasks.
    start_ns : int
        The job's start on the one simulated clock.
    overhead_ns : int
        What a core pays before each chunk.
    core_number : array of int64, shape (P,), optional
        What the task records call each core; default 0 … P-1.
    keep_tasks : bool
        Whether to keep the task records.

    Raises
    ------
    InputError
        If an argument is out of range.
    PluginError
        From any method, if the technique's answer is impossible; the message names it.

    Examples
    --------
    >>> from als.techniques import SS
    >>> application = Application([2.0, 1.0, 1.0], [1.0, 1.0], SS)
    >>> application.advance()
    True
    >>> application.end_ns
    2000000000
    """

    def __init__(
        self,
        lengths_gflop: Array | list[float],
        core_speed_gflops: Array | list[float],
        technique: Technique,
        *,
        start_ns: int = 0,
        overhead_ns: int = 0,
        core_number: Array | None = None,
        keep_tasks: bool = True,
    ) -> None:
        lengths = np.asarray(lengths_gflop, np.float64)
        speed = np.asarray(core_speed_gflops, np.float64)
        for name, values in (("lengths_gflop", lengths), ("core_speed_gflops", speed)):
            if values.ndim != 1 or len(values) == 0 or not (np.isfinite(values).all() and (values > 0).all()):
                raise InputError(f"{name}: allowed: at least one number, all finite and above 0")
        if not 0 <= start_ns <= MAX_NS:
            raise InputError(f"start_ns: {shown(start_ns)}; allowed: 0 to {MAX_NS}")
        if not 0 <= overhead_ns <= MAX_NS:
            raise InputError(f"overhead_ns: {shown(overhead_ns)}; allowed: 0 to {MAX_NS}")
        self.technique = technique
        numbers = np.arange(len(speed)) if core_number is None else core_number
        self.state = engine.new_state(lengths, speed, numbers, technique.memo_size, keep_tasks=keep_tasks)
        try:
            self._next_chunk = as_value(technique.next_chunk, NEXT_CHUNK)
        except TypeError as error:
            raise PluginError(f"application technique {technique.name}: {error}; use technique_kernel") from None
        engine.begin(self.state, start_ns, overhead_ns)

    @property
    def now_ns(self) -> int:
        """Everything before this instant has been simulated."""
        return int(self.state.counters[engine.NOW])

    @property
    def finished(self) -> bool:
        """Whether the last core has finished or the application was stopped."""
        return int(self.state.counters[engine.STATUS]) in (engine.FINISHED, engine.STOPPED)

    @property
    def end_ns(self) -> int:
        """When the last core finished; once :attr:`finished`."""
        return int(engine.end_ns(self.state))

    @property
    def stopped(self) -> bool:
        """Whether a stop has cut the application short."""
        return int(self.state.counters[engine.STATUS]) == engine.STOPPED

    @property
    def ran(self) -> int:
        """Tasks that ran, at least in part; once :attr:`finished`."""
        return int(self.state.counters[engine.RAN])

    @property
    def length_gflop(self) -> float:
        """Sum of the task lengths, in task order."""
        return float(engine.total_gflop(self.state))

    @property
    def chunks(self) -> int:
        """Chunks assigned so far."""
        return int(self.state.counters[engine.CHUNKS])

    def advance(self, until_ns: int | None = None) -> bool:
        """Simulate everything before ``until_ns`` (default: to the end); returns :attr:`finished`."""
        return self._settle(
            engine.advance(self.state, self._next_chunk, engine.NEVER if until_ns is None else until_ns)
        )

    def set_speed(self, speed_gflops: float, core: int | None = None) -> None:
        """From now on ``core`` (default: every core) runs at ``speed_gflops``, in the middle of a task too.

        Raises
        ------
        InputError
            If the speed is not finite and above 0, or there is no such core.
        """
        n_cores = len(self.state.speed)
        if not (math.isfinite(speed_gflops) and speed_gflops > 0):
            raise InputError(f"speed_gflops: {shown(speed_gflops)}; allowed: finite and above 0")
        if core is not None and not 0 <= core < n_cores:
            raise InputError(f"core: {shown(core)}; allowed: 0 to {n_cores - 1}")
        for c in range(n_cores) if core is None else (core,):
            self._settle(engine.set_speed(self.state, c, speed_gflops))

    def stop(self) -> None:
        """End the application now: running tasks are cut, the others never run (their records hold -1).

        One whose last task ends at this very instant has completed, and is not :attr:`stopped`.
        """
        self._settle(engine.stop(self.state))

    def run_to_stop(self, stop_ns: int) -> bool:
        """Simulate to the end, or up to :meth:`stop` at ``stop_ns``; returns whether the application completed.

        Raises
        ------
        InputError
            If ``stop_ns`` lies before :attr:`now_ns` and the application has not finished.
        """
        if stop_ns < self.now_ns and not self.finished:
            raise InputError(f"stop_ns: {shown(stop_ns)}; allowed: from now, {self.now_ns}, on")
        self._settle(engine.run_until_stop(self.state, self._next_chunk, stop_ns))
        return not self.stopped

    def _settle(self, status: int) -> bool:
        if status in (engine.SUSPENDED, engine.FINISHED, engine.STOPPED):
            return status != engine.SUSPENDED
        raise application_fault(status, self.technique)


def application_fault(status: int, technique: Technique, job: str = "") -> Exception:
    """The error for a fault of the application engine; ``job`` as ``"job 17: "`` where it is known."""
    if status == engine.ANSWER_OUT_OF_RANGE:
        return PluginError(f"{job}application technique {technique.name} gave a chunk outside 0 to the remaining tasks")
    if status == engine.TASKS_LEFT:
        return PluginError(f"{job}application technique {technique.name} sent every core away with tasks left")
    return InputError(f"{job}the application would not end before the last simulated instant, {MAX_NS} ns")
