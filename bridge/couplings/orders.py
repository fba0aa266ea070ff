"""Orders for workers: a job's cores, tasks or a recipe for drawing them, future changes, and a bound of its end."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import cycle

import numpy as np

from als.core_speeds import NEVER, fill_next_ns
from als.lengths import LENGTHS
from als.lengths.contract import COUNT, TIMES
from als.lengths.draw import earliest_end_ns
from als.network.state import message_ns
from als.options import SPEEDS
from als.programs.program import Graph, Loop, Program, Serial
from als.programs.table import drawn_program
from als.programs.text import absolute_name
from als.schedulers import AnyScheduler, scheduler_name
from bls.engine.features.releases.options import COORDINATION
from bls.engine.features.widths.options import RESIZE
from bls.options import BLS
from bridge.couplings import BatchLevel, core_gflop
from bridge.couplings.places import Places
from bridge.options.declared import COUPLING
from bridge.protocol import messages as m
from bridge.protocol.messages import SimulateJob
from bridge.protocol.network_fields import network_of
from bridge.protocol.packing import pack_float64, pack_int32, pack_int64
from bridge.protocol.task_payload import TaskPayload
from bridge.scenarios.ready import ReadyScenario
from bridge.workers.assignment import CoreForecast, Order
from traces.base.errors import InputError
from traces.base.scale import HIGHEST, factor_of
from traces.base.time import MAX_NS
from traces.compiled import Array


@dataclass(frozen=True)
class _Commands:
    """The commands that a job has received so far."""

    hints: list[m.Hint] = field(default_factory=list)
    resizes: list[m.WidthChange] = field(default_factory=list)
    scales: list[m.Scale] = field(default_factory=list)


class Orders:
    """Makes the orders of a run. ``level`` is only read. ``records``: whether to keep records."""

    def __init__(self, scenario: ReadyScenario, level: BatchLevel, *, records: bool) -> None:
        assert scenario.programs is not None
        self._scenario, self._level, self._records = scenario, level, records
        self._running = level.running_jobs
        self._dealings = level.dealings
        self._programs = scenario.programs
        # The name by which a worker finds each phase's technique; None for a serial part.
        self._techniques = [
            [None if isinstance(phase, Serial) else _technique_name(phase.technique) for phase in program.phases]
            for program in scenario.applications
        ]
        self._sure_phases = [
            [at for at, phase in enumerate(program.phases) if _is_sure(phase)] for program in scenario.applications
        ]
        # Empty if the recipe describes the whole program.
        self._texts = ["" if _is_plain(program) else program.to_json() for program in scenario.applications]
        self._network = network_of(scenario.network, scenario.platform.network.topology)
        self._core_host = scenario.platform.core_host
        self._core_gflop = core_gflop(scenario)
        self._core_speed = scenario.platform.core_speed_gflops
        self._most_tasks: dict[tuple[int, int], int] = {}  # by program and cores
        self._places: dict[int, Places] = {}  # present and past cores of running jobs
        self._commands: dict[int, _Commands] = {}  # by row
        #: Whether applications release cores that they no longer need.
        self.own_releases = bool(scenario.options.batch.releases)
        self._answered: dict[int, int] = {}  # latest answered attempt, by row

    @property
    def technique(self) -> str:
        """The most frequent technique, to be loaded in advance."""
        return self._techniques[-1][0] or "static"

    @property
    def program(self) -> str:
        """Its program as JSON; empty if the technique suffices."""
        return self._texts[-1]

    def names(self) -> list[str]:
        """The texts that workers receive of programs: names of techniques, and programs as JSON."""
        known = [name for names in self._techniques for name in names if name is not None]
        return list(dict.fromkeys([*known, *(text for text in self._texts if text)]))

    def order(self, row: int) -> Order:
        """The order for a row of the batch level."""
        scenario, running, origin = self._scenario, self._running, self._level.origin(row)
        workload, model, options = scenario.workload, scenario.model, scenario.options
        start_ns, stop_ns = self._level.start_ns(row), self._level.stop_ns(row)
        job, cores, place = int(workload.job_id[origin]), int(workload.cores[origin]), int(scenario.program[origin])
        places = self._placed(row)
        numbers = places.at_start
        commands = self._commands.get(row) or _Commands()
        resizes = tuple(commands.resizes) if self._dealings.resizes else None
        core_gflop = float(self._core_gflop[origin])
        program = scenario.applications[place]
        mean, total, n = self._work(place, cores, core_gflop)
        drives = self.drives(row, numbers)
        recipe = m.Recipe(
            seed=model.seed,
            job_number=job,
            cores=cores,
            n=n,
            mean_gflop=mean,
            variation=model.variation,
            total_gflop=total,
            core_gflop=core_gflop,
            speed_gflops=scenario.platform.slowest_gflops,
            bytes_per_gflop=scenario.bytes_per_gflop,
            program=self._texts[place],
            drives=None if drives is None else pack_int32(drives),
            placement=self._placement(program, numbers),
        )
        ahead, gone = self._ahead(row, places, start_ns), self._gone(places)
        # The range of widths that the job may request.
        least, most = running.width_range(row) if running is not None and self._dealings.evolves else (0, 0)
        latency, host = options.application.latency_ns, self._core_host[numbers]
        start = SimulateJob(
            job=row,
            attempt=self._answered.get(row, -1) + 1,
            start_ns=start_ns,
            core_speed_gflops=pack_float64(self.speed(numbers, start_ns)),
            technique=next((name for name in self._techniques[place] if name), "static"),
            parts=None,
            overhead_ns=options.application.overhead_ns,
            latency_ns=pack_int64(message_ns(host, host[0], latency)) if latency else None,
            master=options.application.master,
            core_host=pack_int32(host) if program.has_graph else None,
            network=self._network if program.has_graph else None,
            records=self._records,
            releases=self.own_releases,
            recipe=recipe,
            tasks=None,
            until_ns=ahead.until_ns,
            changes=tuple(sorted(gone + ahead.changes, key=lambda change: change.at_ns)),
            hints=tuple(commands.hints),
            resizes=resizes,
            resize_ns=0 if resizes is None else options.application.resize_ns,
            wishes=m.WidthRange(least=least, most=most) if least < most else None,
            scales=tuple(commands.scales),
            stop_ns=stop_ns,
        )
        surely = _phases_gflop(program, cores, core_gflop, self._sure_phases[place]) if recipe.program else total
        base = self._core_speed[numbers]
        highest = scenario.speeds.highest_factor * (HIGHEST if self._dealings.scales else 1.0)
        bound_ns = earliest_end_ns(start_ns, surely, surely / n, base * highest)
        if resizes or program.workers:
            bound_ns = start_ns  # more cores, or shorter tasks on devices, may end it sooner
        if stop_ns is not None:
            bound_ns = min(bound_ns, stop_ns)
        if scenario.speeds.loses:
            bound_ns = min(bound_ns, _lost_ns(len(numbers), gone + ahead.changes, ahead.until_ns))

        return Order(
            start,
            bound_ns,
            job,
            lambda: self._payload(job, place, cores, core_gflop, start.wishes),
            lambda now_ns: self._ahead(row, places, max(now_ns - 1, start_ns)),
        )

    def _payload(self, job: int, place: int, cores: int, core_gflop: float, width: m.WidthRange | None) -> TaskPayload:
        program, names = self._scenario.applications[place], self._techniques[place]
        if program.workers:
            raise InputError(
                f"job {job}: {program.workers[0].name}: a simulator that requests lengths knows cores alone"
            )
        seed, bytes_per_gflop = self._scenario.model.seed, self._scenario.bytes_per_gflop
        speed = self._scenario.platform.slowest_gflops
        drawn = drawn_program(self._programs, place, seed, job, cores, core_gflop, speed, bytes_per_gflop)
        if len(drawn.part_tasks) > m.MAX_PARTS:
            raise InputError(
                f"job {job}: {len(drawn.part_tasks)} parts (phases times steps); a simulator that requests lengths can receive "
                f"{m.MAX_PARTS}; use inline"
            )
        wishes = [0] if width is None else program.wishes_of(cores, width.least, width.most)
        if len(drawn.part_tasks) == 1 and isinstance(program.phases[0], Loop) and not any(wishes):
            return TaskPayload(drawn.lengths)
        columns = drawn.part_tasks, np.diff(drawn.edge_first), cycle(program.phases), cycle(names), cycle(wishes)
        parts = tuple(
            m.Part(
                tasks=int(tasks),
                technique=name,
                order="rank" if isinstance(phase, Graph) and phase.order == "rank" else "index",
                edges=int(edges),
                cores=wish or None,
            )
            for tasks, edges, phase, name, wish in zip(*columns, strict=False)
        )
        return TaskPayload(drawn.lengths, parts, drawn.source, drawn.target, drawn.bytes)

    def _work(self, place: int, cores: int, core_gflop: float) -> tuple[float, float, int]:
        """Expected mean task length and total work (GFLOP), and expected number of tasks of a job."""
        program = self._scenario.applications[place]
        if not self._texts[place]:
            tasks_per_core = program.loops[0].tasks_per_core or 1
            return core_gflop / tasks_per_core, core_gflop * cores, cores * tasks_per_core
        n = self._most_tasks.get((place, cores))
        if n is None:  # a graph's file is read for it
            n = self._most_tasks[place, cores] = program.n_tasks(cores)
        total = _phases_gflop(program, cores, core_gflop, range(len(program.phases)))
        return total / n, total, n

    def _ahead(self, row: int, places: Places, from_ns: int) -> CoreForecast:
        """The changes of speed after an instant, as far as a message can hold them: for twice the recorded run time, or for
        the elapsed time of the job."""
        speeds = self._scenario.speeds
        if speeds.steady:
            return CoreForecast()
        numbers = places.number
        if len(numbers) > m.MAX_CHANGES:
            raise InputError(
                f"{SPEEDS}: a job of {len(numbers)} cores; a message holds {m.MAX_CHANGES} changes; use inline"
            )
        run_ns = int(self._scenario.workload.run_ns[self._level.origin(row)])
        horizon_ns = min(from_ns + max(2 * run_ns, from_ns - self._level.start_ns(row)), MAX_NS)
        base = self._core_speed[numbers]
        found = speeds.changes(numbers, base, from_ns, horizon_ns, m.MAX_CHANGES // len(numbers))
        begin_ns, until_ns = places.from_ns, places.until_ns
        losses = [(at_ns, core) for at_ns, core, gflops in found.changes if gflops == 0.0]
        gone = self._for_good(numbers, losses)
        changes = tuple(
            m.Change(at_ns=at_ns, core=int(places.place[core]), speed_gflops=None if (at_ns, core) in gone else gflops)
            for at_ns, core, gflops in found.changes
            if begin_ns[core] < at_ns < until_ns[core]
        )
        next_ns = np.empty(len(numbers), np.int64)
        fill_next_ns(speeds.state, numbers, found.complete_ns, next_ns)
        return CoreForecast(changes, None if next_ns.min() == NEVER else found.complete_ns + 1)

    def _for_good(self, numbers: Array, losses: Sequence[tuple[int, int]]) -> set[tuple[int, int]]:
        """The losses, (instant, core within the job), that are for good."""
        if not losses:
            return set()
        at_ns, core = np.array(losses, np.int64).T
        gone = self._scenario.speeds.for_good(numbers[core], at_ns)
        return {loss for loss, good in zip(losses, gone.tolist(), strict=True) if good}

    def _gone(self, places: Places) -> tuple[m.Change, ...]:
        """The cores of a job that are lost for good when they come."""
        if not self._scenario.speeds.loses:
            return ()
        lost: list[tuple[int, int]] = []
        for instant in np.unique(places.from_ns).tolist():
            here = np.flatnonzero(places.from_ns == instant)
            absent = here[self.speed(places.number[here], instant) == 0.0]
            lost += [(instant, core) for core in absent.tolist()]
        gone = sorted(self._for_good(places.number, lost))
        return tuple(m.Change(at_ns=at_ns, core=int(places.place[k]), speed_gflops=None) for at_ns, k in gone)

    def speed(self, numbers: Array, now_ns: int) -> Array:
        """GFLOP/s of cores at an instant."""
        base: Array = self._core_speed[numbers]
        speeds = self._scenario.speeds
        return base if speeds.steady else base * speeds.factors(numbers, now_ns)

    def drives(self, row: int, numbers: Array) -> Array | None:
        """The kind of workers that each core of a job drives, int64 (P,); None unless its devices are GPUs that it holds."""
        place = self._scenario.program[self._level.origin(row)]
        rows = self._scenario.gpu_rows[place]
        if rows[0] < 0:
            return None
        from als.engine.devices import DeviceSlots
        from als.workers import place_held, placing_columns  # not needed by jobs on cores

        assert self._running is not None  # by ``check_devices``
        slots = DeviceSlots.new({"device_slots": len(numbers)})
        streams = placing_columns(self._scenario.applications[place].workers)[0]
        place_held(slots, streams, rows, numbers, self._core_host, self._running.gpus(row), *self._running.gpu_places)
        return slots.kind

    def _placement(self, program: Program, numbers: Array) -> m.Placement | None:
        if program.has_graph or not any(kind.places for kind in program.workers):
            return None  # with a graph, the order has the hosts anyway
        return m.Placement(core_host=pack_int32(self._core_host[numbers]), network=self._network)

    def answered(self, row: int, attempt: int) -> None:
        """Note that an attempt at a row was answered: the next :meth:`order` for it is for another attempt."""
        self._answered[row] = attempt

    def command(self, row: int, now_ns: int) -> None:
        """Add the present commands of a row to all following orders for it, at its start if that is later."""
        running, now_ns = self._running, max(now_ns, self._level.start_ns(row))
        if running is None:
            return
        commands = self._commands.setdefault(row, _Commands())
        given, asked = running.resized(row)
        if given or asked:
            held = running.holds(row, self._placed(row).latest)
            self._resize(row, now_ns, commands.resizes, given, asked, held)
        if running.hinted(row):
            self._hint(row, now_ns, commands.hints, running.wanted(row, self._placed(row).latest))
        if scaled := running.scaled(row):
            self._scale(row, now_ns, commands.scales, scaled)

    def _scale(self, row: int, now_ns: int, scales: list[m.Scale], scaled: Sequence[tuple[int, int]]) -> None:
        places = self._placed(row)
        by_factor: dict[int, list[int]] = {}
        for core, scale in scaled:
            if core < 0:
                scales.append(m.Scale(at_ns=now_ns, cores=None, factor=factor_of(scale)))
            else:
                by_factor.setdefault(scale, []).append(core)
        for scale, cores in by_factor.items():
            where = np.flatnonzero(places.last_there & np.isin(places.latest, cores))
            scales.append(m.Scale(at_ns=now_ns, cores=pack_int32(where), factor=factor_of(scale)))
        named = sum(len(one.cores) // 4 for one in scales if one.cores is not None)
        what = f"{BLS}: the speeds of job {self._level.job_number(row)} are scaled"
        what += f" {len(scales)} times, of {named} cores by their numbers"
        _check_room(what, len(scales), m.MAX_SCALES, named, m.MAX_SCALED)

    def _placed(self, row: int) -> Places:
        """The cores of a job: initially the first of its allocation, as many as it requested."""
        places = self._places.get(row)
        if places is None:
            held = [np.arange(lo, hi) for lo, hi in self._level.allocation(row)]
            cores = held[0] if len(held) == 1 else np.concatenate(held)
            if not self._dealings.molds:
                cores = cores[: self._scenario.workload.cores[self._level.origin(row)]]
            places = self._places[row] = Places.of(cores, self._level.start_ns(row))
        return places

    def _resize(
        self, row: int, now_ns: int, resizes: list[m.WidthChange], given: list[int], asked: list[int], held: Array
    ) -> None:
        places = self._placed(row)
        latest = places.latest
        held = held & places.last_there & ~np.isin(latest, given)
        where = [int(np.flatnonzero(held & (latest == core))[0]) for core in asked]
        wider = self._places[row] = places.with_cores(given, held, now_ns + 1)
        numbers = np.array(given, np.int64)
        host, options = self._core_host, self._scenario.options
        latency = message_ns(host[numbers], host[places.number[0]], options.application.latency_ns)
        resizes.append(
            m.WidthChange(
                at_ns=now_ns,
                places=pack_int32(wider.place[len(places.place) :]),
                speed_gflops=pack_float64(self.speed(numbers, now_ns + 1)),
                latency_ns=pack_int64(np.broadcast_to(latency, len(given))),
                asked=pack_int32(where),
            )
        )
        changed = sum((len(one.places) + len(one.asked)) // 4 for one in resizes)
        what = f"{RESIZE:{options.batch.resized}}: the width of job {self._level.job_number(row)} changes"
        what += f" {len(resizes)} times, by {changed} cores in all"
        _check_room(what, len(resizes), m.MAX_RESIZES, changed, m.MAX_RESIZED)

    def _hint(self, row: int, now_ns: int, hints: list[m.Hint], wanted: Array) -> None:
        wanted = np.flatnonzero(self._placed(row).last_there & wanted)
        hints.append(m.Hint(at_ns=now_ns, cores=pack_int32(wanted)))
        hinted = sum(len(one.cores) // 4 for one in hints)
        what = f"{COORDINATION:{self._scenario.options.batch.coordination}}: job {self._level.job_number(row)} receives"
        what += f" {len(hints)} hints with {hinted} cores in all"
        _check_room(what, len(hints), m.MAX_HINTS, hinted, m.MAX_HINTED)

    def numbers(self, row: int) -> Array:
        """The global core numbers of a running job, by place."""
        return self._places[row].latest

    def ended(self, row: int) -> Places:
        """The cores of an ended job; only once, unless widths change and it may be simulated again."""
        return self._places[row] if self._dealings.resizes else self._places.pop(row)


def _check_room(what: str, commands: int, most: int, cores: int, most_cores: int) -> None:
    """Raise InputError if a message cannot hold all commands of a kind to a job, and their cores."""
    if commands > most or cores > most_cores:
        raise InputError(f"{what}; a message holds {most} and {most_cores}; use inline")


def _lost_ns(n_cores: int, changes: Iterable[m.Change], until_ns: int | None) -> int:
    """The instant at which a job loses its last core; at least ``until_ns``, up to which changes are known."""
    gone: set[int] = set()
    for change in changes:
        if change.speed_gflops is None:
            gone.add(change.core)
            if len(gone) == n_cores:
                return change.at_ns
    return MAX_NS if until_ns is None else until_ns


def _is_plain(program: Program) -> bool:
    """Whether a recipe suffices: one loop of normal lengths with a number of tasks per core."""
    loop = program.phases[0]
    once = len(program.phases) == program.steps == 1 and loop.cores is None
    return once and isinstance(loop, Loop) and not (loop.lengths or program.workers) and loop.tasks is None


def _phases_gflop(program: Program, cores: int, core_gflop: float, phases: Iterable[int]) -> float:
    """The work of some of a job's phases in all of its steps, GFLOP."""
    shares, total = program.shares, 0.0
    for at in phases:
        with_cores, more = program.capacity(at)
        serial = isinstance(program.phases[at], Serial)
        total += core_gflop * shares[at] * (1 if serial else with_cores * cores + more)
    return total


def _is_sure(phase: Serial | Loop | Graph) -> bool:
    """Whether a phase's tasks have at least the work of its share; lengths from a file may have less."""
    if isinstance(phase, Serial):
        return True
    if isinstance(phase, Graph):
        return phase.found_graph().scale
    model = phase.found_lengths()
    return model.mode not in (COUNT, TIMES) or model.next_length is LENGTHS["equal"].lengths(0.0).next_length


def _technique_name(chosen: str | AnyScheduler) -> str:
    name = chosen if isinstance(chosen, str) else scheduler_name(chosen)
    if name is None:
        assert not isinstance(chosen, str)
        raise InputError(
            f"als: {chosen.name} is an object of this process; for {COUPLING:pool} or process name it, "
            "as FILE.py:NAME or by an entry point"
        )
    return absolute_name(name)
