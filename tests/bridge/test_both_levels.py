"""Both levels against the slow references: every pair of features, by every way to run a case.

A case is a batch case whose jobs compute tasks. Features are those of ``batch_cases`` and those of applications; a case has
each of its mask, and no others. A way that fails prints the case.
"""

import json
import math
import random
import shlex
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from batch_cases import APART, FEATURES, LATER, BatchCase, cases, covering, finishes
from batch_drives import (
    as_users_say,
    constraints_of,
    cores_text,
    estimates_of,
    platform_of,
    rules_of,
    said_cases,
    without_compiled_code,
    workload_of,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from one_result import different
from reference import application, cluster, drawing, speeds
from reference.gpus import in_units
from reference.machine import MINUTES, Attempt, Gpus, Host, Job, Machine, Rules

import bridge
from als.programs.program import Program
from als.programs.table import Programs
from als.techniques import TECHNIQUES
from als.workers import WorkerKind
from bls.allocators import allocator
from bls.constraints.widths import Widths
from bls.engine.features.releases.records import ReleaseRecords
from bls.machine.platform import Network
from bls.policies import ScorePolicy, account_kernel, score_kernel
from bls.view import View
from bridge.runs.simulation import run
from bridge.scenarios.application_map import parse_application_map
from bridge.scenarios.held_gpus import with_held_gpus
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.scenario import Execution, Scenario
from traces.checks.ledger import check_ledger
from traces.ledger import STATES, WHY
from traces.records.gpus import GpuRecords

pytestmark = pytest.mark.whole

#: What applications may be beside loops of equal tasks, and what may happen to running jobs. With ``unequal``, hosts differ in
#: speed; with ``speeds``, cores become slower and faster; with ``losses``, some go for good; with ``devices``, cores of wide
#: jobs drive devices; with ``held``, they drive the GPUs that their job holds.
COMPUTING = ("variation", "overhead", "messages", "phases", "unequal", "speeds", "losses")
RUNNING = ("releases", "hints", "molding", "widths", "wishes")
BATCH = tuple(name for name in (*FEATURES, *LATER) if name != "unknown")
ALL = (*COMPUTING, *RUNNING, *BATCH)

NEVER = 2**62
#: How widths change, by feature.
RESIZE = {"molding": ("mold",), "widths": ("expand", "shrink", "expand+shrink", "equal"), "wishes": ("evolve",)}

#: What the project refuses: jobs change their widths in one way, hear hints or only release cores, promise nothing if either is
#: not sure, and have cores that come and go one by one; moldable jobs are planned by their numbers of cores alone.
REFUSED = [
    *combinations(RESIZE, 2),
    ("hints", "releases"),
    *((name, "drains") for name in RUNNING if name != "molding"),
]
REFUSED += [(name, "promises") for name in ("hints", "widths", "wishes")]
REFUSED += list(product(RESIZE, ("units", "given", "switches")))
REFUSED += [
    ("molding", name)
    for name in ("gpus", "allocators", "partitions", "resources", "licences", "reservations", "maintenance")
]

# Devices keep their speeds, and their job its cores.
REFUSED += [(name, "gpus") for name in ("widths", "wishes")]
REFUSED += [("devices", name) for name in ("speeds", "losses", "hints", "molding", "widths", "wishes")]
REFUSED += [("held", name) for pair in (*APART, *REFUSED) for name in pair if {"gpus", "devices"} & set(pair) - {name}]
REFUSED += [("held", "devices")]

#: What a reference does not know: then one way to run is compared with another only.
BEYOND = [*((name, "cost") for name in RUNNING), *((name, "presets") for name in RUNNING), ("molding", "estimates")]
BEYOND += list(product(("widths", "wishes"), ("speeds", "losses", "estimates")))

NAMES = (*sorted(TECHNIQUES), "select:ss,gss,static")


@dataclass(frozen=True)
class Phase:
    """A loop by a technique, or a serial part (None), and for how many times its cores it wishes, 0 for none.

    ``on``: the workers of a loop where there are devices; empty: all.
    """

    share: float
    technique: str | None
    cores: float
    on: str = ""


@dataclass(frozen=True)
class Computing:
    """Programs of all jobs of a case, and commands to them; times in ns.

    ``device``: drives the last cores of jobs that have more than it takes; ``held``: kinds of the GPUs of jobs. ``slow``:
    (period, factor, share of the period at full speed) of all cores; ``lost``: the first core that goes for good, with all
    after it, and when.
    """

    technique: str = "static"
    variation: float = 0.0
    tasks_per_core: int = 1
    overhead: int = 0
    latency: int = 0
    master: bool = False
    phases: tuple[Phase, ...] = ()
    steps: int = 1
    unequal: bool = False
    slow: tuple[int, float, float] | None = None
    lost: tuple[int, int] | None = None
    coordination: str = "none"
    resize: str = "none"
    cost: int = 0
    device: WorkerKind | None = None
    held: tuple[WorkerKind, ...] = ()
    #: Latency of a route, if devices get their data over a network of half their links' bandwidth.
    route: int | None = None


@dataclass(frozen=True)
class Done:
    """An attempt, and its tasks: (chunk, core, start, end, GFLOP), the first four -1 of one that never began."""

    attempt: Attempt
    chunks: int
    tasks: tuple[tuple[int, int, int, int, float], ...]


@dataclass(frozen=True)
class TwoLevelCase:
    """Everything that determines a result."""

    batch: BatchCase
    computing: Computing

    @property
    def core_speeds(self) -> list[float]:
        """GFLOP/s of each core of the machine."""
        hosts = enumerate(self.batch.machine.hosts)
        return [1.0 + self.computing.unequal * (number % 2) for number, host in hosts for _ in range(host.cores)]

    @property
    def widths(self) -> list[tuple[int, int]]:
        """Between which numbers of cores the width of each job may change; by its number."""
        found = []
        for job in self.batch.jobs:
            hosts = self.batch.machine.partitions[job.partition].hosts
            room = sum(host.cores for n, host in enumerate(self.batch.machine.hosts) if hosts is None or n in hosts)
            draw = job.number * 7919 % 101
            wide = max(1, job.cores - draw % 4), min(room, job.cores + draw // 4 % 5)
            found.append((job.cores, job.cores) if draw % 5 == 0 else wide)
        return found

    @property
    def allowed(self) -> bool:
        """Whether jobs that run at first fit the machine, and where widths change, some can, and hosts are shared."""
        fits = sum(job.cores for job in self.batch.jobs if job.preset) <= len(self.core_speeds)
        wide = any(least < most for least, most in self.widths) and self.batch.rules.allocator != "whole-host"
        return fits and (self.computing.resize == "none" or wide)

    def scenario(self) -> ReadyScenario:
        """The case as users say it."""
        batch, computing = self.batch, self.computing
        platform, workload = platform_of(batch.machine), workload_of(batch.jobs)
        if computing.unequal:
            given = zip(platform.hosts, batch.machine.hosts, strict=True)
            groups = [
                replace(group, speed_gflops=host.cores * (1.0 + number % 2))
                for number, (group, host) in enumerate(given)
            ]
            platform = replace(platform, hosts=tuple(groups))
        if computing.route is not None:
            platform = replace(platform, network=Network("star", bandwidth_gbps=4.0, latency_ns=computing.route))
        constraints = constraints_of(batch, platform, workload)
        if computing.resize != "none":
            constraints = replace(constraints, widths=Widths(*np.array(self.widths).T))
        rules = replace(rules_of(batch.rules), estimates=estimates_of(batch))
        changing = []
        if computing.slow is not None:
            period, low, duty = computing.slow
            changing.append(f"square:period={period}ns,low={low},duty={duty}")
        if computing.lost is not None:
            core, at = computing.lost
            changing.append(f"lost:cores={core}-{len(self.core_speeds) - 1},at={at}ns")
        options = Scenario.flat(
            bls=str(batch.rules.order),
            als=computing.technique,
            variation=computing.variation,
            tasks_per_core=computing.tasks_per_core,
            seed=batch.rules.seed,
            slack=float(batch.rules.slack),
            overhead_ns=computing.overhead,
            allocator=allocator(batch.rules.allocator),
            rules=replace(rules, coordination=computing.coordination, resize=computing.resize),
            malleable=None if computing.resize == "none" else "1:0.01:64",
            latency_ns=computing.latency,
            assignment="master" if computing.master else "distributed",
            applications=parse_application_map(self.map(count=0), "map") if computing.phases else None,
            speeds=tuple(changing),
            resize_ns=computing.cost,
            network="none" if computing.route is None else "hockney",
        )
        wanted = {job.number: cores_text(job.wanted) for job in batch.jobs if job.wanted is not None}
        found = ReadyScenario.of(workload, replace(platform, partitions=()), options, wanted or None)
        if computing.held:  # once more, as the constraints are known now
            plain = Program.plain(computing.technique, "", computing.tasks_per_core)
            named = parse_application_map(self.map(), "map").assign(workload, 0, plain)
            programs, place, rows = with_held_gpus(*named, workload, platform, constraints)
            drawn = Programs(programs, computing.variation)
            found = replace(found, applications=programs, program=place, gpu_rows=rows, programs=drawn)
        return replace(found, platform=platform, constraints=constraints)

    def map(self, count: int | None = None) -> str:
        """The phases as an application map; ``count``: of the kinds of GPUs that jobs hold."""
        device, text = self.computing.device, ""
        if device is not None:
            given = ", ".join(f"{key} = {json.dumps(value)}" for key, value in device.given().items())
            text = f'[[application]]\nname = "devices"\nmatch = {{ cores = "{device.slots + 1}-" }}\n'
            text += f"{self.phases(devices=True)}workers.gpu = {{ {given} }}\n"
        if self.computing.held:
            return f"[default]\n{self.phases(devices=True)}" + "".join(
                f"workers.{kind.name} = {json.dumps(replace(kind, count=count).given()).replace(':', ' =')}\n"
                for kind in self.computing.held
            )
        return f"{text}[default]\n{self.phases(devices=False)}"

    def phases(self, *, devices: bool) -> str:
        lines = []
        for one in self.computing.phases:
            kind = 'kind = "serial"' if one.technique is None else f'kind = "loop", als = "{one.technique}"'
            kind += f', on = "{one.on}"' if devices and one.on else ""
            lines.append(f"{{ share = {one.share}, {f'cores = {one.cores}, ' if one.cores else ''}{kind} }}")
        return f"steps = {self.computing.steps}\nphases = [{', '.join(lines)}]\n"

    def simulated(self, **options: Any) -> bridge.Result:
        """The project's result, checked."""
        result = run(self.scenario(), **options)
        check_ledger(result.ledger)
        return result

    def expected(self) -> list[Done]:
        """The references' result, by row and attempt; raises NeverFinishes."""
        return _Reference(self).run()


class _Reference:
    def __init__(self, case: TwoLevelCase) -> None:
        self.case, self.jobs, self.machine = case, case.batch.jobs, case.batch.machine
        self.host_of = [number for number, host in enumerate(self.machine.hosts) for _ in range(host.cores)]
        self.speeds = case.core_speeds
        self.gpus = {gpu: host for host in range(len(self.machine.hosts)) for gpu in self.machine.gpus_of(host)}
        self.held: dict[tuple[int, int], tuple[int, ...]] = {}  # parts of GPUs of each attempt, by row and start
        #: What each attempt, by row and start, computes on, and its commands.
        self.commands: dict[tuple[int, int], tuple[tuple[int, ...], cluster.Changes, cluster.Hints]] = {}

    def run(self) -> list[Done]:
        computing, rules = self.case.computing, self.case.batch.rules
        ways: dict[str, Any] = {"by_host": computing.coordination.endswith(":host"), "resize": computing.resize}
        if computing.held:
            ways["holds"] = lambda row, start, gpus: self.held.update({(row, start): gpus})
        hints = computing.coordination.startswith("hint")
        if computing.resize != "none":
            ways["widths"] = self.case.widths
        if computing.resize not in ("none", "mold"):
            ways |= {"resized": self.given, "hints": hints}
            if computing.resize == "evolve":
                ways["wishes_of"] = lambda row, start, *_: tuple(self.ran(row, start).wishes)
        elif hints:
            ways["informed"] = lambda row, start, cores, hints: self.given(row, start, cores, (), hints)
        else:
            ways["end_of"] = lambda *of: self.given(*of)[0]
            if computing.coordination != "none":
                ways["releases_of"] = lambda *of: self.given(*of)[1]
        if computing.lost is not None:
            ways["loss_of"] = self.loss_of
        rows = {job.number: row for row, job in enumerate(self.jobs)}
        return [self.done(rows[one.number], one) for one in cluster.run(self.jobs, self.machine, rules, **ways)]

    def done(self, row: int, attempt: Attempt) -> Done:
        if attempt.start < 0:
            return Done(attempt, 0, ())
        stop = None if attempt.state == "completed" else attempt.end
        if stop is not None and self.case.computing.lost is not None:
            # The tasks of a core that is lost at the end of an attempt, as all are then, are lost with it, if nothing else
            # ends it then.
            ends = attempt.state in ("failed", "requeued") and not self.fails(row, attempt)
            stop += ends and self.loss_of(row, attempt.start, ()) == stop
        ran = self.ran(row, attempt.start, stop)
        tasks = tuple(
            (-1, -1, -1, -1, length) if task is None else (task.chunk, task.core, task.start, task.end, length)
            for task, length in zip(ran.tasks, self.lengths(row)[0], strict=True)
        )
        return Done(attempt, ran.chunks, tasks)

    def fails(self, row: int, attempt: Attempt) -> bool:
        """Whether a host on which an attempt still holds cores fails at its end, or a maintenance of such cores begins."""
        released = self.ran(row, attempt.start, attempt.end).released_cores
        held = {core for core in attempt.cores if released.get(core, attempt.end) >= attempt.end}
        downs = [down for host in {self.host_of[core] for core in held} for down, _ in self.machine.hosts[host].outages]
        downs += [window.begin for window in self.machine.windows if window.maintenance and window.cores & held]
        return attempt.end in downs

    def given(
        self, row: int, start: int, cores: tuple[int, ...], changes: cluster.Changes = (), hints: cluster.Hints = ()
    ) -> tuple[int, Mapping[int, int]]:
        own = cores if self.case.computing.resize == "mold" else cores[: self.jobs[row].cores]
        self.commands[row, start] = own, changes, hints
        try:
            ran = self.ran(row, start)
        except application.AllLost:
            ran = self.ran(row, start, self.lost(start) + 1)
            ends = NEVER
        else:
            ends = ran.end
        until = dict.fromkeys(own, NEVER) | ran.released_cores
        return ends, {core: at if at < ends else NEVER for core, at in until.items()}

    def lost(self, start: int) -> int:
        assert self.case.computing.lost is not None
        return max(start, self.case.computing.lost[1])

    def loss_of(self, row: int, start: int, cores: tuple[int, ...]) -> int | None:
        if (row, start) not in self.commands:
            self.given(row, start, cores)
        try:
            self.ran(row, start)
        except application.AllLost:
            return self.lost(start)
        return None

    def device(self, row: int) -> WorkerKind | None:
        device = self.case.computing.device
        return None if device is None or self.jobs[row].cores <= device.slots else device

    def nominal(self, row: int) -> tuple[int, WorkerKind]:
        """How many GPUs the work of a job counts, and their kind: those that it asks for and can drive."""
        job, held = in_units(self.jobs[row]), self.case.computing.held
        if job.gpus is None or not (
            able := [kind for kind in held if not job.gpus.kinds or kind.name in job.gpus.kinds]
        ):
            return 0, held[0]
        slowest = min(able, key=lambda kind: kind.speed)
        hosts = math.ceil(job.cores / max(host.cores for host in self.machine.hosts))
        parts = job.gpus.n * (job.cores // job.unit_cores if job.gpus.per == "unit" else hosts)
        return min(parts, (job.cores - 1) // slowest.streams), slowest

    def workers(self, row: int, phase: Phase) -> float:
        """How fast the workers of a loop are together, as a multiple of the job's cores."""
        device, cores = self.device(row), self.jobs[row].cores
        if self.case.computing.held:
            n, kind = self.nominal(row)
            with_devices = n > 0 and (not phase.on or kind.name in phase.on)
            with_cores = not phase.on or "cores" in phase.on or not with_devices
            share = Fraction((self.jobs[row].gpus or Gpus(0)).milli, 1000)
            more = with_devices * n * float(kind.speed * share) - with_cores * n * kind.streams
            return (with_cores * cores + more) / cores
        if device is None:
            return 1.0
        with_cores, with_devices = (not phase.on or name in phase.on for name in ("cores", "gpu"))
        more = with_devices * device.count * device.speed - with_cores * device.slots
        return (with_cores * cores + more) / cores

    def lengths(self, row: int) -> tuple[list[float], list[int]]:
        """GFLOP of each task, and how many each part has: those of later steps are those of the first."""
        job, computing, slowest = self.jobs[row], self.case.computing, min(self.speeds)
        drawn = (
            self.case.batch.rules.seed,
            job.number,
            job.cores,
            job.run,
            slowest,
            computing.variation,
            computing.tasks_per_core,
        )
        if not computing.phases:
            return drawing.task_lengths(*drawn), []
        stream, whole = drawing.words(*drawn[:2]), math.fsum(phase.share for phase in computing.phases)
        parts, n = [], job.cores * computing.tasks_per_core
        for phase in computing.phases:
            a_core = slowest * (job.run / 1e9) * (phase.share / whole) / computing.steps
            workers = self.workers(row, phase)
            mean = a_core * workers / computing.tasks_per_core
            if phase.technique is None:
                parts.append([a_core])
            elif computing.variation == 0:
                parts.append([mean] * n)
            else:
                core_ns = drawing.at_speed_ns(slowest * (job.run / 1e9), slowest) * (phase.share / whole)
                work = a_core * workers * job.cores, job.cores, core_ns / computing.steps * workers, slowest
                parts.append(drawing.kept("normal", stream, mean, n, *work, cov=computing.variation))
        again = computing.steps * parts
        return [length for part in again for length in part], [len(part) for part in again]

    def ran(self, row: int, start: int, stop: int | None = None) -> application.Run:
        """The application of an attempt, after its commands so far."""
        computing, (cores, changes, hints) = self.case.computing, self.commands[row, start]
        lengths, part_tasks = self.lengths(row)
        evolves = computing.resize == "evolve" and len(set(self.case.widths[row])) == 2
        resizes = [
            application.Resize(
                *(at, tuple((core, self.speeds[core], self.latency(core, cores)) for core in given), frozenset()),
                *(computing.cost, asked),
            )
            for at, given, asked in changes
        ]
        given = partial(
            application.run,
            lengths,
            technique="" if computing.phases else computing.technique,
            start=start,
            overhead=computing.overhead,
            stop=stop,
            latency=[self.latency(core, cores) for core in cores],
            master=computing.master,
            phases=[phase.technique for phase in computing.phases],
            part_tasks=part_tasks,
            seed=self.case.batch.rules.seed,
            job=self.jobs[row].number,
            releases=computing.coordination != "none",
            hints=hints,
            resizes=resizes,
            numbers=cores,
            wishes=[self.request_width(row, phase) for phase in computing.phases] if evolves else (),
        )
        if kinds := self.case.computing.held:
            hosts = [self.host_of[core] for core in cores]
            gpus = [
                (self.gpus[gpu], self.machine.hosts[self.gpus[gpu]].kind) for gpu in self.held.get((row, start), ())
            ]
            share = (self.jobs[row].gpus or Gpus(0)).milli / 1000
            slots, devices = application.with_held_devices(
                kinds, [self.speeds[core] for core in cores], hosts, gpus, share, self.route
            )
            names = {"cores": 0} | {kind.name: k for k, kind in enumerate(kinds, 1)}
            there, on = {0, *(device.kind for device in devices.values())}, []
            for phase in computing.phases:
                some = {k for name, k in names.items() if not phase.on or name in phase.on} & there
                on.append(some if some and phase.technique else {0})
            return given(slots, devices=devices, on=on)
        if (device := self.device(row)) is not None:
            slots, devices = application.with_devices_at_the_end(
                (device,), [self.speeds[core] for core in cores], [self.host_of[core] for core in cores], self.route
            )
            of_name = {"cores": {0}, "gpu": {1}, "": {0, 1}}
            on = [{0} if phase.technique is None else of_name[phase.on] for phase in computing.phases]
            return given(slots, devices=devices, on=on)
        known = stop or start + 4 * self.jobs[row].run
        while True:
            base, changing = self.changing(start, cores, known)
            ran = given(base, changes=changing)
            if stop is not None or ran.end <= known:
                return ran
            known += 4 * (known - start)

    @property
    def route(self) -> application.Route | None:
        return None if self.case.computing.route is None else (self.case.computing.route, 2.0)

    def latency(self, core: int, cores: Sequence[int]) -> int:
        return self.case.computing.latency if self.host_of[core] != self.host_of[cores[0]] else 0

    def request_width(self, row: int, phase: Phase) -> int:
        least, most = self.case.widths[row]
        return int(phase.cores and max(least, min(most, math.floor(phase.cores * self.jobs[row].cores + 0.5))))

    def changing(self, start: int, cores: Sequence[int], end: int) -> tuple[list[float], list[tuple[int, int, float]]]:
        """The speed of each core at the start of a job, and how they change."""
        computing, parts = self.case.computing, []
        if computing.slow is not None:
            period, low, duty = computing.slow
            parts.append(speeds.square(period, low, Fraction(duty), 0, set(cores)))
        if computing.lost is not None:
            core, at = computing.lost
            parts.append(speeds.window(at, None, set(range(core, len(self.speeds)))))
        base = [self.speeds[core] for core in cores]
        now = [speed * speeds.product(parts, core, start) for core, speed in zip(cores, base, strict=True)]
        return now, speeds.changes(parts, cores, base, start, end)


def done(case: TwoLevelCase, result: bridge.Result) -> list[Done]:
    """A result in the references' words."""
    jobs, tasks, found = result.ledger.jobs, result.ledger.tasks, []
    rows = {job.number: row for row, job in enumerate(case.batch.jobs)}
    names = ("job_id", "attempt", "eligible_ns", "start_ns", "end_ns", "why", "state", "chunks")
    columns = zip(*(getattr(jobs, name).tolist() for name in names), strict=True)
    for row, (number, attempt, eligible, start, end, why, state, chunks) in enumerate(columns):
        cores = tuple(core for lo, hi in jobs.allocation(row) for core in range(lo, hi))
        assert tasks is not None
        span = slice(tasks.first[row], tasks.first[row + 1])
        seen = (tasks.chunk, tasks.core, tasks.start_ns, tasks.end_ns, tasks.length_gflop)
        ran = tuple(zip(*(column[span].tolist() for column in seen), strict=True))
        gpus = () if result.ledger.gpus is None else _gpus(result.ledger.gpus, row, case.batch.jobs[rows[number]])
        one = Attempt(number, attempt, eligible, start, end, cores, WHY[why], STATES[state], gpus)
        found.append((rows[number], Done(one, chunks, ran)))
    return [one for _, one in sorted(found, key=lambda entry: (entry[0], entry[1].attempt.attempt))]


def _gpus(held: GpuRecords, row: int, job: Job) -> tuple[int, ...]:
    # Each GPU once for each part of it.
    parts = slice(held.first[row], held.first[row + 1])
    counts = zip(held.gpu[parts].tolist(), held.milli[parts].tolist(), strict=True)
    return tuple(gpu for gpu, milli in counts for _ in range(milli // (job.gpus or Gpus(0)).milli))


def two_level_cases(seed: int, n: int, mask: Collection[str]) -> list[TwoLevelCase]:
    """Those of ``n`` cases with the features of a mask, and no others, that users can say."""
    chance = random.Random(f"{seed} {sorted(mask)}")
    said = said_cases(seed, n, (), always=of_batch(mask), max_jobs=9)
    return [both for case in said if (both := two_levels(chance, mask, case)).allowed]


@st.composite
def any_cases(draw: st.DrawFn) -> tuple[TwoLevelCase, tuple[str, ...]]:
    """A case that users can say, and its mask, for hypothesis; smaller draws are simpler cases."""
    mask = draw(st.sampled_from(MASKS))
    said = draw(cases((), always=of_batch(mask), max_jobs=9).map(as_users_say).filter(bool))
    assert said is not None
    both = two_levels(draw(st.randoms(use_true_random=False, note_method_calls=False)), mask, said)
    assume(finishes(said) and both.allowed)
    return both, mask


def of_batch(mask: Collection[str]) -> list[str]:
    return [name for name in mask if name in BATCH]


def two_levels(chance: random.Random, mask: Collection[str], case: BatchCase) -> TwoLevelCase:
    """A batch case whose jobs compute something; estimates are corrected as usual."""
    rules = replace(case.rules, corrections=MINUTES)
    return TwoLevelCase(replace(case, rules=rules), _computing(chance, mask, case))


def _computing(chance: random.Random, mask: Collection[str], case: BatchCase) -> Computing:
    longest = max(max(job.run, job.submit // 10) for job in case.jobs)
    unit = max(1, longest // 8)
    n_cores = sum(host.cores for host in case.machine.hosts)
    resize = next((chance.choice(rules) for name, rules in RESIZE.items() if name in mask), "none")
    phased = "phases" in mask or "wishes" in mask or "devices" in mask or "held" in mask
    coordination = next((name.removesuffix("s") for name in ("hints", "releases") if name in mask), "none")
    if coordination != "none" and resize in ("none", "mold"):
        by_host = case.rules.allocator == "whole-host" or {"units", "resources"} & set(mask)
        coordination += ":host" if by_host else chance.choice((":core", ":host"))
    found = Computing(
        chance.choice(NAMES),
        chance.choice((0.25, 1.0)) if "variation" in mask else 0.0,
        chance.randint(1, 5),
        unit // 10 if "overhead" in mask else 0,
        unit // 20 if "messages" in mask else 0,
        "messages" in mask and chance.random() < 0.5,
        tuple(_phase(chance) for _ in range(chance.randint(1, 3))) if phased else (),
        chance.choice((1, 1, 2)) if phased else 1,
        "unequal" in mask,
        (2 * unit * chance.randint(1, 3), chance.choice((0.25, 0.5)), 0.5) if "speeds" in mask else None,
        (chance.randrange(n_cores), chance.randint(0, 2 * longest)) if "losses" in mask else None,
        coordination,
        resize,
        chance.choice((0, unit // 20)) if resize != "none" else 0,
    )
    kinds = sorted({host.kind for host in case.machine.hosts if host.gpus})
    if "held" in mask and kinds and any(job.gpus is not None for job in case.jobs):
        some = chance.sample(kinds, chance.randint(1, len(kinds)))
        held = tuple(replace(_device(chance, unit), name=name, count=None) for name in some)
        on = [
            chance.choice(("", "", some[0], f"cores+{some[-1]}")) if phase.technique else "" for phase in found.phases
        ]
        phases = tuple(replace(phase, on=which) for phase, which in zip(found.phases, on, strict=True))
        return _routed(chance, replace(found, phases=phases, held=held), held, unit)
    if "devices" not in mask:
        return found
    on = [chance.choice(("", "", "gpu", "cores")) if phase.technique else "" for phase in found.phases]
    phases = tuple(replace(phase, on=some) for phase, some in zip(found.phases, on, strict=True))
    device = _device(chance, unit)
    return _routed(chance, replace(found, phases=phases, device=device), (device,), unit)


def _routed(chance: random.Random, computing: Computing, kinds: Sequence[WorkerKind], unit: int) -> Computing:
    fetches = any(kind.data == "first" for kind in kinds) and chance.random() < 0.8
    return replace(computing, route=chance.choice((0, unit // 10))) if fetches else computing


def _device(chance: random.Random, unit: int) -> WorkerKind:
    """Transfers of a task take about as long as its work."""
    return WorkerKind(
        count=chance.choice((1, 1, 2)),
        speed=chance.choice((1.0, 5.0, 20.0)),
        launch_ns=chance.choice((0, unit // 10)),
        in_bytes=chance.choice((0.0, unit / 4)),
        out_bytes=chance.choice((0.0, unit / 4)),
        bandwidth_gbps=8.0,
        link_latency_ns=chance.choice((0, unit // 20)),
        streams=chance.choice((1, 1, 2)),
        variation=chance.choice((0.0, 0.5)),
        data=chance.choice(("host", "first")),
        link=chance.choice(("device", "host")),
    )


def _phase(chance: random.Random) -> Phase:
    share, serial = chance.choice((1.0, 0.5, 3.0)), chance.random() < 0.2
    cores = chance.choice((0.0, 0.25, 0.5, 1.0, 1.5, 2.0))
    return Phase(share / 4 if serial else share, None if serial else chance.choice(NAMES), cores)


MASKS = covering(ALL, (*APART, *REFUSED), 5)
MASKS += [mask for mask in covering((*ALL, "devices"), (*APART, *REFUSED), 5) if "devices" in mask]
MASKS += [
    (*mask, "gpus") for mask in covering((*ALL, "held"), (*APART, *REFUSED), 5) if "held" in mask and "gpus" not in mask
]

#: The number of cases of each set that are drawn; some of them users cannot say.
DRAWN = 4


def check(case: TwoLevelCase, mask: Collection[str]) -> bool:
    """Whether all jobs of a case end; if so, every way to run it gives what the references do."""
    beyond = any(set(pair) <= set(mask) for pair in BEYOND)
    try:
        answer = None if beyond else case.expected()
    except cluster.NeverFinishes:
        return False
    whole = case.simulated()
    assert answer in (None, done(case, whole)), ("whole", case)
    # In calls of one end each, after which the states of both engines are checked.
    assert different(case.simulated(check=True), whole) == "", ("in pieces", case)
    paused = bridge.Simulation(case.scenario())
    forks = [paused.run(at_ns).fork() for at_ns in sorted({*whole.ledger.jobs.eligible_ns.tolist()} - {-1})[1::4]]
    assert all(different(fork.result(), whole) == "" for fork in (*forks, paused)), ("forked", case)
    return True


@pytest.mark.parametrize("mask", [(), *MASKS], ids="+".join)
def test_every_pair_of_features(mask: tuple[str, ...]) -> None:
    found = [case for case in two_level_cases(43, DRAWN, mask) if check(case, mask)]
    assert found


@settings(max_examples=200)
@given(any_cases())
def test_any_features(drawn: tuple[TwoLevelCase, tuple[str, ...]]) -> None:
    check(*drawn)


@pytest.mark.parametrize(("coupling", "step"), [("pool", 9), ("process", 40)])
def test_in_processes(coupling: str, step: int) -> None:
    held = [mask for mask in MASKS if "held" in mask]
    for mask in [mask for mask in MASKS if len(mask) > 1][::step] + held[:: step // 4]:
        case = max(two_level_cases(44, DRAWN, mask), key=lambda case: len(case.batch.jobs))
        found = case.simulated(execution=Execution(coupling, workers=1))
        assert different(found, case.simulated()) == "", case


TOLD = shlex.join([sys.executable, str(Path(__file__).with_name("lengths_peer.py"))])
LEARNING = {name for name in NAMES if name.startswith("select:") or TECHNIQUES[name].learns}


def by_parts(case: TwoLevelCase) -> bridge.Result:
    """The result with a simulator that receives lengths and parts."""
    return case.simulated(execution=Execution("pool", workers=1, als_command=TOLD))


def test_a_simulator_that_receives_parts_requests_their_widths() -> None:
    for case in two_level_cases(46, 5, ("wishes", "variation")):
        # It receives neither the seed, from which ``rnd`` draws, nor which parts belong to the same phase.
        phases = [replace(one, technique="ss") if one.technique == "rnd" else one for one in case.computing.phases]
        steps = 1 if any(phase.technique in LEARNING for phase in phases) else case.computing.steps
        alike = replace(case, computing=replace(case.computing, phases=tuple(phases), steps=steps))
        assert different(by_parts(alike), alike.simulated()) == "", alike


def test_a_simulator_that_receives_parts_learns_nothing_over_steps() -> None:
    """In the second step, AF knows the tasks of the first, which are equal: a core may take two of them at once. As parts, the
    loops of both steps are those of two phases."""
    half = Phase(0.5, "af", 0.0)
    case = TwoLevelCase(
        BatchCase((Job(1, 0, 8, 4, 8),), Machine((Host(4),)), Rules(corrections=MINUTES)),
        Computing(tasks_per_core=2, phases=(half,), steps=2),
    )
    phases = replace(case, computing=replace(case.computing, phases=(half, half), steps=1))
    assert done(case, case.simulated())[0].chunks == 14
    assert done(case, by_parts(case))[0].chunks == 16
    assert different(by_parts(case), phases.simulated()) == ""


@pytest.mark.parametrize("latency", [0, 1])
def test_a_job_that_would_release_cores_as_their_host_fails_is_cut(latency: int) -> None:
    """Core 1, which is twice as fast, computes until 6 ns; with messages of 1 ns, from 2 to 8 ns, and is released at 10 ns."""
    at = 6 + 4 * latency
    for down, end in ((at, at), (at + 1, 12)):
        batch = BatchCase(
            (Job(1, 0, 12, 2, 12),),
            Machine((Host(1), Host(1, outages=((down, 99),)))),
            Rules(corrections=MINUTES, requeue=False),
        )
        case = TwoLevelCase(
            batch, Computing(tasks_per_core=2, latency=latency, unequal=True, coordination="release:core")
        )
        assert check(case, ())
        assert done(case, case.simulated())[0].attempt.end == end
        assert different(case.simulated(execution=Execution("pool", workers=1)), case.simulated()) == ""


@pytest.mark.parametrize(("fails", "second"), [(None, (-1, -1)), (1, (-1, -1)), (0, (2, 3))])
def test_the_task_of_the_last_core_is_lost_with_it(fails: int | None, second: tuple[int, int]) -> None:
    """Also if job 2 is withdrawn from the queue then, or another host fails; if its own host fails, it computed until then."""
    hosts = [Host(2, outages=((3, 9),) if host == fails else ()) for host in range(2)]
    jobs = (Job(1, 0, 6, 1, 6), Job(2, 1, 1, 4, 1, cancel=3))
    batch = BatchCase(jobs, Machine(tuple(hosts)), Rules(corrections=MINUTES, requeue=False))
    case = TwoLevelCase(batch, Computing("ss", tasks_per_core=3, lost=(0, 3)))
    assert check(case, ())
    failed, withdrawn = done(case, case.simulated())
    assert (failed.attempt.end, failed.attempt.state, withdrawn.attempt.state) == (3, "failed", "cancelled")
    assert [task[2:4] for task in failed.tasks] == [(0, 2), second, (-1, -1)]


def plain_python() -> int:
    return sum(any(check(case, mask) for case in two_level_cases(45, DRAWN, mask)[:2]) for mask in MASKS[::5])


def test_without_compiled_code() -> None:
    assert without_compiled_code("test_both_levels", "plain_python") == len(MASKS[::5])


class Places:
    """First come, first served, on the first free cores, which it names: from what it sees of the machine."""

    name = "places"
    seen = 0

    def decide(self, view: View) -> list[Any]:
        held = [core for job in view.running for lo, hi in view.allocation(job) for core in range(lo, hi)]
        assert len(held) == len(set(held)) == view.n_cores - view.free_cores - self.down(view)
        Places.seen += sum(job.cores for job in view.running) > len(held)
        free = np.flatnonzero(view.is_free).tolist()
        assert view.free_by_host.sum() == len(free) == view.free_cores
        chosen = []
        for job in sorted(view.waiting, key=lambda job: job.origin):
            if job.cores > len(free):
                break
            chosen.append((job, free[: job.cores]))
            free = free[job.cores :]
        return chosen

    def down(self, view: View) -> int:
        return sum(view.hosts[host].n_cores for host in view.down)


def test_a_policy_in_python_sees_and_names_released_cores() -> None:
    Places.seen = 0
    for case in two_level_cases(22, 20, ("releases", "variation", "outages", "kill", "dependencies")):
        rules = replace(case.batch.rules, order="fcfs", depth=0, keep=False, allocator="first-fit")
        plain = replace(case, batch=replace(case.batch, rules=rules))
        scenario, policy = plain.scenario(), Places()
        scenario = replace(scenario, policy=policy, options=scenario.options.with_options(bls=policy))
        found = done(plain, run(scenario, check=True))
        assert [unexplained(one) for one in found] == [unexplained(one) for one in plain.expected()], plain
    assert Places.seen > 4


def unexplained(one: Done) -> Done:
    return replace(one, attempt=replace(one.attempt, why="head"))


@account_kernel
def _sums(now_ns, row, cores, change, numbers, memory):  # type: ignore[no-untyped-def]
    memory[0] += change * cores * now_ns
    memory[1] += change * cores
    return 0


@score_kernel
def _in_order(now_ns, waiting, n_waiting, eligible_ns, submit_ns, estimate_ns, cores, numbers, memory, key):  # type: ignore[no-untyped-def]
    for k in range(n_waiting):
        key[k] = waiting[k]
    return 0


def test_accounts_are_charged_only_until_cores_are_released() -> None:
    policy = ScorePolicy("sums", _in_order, _sums, lambda jobs: (np.empty((0, len(jobs.job_id))), np.zeros(2)))
    released = 0
    for case in two_level_cases(23, 10, ("releases", "variation", "kill")):
        simulation = bridge.Simulation(replace(case.scenario(), policy=policy))
        jobs, releases = simulation.result().ledger.jobs, simulation.result().ledger.of(ReleaseRecords)
        assert releases is not None
        held = (jobs.cores * (jobs.end_ns - jobs.start_ns))[jobs.start_ns >= 0].sum()
        held -= (jobs.end_ns[releases.job] - releases.released_ns).sum()
        assert simulation._simulator.state.scores.memory.tolist() == [-held, 0]
        released += len(releases)
    assert released > 10
