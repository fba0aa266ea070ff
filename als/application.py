"""One application, simulated in steps from Python, with its own arrays for the engine."""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from als import application_parts as parts
from als.application_faults import application_fault
from als.engine import loop as engine
from als.engine import state as s
from als.engine.codes import ApplicationStatus
from als.engine.dag import state as g
from als.engine.dag.state import Edges
from als.engine.devices import NO_DEVICES
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

if TYPE_CHECKING:
    from als.workers import WorkerSlots

MAX_LATENCY_NS = LATENCY.highest  #: longest time of a message, ns
_BY_CORE = ("speed", "core_number", "latency_ns")  #: columns with an entry for each core
_NONE = (math.nan, math.nan)  #: limits that contain no number


def _number(name: str, doc: str) -> Any:
    # A property of the simulator: a number of the engine's state.
    return property(lambda application: int(getattr(application.state, name)), doc=doc)


class ApplicationSimulator:
    """The application level of one job.

    Raises InputError if an argument is out of range. Any method raises PluginError if the technique's answer is impossible.

    Parameters
    ----------
    lengths_gflop : array of float64, shape (N,)
        Work of each task, finite and > 0, or >= 0 with a graph; N >= 1.
    core_speed_gflops : array of float64, shape (P,)
        Speed of each core, finite; P >= 1. A core of speed 0 is absent until :meth:`set_speed` gives it another.
    technique : Technique, Selection or Planner, optional
        The rule that assigns tasks to cores; not with ``phases``.
    start_ns : int
        The job's start.
    overhead_ns : int
        Time before each chunk.
    latency_ns : array of int64, shape (P,), optional
        Time of a message between each core and the master, 0 to ``MAX_LATENCY_NS``; default 0.
    master : bool
        Whether the master pays the overhead, one request after another; otherwise each core pays it.
    core_number : array of int64, shape (P,), optional
        The number of each core in the task records; default 0 … P-1.
    keep_tasks : bool
        Whether to keep the task records.
    phases : sequence of (Technique, Selection, Planner, GraphPart or None), optional
        The phases in order, with a barrier after each: loops by their techniques, graphs, and None for a serial part, whose
        one task the first core computes. A phase with a planner is a graph, also without edges. Default: one loop.
    part_tasks : sequence or array of int, optional
        The number of tasks of each part, in order; the phases are repeated for all parts. Default: one part.
    seed, job : int
        Key of the stream for random techniques.
    edges : Edges, optional
        Edges of all parts that are graphs; default none.
    core_host : array of int64, shape (P,), optional
        The host of each core, in the machine; default: all on host 0.
    network : NetworkState, optional
        The network between the machine's hosts; default none: data arrive at once.
    releases : bool
        Whether cores that the application no longer needs are released for good (:attr:`released_ns`).
    max_cores : int, optional
        The largest number of its cores at once, including released ones, if cores are added (:meth:`resize`); default P.
    wishes : sequence of int, optional
        For each phase, the number of cores requested when a part of that phase begins (:attr:`wishes`); 0: no request. The
        part begins 1 ns later, so that there is time for :meth:`resize`. Default: no requests.
    workers : WorkerSlots, optional
        Which slots are no cores; ``core_speed_gflops`` are then the speeds of slots. Default: all are cores.

    Examples
    --------
    >>> from als.techniques.fixed.ss import SS
    >>> application = ApplicationSimulator([2.0, 1.0, 1.0], [1.0, 1.0], SS)
    >>> application.advance()
    True
    >>> application.end_ns
    2000000000
    """

    #: The state is checked (:meth:`validate`) after this number of runs of the engine; 0: never.
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
        phases: Sequence[AnyScheduler | parts.GraphPart | None] | None = None,
        part_tasks: Sequence[int] | Array | None = None,
        seed: int = SEED.default,
        job: int = 0,
        edges: Edges | None = None,
        core_host: Array | list[int] | None = None,
        network: NetworkState = NO_NETWORK,
        releases: bool = False,
        max_cores: int | None = None,
        wishes: Sequence[int] | None = None,
        workers: "WorkerSlots | None" = None,
    ) -> None:
        lengths, speed = own(lengths_gflop, np.float64), own(core_speed_gflops, np.float64)
        lowest, highest = extremes(lengths) if lengths.ndim == 1 and lengths.size else _NONE
        kinds = (technique,) if phases is None else tuple(phases)
        has_graph = any(isinstance(kind, parts.GraphPart | Planner) for kind in kinds)
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
        if workers is not None:
            workers.check(len(speed))
            kinds = tuple(parts.unlike_parts(kinds, workers, speed))
        first = parts.part_first(kinds, part_tasks, len(lengths), len(speed))
        self._rules, columns = parts.phase_rules(tuple(parts.phase_key(kind) for kind in kinds))
        wanted = None if wishes is None else parts.checked_wishes(wishes, len(kinds))
        n_cores, room = len(speed), len(speed) if max_cores is None else max_cores
        whole("max_cores", room, n_cores, parts.MAX_CORES)
        devices = NO_DEVICES
        if workers is not None:
            devices = workers.state(
                len(kinds), len(lengths), keep_tasks=keep_tasks, core_host=core_host, network=network
            )
        graph = g.NO_GRAPH
        if has_graph:
            given = parts.edges_of_parts(edges, kinds, first)
            graph = parts.graph_of(given, kinds, first, speed, core_host, network, self._rules, room)
        elif edges is not None:
            raise InputError("edges: given, but no part is a graph; allowed: GraphPart or a planner among the phases")
        # The used features of ``als.engine.hooks.table``; the others are not compiled.
        self._uses: frozenset[str] = frozenset()
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
            hooks=self._table(columns, width_requests=wanted is not None, devices=workers is not None),
            graph=graph,
            devices=devices,
            width_requests=wanted,
        )
        self._room = room
        if room > n_cores:
            self._show(n_cores)
        self._rigid = parts.why_rigid(kinds, network)
        self._fixed = workers is not None and workers.fixed
        self._own_gflops = _widened(speed, room)  # speed of each slot before it is scaled
        self._entered = 0
        fill_round_keys(self.state.keys, np.uint64(seed), np.uint64(job))
        engine.begin(self.state, start_ns, overhead_ns, master, releases)

    ran: int = _number("n_ran", "The number of tasks that ran, at least in part, if :attr:`finished`.")
    chunks: int = _number("n_chunks", "Chunks assigned so far.")
    scheduling_ns: int = _number(
        "scheduling_ns", "Time of cores between requests for chunks and their first tasks, ns."
    )
    ahead_chunks: int = _number("ahead_chunks", "Chunks simulated ahead to choose among techniques.")
    last_lost: int = _number(
        "last_lost", "The core that was lost for good last, if it is :attr:`lost`; -1 if cores came and went instead."
    )
    now_ns: int = _number("now_ns", "The instant before which everything has been simulated.")

    @property
    def in_graph(self) -> bool:
        """Whether the running part is a graph."""
        state = self.state
        return bool(state.phases.kind[state.part % len(state.phases.kind)] == s.GRAPH)

    @property
    def finished(self) -> bool:
        """Whether the last core has finished, the application was stopped, or it has lost all its cores."""
        return int(self.state.status) in _ENDED

    @property
    def end_ns(self) -> int:
        """The end of the last core, if :attr:`finished`."""
        return int(self.state.cores.finish_ns[: len(self.state.speed)].max())

    @property
    def released_ns(self) -> Array:
        """The release of the core of each slot, int64 (P,); ``NEVER`` if it was not released before the end, or has not been
        released so far."""
        instants = self.state.cores.released_ns[: len(self.state.speed)]
        released: Array = np.where(instants < self.end_ns, instants, s.NEVER) if self.finished else instants.copy()
        return released

    @property
    def wishes(self) -> list[tuple[int, int]]:
        """The requests for other numbers of cores so far, (instant, cores), ascending; each differs from the one before, the
        first from the initial number."""
        parts = np.flatnonzero(self.state.width_request_ns < s.NEVER)
        cores = self.state.width_requests[parts % len(self.state.phases.kind)]
        return list(zip(self.state.width_request_ns[parts].tolist(), cores.tolist(), strict=True))

    @property
    def stopped(self) -> bool:
        """Whether it was stopped before its end."""
        return int(self.state.status) == ApplicationStatus.STOPPED

    @property
    def lost(self) -> bool:
        """Whether it has ended with work left because its cores were lost: all of them for good (:meth:`lose`), or repeatedly
        before any task ended."""
        return int(self.state.status) == ApplicationStatus.LOST

    @property
    def length_gflop(self) -> float:
        """Sum of the task lengths, in task order."""
        return float(self.state.lengths.cumsum()[-1])  # one after another, as everywhere

    @property
    def chosen(self) -> dict[str, int]:
        """The number of times that each candidate of a selection was chosen; empty without a selection."""
        counts: dict[str, int] = {}
        for name, count in zip(self._rules.names, self.state.chosen.tolist(), strict=False):
            if count:
                counts[name] = counts.get(name, 0) + count
        return counts

    @property
    def not_before_ns(self) -> int:
        """An instant before which it cannot end without external changes: the end of the last running chunk."""
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
        """Whether its last task has ended before now, and only requests remain, all to be answered with nothing."""
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
        """Drop everything that rules in Python keep for jobs; no application with these techniques may be running."""
        self._rules.forget_all()

    def advance(self, until_ns: int | None = None) -> bool:
        """Simulate everything before ``until_ns``, an instant in ns (default: to the end); return :attr:`finished`."""
        return self._settle(engine.advance(self.state, s.NEVER if until_ns is None else until_ns))

    def set_speed(self, speed_gflops: float, core: int | None = None) -> None:
        """Change the speed of a core from now on, also in the middle of a task.

        At speed 0 a core is lost until it has a speed again: others repeat its unfinished tasks from their beginning. If tasks
        are put back 100,000 times in a row and none ends, the application ends, :attr:`lost`.

        Parameters
        ----------
        speed_gflops : float
            The new speed, GFLOP/s, finite, from 0 on.
        core : int, optional
            The core, counted within the application; default: every core.

        Raises
        ------
        InputError
            If the speed is not allowed, or there is no such core.
        """
        if not (math.isfinite(speed_gflops) and speed_gflops >= 0):
            raise InputError(f"speed_gflops: {shown(speed_gflops)}; allowed: finite, from 0 on")
        self._check_loose("set_speed")
        cores = self._checked(range(len(self.state.speed)) if core is None else (core,))
        self._use("changes")
        for c in cores:
            self._own_gflops[c] = speed_gflops
            self._settle(set_speed(self.state, c, scaled(self.state, c, speed_gflops)))

    def scale(self, factor: float, cores: Iterable[int] | None = None, *, at_ns: int | None = None) -> None:
        """Multiply the own speeds of cores, those at the start or from :meth:`set_speed`, by a factor from now on.

        Parameters
        ----------
        factor : float
            0.001 to 2, rounded to nine places.
        cores : iterable of int, optional
            The cores, counted within the application; default: every core, including later ones.
        at_ns : int, optional
            :attr:`now_ns`, the default, or one ns earlier, after the requests that arrived then.

        Raises
        ------
        InputError
            If the factor or the instant is out of range, or there is no such core.
        """
        self._check_loose("scale")
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
        """Lose ``core`` (default: every core), present or not, for good; otherwise as :meth:`set_speed` with 0.

        When the last core that has not been released is lost, the application ends: it is :attr:`finished` and, if work was
        left, :attr:`lost`.

        Raises
        ------
        InputError
            If there is no such core.
        """
        self._check_loose("lose")
        cores = self._checked(range(len(self.state.speed)) if core is None else (core,))
        self._use("changes")
        for c in cores:
            self._settle(lose_for_good(self.state, c))

    def hint(self, cores: Iterable[int]) -> None:
        """Note that other jobs wait for exactly these cores, counted within the application: they are served last
        (``als.engine.features.hints``).

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
        """The slots of its cores, present or not, that are not about to leave."""
        state, n = self.state, len(self.state.speed)
        gone = state.cores.released_ns[:n] != s.NEVER
        found: list[int] = np.flatnonzero(~gone & (state.cores.wanted[:n] != s.TO_LEAVE)).tolist()
        return found

    def resize(
        self, given: Sequence[tuple[int, float, int]] = (), taken: Sequence[int] = (), *, cost_ns: int = 0
    ) -> list[int]:
        """Add and remove cores from now on (``als.engine.features.width``).

        Parameters
        ----------
        given : sequence of (int, float, int)
            For each added core its number in the records, its speed, GFLOP/s, and the time of a message between it and the
            master, ns. At speed 0 it is absent until :meth:`set_speed` gives it another.
        taken : sequence of int
            The slots of removed cores: slots are numbered in the order of the initial cores, then of the added ones; an added
            core takes the first slot that was free before.
        cost_ns : int
            Time that each remaining or added core loses once, before its next chunk.

        Returns
        -------
        list of int
            The slots of added cores; none once it is :attr:`finished`.

        Raises
        ------
        InputError
            If there is a graph with data that take time, or with mapped tasks; or a removed core is absent, or is leaving
            already; or no core stays; or there would be more than ``max_cores``. Nothing has changed then.
        """
        self._check_loose("resize")
        state, room = self.state, self._room
        if self._rigid:
            raise InputError(f"resize: {self._rigid}")
        whole("cost_ns", cost_ns, 0, MAX_NS)
        n, stay = len(state.speed), self.staying
        if len(set(taken)) < len(taken) or not set(taken) <= set(stay) or len(taken) == len(stay):
            raise InputError(f"taken: {shown(list(taken))}; allowed: some, not all, of {shown(stay)}, none twice")
        for number, gflops, latency in given:
            if not (0 <= gflops < math.inf and 0 <= latency <= MAX_LATENCY_NS):
                numbers = f"speed {shown(gflops)}, latency {shown(latency)}"
                raise InputError(f"given: core {number}: {numbers}; allowed: from 0 on")
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
        # For planning graphs again.
        state = self.state
        if state.graph is g.NO_GRAPH:
            return
        plans = bool(self._rules.planners)
        longest = int(np.diff(state.part_first).max()) if plans else 0
        edges = int(np.diff(state.graph.edge_first).max(initial=0)) if plans else 0
        state.graph.replanning = g.replanning_room(longest, edges, self._room)

    def _show(self, n_cores: int) -> None:
        # Use this number of slots.
        state = self.state
        for name in _BY_CORE:
            setattr(state, name, resized(getattr(state, name), n_cores))
        state.memo = resized(state.memo, s.whole_memo(state.phases, self._rules.table, n_cores))

    def stop(self) -> None:
        """End the application now: running tasks are cut, the others never run (their records hold -1). If its last task ends
        at this instant, it has completed and is not :attr:`stopped`."""
        self._use("changes")
        self._settle(stop(self.state))

    def run_to_stop(self, stop_ns: int) -> bool:
        """Simulate to the end, or to :meth:`stop` at ``stop_ns``.

        Returns
        -------
        bool
            Whether it completed: it was neither stopped nor :attr:`lost`.

        Raises
        ------
        InputError
            If ``stop_ns`` is before :attr:`now_ns` and it has not finished.
        """
        if stop_ns < self.now_ns and not self.finished:
            raise InputError(f"stop_ns: {shown(stop_ns)}; allowed: from now, {self.now_ns}, on")
        self._use("changes")
        self._settle(engine.run_until_stop(self.state, stop_ns))
        return not (self.stopped or self.lost)

    def validate(self) -> None:
        """Check the invariants of the engine's state between two calls (``als.engine.validation``).

        Raises
        ------
        InvariantError
            If one does not hold; it names the core or the task.
        """
        from als.engine.validation import validate  # not needed by runs without checks

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
        asks, devices = len(self.state.width_requests) > 0, len(self.state.devices.slots.kind) > 0
        self.state.hooks = self._table(self.state.phases, width_requests=asks, devices=devices)
        return True

    def _table(self, phases: s.Phases, **used: bool) -> Array:
        return table(phases, selects=self._rules.selects, **used, **dict.fromkeys(self._uses, True))

    def _check_loose(self, what: str) -> None:
        if self._fixed:
            raise InputError(f"{what}: some workers are no cores; allowed: cores alone")

    def _settle(self, status: int) -> bool:
        HOOKS.check()
        GRAPH_HOOKS.check()
        if status == ApplicationStatus.SUSPENDED or status in _ENDED:
            self._entered += 1
            if self.checks and (status != ApplicationStatus.SUSPENDED or self._entered % self.checks == 0):
                self.validate()
            return status != ApplicationStatus.SUSPENDED
        raise application_fault(status, self.state, self._rules)


#: The states of an application that has ended.
_ENDED = (ApplicationStatus.FINISHED, ApplicationStatus.STOPPED, ApplicationStatus.LOST)


def _widened(values: Array, n: int) -> Array:
    """Return a copy with room for ``n`` numbers, padded with zeros; ``np.pad`` takes ten times as long."""
    wide = np.zeros(n, values.dtype)
    wide[: len(values)] = values
    return wide
