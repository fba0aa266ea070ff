"""One application, simulated in steps: the engine with arrays of its own, for whoever drives it from Python."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from als.application_faults import application_fault
from als.application_parts import (
    MAX_CORES,
    GraphPart,
    checked_wishes,
    edges_of_parts,
    graph_of,
    part_first,
    phase_key,
    phase_rules,
    why_rigid,
)
from als.engine import loop as engine
from als.engine import state as s
from als.engine.codes import ApplicationStatus
from als.engine.dag import state as g
from als.engine.dag.state import Edges
from als.engine.features.hints import hint
from als.engine.features.width import give, open_slot, resize, slot_for, take
from als.engine.hooks import GRAPH_HOOKS, HOOKS, table
from als.engine.injected_changes import lose_for_good, set_speed, stop
from als.engine.scaling import rescale, scaled, set_scale
from als.network.state import NO_NETWORK, NetworkState
from als.options import LATENCY, OVERHEAD
from als.planners import Planner
from als.schedulers import AnyScheduler
from als.streams import fill_round_keys
from traces.algorithms.extremes import extremes
from traces.base.errors import InputError, shown, whole
from traces.base.options import SEED
from traces.base.scale import scale_of
from traces.base.time import MAX_NS
from traces.compiled import Array, own, resized

#: Longest time that a message may take, ns.
MAX_LATENCY_NS = LATENCY.highest

#: The columns that have as many entries as cores.
_BY_CORE = ("speed", "core_number", "latency_ns")

#: What no number is within.
_NONE = (math.nan, math.nan)


class ApplicationSimulator:
    """The application level of one job.

    Parameters
    ----------
    lengths_gflop : array of float64, shape (N,)
        Work of each task, finite and > 0, or >= 0 where there is a graph; N >= 1.
    core_speed_gflops : array of float64, shape (P,)
        Speed of each core, finite; P >= 1. A core of speed 0 is not there until :meth:`set_speed` gives it one.
    technique : Technique, Selection or Planner, optional
        Which core gets which tasks; not with ``phases``.
    start_ns : int
        The job's start on the one simulated clock.
    overhead_ns : int
        What a chunk costs before its tasks.
    latency_ns : array of int64, shape (P,), optional
        What a message between each core and the master takes, 0 to ``MAX_LATENCY_NS``; default 0.
    master : bool
        Whether the master pays the overhead, one request after another, and not each core for itself.
    core_number : array of int64, shape (P,), optional
        What the task records call each core; default 0 … P-1.
    keep_tasks : bool
        Whether to keep the task records.
    phases : sequence of (Technique, Selection, Planner, GraphPart or None), optional
        What the application consists of, in order: loops by their techniques, graphs, and None for a serial part, whose one
        task the first core computes alone. What a planner plans is a graph, without edges too. The next begins when all
        cores have ended one. Default: one loop.
    part_tasks : sequence or array of int, optional
        How many of the tasks each part has, in order; the phases are repeated until there are so many parts. Default: one
        part.
    seed, job : int
        Key of the stream that random techniques draw from.
    edges : Edges, optional
        Of all parts that are graphs; default none.
    core_host : array of int64, shape (P,), optional
        The host of each core, in the machine; default: all on host 0.
    network : NetworkState, optional
        Between the machine's hosts; default none: data are there at once.
    releases : bool
        Whether cores that it does not need any more are released, :attr:`released_ns`; they never come back to it.
    max_cores : int, optional
        The most cores that it has at once, or had and has released, where cores come to it (:meth:`resize`); default P.
    wishes : sequence of int, optional
        For each phase, for how many cores it wishes as a part of that phase begins, :attr:`wishes`; 0 for no wish. The part
        begins 1 ns later, so that there is time for :meth:`resize`. Default: it never wishes.

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

    #: How many times the engine is run from one check of its state to the next (:meth:`validate`); 0: it is never checked.
    checks: int = 0

    def __init__(
        self,
        lengths_gflop: Array | list[float],
        core_speed_gflops: Array | list[float],
        technique: AnyScheduler | None = None,
        *,
        start_ns: int = 0,
        overhead_ns: int = OVERHEAD.default,
        latency_ns: Array | list[int] | None = None,
        master: bool = False,
        core_number: Array | None = None,
        keep_tasks: bool = True,
        phases: Sequence[AnyScheduler | GraphPart | None] | None = None,
        part_tasks: Sequence[int] | Array | None = None,
        seed: int = SEED.default,
        job: int = 0,
        edges: Edges | None = None,
        core_host: Array | list[int] | None = None,
        network: NetworkState = NO_NETWORK,
        releases: bool = False,
        max_cores: int | None = None,
        wishes: Sequence[int] | None = None,
    ) -> None:
        lengths, speed = own(lengths_gflop, np.float64), own(core_speed_gflops, np.float64)
        lowest, highest = extremes(lengths) if lengths.ndim == 1 and lengths.size else _NONE
        kinds = (technique,) if phases is None else tuple(phases)
        has_graph = any(isinstance(kind, GraphPart | Planner) for kind in kinds)
        if not (lowest > 0 or (has_graph and lowest == 0)) or not highest < math.inf:
            raise InputError("lengths_gflop: allowed: at least one number, all finite and above 0")
        lowest, highest = extremes(speed) if speed.ndim == 1 and speed.size else _NONE
        if not 0 <= lowest <= highest < math.inf:
            raise InputError("core_speed_gflops: allowed: at least one number, all finite and none below 0")
        whole("start_ns", start_ns, 0, MAX_NS)
        whole("overhead_ns", overhead_ns, 0, MAX_NS)
        messages = np.zeros(len(speed), np.int64)
        if latency_ns is not None:
            messages = own(latency_ns, np.int64)
            lowest, highest = extremes(messages) if messages.shape == speed.shape else _NONE
            if not 0 <= lowest <= highest <= MAX_LATENCY_NS:
                raise InputError(f"latency_ns: allowed: a number for each of {len(speed)} cores, 0 to {MAX_LATENCY_NS}")
        if (technique is None) == (phases is None):
            raise InputError("technique: allowed: a technique, or phases that have their own")
        first = part_first(kinds, part_tasks, len(lengths), len(speed))
        self._rules, columns = phase_rules(tuple(phase_key(kind) for kind in kinds))
        wanted = None if wishes is None else checked_wishes(wishes, len(kinds))
        n_cores, room = len(speed), len(speed) if max_cores is None else max_cores
        whole("max_cores", room, n_cores, MAX_CORES)
        graph = g.NO_GRAPH
        if has_graph:
            given = edges_of_parts(edges, kinds, first)
            graph = graph_of(given, kinds, first, speed, core_host, network, self._rules, room)
        elif edges is not None:
            raise InputError("edges: given, but no part is a graph; allowed: GraphPart or a planner among the phases")
        self.state = s.new_state(
            lengths=lengths,
            part_first=first,
            phases=columns,
            table=self._rules.table,
            speed=_widened(speed, room),
            core_number=_widened(np.arange(n_cores) if core_number is None else core_number, room),
            latency_ns=_widened(messages, room),
            memo=s.whole_memo(columns, self._rules.table, room),
            keep_tasks=keep_tasks,
            selects=self._rules.selects,
            hooks=table(columns, selects=self._rules.selects, width_requests=wanted is not None),
            graph=graph,
            width_requests=wanted,
        )
        self._room = room
        if room > n_cores:
            self._show(n_cores)
        self._rigid = why_rigid(kinds, network)
        self._uses: frozenset[str] = (
            frozenset()
        )  # what of ``als.engine.hooks.table`` it has used; the rest is not compiled
        self._own_gflops = _widened(speed, room)  # of each slot, as it is before it is scaled
        self._entered = 0
        fill_round_keys(self.state.keys, np.uint64(seed), np.uint64(job))
        engine.begin(self.state, start_ns, overhead_ns, master, releases)

    @property
    def in_graph(self) -> bool:
        """Whether the part that runs is a graph."""
        state = self.state
        return bool(state.phases.kind[state.part % len(state.phases.kind)] == s.GRAPH)

    @property
    def now_ns(self) -> int:
        """Everything before this instant has been simulated."""
        return int(self.state.now_ns)

    @property
    def finished(self) -> bool:
        """Whether the last core has finished, the application was stopped, or it has lost all its cores."""
        return int(self.state.status) in _ENDED

    @property
    def end_ns(self) -> int:
        """When the last core finished; once :attr:`finished`."""
        return int(self.state.cores.finish_ns[: len(self.state.speed)].max())

    @property
    def released_ns(self) -> Array:
        """When the core of each slot was released, int64 (P,); ``NEVER`` where it was not before the end, or, until
        :attr:`finished`, not yet."""
        instants = self.state.cores.released_ns[: len(self.state.speed)]
        released: Array = np.where(instants < self.end_ns, instants, s.NEVER) if self.finished else instants.copy()
        return released

    @property
    def wishes(self) -> list[tuple[int, int]]:
        """When it has wished for how many cores so far, (instant, cores), ascending; each for another number than before, the
        first for another one than it began with."""
        parts = np.flatnonzero(self.state.width_request_ns < s.NEVER)
        cores = self.state.width_requests[parts % len(self.state.phases.kind)]
        return list(zip(self.state.width_request_ns[parts].tolist(), cores.tolist(), strict=True))

    @property
    def stopped(self) -> bool:
        """Whether a stop has cut the application short."""
        return int(self.state.status) == ApplicationStatus.STOPPED

    @property
    def lost(self) -> bool:
        """Whether it has ended with work left because its cores were lost: all of them for good (:meth:`lose`), or again and
        again before any task ended. It has ended then at that instant."""
        return int(self.state.status) == ApplicationStatus.LOST

    @property
    def last_lost(self) -> int:
        """The last of all its cores that was lost for good, if it is :attr:`lost`; -1 where cores came and went instead."""
        return int(self.state.last_lost)

    @property
    def ran(self) -> int:
        """Tasks that ran, at least in part; once :attr:`finished`."""
        return int(self.state.n_ran)

    @property
    def length_gflop(self) -> float:
        """Sum of the task lengths, in task order."""
        return float(self.state.lengths.cumsum()[-1])  # one after another, as everywhere

    @property
    def chunks(self) -> int:
        """Chunks assigned so far."""
        return int(self.state.n_chunks)

    @property
    def scheduling_ns(self) -> int:
        """Time that cores have spent between asking for a chunk and its first task, ns."""
        return int(self.state.scheduling_ns)

    @property
    def chosen(self) -> dict[str, int]:
        """How often each candidate of a selection was chosen; empty if there is none."""
        counts: dict[str, int] = {}
        for name, count in zip(self._rules.names, self.state.chosen.tolist(), strict=False):
            if count:
                counts[name] = counts.get(name, 0) + count
        return counts

    @property
    def ahead_chunks(self) -> int:
        """Chunks that were simulated ahead to choose among techniques."""
        return int(self.state.ahead_chunks)

    @property
    def not_before_ns(self) -> int:
        """An instant before which it cannot end unless something is changed: the end of the last chunk under way."""
        state, asking = self.state, int(self.state.n_asking)
        cores = state.cores.ask_core[:asking]
        if self.in_graph:
            of_tasks = cores < state.graph.cores.does.size  # the kind of an event is in its key
            ends = state.cores.ask_ns[:asking][of_tasks]
            return max(self.now_ns, int(ends.max(initial=0)))
        held = state.cores.held_size[cores] > 0
        ends = state.cores.ask_ns[:asking][held] - state.latency_ns[cores[held]]
        return max(self.now_ns, int(ends.max(initial=0)))

    @property
    def only_messages(self) -> bool:
        """Whether its last task has ended before now, and only requests are under way, to which nothing is left to answer."""
        state = self.state
        latency_ns = state.latency_ns
        if state.part < len(state.part_first) - 2:
            return False
        if self.in_graph:
            return bool(state.graph.n_undone == 0)
        serial = state.phases.kind[state.part % len(state.phases.kind)] == s.SERIAL  # which needs no messages
        if serial or state.n_left > 0:
            return False
        ask_ns, cores = (column[: state.n_asking] for column in (state.cores.ask_ns, state.cores.ask_core))
        held = state.cores.held_size[cores] > 0
        return bool((ask_ns[held] - latency_ns[cores[held]] < self.now_ns).all())

    def forget_all(self) -> None:
        """No application with these techniques runs now: what rules in Python keep for jobs may go."""
        self._rules.forget_all()

    def advance(self, until_ns: int | None = None) -> bool:
        """Simulate everything before ``until_ns`` (default: to the end); returns :attr:`finished`."""
        return self._settle(engine.advance(self.state, s.NEVER if until_ns is None else until_ns))

    def set_speed(self, speed_gflops: float, core: int | None = None) -> None:
        """From now on ``core`` (default: every core) runs at ``speed_gflops``, in the middle of a task too.

        At speed 0 a core is lost, until it has a speed again: what it has not finished is done again, from each task's
        beginning, by others. Where cores come and go so quickly that tasks are put back 100,000 times in a row and none
        ends, the application ends, :attr:`lost`.

        Raises
        ------
        InputError
            If the speed is not finite and from 0 on, or there is no such core.
        """
        if not (math.isfinite(speed_gflops) and speed_gflops >= 0):
            raise InputError(f"speed_gflops: {shown(speed_gflops)}; allowed: finite, from 0 on")
        cores = self._checked(range(len(self.state.speed)) if core is None else (core,))
        self._use("changes")
        for c in cores:
            self._own_gflops[c] = speed_gflops
            self._settle(set_speed(self.state, c, scaled(self.state, c, speed_gflops)))

    def scale(self, factor: float, cores: Iterable[int] | None = None, *, at_ns: int | None = None) -> None:
        """From now on ``cores`` (default: every core, and those that come) run at ``factor`` times their own speeds.

        Their own speeds are those at the start, or since :meth:`set_speed`, which a later one scales, too.

        Parameters
        ----------
        factor : float
            0.001 to 2; rounded to nine places.
        cores : iterable of int, optional
            Counted within the application.
        at_ns : int, optional
            Since when: :attr:`now_ns`, the default, or one ns before, behind the requests that arrived then.

        Raises
        ------
        InputError
            If the factor or the instant is out of range, or there is no such core.
        """
        state, now = self.state, self.now_ns
        scale = scale_of(factor)
        if at_ns is not None and not (max(now - 1, int(state.began_ns)) <= at_ns <= now):
            raise InputError(f"at_ns: {shown(at_ns)}; allowed: {now}, or one ns before, from the start on")
        named = [-1] if cores is None else self._checked(cores)
        self._use("changes")
        for core in named:
            set_scale(state, core, scale)
        self._settle(rescale(state, self._own_gflops[: len(state.speed)], now if at_ns is None else at_ns))

    def lose(self, core: int | None = None) -> None:
        """``core`` (default: every core), there or not, is lost for good: it does not come back.

        As :meth:`set_speed` with 0. With the last of all cores that have not been released the application ends, now: it is
        :attr:`finished` and, if work was left, :attr:`lost`.

        Raises
        ------
        InputError
            If there is no such core.
        """
        cores = self._checked(range(len(self.state.speed)) if core is None else (core,))
        self._use("changes")
        for c in cores:
            self._settle(lose_for_good(self.state, c))

    def hint(self, cores: Iterable[int]) -> None:
        """From now on other jobs wait for these cores, and for no others: they are served last (``als.engine.features.hints``).

        Parameters
        ----------
        cores : iterable of int
            Counted within the application.

        Raises
        ------
        InputError
            If there is no such core.
        """
        wanted = np.zeros(len(self.state.speed), np.uint8)
        wanted[self._checked(cores)] = 1
        self._use("hints")
        hint(self.state, wanted)

    @property
    def staying(self) -> list[int]:
        """The slots of the cores that are its own, there or not, and are not to leave."""
        state, n = self.state, len(self.state.speed)
        gone = state.cores.released_ns[:n] != s.NEVER
        found: list[int] = np.flatnonzero(~gone & (state.cores.wanted[:n] != s.TO_LEAVE)).tolist()
        return found

    def resize(
        self, given: Sequence[tuple[int, float, int]] = (), taken: Sequence[int] = (), *, cost_ns: int = 0
    ) -> list[int]:
        """From now on it has other cores (``als.engine.features.width``): a decision of whoever gives it cores.

        Parameters
        ----------
        given : sequence of (int, float, int)
            Of each core that comes its number in the records, its speed, GFLOP/s, and what a message between it and the
            master takes, ns. At speed 0 it is not there until :meth:`set_speed` gives it one.
        taken : sequence of int
            The cores that are to leave, by their slots: its cores at the start, then the others as they came; one that comes
            has the first slot whose core was gone before.
        cost_ns : int
            What each core that stays, or comes, pays once, before its next chunk.

        Returns
        -------
        list of int
            The slots of the cores that come; none once it is :attr:`finished`.

        Raises
        ------
        InputError
            If there is a graph whose data take time, or whose tasks are mapped; or a core that is to leave is not there, or
            leaves already; or none stays; or there are more than ``max_cores``. Nothing has changed then.
        """
        state, room = self.state, self._room
        if self._rigid:
            raise InputError(f"resize: {self._rigid}")
        whole("cost_ns", cost_ns, 0, MAX_NS)
        n, stay = len(state.speed), self.staying
        if len(set(taken)) < len(taken) or not set(taken) <= set(stay) or len(taken) == len(stay):
            raise InputError(f"taken: {shown(list(taken))}; allowed: some, not all, of {shown(stay)}, none twice")
        for number, gflops, latency in given:
            if not (0 <= gflops < math.inf and 0 <= latency <= MAX_LATENCY_NS):
                raise InputError(
                    f"given: core {number}: speed {shown(gflops)}, latency {shown(latency)}; allowed: from 0 on"
                )
        free = int((state.cores.released_ns[:n] < self.now_ns).sum())
        if len(given) > free + room - n:
            raise InputError(f"given: {len(given)} cores; allowed: {free + room - n}, as max_cores is {room}")
        if self.finished:
            return []
        slots = []
        if self._use("resizes"):
            self._make_room()
        for core in taken:
            take(state, core)
        for number, gflops, latency in given:
            slot = slot_for(state)
            if slot == len(state.speed):
                self._show(slot + 1)
                open_slot(state, slot)
            self._own_gflops[slot] = gflops
            give(state, slot, number, gflops, latency)
            slots.append(slot)
        resize(state, cost_ns)
        return slots

    def _make_room(self) -> None:
        # For what is planned anew, where there are graphs.
        state = self.state
        if state.graph is g.NO_GRAPH:
            return
        plans = bool(self._rules.planners)
        longest = int(np.diff(state.part_first).max()) if plans else 0
        edges = int(np.diff(state.graph.edge_first).max(initial=0)) if plans else 0
        state.graph.replanning = g.replanning_room(longest, edges, self._room)

    def _show(self, n_cores: int) -> None:
        # Let so many of the slots be in use.
        state = self.state
        for name in _BY_CORE:
            setattr(state, name, resized(getattr(state, name), n_cores))
        state.memo = resized(state.memo, s.whole_memo(state.phases, self._rules.table, n_cores))

    def stop(self) -> None:
        """End the application now: running tasks are cut, the others never run (their records hold -1).

        One whose last task ends at this very instant has completed, and is not :attr:`stopped`.
        """
        self._use("changes")
        self._settle(stop(self.state))

    def run_to_stop(self, stop_ns: int) -> bool:
        """Simulate to the end, or up to :meth:`stop` at ``stop_ns``; returns whether the application completed, and was neither
        stopped nor :attr:`lost`.

        Raises
        ------
        InputError
            If ``stop_ns`` lies before :attr:`now_ns` and the application has not finished.
        """
        if stop_ns < self.now_ns and not self.finished:
            raise InputError(f"stop_ns: {shown(stop_ns)}; allowed: from now, {self.now_ns}, on")
        self._use("changes")
        self._settle(engine.run_until_stop(self.state, stop_ns))
        return not (self.stopped or self.lost)

    def validate(self) -> None:
        """See that everything holds of the engine's state that must hold between two calls (``als.engine.validation``).

        Raises
        ------
        InvariantError
            If something does not; the message names the core or the task.
        """
        from als.engine.validation import validate  # which a run that is not checked need not load

        validate(self.state)

    def _checked(self, cores: Iterable[int]) -> list[int]:
        named, n_cores = list(cores), len(self.state.speed)
        for core in named:
            if not 0 <= core < n_cores:
                raise InputError(f"core: {shown(core)}; allowed: 0 to {n_cores - 1}")
        return named

    def _use(self, feature: str) -> bool:
        # Fill the hooks of a feature; returns whether it is used for the first time.
        if feature in self._uses:
            return False
        self._uses |= {feature}
        self._fill_hooks()
        return True

    def _fill_hooks(self) -> None:
        used, asks = dict.fromkeys(self._uses, True), len(self.state.width_requests) > 0
        self.state.hooks = table(self.state.phases, selects=self._rules.selects, width_requests=asks, **used)

    def _settle(self, status: int) -> bool:
        HOOKS.check()
        GRAPH_HOOKS.check()
        if status == ApplicationStatus.SUSPENDED or status in _ENDED:
            self._entered += 1
            if self.checks and (status != ApplicationStatus.SUSPENDED or self._entered % self.checks == 0):
                self.validate()
            return status != ApplicationStatus.SUSPENDED
        raise application_fault(status, self.state, self._rules)


#: How an application can have ended.
_ENDED = (ApplicationStatus.FINISHED, ApplicationStatus.STOPPED, ApplicationStatus.LOST)


def _widened(values: Array, n: int) -> Array:
    """Return a copy with room for ``n`` numbers, padded with zeros; ``np.pad`` takes ten times as long."""
    wide = np.zeros(n, values.dtype)
    wide[: len(values)] = values
    return wide
