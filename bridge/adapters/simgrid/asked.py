"""Decisions of the project's techniques and planners while SimGrid runs a job: chunk sizes, plans, orders of waiting tasks."""

from collections.abc import Sequence

import numpy as np

from als.application import ApplicationSimulator
from als.application_parts import GraphPart
from als.engine.dag import state as g
from als.engine.dag.state import Edges
from als.network.state import NO_NETWORK
from als.planners import Planner
from als.streams import CHUNKS, uniform_from_word
from als.techniques import Technique
from als.techniques import contract as f
from bridge.protocol.messages import ALL_CORES, Change, SimulateJob
from bridge.protocol.network_fields import state_of
from bridge.protocol.packing import unpack_float64, unpack_int32, unpack_int64
from bridge.workers.drawn_job import DrawnJob
from traces.base.errors import PluginError
from traces.compiled import Array


class JobSchedulers:
    """The techniques and planners of one job. Instants are ns from its start, and never decrease from call to call."""

    def __init__(self, start: SimulateJob, drawn: DrawnJob) -> None:
        assert start.recipe is not None
        self._start, self._drawn = start, drawn
        self._key = np.array([start.recipe.seed, start.recipe.job_number], np.uint64)
        self._speed = np.array(unpack_float64(start.core_speed_gflops))
        self._changes: list[Change] = []
        latency = None if start.latency_ns is None else unpack_int64(start.latency_ns)
        messages = 0.0 if latency is None else 2.0 * float(np.sum(latency, dtype=np.float64))
        self._facts = np.zeros(f.FACTS)
        self._facts[f.OVERHEAD_S] = (float(start.overhead_ns) + messages / len(self._speed)) / 1e9
        self._memos = [self._memo(phase) for phase in drawn.phases]
        self._phase = self._tasks = self._repeats = 0

    def _memo(self, phase: object) -> Array:
        technique = technique_of(phase)
        size = 0 if technique is None else technique.memo_size + len(self._speed) * technique.memo_per_core
        return np.zeros(size)

    def change(self, changes: Sequence[Change]) -> None:
        """Add future speeds of cores, none before the present instant."""
        self._changes = sorted([*self._changes, *changes], key=lambda change: change.at_ns)

    def begin(self, part: int, number: int, now_ns: int, n_tasks: int, mean_gflop: float, sigma_gflop: float) -> None:
        """Begin a loop (``number`` −1) or a round of a graph, whose tasks have this mean and this standard deviation."""
        self._pass_to(now_ns)
        self._repeats += number > 0
        self._phase, self._tasks = part % len(self._drawn.phases), n_tasks
        technique = self._technique
        if not technique.learns:
            self._memos[self._phase][:] = 0.0
        if technique.moments:
            a_core = float(self._speed.sum()) / len(self._speed)
            self._facts[f.MEAN_S], self._facts[f.SIGMA_S] = mean_gflop / a_core, sigma_gflop / a_core
        self._facts[f.STEP] = float(part // len(self._drawn.phases) + (self._repeats if number >= 0 else 0))

    @property
    def _technique(self) -> Technique:
        technique = technique_of(self._drawn.phases[self._phase])
        assert technique is not None
        return technique

    def size(self, core: int, request: int, left: int, chunks: int, now_ns: int, *last: float) -> tuple[int, int]:
        """The number of tasks for a core, and the first task of the chunk within the loop, -1 for the next one. ``core``,
        ``request`` and ``left`` are those of ``als.techniques.contract``; with ``left`` 0 the technique is only notified of
        the last chunk. ``chunks``: number assigned so far in the job. ``last``: size, work (ns), total time (ns) and squares
        of the core's last chunk. Raises PluginError if the technique's answer is impossible."""
        self._pass_to(now_ns)
        technique, facts = self._technique, self._facts
        facts[f.NOW_NS] = float(self._start.start_ns + now_ns)
        facts[[f.LAST_SIZE, f.LAST_WORK_NS, f.LAST_TOTAL_NS, f.LAST_SQUARES]] = last
        if technique.random:
            words = np.random.Philox(key=self._key, counter=[chunks, 0, 0, CHUNKS])
            facts[f.UNIFORM] = uniform_from_word(np.uint64(words.random_raw()))
        params = np.array(technique.params, np.float64)
        memo, n_cores = self._memos[self._phase], len(self._speed)
        arrays = {"facts": facts, "speed": self._speed, "params": params, "memo": memo}
        size = technique.asked(self._tasks, n_cores, core, request, left, **arrays)
        if left == 0:
            return 0, -1
        if not 0 <= size <= left:
            if (raised := technique.error()) is not None:
                raise raised
            named = f"application technique {technique.name}"
            raise PluginError(f"{named} gave a chunk of {size}; allowed: 0 to the remaining tasks, {left}")
        return size, int(facts[f.FIRST]) if technique.places and size else -1

    def sequences(self, part: int, now_ns: int) -> list[list[int]]:
        """The tasks of each core, counted within the part, in a planner's order."""
        graph = self._posed(part, now_ns)
        plan, in_order = graph.tasks.plan, graph.tasks.in_position
        found: list[list[int]] = [[] for _ in self._speed]
        for task in in_order.tolist():
            found[plan[task]].append(task)
        return found

    def positions(self, part: int, now_ns: int) -> list[int]:
        """The position of each task, counted within the part, in the order of waiting tasks."""
        places: list[int] = self._posed(part, now_ns).tasks.position.tolist()
        return places

    def _posed(self, part: int, now_ns: int) -> g.GraphState:
        self._pass_to(now_ns)
        drawn, start = self._drawn, self._start
        tasks = slice(int(drawn.part_first[part]), int(drawn.part_first[part + 1]))
        columns = drawn.edges_of(part)
        edges = None if drawn.edges is None else Edges(np.array([0, len(columns[0])]), *columns)
        alone = ApplicationSimulator(
            drawn.lengths[tasks],
            self._speed,
            phases=[drawn.phases[part % len(drawn.phases)]],
            part_tasks=[tasks.stop - tasks.start],
            edges=edges,
            core_host=None if start.core_host is None else unpack_int32(start.core_host),
            network=NO_NETWORK if start.network is None else state_of(start.network),
            keep_tasks=False,
        )
        alone.advance(0)  # reports errors in a plan
        return alone.state.graph

    def _pass_to(self, now_ns: int) -> None:
        now_ns += self._start.start_ns
        while self._changes and self._changes[0].at_ns <= now_ns:
            change = self._changes.pop(0)
            self._speed[slice(None) if change.core == ALL_CORES else change.core] = change.speed_gflops


def technique_of(phase: object) -> Technique | None:
    """The technique that assigns a phase's tasks; None if it is serial or planned."""
    given = phase.scheduler if isinstance(phase, GraphPart) else phase
    return given if isinstance(given, Technique) and not isinstance(given, Planner) else None
