"""Limits to power and the power of jobs: the engine against a slow reference, cases by hand, and what is refused."""

import pickle
import random
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import application
from reference.drawing import task_lengths
from reference.power import Case, Down, Job, Limit, Machine, Outcome, Part, run
from tables import table_rows

import bridge
from bls import ConstraintOptions, HostGroup, Platform, Rules, Workload
from bls.engine.features.directions.records import ScaleRecords
from bls.engine.features.levels.slowing import _compare
from bls.machine.host_power import HostPower
from bls.power.job_power import allowed_jobs
from bls.power.options import SLOW, Power
from bls.power.plan import PowerPlan
from bls.simulator import BatchSimulator
from traces.base.errors import InputError
from traces.intervals import intervals_text

pytestmark = pytest.mark.whole

S = 10**9
FALLBACKS = ("none", "hold", "submit", "dvfs", "stop:idle", "stop:off")
THREE = ("hold", "submit", "dvfs")
ORDERS = tuple(SLOW)
POWERS = (0, 0.25, 0.8, 0.999999999, 1, 1, 1.3, 2.5)
SHARES = (0, 0, 0.3, 0.5, 0.999999999, 1)

TWO = Machine(2, 2, 50_000, ((Fraction(1), 100_000), (Fraction(1, 2), 70_000)))
JOBS = (Job(0, 2, 100 * S, True), Job(0, 2, 60 * S, True), Job(10 * S, 2, 40 * S, True))
LIMIT = (Limit(20 * S, 80 * S, 300_000),)

#: The machine and the jobs of the cases by hand.
MACHINE = Platform((HostGroup(2, 2, 2.0, power=HostPower(50, [(1, 100), (0.5, 70)])),))
THREE_JOBS = Workload.from_jobs([(1, 0, 100, 2, 100), (2, 0, 60, 2, 60), (3, 10, 40, 2, 40)])


def platform_of(machine: Machine) -> Platform:
    power = HostPower(
        machine.idle / 1000,
        [(float(speed), watts / 1000) for speed, watts in machine.states],
        off_w=machine.off / 1000,
        shutdown=(f"{machine.shutdown[0]}ns", machine.shutdown[1] / 1000),
        boot=(f"{machine.boot[0]}ns", machine.boot[1] / 1000),
        gpu_idle_w=machine.gpu_idle / 1000,
        gpu_states=tuple((float(speed), watts / 1000) for speed, watts in machine.gpu_states),
    )
    return Platform((HostGroup(machine.hosts, machine.cores, float(machine.cores), power=power, gpus=machine.gpus),))


def simulated(case: Case, folder: Path, **options: Any) -> bridge.Result:
    names, numbered = ("job_id", "submit_s", "run_s", "cores", "estimate_s", "user"), list(enumerate(case.jobs, 1))
    rows = [(k, j.submit // S, j.run // S, j.cores, (j.estimate or j.run) // S, j.user) for k, j in numbered]
    jobs = Workload.from_jobs([dict(zip(names, row, strict=True)) for row in rows])
    allowed = folder / "allowed.csv"
    allowed.write_text("job_id,allowed\n" + "".join(f"{k},{int(one.slowable)}\n" for k, one in numbered))
    known = case.reaction, case.notice
    limits: list[tuple[Any, ...]] = [(one.begin, one.end, one.power / 1000, "", *known) for one in case.limits]
    for part in case.parts:
        where = f"hosts:{intervals_text([(min(part.hosts), max(part.hosts) + 1)])}"
        limits += [(one.begin, one.end, one.power / 1000, where, *known) for one in part.limits]
    fallback = f"dvfs:slow={case.order}" if case.order != "together" else case.fallback
    given = {"job_id": [k for k, _ in numbered], "power": [float(one.power) for one in case.jobs]}
    given["memory_bound"] = [float(one.memory) for one in case.jobs]
    if case.machine.gpus:
        given["gpu_share"] = [float(one.gpu_share) for one in case.jobs]
    as_said = all((one.power, one.memory, one.gpu_share) == (1, 0, 1) for one in case.jobs)
    power = Power(
        limits=limits,
        fallback=f"submit:state={case.slow}" if fallback == "submit" else fallback,
        allowed=allowed,
        job_power=None if as_said else given,
        estimates=estimates_of(case),
    )
    backfill = {} if "rules" in options else {"backfill": "easy" if case.easy else "none"}
    said = {"als": "recorded", "power": power} | backfill | options
    if case.downs or case.machine.gpus:
        said["constraints"] = constraints(case, folder)
    return bridge.simulate(jobs, platform_of(case.machine), **said)


def estimates_of(case: Case) -> str:
    """Return the option: without known users, last-two is refused, and would predict what the platform says."""
    unknown = case.estimates == "last-two" and all(job.user < 0 for job in case.jobs)
    return "platform" if unknown else case.estimates


def constraints(case: Case, folder: Path) -> ConstraintOptions:
    failures, windows = folder / "failures.csv", folder / "windows.toml"
    rows = [f"{one.host},{one.begin // S},{one.end // S}\n" for one in case.downs if not one.foreseen]
    failures.write_text("host,down_s,up_s\n" + "".join(rows))
    tables = [
        f'[[maintenance]]\nname = "m{k}"\nbegin = {one.begin // S}\nend = {one.end // S}\nhosts = "{one.host}"\n'
        for k, one in enumerate(case.downs)
        if one.foreseen
    ]
    windows.write_text("".join(tables))
    asked, lines = folder / "requests.csv", ["job_id,gpus_per_host,gpus_per_task,gpu_milli\n"]
    for k, one in enumerate(case.jobs, 1):
        lines.append(f"{k},{one.gpus},,{one.milli}\n" if one.per_host else f"{k},,{one.gpus},{one.milli}\n")
    asked.write_text("".join(lines))
    return ConstraintOptions(
        failures=str(failures) if rows else None,
        windows=windows if tables else None,
        requests=str(asked) if case.machine.gpus else None,
    )


def assert_as(expected: Outcome, found: bridge.Result) -> None:
    jobs = found.ledger.jobs
    ran = sorted(zip((jobs.job_id - 1).tolist(), jobs.start_ns.tolist(), jobs.end_ns.tolist(), strict=True))
    assert ran == sorted(expected.attempts)
    assert found.power is not None
    series = found.power.series
    begin, until = int(series.instant_ns[0]), series.until_ns
    steps = [(max(at, begin), watts) for at, watts in expected.power if at < until]
    while len(steps) > 1 and steps[1][0] <= begin:
        steps.pop(0)
    steps = [one for k, one in enumerate(steps) if k == 0 or one[1] != steps[k - 1][1]]
    assert list(zip(series.instant_ns.tolist(), series.power_mw.tolist(), strict=True)) == steps


def drawn(seed: int, fallback: str, *, easy: bool = False) -> Case:
    chance = random.Random(f"{seed} {fallback} {easy}")
    hosts, cores = chance.randint(1, 4), chance.randint(1, 3)
    idle = chance.choice((20_000, 50_000))
    middle = [(Fraction(3, 4), 85_000)] * chance.randint(0, 1)
    states = ((Fraction(1), 100_000), *middle, (Fraction(1, 2), 70_000))
    jobs, submit = [], 0
    for _ in range(chance.randint(1, 14)):
        submit += chance.choice((0, 0, 3, 7, 20)) * S
        jobs.append(Job(submit, chance.randint(1, hosts * cores), chance.randint(1, 60) * S, chance.random() < 0.6))
    limits = []
    for _ in range(chance.randint(1, 3)):
        begin, n = chance.randint(0, 120) * S, hosts * cores
        lowest = n * idle + (-20_000 if chance.random() < 0.1 else 80_000)
        power = chance.randint(lowest, max(lowest, n * 100_000) + 20_000)
        limits.append(Limit(begin, begin + chance.randint(5, 90) * S, power))
    machine = Machine(
        *(hosts, cores, idle, states),
        off=chance.choice((0, 10_000)),
        shutdown=(chance.randint(1, 6) * S, 30_000 * cores),
        boot=(chance.randint(1, 9) * S, 120_000),
    )
    reaction = chance.choice((0, 0, 5 * S))
    return Case(machine, tuple(jobs), tuple(limits), fallback, reaction, easy, chance.randint(1, len(states) - 1))


def with_downs(case: Case, seed: int) -> Case:
    """Hosts go down, unforeseen or foreseen, one host several times and for both reasons at once."""
    chance, downs = random.Random(f"{seed} downs"), dict[tuple[int, bool], list[Down]]()
    for _ in range(chance.randint(1, 6)):
        host, foreseen, begin = chance.randrange(case.machine.hosts), chance.random() < 0.4, chance.randint(0, 130) * S
        one = Down(host, begin, begin + chance.randint(1, 50) * S, foreseen)
        mine = downs.setdefault((host, foreseen), [])
        if all(one.end < other.begin or other.end < one.begin for other in mine):
            mine.append(one)
    return replace(case, downs=tuple(one for mine in downs.values() for one in mine))


def with_parts(case: Case, seed: int) -> Case:
    """Some hosts have limits of their own; these parts are apart, one within another, or share hosts."""
    chance, machine, parts = random.Random(f"{seed} parts"), case.machine, []
    for _ in range(chance.randint(1, 3)):
        first = chance.randrange(machine.hosts)
        hosts = frozenset(range(first, chance.randint(first + 1, machine.hosts)))
        n, limits = len(hosts) * machine.cores, []
        for _ in range(chance.randint(1, 2)):
            begin = chance.randint(0, 120) * S
            power = n * machine.idle + chance.choice((0, 30_000, 60_000, 100_000, 200_000))
            limits.append(Limit(begin, begin + chance.randint(5, 90) * S, power))
        if all(part.hosts != hosts for part in parts):
            parts.append(Part(hosts, tuple(limits)))
    return replace(case, limits=case.limits if chance.random() < 0.5 else (), parts=tuple(parts))


def with_gpus(case: Case, seed: int) -> Case:
    """Hosts have GPUs, and most jobs request some, or shares; the limits leave power for them."""
    chance, machine = random.Random(f"{seed} gpus"), case.machine
    states = ((Fraction(1), 400_000), (Fraction(7, 8), 300_000), (Fraction(5, 8), 130_000))
    gpus, idle = chance.randint(1, 3), chance.choice((0, 55_000))
    machine = replace(machine, gpus=gpus, gpu_idle=idle, gpu_states=states[: chance.randint(1, 3)])

    def other(one: Job) -> Job:
        per_host, share = chance.random() < 0.4, Fraction(chance.choice((0, 3, 10, 10)), 10)
        if chance.random() < 0.25:
            return one
        if chance.random() < 0.5:
            return replace(one, gpus=1, per_host=per_host, milli=chance.choice((250, 400, 1000)), gpu_share=share)
        n = chance.randint(1, gpus)
        cores = one.cores if per_host else min(one.cores, machine.hosts * min(machine.cores, gpus // n))
        return replace(one, cores=cores, gpus=n, per_host=per_host, gpu_share=share)

    def higher(limits: tuple[Limit, ...], hosts: int) -> tuple[Limit, ...]:
        more = hosts * gpus
        return tuple(
            replace(one, power=one.power + more * idle + chance.randint(0, more * 300) * 1000) for one in limits
        )

    parts = tuple(replace(part, limits=higher(part.limits, len(part.hosts))) for part in case.parts)
    limits = higher(case.limits, machine.hosts)
    slow = chance.randint(1, machine.slowest)
    return replace(case, machine=machine, jobs=tuple(map(other, case.jobs)), limits=limits, parts=parts, slow=slow)


def unlike(case: Case, seed: int) -> Case:
    """Jobs draw more or less than the platform says, and depend less on the speed of their cores."""
    chance = random.Random(~seed)

    def other(one: Job) -> Job:
        power, memory = (Fraction(str(chance.choice(values))) for values in (POWERS, SHARES))
        return replace(one, power=power, memory=memory)

    return replace(case, jobs=tuple(map(other, case.jobs)))


def with_words(kind: str, seed: int, fallback: str) -> Case:
    """Return a case that has what the words of ``kind`` say."""
    name, _, order = fallback.partition(":slow=")
    plans = any(word in kind for word in ("requested", "application"))
    case = replace(drawn(seed, name, easy=plans or "easy" in kind), order=order or "together")
    if plans or "noticed" in kind:
        chance = random.Random(f"{seed} estimates")
        jobs = tuple(replace(one, estimate=one.run + chance.choice((0, 7, 40)) * S) for one in case.jobs)
        # With EASY it is known when running jobs end at the speeds of now.
        case = replace(case, jobs=jobs, promised="application" in kind)
    if "noticed" in kind:
        case = replace(case, reaction=0, notice=random.Random(seed).choice((1, 10, 40, 10**4)) * S)
    if "parts" in kind:
        case = with_parts(case, seed)
    if "downs" in kind:
        case = with_downs(case, seed)
    if "predicted" in kind:  # from the power of jobs of two users; other users are unknown
        chance, case = random.Random(f"{seed} users"), unlike(case, seed)
        users = tuple(replace(one, user=chance.choice((-1, 1, 1, 1, 2)), submit=3 * one.submit) for one in case.jobs)
        case = replace(case, jobs=users, estimates=("last-two", "platform", "exact")[seed % 3])
    if "gpus" in kind:
        case = with_gpus(case, seed)
    if "charged" in kind:
        case = replace(case, cost=random.Random(f"{seed} cost").choice((1, S // 2, 4 * S)))
    return case


SLOWED = tuple(f"dvfs:slow={order}" for order in ORDERS)

#: What is drawn, for which fallbacks, and how many seeds.
KINDS: dict[str, tuple[tuple[str, ...], int]] = {
    "by counts": (FALLBACKS, 3),
    "by cores": (FALLBACKS, 3),  # as where hosts are not alike
    "downs": (FALLBACKS, 6),
    "application": (THREE, 6),
    "charged": (("none", "hold", "submit"), 3),
    "charged easy": (("none", "hold", "submit"), 3),
    "noticed": (("none", *THREE), 4),
    "predicted": (FALLBACKS, 6),
    "predicted by cores": (THREE, 6),
    "predicted requested": (THREE, 6),
    "predicted noticed": (THREE, 6),
    "predicted downs": (("hold", "stop:idle", "stop:off"), 9),
    "slowed by cores": (SLOWED, 9),
    "slowed predicted": (SLOWED, 12),
    "slowed downs": (SLOWED, 9),
    "slowed application": (SLOWED, 9),
    "parts": (("none", *THREE, "dvfs:slow=fewest", "dvfs:slow=least-sensitive"), 4),
    "parts predicted": ((*THREE, "dvfs:slow=fewest", "dvfs:slow=least-sensitive"), 5),
    "parts downs": (("hold", "dvfs", "dvfs:slow=fewest"), 4),
    "parts noticed": (("hold", "dvfs", "dvfs:slow=fewest"), 4),
    "gpus": (FALLBACKS, 8),
    "gpus downs": (FALLBACKS, 6),
    "gpus predicted": (FALLBACKS, 6),
    "gpus noticed": (THREE, 4),
    "gpus slowed": (SLOWED, 12),
    "gpus parts": ((*THREE, *SLOWED), 8),
}


@pytest.mark.parametrize("kind", KINDS)
def test_as_the_slow_reference(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs and power over time are the same; of every other case the engine's state is checked at each step."""
    fallbacks, seeds = KINDS[kind]
    known = [word for word in ("requested", "application") if word in kind]
    options: dict[str, Any] = {"estimates": known[0]} if known else {}
    if "by cores" in kind:
        monkeypatch.setattr(PowerPlan, "alike", property(lambda plan: False))
    met = cut = slowed = elsewhere = 0
    for fallback in fallbacks:
        for seed in range(seeds):
            case = with_words(kind, seed, fallback)
            expected = run(case)
            if expected is None:
                continue
            if case.cost:
                easy = "easy" if case.easy else "none"
                options["rules"] = Rules(easy, decision_cost_ns=case.cost)
            monkeypatch.setattr(BatchSimulator, "checks", 3 - 2 * (seed % 2))
            monkeypatch.setattr(BatchSimulator, "most_ends", 1 if seed % 2 else 2**62)
            found = simulated(case, tmp_path, **options)
            assert_as(expected, found)
            if estimates_of(case) != "exact" and "predicted_power" in found.jobs:
                # A job that is tried again is predicted again; an attempt that was cut teaches nothing.
                thought = [float(expected.thought[k]) for k in range(len(case.jobs))]
                last = found.jobs[found.jobs.state == "completed"].set_index("job_id").sort_index()
                assert last.predicted_power.tolist() == thought
                error = (last.predicted_power - last.power).abs().mean()
                assert found.metrics["mean_power_error"] == pytest.approx(error)
                elsewhere += thought != [1] * len(thought)
            elif case.parts or case.notice:
                alone = run(replace(case, parts=(), notice=0))
                elsewhere += alone is not None and alone.attempts != expected.attempts
            met, cut = met + 1, cut + len(expected.attempts) - len(case.jobs)
            slowed += len(found.ledger.of(ScaleRecords) or ())
    assert met > len(fallbacks) * seeds // 3
    assert cut > 4 or kind != "downs"
    assert slowed > 4 or "slowed" not in kind
    assert elsewhere > 0 or not kind.startswith(("predicted", "parts", "noticed"))


class Loops:
    """Programs of the jobs of a case: the reference runs a job again from its start whenever its speed has changed."""

    def __init__(
        self, case: Case, als: str, seed: int, overhead_ns: int, variation: float, tasks_per_core: int
    ) -> None:
        self.case, self.als, self.seed, self.overhead_ns = case, als, seed, overhead_ns
        self.drawing = 1.0, variation, tasks_per_core
        #: Each job's last run.
        self.ran: dict[int, application.Run] = {}
        self.known: dict[tuple[int, int, int, tuple[tuple[int, Fraction], ...]], application.Run] = {}

    def end_of(self, job: int, start: int, cores: int, scales: tuple[tuple[int, Fraction], ...]) -> int:
        one, key = self.case.jobs[job], (job, start, cores, scales)
        if key not in self.known:
            self.known[key] = application.run(
                task_lengths(self.seed, job + 1, one.cores, one.run, *self.drawing),
                [1.0] * cores,
                self.als,
                start=start,
                overhead=self.overhead_ns,
                later=[(at, core, float(speed)) for at, speed in scales for core in range(cores)],
                seed=self.seed,
                job=job + 1,
            )
        self.ran[job] = self.known[key]
        return self.ran[job].end


@pytest.mark.parametrize("fallback", ["submit", "dvfs", "dvfs:slow=fewest", "stop:off"])
def test_both_levels_as_the_slow_reference(fallback: str, tmp_path: Path) -> None:
    """Whenever the speed of a job changes the reference runs its loop again from its start, task by task."""
    met = changes = 0
    for seed in range(7):
        chance, case = random.Random(seed), with_words("slowed", seed, fallback)
        said = {
            "als": chance.choice(("static", "ss", "gss", "tss", "fac", "awf-b", "awf-c", "awf-d", "awf-e", "af")),
            "overhead_ns": chance.choice((0, 0, 300_000_000)),
            "variation": chance.choice((0.0, 0.3)),
            "tasks_per_core": chance.choice((1, 3, 6)),
            "seed": seed,
        }
        loops = Loops(case, **said)
        expected = run(replace(case, end_of=loops.end_of))
        if expected is None:
            continue
        found = simulated(case, tmp_path, **said)
        assert_as(expected, found)
        tasks = found.ledger.tasks
        assert tasks is not None
        assert loops.ran.keys() == set(range(len(case.jobs)))
        for job, mine in loops.ran.items():
            rows = slice(int(tasks.first[job]), int(tasks.first[job + 1]))
            assert tasks.start_ns[rows].tolist() == [task.start for task in mine.tasks if task is not None]
            assert tasks.end_ns[rows].tolist() == [task.end for task in mine.tasks if task is not None]
        changes += len(found.ledger.of(ScaleRecords) or ())
        met += 1
    assert met > 3
    assert changes > 8 or fallback == "stop:off"


@pytest.mark.parametrize("easy", [False, True])
def test_moldable_jobs_as_the_slow_reference(easy: bool, tmp_path: Path) -> None:
    """The width with which a job starts fits what is left of the limit; with EASY it would not end earlier by its slot."""
    met = changed = 0
    for fallback in THREE if easy else FALLBACKS:
        for seed in range(5):
            case, chance = drawn(seed, fallback, easy=easy), random.Random(f"{seed} widths")
            case, most = unlike(case, seed) if seed % 2 else case, case.machine.hosts * case.machine.cores
            wide = [(chance.randint(1, one.cores), chance.randint(one.cores, most)) for one in case.jobs]
            widths = [one if chance.random() < 0.5 else None for one in wide]
            if all(one is None or one[0] == one[1] for one in widths):
                continue
            jobs = tuple(replace(one, widths=two) for one, two in zip(case.jobs, widths, strict=True))
            case, path = replace(case, jobs=jobs), tmp_path / "widths.csv"
            lines = [f"{k},{two[0]},{two[1]}\n" for k, two in enumerate(widths, start=1) if two is not None]
            path.write_text("job_id,min_cores,max_cores\n" + "".join(lines))
            expected = run(replace(case, end_of=Loops(case, "static", seed, 0, 0.0, 6).end_of))
            if expected is None:
                continue
            said = {"als": "static", "variation": 0.0, "tasks_per_core": 6, "seed": seed}
            said |= {"rules": Rules("easy" if easy else "none", resize="mold")}
            found = simulated(case, tmp_path, **said, constraints=ConstraintOptions(malleable=path))
            assert_as(expected, found)
            met, changed = met + 1, changed + int((found.jobs.held_cores != found.jobs.cores).sum())
    assert met > 5
    assert changed > 4


@pytest.mark.parametrize("backfill", ["easy", "2", "conservative"])
@pytest.mark.parametrize("fallback", ["hold", "dvfs"])
def test_no_job_starts_that_exceeds_the_known_limits(
    fallback: str, backfill: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All limits are known early. At each start the running jobs fit the limit, in the slowest state that they may have. With
    hold, limits are kept. The engine's state is checked at each step. Half of the machines have GPUs."""
    monkeypatch.setattr(BatchSimulator, "checks", 1)
    monkeypatch.setattr(BatchSimulator, "most_ends", 1)
    met = limited = 0
    for seed in range(16):
        case = drawn(seed % 8, fallback) if seed < 8 else with_gpus(drawn(seed % 8, fallback), seed)
        case = replace(case, reaction=0, notice=10**6 * S)
        machine, allocator = case.machine, "first-fit" if seed < 8 else ("pack-gpus", "first-fit", "spread")[seed % 3]
        idle = machine.hosts * machine.idle_host
        if run(replace(case, notice=0)) is None or any(one.power < idle for one in case.limits):
            continue
        found = simulated(case, tmp_path, backfill=backfill, allocator=allocator)
        assert found.power is not None
        assert found.power.excesses == [] or fallback == "dvfs"
        states = [machine.slowest if fallback == "dvfs" and job.slowable else 0 for job in case.jobs]
        both = list(zip(case.jobs, states, strict=True))
        lowest = [job.cores * (machine.state(state)[1] - machine.idle) for job, state in both]
        if machine.gpus:  # a thousandth of a GPU draws in mW what the whole one draws in W
            each = [(machine.gpu_state(state)[1] - machine.gpu_idle) // 1000 for state in states]
            lowest = [mw + milli * watts for mw, milli, watts in zip(lowest, found.jobs.gpus, each, strict=True)]
        rows = list(zip(found.jobs.start_ns, found.jobs.end_ns, lowest, strict=True))
        for now, _, _ in rows:
            least = idle + sum(power for start, end, power in rows if start <= now < end)
            allowed = [one.power for one in case.limits if one.begin <= now < one.end]
            assert all(least <= power for power in allowed)
            limited += len(allowed)
        met += 1
    assert met > 2
    assert limited > 4


def test_many_limits_that_are_known_at_once_have_room(tmp_path: Path) -> None:
    """By cores: 300 limits that begin together, or are known together, each lasting longer than the one before."""
    limits = tuple(Limit(5 * S, (10 + k) * S, 250_000 + 100 * k) for k in range(300))
    apart = tuple(Limit((10 + k) * S, (11 + k) * S, 250_000 + 100 * (k % 7)) for k in range(300))
    for case in (Case(TWO, JOBS, limits, "hold"), Case(TWO, JOBS, apart, "hold", notice=10**6 * S)):
        assert simulated(case, tmp_path, backfill="conservative").jobs.end_ns.max() > 300 * S


def test_without_a_limit_that_is_reached_the_run_is_as_without_the_option(tmp_path: Path) -> None:
    case = Case(TWO, JOBS, (Limit(20 * S, 80 * S, 400_000),), "dvfs")
    options: tuple[dict[str, Any], ...] = ({}, {"power": True}, {"power": None})
    found, powered, bare = (simulated(case, tmp_path, **more) for more in options)
    assert len(found.scales) == 0
    assert powered.jobs.equals(found.jobs.drop(columns="allowed"))
    assert powered.power is not None
    assert found.power is not None
    for name in ("instant_ns", "power_mw"):
        assert getattr(powered.power.series, name).tolist() == getattr(found.power.series, name).tolist()
    assert bare.power is None
    assert bare.jobs.equals(powered.jobs.drop(columns="energy_j"))
    assert bare.metrics == {name: found.metrics[name] for name in bare.metrics}


def test_a_job_that_never_fits_is_named(tmp_path: Path) -> None:
    power = Power(limits=[(20 * S, None, 250)], fallback="hold")
    words = r"stuck at job 3, .*does not fit the permanent power limit, 250 W, even"
    with pytest.raises(InputError, match=words):
        simulated(Case(TWO, JOBS, LIMIT, "hold"), tmp_path, power=power)


@pytest.mark.parametrize(("text", "message"), table_rows(__file__, "files_that_cannot_be_used"))
def test_files_that_cannot_be_used(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "limits.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        simulated(Case(TWO, JOBS, LIMIT, "dvfs"), tmp_path, power=Power(limits=file, fallback="dvfs"))


@pytest.mark.parametrize(("options", "message"), table_rows(__file__, "options_that_cannot_be"))
def test_options_that_cannot_be(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        simulated(Case(TWO, JOBS, LIMIT, "dvfs"), tmp_path, power=Power(**options))


def test_power_that_is_not_given_follows_the_other_options() -> None:
    limited = Power(limits=[(0, None, 1000)])
    assert (Power().of, limited.of, replace(limited, limits=None)) == ("none", "held", Power())
    assert pickle.loads(pickle.dumps(replace(limited, limits=None, keep_awake=0))).asked is False
    given = replace(Power(of=True, limits=[(0, None, 1000)]), limits=None)
    assert (given.of, given.names()["power"]) == ("held", "held")
    with pytest.raises(InputError, match=r"^power='none': not with limits, which needs power; allowed: held, working$"):
        replace(Power(of="none"), limits=[(0, None, 1000)])


@pytest.mark.parametrize(
    ("options", "name"), [({"power": True}, "power"), ({"sleep_after_ns": 5 * S}, "sleep_after_ns")]
)
def test_which_option_needs_the_power_of_hosts_is_named(options: dict[str, Any], name: str) -> None:
    words = rf"^{name}: the platform has no power data: hosts\[0\] lacks a \[hosts.power\]"
    with pytest.raises(InputError, match=words):
        bridge.simulate(THREE_JOBS, Platform(), als="recorded", **options)


def test_shares_of_the_jobs() -> None:
    """A smaller share is within a greater one."""
    workload = Workload.from_jobs([(k, k, 5, 1, 5) for k in range(1, 401)])
    words = ("none", "0", "0%", "0.25", "0.5", "75%", "0.75", "all", "1", "100%", "100.0 %")
    found = [allowed_jobs(share, workload, np.zeros(0, np.int64), 3) for share in words]
    counts = [int(rows.sum()) for rows in found]
    assert counts[:3] + counts[7:] == [0] * 3 + [400] * 4
    assert (found[5] == found[6]).all()
    assert all((one <= other).all() for one, other in pairwise(found))
    assert all(abs(n - 400 * share) < 40 for n, share in zip(counts[3:6], (0.25, 0.5, 0.75), strict=True))


def test_numbers_of_slowed_jobs_are_as_the_commands(tmp_path: Path) -> None:
    tried = 0
    for seed in range(6):
        case = with_words("slowed", seed, SLOWED[seed % 2])
        found = simulated(case, tmp_path) if run(case) is not None else None
        if found is None or found.ledger.of(ScaleRecords) is None:  # no job may be slowed
            continue
        jobs, scales = found.jobs, found.scales
        states = [float(speed) for speed, _ in case.machine.states]
        for row in found.power_over_time.itertuples():
            running = jobs[(jobs.start_ns <= row.instant_ns) & (jobs.end_ns > row.instant_ns)]
            received = scales[scales.job_id.isin(running.job_id) & (scales.command_ns <= row.instant_ns)]
            state = received.groupby("job_id").factor.last().map(states.index)
            assert set(state[state > 0].index) <= set(running[running.allowed == 1].job_id)
            assert (row.jobs_slowed, row.level) == ((state > 0).sum(), max(state, default=0))
            tried += row.jobs_slowed > 0
    assert tried > 2


def test_the_least_sensitive_job_is_slowed_by_hand() -> None:
    """Cores of host 0 save 40 W for half their speed, those of host 1 30 W for a quarter of it: per part lost these save
    more, though job 2, of as many cores, saves less. To save 20 W one of them is slowed, until the other ends at 100 s."""
    powers = (HostPower(10, [(1, 100), (0.5, 60)]), HostPower(10, [(1, 100), (0.75, 70)]))
    machine = Platform(tuple(HostGroup(1, 2, 2.0, power=power) for power in powers))
    jobs = Workload.from_jobs([(1, 0, 100, 2, 100), (2, 0, 100, 2, 100)])
    for order, ends in (("fewest", [150, 100]), ("least-sensitive", [100, 125])):
        power = Power(limits=[(0, None, 380)], fallback=f"dvfs:slow={order}")
        found = bridge.simulate(jobs, machine, als="recorded", power=power)
        assert (found.jobs.end_ns / S).round(2).tolist() == ends


@settings(max_examples=300)
@given(*(st.integers(0, 2**60) | st.integers(0, 12) for _ in range(4)))
def test_fractions_are_compared_exactly(a: int, c: int, other_a: int, other_c: int) -> None:
    one, other = (Fraction(p, q) if q else float("inf") for p, q in ((a, c), (other_a, other_c)))
    assert _compare(a, c, other_a, other_c) == (one > other) - (one < other)


def test_columns_are_as_a_file_and_gaps_as_the_platform_says(tmp_path: Path) -> None:
    """A DataFrame, arrays, lists and a file. A gap is an empty field, NaN of a frame, None of a list, or NA of a column of
    whole numbers; more than nine places are rounded."""
    path = tmp_path / "power.csv"
    path.write_text("job_id,power,memory_bound\n1,0.5,0.25\n3,1.25,1\n")
    frame = pd.read_csv(path)
    options = [Power(job_power=one) for one in (path, frame, {name: frame[name].to_numpy() for name in frame})]
    first, *others = [bridge.simulate(THREE_JOBS, MACHINE, als="recorded", power=one) for one in options]
    for one in others:
        pd.testing.assert_frame_equal(one.jobs, first.jobs, check_exact=True)
    assert [one.names()["job_power"] for one in options[:2]] == [str(path), frame.to_dict("list")]
    columns: dict[str, Any] = {"job_id": [1, 2], "power": [0.1234567894, None], "memory_bound": [float("nan"), 0.5]}
    frame = pd.DataFrame(columns)
    for given_one in (columns, frame, frame.assign(power=frame.power.astype("Float64"))):
        found = bridge.simulate(THREE_JOBS, MACHINE, als="recorded", job_power=given_one)
        assert found.jobs.power.tolist() == [0.123456789, 1, 1]
        assert found.jobs.memory_bound.tolist() == [0, 0.5, 0]


@pytest.mark.parametrize(("given", "message"), table_rows(__file__, "columns_that_cannot_be_used"))
def test_columns_that_cannot_be_used(given: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        bridge.simulate(THREE_JOBS, MACHINE, als="recorded", job_power=given)
    assert str(caught.value).startswith(f"job_power: {message}")
    with pytest.raises(InputError, match="a file of job_id, power, memory_bound and gpu_share"):
        bridge.simulate(THREE_JOBS, MACHINE, als="recorded", job_power=tmp_path)


def test_a_machine_that_could_draw_too_much() -> None:
    """10¹⁵ W are allowed, and a job that draws three times as much is named."""
    machine = Platform((HostGroup(1000, 1000, 1.0, power=HostPower(1, [(1, 10**9)])),))

    def start(job: int, power: float, **options: Any) -> int:
        made = Power(job_power={"job_id": [job], "power": [power]}, **options)
        found = bridge.simulate(THREE_JOBS, machine, als="recorded", backfill="conservative", power=made)
        return int(found.jobs.start_ns.max())

    start(1, 1.1)
    with pytest.raises(InputError, match=r"cores draw as those of job 2 do, of power 3, the platform's hosts draw"):
        start(2, 3)
    assert start(1, 1.15, limits=[(0, 10 * S, 10**12)], fallback="hold") == 10 * S


@pytest.mark.parametrize("backfill", ["none", "easy", "2", "conservative"])
def test_more_than_full_power_where_nothing_is_limited(backfill: str) -> None:
    """Jobs that together draw more than all cores at full speed run side by side where no limit is known, also by plans."""
    given = {"job_id": [1, 2, 3], "power": [5, 5, 5]}
    power = Power(limits=[(500 * S, 600 * S, 300)], fallback="hold", job_power=given)
    jobs = Workload.from_jobs([(1, 0, 100, 2, 100), (2, 0, 60, 1, 60), (3, 10, 40, 1, 40)])
    found = bridge.simulate(jobs, MACHINE, als="recorded", backfill=backfill, power=power)
    assert found.jobs.start_ns.tolist() == [0, 0, 10 * S]
    assert found.metrics["peak_power_w"] == 200 + 4 * 250


@pytest.mark.parametrize(
    ("power", "limit_w", "reasons"), [(1.2, 300, ["running"]), (1.2, 410, ["prediction"]), (0.9, 390, [])]
)
def test_why_power_is_above_a_limit_with_predictions(power: float, limit_w: float, reasons: list[str]) -> None:
    """A job that runs as a limit begins draws too much also as it is thought to; or only so; or is only thought to."""
    jobs = Workload.from_jobs([(1, 0, 100, 4, 100)])
    limits, given = [(50 * S, 80 * S, limit_w)], {"job_id": [1], "power": [power]}
    options = Power(limits=limits, fallback="hold", job_power=given, estimates="platform")
    found = bridge.simulate(jobs, MACHINE, als="recorded", power=options)
    assert found.power is not None
    assert [one.reason for one in found.power.excesses] == reasons


def test_a_policy_gets_predictions() -> None:
    """And is held to them."""
    seen = []

    class Starts:
        name = "starts"

        def decide(self, view: Any) -> Any:
            for job in view.waiting:
                seen.append((job.job_id, view.power_of(job), view.power_of(job, [0]), view.power_left_w))
                if view.power_left_w is None or view.power_of(job) <= view.power_left_w:
                    yield job

    jobs, given = Workload.from_jobs([(1, 0, 100, 2, 100), (2, 10, 100, 1, 100)]), {"job_id": [1, 2], "power": [0.2, 2]}
    for estimates, expected in (
        ("exact", [(1, 20, 10, 100), (2, 100, 100, 80), (2, 100, 100, 100)]),
        ("platform", [(1, 100, 50, 100), (2, 50, 50, 0), (2, 50, 50, 100)]),
    ):
        seen.clear()
        options = Power(limits=[(0, 500 * S, 300)], fallback="hold", job_power=given, estimates=estimates)
        found = bridge.simulate(jobs, MACHINE, bls=Starts(), als="recorded", power=options)
        assert seen == expected
        assert found.jobs.start_ns.tolist() == [0, 100 * S]
