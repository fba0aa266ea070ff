"""Policies that direct running jobs, runs under them, and how two runs are compared: for tests of directed jobs."""

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from directors import Director
from inside import column

import bridge
from als.techniques import TECHNIQUES
from bls import ConstraintOptions, HostGroup, Platform, Rules
from bls.machine.host_power import HostPower
from bls.policies.contract import DIRECTIONS
from bls.power.options import Power
from bls.workloads.workload import Workload
from bridge.scenarios.application_map import parse_application_map
from bridge.scenarios.scenario import Application
from traces.checks.ledger import check_ledger

S = 10**9

PLATFORM = Platform((HostGroup(3, 4, 1.0), HostGroup(1, 4, 2.0)))
SPEEDS = (
    "square:period=3s,low=0.4,duty=0.3",
    "noise:period=7s,sigma=0.3",
    "lost:cores=5 11,at=40s,until=60s",
    "lost:cores=2,at=70s",
)


def jobs(chance: random.Random, n: int, cores: int = 12, pauses: Sequence[int] = (0, 1, 1, 2, 5)) -> Workload:
    """Jobs that come fast enough for most to wait."""
    submit, rows = 0, []
    for number in range(1, n + 1):
        submit += chance.choice(pauses)
        run = chance.randint(1, 30)
        rows.append((number, submit, run, chance.randint(1, cores), run + chance.randint(0, 20)))
    return Workload.from_jobs(rows)


def drawn(seed: int) -> dict[str, Any]:
    """A scenario in which jobs receive hints."""
    chance = random.Random(seed)
    options: dict[str, Any] = {
        "als": chance.choice((*sorted(TECHNIQUES), "ss", "select:ss,gss,static")),
        "variation": chance.choice((0.0, 0.3, 0.8)),
        "tasks_per_core": chance.choice((1, 3, 8)),
        "overhead_ns": chance.choice((0, 1000, 200_000_000)),
        "keep_tasks": chance.random() < 0.7,
        "seed": seed,
        "rules": Rules(
            coordination=chance.choice(("hint", "hint:core", "hint:host")),
            backfill=chance.choice(("none", "easy", "conservative")),
            kill_at_walltime=chance.random() < 0.4,
        ),
        "application": Application(
            latency_ns=chance.choice((0, 5_000_000, 700_000_000)),
            assignment=chance.choice(("distributed", "distributed", "master")),
            speeds=tuple(one for one in SPEEDS if chance.random() < 0.4),
        ),
    }
    if chance.random() < 0.4:
        options["constraints"] = ConstraintOptions(failures="mtbf:150s,mttr:5s")
    return options


def drawn_wide(seed: int) -> dict[str, Any]:
    """A scenario in which the widths of jobs change."""
    chance, options = random.Random(-seed), drawn(seed)
    coordination = chance.choice(("none", "none", "release"))
    resize = chance.choice(("expand", "shrink", "expand+shrink", "equal"))
    malleable = chance.choice(("1:0.25:3", "0.7:0.5:2", "1:1:4", "0.5:0.1:1"))
    return options | {
        "als": chance.choice((*sorted(TECHNIQUES), "ss", "gss")),
        "rules": replace(options["rules"], coordination=coordination, resize=resize),
        "constraints": replace(options.get("constraints", ConstraintOptions()), malleable=malleable),
        "application": replace(options["application"], resize_ns=chance.choice((0, 1_000_000, 500_000_000))),
    }


def drawn_evolving(seed: int) -> dict[str, Any]:
    """A scenario in which applications say how wide jobs are."""
    chance, options = random.Random(3 * seed + 1), drawn_wide(seed)
    phases = []
    for _ in range(chance.randint(1, 4)):
        cores = f", cores = {chance.choice((0.25, 0.5, 1.0, 1.5, 3.0))}" if chance.random() < 0.8 else ""
        kind = "serial" if chance.random() < 0.2 else "loop"
        phases.append(f'{{ kind = "{kind}", share = {chance.choice((0.1, 1.0, 2.0))}{cores} }}')
    text = f"[default]\nsteps = {chance.randint(1, 4)}\nphases = [{', '.join(phases)}]\n"
    level = replace(options["application"], applications=parse_application_map(text, "drawn"))
    return options | {"rules": replace(options["rules"], resize="evolve"), "application": level}


#: The tables of commands to running jobs.
TOLD = {"scales", "widths", "hints"}


def command_rows(result: bridge.Result) -> dict[str, int]:
    """Check a run, and count the commands to running jobs."""
    check_ledger(result.ledger)
    return {one.name: len(getattr(result, one.name)) for one in result.ledger.events if one.name in TOLD}


def changed_toy(directory: Path, changes: dict[str, str]) -> str:
    """The command of the toy with some of its text replaced."""
    text = (Path(__file__).parent / "toy_scheduler.py").read_text()
    for old, new in changes.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (directory / "changed.py").write_text(text)
    return f"{sys.executable} {directory / 'changed.py'}"


def _held(view: Any, job: Any) -> list[int]:
    return [core for lo, hi in view.allocation(job) for core in range(lo, hi)]


class InOrder:
    """First come, first served, as the engine does it where nothing limits jobs; then running jobs are directed."""

    name = "in-order"
    directs: tuple[str, ...] = ("widths",)

    def decide(self, view: Any) -> Iterator[Any]:
        free, waiting = view.free_cores, sorted(view.waiting, key=lambda job: (job.submit_ns, job.origin))
        starts = []
        while waiting and waiting[0].cores <= free:
            free -= waiting[0].cores
            starts.append(waiting.pop(0))
        yield from starts
        self.direct(view, starts, waiting, free)

    def direct(self, view: Any, starts: list[Any], waiting: list[Any], free: int) -> None:
        for job in [*view.running, *starts]:
            width = view.width(job)
            if width.least < width.most:
                view.resize(job, self.cores(view, job, width, bool(waiting)))

    def cores(self, view: Any, job: Any, width: Any, some_wait: bool) -> int:
        raise NotImplementedError


class Follows(InOrder):
    """As many cores as a draw of the instant says; it knows from the news which cores each running job has."""

    def __init__(self, seed: int) -> None:
        self.seed, self.given = seed, 0
        self.held: dict[int, set[int]] = {}

    def cores(self, view: Any, job: Any, width: Any, some_wait: bool) -> int:
        return random.Random(f"{self.seed} {view.now_ns} {job.row}").randint(width.least, width.most)

    def finish(self, view: Any) -> None:
        self.look(view)

    def look(self, view: Any) -> None:
        for one in view.news():
            cores = {core for lo, hi in getattr(one, "cores", ()) for core in range(lo, hi)}
            kind = type(one).__name__
            if kind == "JobStarted":
                self.held[one.job.row] = cores
            elif kind == "CoresGiven":
                assert not cores & self.held[one.job.row]
                self.held[one.job.row] |= cores
                self.given += len(cores)
            elif kind == "CoresReleased":
                assert cores <= self.held[one.job.row]
                self.held[one.job.row] -= cores
            elif kind == "JobEnded":
                self.held.pop(one.job.row, None)

    def decide(self, view: Any) -> Iterator[Any]:
        self.look(view)
        for job in view.running:
            assert self.held[job.row] == set(_held(view, job))
            assert len(self.held[job.row]) == view.width(job).cores
            assert job.expected_end_ns == column(view._run.state, "jobs.expected_end_ns")[job.row]
        yield from super().decide(view)


class TurnWidths(InOrder):
    """As wide as the number of the decision says."""

    def __init__(self) -> None:
        self.decision = 0

    def decide(self, view: Any) -> Iterator[Any]:
        self.decision += 1
        yield from super().decide(view)

    def cores(self, view: Any, job: Any, width: Any, some_wait: bool) -> int:
        return int(width.least + (job.row + self.decision) % (width.most - width.least + 1))


class TurnSpeeds(TurnWidths):
    """Whatever runs is scaled by one of three factors, by the number of the decision."""

    directs = ("speeds",)

    def direct(self, view: Any, starts: list[Any], waiting: list[Any], free: int) -> None:
        for job in view.running:
            view.scale(job, (0.5, 1.0, 0.75)[(job.row + self.decision) % 3])


class Hints(InOrder):
    """First come, first served; some cores of running jobs are wanted for the head of the queue."""

    directs = ("hints",)

    def direct(self, view: Any, starts: list[Any], waiting: list[Any], free: int) -> None:
        head = waiting[0] if waiting else None
        for job, cores in self.wants(view, head):
            view.hint(job, cores, head)

    def wants(self, view: Any, head: Any) -> Iterator[tuple[Any, list[int]]]:
        raise NotImplementedError


class DrawnHints(Hints):
    """Any of their cores, or none, of some of the running jobs, by a draw of the instant."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def wants(self, view: Any, head: Any) -> Iterator[tuple[Any, list[int]]]:
        for job in view.running:
            chance, cores = random.Random(f"{self.seed} {view.now_ns} {job.row}"), _held(view, job)
            if chance.random() < 0.7:
                yield job, chance.sample(cores, chance.randint(0, len(cores))) if head else []


class LastOfEach(Hints):
    """The last core that each job holds, of two or more, is wanted while some wait."""

    def wants(self, view: Any, head: Any) -> Iterator[tuple[Any, list[int]]]:
        for job in view.running:
            cores = _held(view, job)
            yield job, cores[-1:] if head and len(cores) > 1 else []


class Everything(Director):
    """First come, first served; scales, ends, resizes and hints, what of it ``kinds`` names, as is drawn from the instant."""

    name = "everything"

    def __init__(self, seed: int, kinds: tuple[str, ...]) -> None:
        super().__init__(seed, 0.4 if "speeds" in kinds else 0.0, 0.02 if "ends" in kinds else 0.0)
        self.directs = kinds

    def decide(self, view: Any) -> Iterator[Any]:
        chance, starts = random.Random(f"{self.seed} {view.now_ns} more"), []
        for job in super().decide(view):
            starts.append(job)
            yield job
        waiting = [job for job in view.waiting if job not in starts]
        for job in [*view.running, *starts] if "widths" in self.directs else ():
            width = view.width(job)
            if width.least < width.most and chance.random() < 0.5:
                view.resize(job, chance.randint(width.least, width.most))
        for job in view.running if "hints" in self.directs else ():
            if chance.random() < 0.5:
                held = _held(view, job)
                cores = chance.sample(held, chance.randint(0, len(held))) if waiting else []
                view.hint(job, cores, chance.choice(waiting) if waiting else None)


class UnderLimits(Everything):
    """And starts only what fits the limit to power, wherever it is placed."""

    name = "under-limits"

    def may_start(self, view: Any, job: Any, starts: list[Any]) -> bool:
        left = view.power_left_w
        return left is None or sum(view.power_of(one, [12] * one.cores) for one in [*starts, job]) <= left


POWER = HostPower(50, [(1, 100), (0.75, 85), (0.5, 70)], base_w=20, off_w=5, shutdown=("5s", 60), boot=("10s", 200))
#: 1,680 W idle and full 2,480 W; hosts of the last group are twice as fast and have other speeds of their own.
POWERED = Platform((
    HostGroup(3, 4, 4.0, power=POWER),
    HostGroup(1, 4, 8.0, power=HostPower(60, [(1, 150), (0.6, 100)])),
))  # fmt: skip


def power_drawn(seed: int) -> dict[str, Any]:
    """A scenario in which running jobs are slowed."""
    chance, limits = random.Random(seed), []
    for _ in range(chance.randint(1, 5)):
        begin = chance.randint(0, 150) * S
        limits.append((begin, begin + chance.randint(5, 120) * S, chance.randint(1000, 1500)))
    constraints = ConstraintOptions(failures="mtbf:150s,mttr:5s") if chance.random() < 0.4 else ConstraintOptions()
    als = chance.choice((*sorted(TECHNIQUES), "ss", "gss", "select:ss,gss,static", "recorded"))
    tasks = {"variation": chance.choice((0.0, 0.3, 0.8)), "tasks_per_core": chance.choice((1, 3, 8))}
    reaction = chance.choice((0, 5 * S))
    power = Power(
        limits=[(*one, "", reaction) for one in limits],
        fallback=chance.choice(("dvfs", "dvfs", "submit:state=1")),
        allowed=chance.choice(("all", "0.5")),
    )
    return ({} if als == "recorded" else tasks) | {
        "als": als,
        "seed": seed,
        "backfill": chance.choice(("none", "easy", "conservative", "2")),
        "allocator": chance.choice(("first-fit", "first-fit", "best-fit", "contiguous", "whole-host")),
        "rules": Rules(kill_at_walltime=chance.random() < 0.3, max_attempts=10**6),
        "constraints": constraints,
        "power": power,
    }


def scaling(seed: int) -> dict[str, Any]:
    chance, options = random.Random(-seed - 7), drawn(seed)
    coordination, kills = chance.choice(("none", "none", "release", "release:host")), options["rules"].kill_at_walltime
    options["rules"] = Rules(coordination=coordination, kill_at_walltime=kills, max_attempts=1000)
    return options | {"bls": Director(seed, 0.9 if chance.random() < 0.3 else 0.4)}


def resizing(seed: int, resize: str = "decide") -> dict[str, Any]:
    options = drawn_wide(seed)
    rules = Rules(coordination=options["rules"].coordination, resize=resize, max_attempts=1000)
    return options | {"rules": rules, "bls": Follows(seed)}


def hinting(seed: int) -> dict[str, Any]:
    options = drawn(seed)
    rules = Rules(coordination=options["rules"].coordination, max_attempts=1000)
    return options | {"rules": rules, "bls": DrawnHints(seed)}


def everything(seed: int) -> dict[str, Any]:
    """A policy that directs two or more kinds of things."""
    chance = random.Random(-seed - 11)
    kinds = chance.sample(DIRECTIONS, chance.choice((2, 3, 4, 4)))
    hints, widths = "hints" in kinds, "widths" in kinds
    options = drawn_wide(seed) if widths else drawn(seed)
    options["rules"] = Rules(
        coordination="hint" if hints else chance.choice(("none", "release")),
        resize="decide" if widths else "none",
        kill_at_walltime=chance.random() < 0.3,
        max_attempts=1000,
    )
    return options | {"bls": Everything(seed, tuple(kinds))}


def limited(seed: int) -> dict[str, Any]:
    """Limits to power: with hints, widths that change by a rule, or a policy that does what limits do not."""
    chance, power = random.Random(seed), power_drawn(seed)["power"]
    what = chance.choice(("hint", "resize", "both", "policy", "policy"))
    if what == "policy":
        kinds = tuple(chance.sample(("ends", "widths", "hints"), chance.choice((0, 1, 2, 3, 3))))
        options = drawn_wide(seed) if "widths" in kinds else drawn(seed)
        options["bls"] = UnderLimits(seed, kinds)
        coordination = "hint" if "hints" in kinds else chance.choice(("none", "release"))
        rules = {"resize": "decide" if "widths" in kinds else "none", "coordination": coordination}
    else:
        options = drawn(seed) if what == "hint" else drawn_wide(seed)
        rules = {"backfill": options["rules"].backfill, "resize": options["rules"].resize}
        rules |= {"coordination": chance.choice(("none", "release") if what == "resize" else ("hint", "hint:core"))}
    options["rules"] = Rules(**rules, kill_at_walltime=chance.random() < 0.3, max_attempts=10**6)
    options["power"] = replace(power, fallback=chance.choice(("dvfs", "dvfs", "submit:state=1", "hold")))
    return options


@dataclass(frozen=True)
class Kind:
    """Runs in which running jobs are directed in a certain way."""

    draw: Callable[[int], dict[str, Any]]
    platform: Platform = PLATFORM
    jobs: int = 24

    def workload(self, seed: int) -> Workload:
        return jobs(random.Random(~seed), self.jobs)

    def simulated(self, seed: int, **options: Any) -> bridge.Result:
        return bridge.simulate(self.workload(seed), self.platform, **self.draw(seed) | options)


KINDS = {
    "receive hints": Kind(drawn, jobs=40),
    "evolving": Kind(drawn_evolving, jobs=40),
    "speeds": Kind(scaling),
    "widths": Kind(resizing, jobs=25),
    "hints": Kind(hinting, jobs=25),
    "everything": Kind(everything),
    "limits": Kind(limited, POWERED),
}
