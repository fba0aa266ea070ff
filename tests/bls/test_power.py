"""Limits to power and the power of jobs: cases by hand, the engine against a slow reference, and properties."""

from __future__ import annotations

import random
from collections.abc import Callable
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
from reference.energy import used_pj
from reference.power import Case, Down, Job, Limit, Machine, Outcome, Part, run
from tables import table_rows

import bridge
from bls import HostGroup, Platform, Rules, Surroundings, Workload
from bls.engine.features.power_by_job import _compare
from bls.machine.host_power import HostPower
from bls.power.allowed import allowed_jobs
from bls.power.host_accounts import HostIntervals
from bls.power.options import SLOW, PowerOptions, PowerPlan
from bls.simulator import BatchSimulator
from traces.base.errors import InputError
from traces.intervals import intervals_text

pytestmark = pytest.mark.whole

S = 10**9
FALLBACKS = ("none", "hold", "submit", "dvfs", "stop:idle", "stop:off")

TWO = Machine(2, 2, 50_000, ((Fraction(1), 100_000), (Fraction(1, 2), 70_000)))
JOBS = (Job(0, 2, 100 * S, True), Job(0, 2, 60 * S, True), Job(10 * S, 2, 40 * S, True))
LIMIT = (Limit(20 * S, 80 * S, 300_000),)


def platform_of(machine: Machine) -> Platform:
    power = HostPower(
        machine.idle / 1000,
        [(float(speed), watts / 1000) for speed, watts in machine.states],
        off_w=machine.off / 1000,
        shutdown=(f"{machine.shutdown[0]}ns", machine.shutdown[1] / 1000),
        boot=(f"{machine.boot[0]}ns", machine.boot[1] / 1000),
    )
    return Platform((HostGroup(machine.hosts, machine.cores, float(machine.cores), power=power),))


def simulated(case: Case, folder: Path, **options: Any) -> bridge.Result:
    rows = [
        {
            "job_id": k,
            "submit_s": job.submit // S,
            "run_s": job.run // S,
            "cores": job.cores,
            "estimate_s": (job.estimate or job.run) // S,
            "user": job.user,
        }
        for k, job in enumerate(case.jobs, start=1)
    ]
    allowed = folder / "allowed.csv"
    allowed.write_text(
        "job_id,allowed\n" + "".join(f"{k + 1},{int(one.slowable)}\n" for k, one in enumerate(case.jobs))
    )
    limits: list[tuple[Any, ...]] = [(one.begin, one.end, one.power / 1000) for one in case.limits]
    limits += [(one.begin, one.end, one.power / 1000, named(part)) for part in case.parts for one in part.limits]
    power = PowerOptions(
        limits=limits,
        reaction_ns=case.reaction,
        notice_ns=case.notice,
        fallback=fallback_of(case),
        allowed=allowed,
        job_power=job_power_of(case),
        estimates=estimates_of(case),
    )
    backfill = {} if "rules" in options else {"backfill": "easy" if case.easy else "none"}
    said = {"als": "recorded", "power": power} | backfill | options
    if case.downs:
        said["surroundings"] = surroundings(case, folder)
    return bridge.simulate(Workload.from_jobs(rows), platform_of(case.machine), **said)


def named(part: Part) -> str:
    return f"hosts:{intervals_text([(min(part.hosts), max(part.hosts) + 1)])}"


def estimates_of(case: Case) -> str:
    """As they are said: where no user is known, last-two is refused, and would predict what the platform says."""
    unknown = case.estimates == "last-two" and all(job.user < 0 for job in case.jobs)
    return "platform" if unknown else case.estimates


def fallback_of(case: Case) -> str:
    if case.fallback == "submit":
        return f"submit:state={case.slow}"
    return f"dvfs:slow={case.order}" if case.order != "together" else case.fallback


def job_power_of(case: Case) -> dict[str, list[float]] | None:
    if all((one.power, one.memory) == (1, 0) for one in case.jobs):
        return None
    return {
        "job_id": list(range(1, len(case.jobs) + 1)),
        "power": [float(one.power) for one in case.jobs],
        "memory_bound": [float(one.memory) for one in case.jobs],
    }


def surroundings(case: Case, folder: Path) -> Surroundings:
    failures, windows = folder / "failures.csv", folder / "windows.toml"
    unforeseen = [one for one in case.downs if not one.foreseen]
    failures.write_text(
        "host,down_s,up_s\n" + "".join(f"{one.host},{one.begin // S},{one.end // S}\n" for one in unforeseen)
    )
    windows.write_text(
        "".join(
            f'[[maintenance]]\nname = "m{k}"\nbegin = {one.begin // S}\nend = {one.end // S}\nhosts = "{one.host}"\n'
            for k, one in enumerate(case.downs)
            if one.foreseen
        )
    )
    foreseen = len(unforeseen) < len(case.downs)
    return Surroundings(failures=str(failures) if unforeseen else None, windows=windows if foreseen else None)


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


def asking_for_more(case: Case, seed: int) -> Case:
    chance = random.Random(f"{seed} estimates")
    return replace(
        case, jobs=tuple(replace(one, estimate=one.run + chance.choice((0, 7, 40)) * S) for one in case.jobs)
    )


def noticed(seed: int, fallback: str) -> Case:
    notice = random.Random(seed).choice((1, 10, 40, 10**4)) * S
    return replace(asking_for_more(drawn(seed, fallback), seed), reaction=0, notice=notice)


def charged(seed: int, fallback: str, *, easy: bool = False) -> Case:
    """Decisions take time: a job starts later than was decided, in the state that is set for it."""
    return replace(drawn(seed, fallback, easy=easy), cost=random.Random(f"{seed} cost").choice((1, S // 2, 4 * S)))


def requested(seed: int, fallback: str) -> Case:
    return asking_for_more(drawn(seed, fallback, easy=True), seed)


POWERS = (0, 0.25, 0.8, 0.999999999, 1, 1, 1.3, 2.5)
SHARES = (0, 0, 0.3, 0.5, 0.999999999, 1)


def unlike(case: Case, seed: int) -> Case:
    """Jobs draw more or less than the platform says, and depend less on the speed of their cores."""
    chance = random.Random(~seed)
    jobs = [
        replace(one, power=Fraction(str(chance.choice(POWERS))), memory=Fraction(str(chance.choice(SHARES))))
        for one in case.jobs
    ]
    return replace(case, jobs=tuple(jobs))


def predicted(case: Case, seed: int) -> Case:
    """The power of unlike jobs is predicted: of jobs of two users and of some that are not known."""
    chance, case = random.Random(f"{seed} users"), unlike(case, seed)
    jobs = [replace(one, user=chance.choice((-1, 1, 1, 1, 2)), submit=3 * one.submit) for one in case.jobs]
    return replace(case, jobs=tuple(jobs), estimates=("last-two", "platform", "exact")[seed % 3])


def one_by_one(seed: int, order: str, **said: Any) -> Case:
    return replace(drawn(seed, "dvfs", **said), order=order)


def with_parts(seed: int, fallback: str) -> Case:
    """Some hosts, apart from each other, within each other, or with some in common, have limits of their own."""
    name, _, order = fallback.partition(":slow=")
    case = replace(drawn(seed, name), order=order or "together")
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
    limits = case.limits if chance.random() < 0.5 else ()
    return replace(case, limits=limits, parts=tuple(parts))


def parts_among_others(seed: int, fallback: str) -> Case:
    case = with_parts(seed, fallback)
    if seed % 2:
        return with_downs(case, seed)
    return replace(case, reaction=0, notice=random.Random(seed).choice((1, 10, 40)) * S)


THREE = ("hold", "submit", "dvfs")
ORDERS = tuple(order for order in SLOW if order != "together")

#: What is drawn, for which fallbacks or orders, and how many seeds.
KINDS: dict[str, tuple[Callable[[int, str], Case], tuple[str, ...], int]] = {
    "by counts": (drawn, FALLBACKS, 4),
    "by cores": (drawn, FALLBACKS, 4),  # where it matters which are free, as where hosts are not alike
    "downs": (lambda seed, fallback: with_downs(drawn(seed, fallback), seed), FALLBACKS, 8),
    "requested": (requested, THREE, 8),
    # With EASY it is known of jobs that run when they end at the speeds of now.
    "application": (lambda *said: replace(requested(*said), promised=True), THREE, 8),
    "charged": (charged, ("none", "hold", "submit"), 4),
    "charged easy": (lambda *said: charged(*said, easy=True), ("none", "hold", "submit"), 4),
    "noticed": (noticed, ("none", *THREE), 5),
    "unlike": (lambda seed, fallback: unlike(drawn(seed, fallback), seed), FALLBACKS, 6),
    "unlike by cores": (lambda seed, fallback: unlike(drawn(seed, fallback), seed), FALLBACKS, 4),
    "unlike, requested": (lambda seed, fallback: unlike(requested(seed, fallback), seed), THREE, 6),
    "unlike, noticed": (lambda seed, fallback: unlike(noticed(seed, fallback), seed), THREE, 6),
    "unlike, downs": (
        lambda seed, fallback: with_downs(unlike(drawn(seed, fallback), seed), seed),
        ("hold", "stop:idle", "stop:off"),
        6,
    ),
    "predicted": (lambda seed, fallback: predicted(drawn(seed, fallback), seed), (*THREE, "stop:idle"), 9),
    "predicted by cores": (lambda seed, fallback: predicted(drawn(seed, fallback), seed), THREE, 9),
    "predicted, requested": (lambda seed, fallback: predicted(requested(seed, fallback), seed), THREE, 9),
    "predicted, downs": (
        lambda seed, fallback: predicted(with_downs(drawn(seed, fallback), seed), seed),
        ("hold",),
        15,
    ),
    "one by one": (one_by_one, ORDERS, 4),
    "one by one by cores": (one_by_one, ORDERS, 4),
    "one by one, predicted": (lambda seed, order: predicted(one_by_one(seed, order), seed), ORDERS, 6),
    "one by one, downs": (lambda seed, order: with_downs(one_by_one(seed, order), seed), ORDERS, 4),
    "one by one, application": (
        lambda seed, order: replace(asking_for_more(one_by_one(seed, order, easy=True), seed), promised=True),
        ORDERS,
        4,
    ),
    "parts": (with_parts, ("none", *THREE, "dvfs:slow=fewest", "dvfs:slow=latest", "dvfs:slow=narrowest"), 6),
    "parts, predicted": (
        lambda seed, fallback: predicted(with_parts(seed, fallback), seed),
        (*THREE, "dvfs:slow=fewest", "dvfs:slow=least-sensitive"),
        6,
    ),
    "parts, others": (parts_among_others, ("hold", "dvfs", "dvfs:slow=fewest"), 8),
}


@pytest.mark.parametrize("kind", KINDS)
def test_as_the_slow_reference(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other case is checked at each step, and its energy counted again core by core."""
    make, fallbacks, seeds = KINDS[kind]
    known = [word for word in ("requested", "application") if word in kind]
    options: dict[str, Any] = {"estimates": known[0]} if known else {}
    if "by cores" in kind:
        monkeypatch.setattr(PowerPlan, "alike", property(lambda plan: False))
    met = cut = slowed = elsewhere = 0
    for fallback in fallbacks:
        for seed in range(seeds):
            case = make(seed, fallback)
            expected = run(case)
            if expected is None:
                continue
            if case.cost:
                easy = "easy" if case.easy else "none"
                options["rules"] = Rules(easy, charge_decisions=True, decision_cost_ns=case.cost)
            monkeypatch.setattr(BatchSimulator, "checks", 3 - 2 * (seed % 2))
            monkeypatch.setattr(BatchSimulator, "most_ends", 1 if seed % 2 else 2**62)
            found = simulated(case, tmp_path, **options)
            assert_as(expected, found)
            assert found.power is not None
            if seed % 2 and not case.parts:
                assert (found.power.accounts.jobs.pj_each(), found.power.series.energy_pj()) == used_pj(found)
            if estimates_of(case) != "exact" and "predicted_power" in found.jobs:
                # A job that is tried again is predicted again; an attempt that was cut teaches nothing.
                thought = [float(expected.thought[k]) for k in range(len(case.jobs))]
                last = found.jobs[found.jobs.state == "completed"].set_index("job_id").predicted_power
                assert last.sort_index().tolist() == thought
                elsewhere += thought != [1] * len(thought)
            elif case.parts:
                alone = run(replace(case, parts=()))
                elsewhere += alone is not None and alone.attempts != expected.attempts
            met, cut = met + 1, cut + len(expected.attempts) - len(case.jobs)
            slowed += 0 if found.ledger.scales is None else len(found.ledger.scales.job)
    assert met > len(fallbacks) * seeds // 3
    assert cut > 8 or kind != "downs"
    assert slowed > 8 or "one by one" not in kind
    assert elsewhere > 1 or not kind.startswith(("predicted", "parts"))


def check_accounts(result: bridge.Result) -> int:
    """Energy is the integral of power; jobs and idle cores make the machine, and so do hosts. Return how many are stopped."""
    power, nodes, table, metrics = result.power, result.nodes, result.power_over_time, result.metrics
    assert power is not None
    lasts = np.diff(np.append(table.instant_ns, power.until_ns)).tolist()
    total = sum(mw * ns for mw, ns in zip(table.power_mw.tolist(), lasts, strict=True))
    assert total == power.series.energy_pj()
    assert 0 < power.accounts.jobs.total_pj() <= total
    assert (power.accounts.jobs.pj_each(), total) == used_pj(result)
    assert metrics["energy_jobs_j"] + metrics["energy_idle_j"] == pytest.approx(metrics["energy_j"])
    assert result.jobs.energy_j.sum() == pytest.approx(metrics["energy_jobs_j"])
    above = {(one.begin_ns, one.end_ns) for one in power.excesses}
    over = table.instant_ns[(table.limit_mw >= 0) & (table.power_mw > table.limit_mw)].tolist()
    assert all(any(begin <= at < end for begin, end in above) for at in over)
    host, begin, end = (nodes[name].to_numpy() for name in ("host", "begin_ns", "end_ns"))
    used = power.host_energies(HostIntervals(host, begin, end))
    assert used.total.total_pj() == total
    assert used.jobs.total_pj() == power.accounts.jobs.total_pj()
    assert all((part.mj >= 0).all() for part in (used.jobs, used.idle_cores, used.base, used.off))
    assert nodes.energy_j.tolist() == used.total.joules().tolist()
    # Without gaps, and neighbours differ.
    next_of = host[1:] == host[:-1]
    assert (begin[1:][next_of] == end[:-1][next_of]).all()
    assert (nodes.state.to_numpy()[1:] != nodes.state.to_numpy()[:-1])[next_of].all()
    assert (end > begin).all()
    stopped = 0
    for row in table.itertuples():
        now = nodes[(nodes.begin_ns <= row.instant_ns) & (nodes.end_ns > row.instant_ns)]
        assert len(now) == result.scenario.platform.n_hosts
        for name in ("out", "stopping", "off", "booting"):
            assert (now.state == name).sum() == getattr(row, f"hosts_{name}")
            stopped += (now.state == name).sum()
    return stopped


def test_jobs_and_hosts_make_the_machine(tmp_path: Path) -> None:
    """Exactly, with whatever fallback; and where hosts that are stopped go down, and are planned with."""
    stopped = 0
    for fallback in FALLBACKS:
        for seed in range(3):
            case = drawn(seed, fallback)
            if run(case) is not None:
                stopped += check_accounts(simulated(case, tmp_path))
    assert stopped > 5


@pytest.mark.parametrize("backfill", ["easy", "2", "conservative"])
def test_stopped_hosts_may_go_down(backfill: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's state, its plan among it, is checked at each step; what was drawn is counted again core by core."""
    monkeypatch.setattr(BatchSimulator, "checks", 1)
    monkeypatch.setattr(BatchSimulator, "most_ends", 1)
    met = 0
    for seed in range(8):
        case = with_downs(drawn(seed, ("stop:idle", "stop:off")[seed % 2]), seed)
        if run(case) is not None:
            result = simulated(case, tmp_path, backfill=backfill)
            assert result.power is not None
            assert (result.power.accounts.jobs.pj_each(), result.power.series.energy_pj()) == used_pj(result)
            met += 1
    assert met > 3


TECHNIQUES = ("static", "ss", "gss", "tss", "fac", "awf-b", "awf-c", "awf-d", "awf-e", "af")


class Loops:
    """What the jobs of a case compute: the reference runs a job again from its start whenever its speed has changed."""

    def __init__(
        self, case: Case, als: str, overhead_ns: int, variation: float, tasks_per_core: int, seed: int
    ) -> None:
        self.case, self.als, self.overhead_ns, self.seed = case, als, overhead_ns, seed
        self.variation, self.tasks_per_core = variation, tasks_per_core
        #: Each job as it ran with all that it was told.
        self.ran: dict[int, application.Run] = {}
        self.known: dict[tuple[int, int, int, tuple[tuple[int, Fraction], ...]], application.Run] = {}

    def end_of(self, job: int, start: int, cores: int, told: tuple[tuple[int, Fraction], ...]) -> int:
        one, key = self.case.jobs[job], (job, start, cores, told)
        if key not in self.known:
            drawing = self.seed, job + 1, one.cores, one.run, 1.0, self.variation, self.tasks_per_core
            self.known[key] = application.run(
                task_lengths(*drawing),
                [1.0] * cores,
                self.als,
                start=start,
                overhead=self.overhead_ns,
                later=[(at, core, float(speed)) for at, speed in told for core in range(cores)],
                seed=self.seed,
                job=job + 1,
            )
        self.ran[job] = self.known[key]
        return self.ran[job].end


@pytest.mark.parametrize("fallback", ["submit", "dvfs", "dvfs:slow=fewest", "stop:off"])
def test_both_levels_as_the_slow_reference(fallback: str, tmp_path: Path) -> None:
    """Jobs are loops: whenever their speed changes the reference runs them again from their start; task by task."""
    met = changes = 0
    for seed in range(8):
        name, _, order = fallback.partition(":slow=")
        chance, case = random.Random(seed), replace(drawn(seed, name), order=order or "together")
        said = {
            "als": chance.choice(TECHNIQUES),
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
        ledger = found.ledger
        assert ledger.tasks is not None
        assert loops.ran.keys() == set(range(len(case.jobs)))
        for job, mine in loops.ran.items():
            rows = slice(int(ledger.tasks.first[job]), int(ledger.tasks.first[job + 1]))
            assert ledger.tasks.start_ns[rows].tolist() == [task.start for task in mine.tasks if task is not None]
            assert ledger.tasks.end_ns[rows].tolist() == [task.end for task in mine.tasks if task is not None]
        changes += 0 if ledger.scales is None else len(ledger.scales.job)
        met += 1
    assert met > 3
    assert changes > 10 or fallback == "stop:off"


def moldable(case: Case, seed: int) -> Case:
    chance, most = random.Random(f"{seed} widths"), case.machine.hosts * case.machine.cores

    def wide(one: Job) -> Job:
        widths = (chance.randint(1, one.cores), chance.randint(one.cores, most)) if chance.random() < 0.5 else None
        return replace(one, widths=widths)

    return replace(case, jobs=tuple(map(wide, case.jobs)))


def widths_file(case: Case, folder: Path) -> Path:
    path = folder / "widths.csv"
    rows = [(k, one.widths) for k, one in enumerate(case.jobs, start=1) if one.widths is not None]
    path.write_text("job_id,min_cores,max_cores\n" + "".join(f"{k},{least},{most}\n" for k, (least, most) in rows))
    return path


@pytest.mark.parametrize("easy", [False, True])
def test_moldable_jobs_as_the_slow_reference(easy: bool, tmp_path: Path) -> None:
    """The width with which a job starts fits what is left of the limit; with EASY it would not end earlier by its slot."""
    met = changed = 0
    for fallback in THREE if easy else FALLBACKS:
        for seed in range(6):
            case = moldable(drawn(seed, fallback, easy=easy), seed)
            case = unlike(case, seed) if seed % 2 else case
            if all(one.widths is None or one.widths[0] == one.widths[1] for one in case.jobs):
                continue
            said = {"als": "static", "variation": 0.0, "tasks_per_core": 6, "seed": seed}
            expected = run(replace(case, end_of=Loops(case, "static", 0, 0.0, 6, seed).end_of))
            if expected is None:
                continue
            rules = Rules("easy" if easy else "none", resize="mold")
            around = Surroundings(malleable=widths_file(case, tmp_path))
            found = simulated(case, tmp_path, **said, rules=rules, surroundings=around)
            assert_as(expected, found)
            met, changed = met + 1, changed + int((found.jobs.held_cores != found.jobs.cores).sum())
    assert met > 6
    assert changed > 5


@pytest.mark.parametrize("backfill", ["easy", "2", "conservative"])
@pytest.mark.parametrize("fallback", ["hold", "dvfs"])
def test_no_job_starts_that_does_not_fit_what_is_known(
    fallback: str, backfill: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs run for as long as they ask for: none starts that with those that run, until these end, would draw more than a limit
    allows that is known; so, if none is known late and nobody is slowed, limits are kept."""
    monkeypatch.setattr(BatchSimulator, "checks", 1)
    monkeypatch.setattr(BatchSimulator, "most_ends", 1)
    met = 0
    for seed in range(8):
        case = replace(drawn(seed, fallback), reaction=0, notice=10**6 * S)
        idle = case.machine.hosts * case.machine.cores * case.machine.idle
        if run(replace(case, notice=0)) is None or any(one.power < idle for one in case.limits):
            continue
        found = simulated(case, tmp_path, backfill=backfill)
        assert found.power is not None
        met += 1
        if fallback == "hold":
            assert found.power.excesses == []
            continue
        slowest, full = case.machine.states[-1][1], case.machine.states[0][1]
        rows = list(zip(found.jobs.start_ns, found.jobs.end_ns, case.jobs, strict=True))
        for start, _, job in rows:
            beside = [one for begin, end, one in rows if begin <= start < end and one is not job]
            drawn_mw = sum(
                one.cores * ((slowest if one.slowable else full) - case.machine.idle) for one in [*beside, job]
            )
            limit = min((one.power for one in case.limits if one.begin <= start < one.end), default=None)
            assert limit is None or idle + drawn_mw <= limit
    assert met > 2


def test_many_limits_that_are_known_at_once_have_room(tmp_path: Path) -> None:
    """By cores: 300 limits that begin together, or are known together, each lasting longer than the one before."""
    limits = tuple(Limit(5 * S, (10 + k) * S, 250_000 + 100 * k) for k in range(300))
    apart = tuple(Limit((10 + k) * S, (11 + k) * S, 250_000 + 100 * (k % 7)) for k in range(300))
    for case in (Case(TWO, JOBS, limits, "hold"), Case(TWO, JOBS, apart, "hold", notice=10**6 * S)):
        found = simulated(case, tmp_path, backfill="conservative")
        assert found.jobs.end_ns.max() > 300 * S


def test_no_limit_that_is_reached_is_as_no_option(tmp_path: Path) -> None:
    case = Case(TWO, JOBS, (Limit(20 * S, 80 * S, 400_000),), "dvfs")
    plain = simulated(Case(TWO, JOBS, LIMIT, "none"), tmp_path)
    found = simulated(case, tmp_path)
    assert found.jobs.equals(plain.jobs)
    assert len(found.scales) == 0
    # Nor is it another run where nothing is known of limits, or of power.
    powered = simulated(case, tmp_path, power=PowerOptions())
    assert powered.jobs.equals(found.jobs.drop(columns="allowed"))
    assert powered.power is not None
    assert found.power is not None
    for name in ("instant_ns", "power_mw"):
        assert getattr(powered.power.series, name).tolist() == getattr(found.power.series, name).tolist()
    bare = simulated(case, tmp_path, power=None)
    assert bare.power is None
    assert bare.jobs.equals(powered.jobs.drop(columns="energy_j"))
    assert bare.metrics == {name: found.metrics[name] for name in bare.metrics}


def test_a_job_that_never_fits_is_named(tmp_path: Path) -> None:
    case = Case(TWO, JOBS, (Limit(20 * S, 10**9 * S, 250_000),), "hold")
    limits = [(20 * S, None, 250)]
    with pytest.raises(
        InputError, match=r"stuck at job 3, .*does not fit the limit to power that holds for ever, 250 W, even"
    ):
        simulated(case, tmp_path, power=PowerOptions(limits=limits, fallback="hold"))


@pytest.mark.parametrize(("text", "message"), table_rows(__file__, "files_that_cannot_be_used"))
def test_files_that_cannot_be_used(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "limits.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        simulated(Case(TWO, JOBS, LIMIT, "dvfs"), tmp_path, power=PowerOptions(limits=file, fallback="dvfs"))


@pytest.mark.parametrize(("options", "message"), table_rows(__file__, "options_that_cannot_be"))
def test_options_that_cannot_be(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        simulated(Case(TWO, JOBS, LIMIT, "dvfs"), tmp_path, power=PowerOptions(**options))


def test_a_machine_of_which_nothing_is_known() -> None:
    with pytest.raises(
        InputError, match=r"the platform does not say what its hosts draw; hosts\[0\] has no \[hosts.power\]"
    ):
        bridge.simulate(Workload.from_jobs([(1, 0, 5, 1, 5)]), Platform(), als="recorded", power=PowerOptions())


@pytest.mark.parametrize(
    ("options", "name"), [({}, "power="), ({"sleep_after_ns": 5 * S}, "sleep_after="), ({"pue": "1.4"}, "pue=")]
)
def test_which_option_needs_to_know_is_named(options: dict[str, Any], name: str) -> None:
    with pytest.raises(InputError, match=f"^{name}: the platform does not say"):
        bridge.simulate(
            Workload.from_jobs([(1, 0, 5, 1, 5)]), Platform(), als="recorded", power=PowerOptions(**options)
        )


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


@pytest.mark.parametrize("order", ORDERS[:2])
def test_what_is_said_of_jobs_that_are_slowed(order: str, tmp_path: Path) -> None:
    """How many are slowed, and how much the slowest is, as the commands to jobs have it; nobody else is."""
    tried = 0
    for seed in range(6):
        case = one_by_one(seed, order)
        found = simulated(case, tmp_path) if run(case) is not None else None
        if found is None or found.ledger.scales is None:  # nobody may be slowed
            continue
        jobs, scales = found.jobs, found.scales
        states = [float(speed) for speed, _ in case.machine.states]
        for row in found.power_over_time.itertuples():
            now = row.instant_ns
            running = jobs[(jobs.start_ns <= now) & (jobs.end_ns > now)]
            last = scales[scales.job_id.isin(running.job_id) & (scales.told_ns <= now)].groupby("job_id").factor.last()
            state = last.map(states.index)
            assert set(state[state > 0].index) <= set(running[running.allowed == 1].job_id)
            assert (row.jobs_slowed, row.level) == ((state > 0).sum(), max(state, default=0))
            tried += row.jobs_slowed > 0
    assert tried > 2


def test_who_loses_the_least_for_a_watt_by_hand() -> None:
    """Cores of host 0 save 40 W for half their speed, those of host 1 30 W for a quarter of it: per part lost these save more,
    though job 2, of as many cores, saves less. With 20 W to be saved one of them is slowed, until the other ends at 100 s."""
    machine = Platform((
        HostGroup(1, 2, 2.0, power=HostPower(10, [(1, 100), (0.5, 60)])),
        HostGroup(1, 2, 2.0, power=HostPower(10, [(1, 100), (0.75, 70)])),
    ))  # fmt: skip
    jobs = Workload.from_jobs([(1, 0, 100, 2, 100), (2, 0, 100, 2, 100)])
    ends = {}
    for order in ("fewest", "least-sensitive"):
        power = PowerOptions(limits=[(0, None, 380)], fallback=f"dvfs:slow={order}")
        found = bridge.simulate(jobs, machine, als="recorded", power=power)
        ends[order] = (found.jobs.end_ns / S).round(2).tolist()
    assert ends == {"fewest": [150, 100], "least-sensitive": [100, 125]}


@settings(max_examples=400)
@given(*(st.integers(0, 2**60) | st.integers(0, 12) for _ in range(4)))
def test_fractions_are_compared_exactly(a: int, c: int, other_a: int, other_c: int) -> None:
    def order(a: int, c: int, other_a: int, other_c: int) -> int:
        if c == 0 or other_c == 0:
            return (c == 0) - (other_c == 0)
        one, other = Fraction(a, c), Fraction(other_a, other_c)
        return (one > other) - (one < other)

    assert _compare(a, c, other_a, other_c) == order(a, c, other_a, other_c)
    assert _compare(a, c, a, c) == 0


def test_orders_that_cannot_be() -> None:
    for said in ("dvfs:slow=", "dvfs:slow=all", "dvfs:slow=fewest "):
        with pytest.raises(
            InputError, match=r"allowed: dvfs:slow=together, dvfs:slow=fewest, .*dvfs:slow=least-sensitive$"
        ):
            PowerOptions(limits=[(0, 1, 5)], fallback=said)
    for said in ("dvfs:order=fewest", "dvfs:"):
        with pytest.raises(InputError, match="unknown fallback 'dvfs:"):
            PowerOptions(limits=[(0, 1, 5)], fallback=said)


S_POWER = 10**9
MACHINE = Platform((HostGroup(2, 2, 2.0, power=HostPower(50, [(1, 100), (0.5, 70)])),))
THREE_JOBS = Workload.from_jobs([(1, 0, 100, 2, 100), (2, 0, 60, 2, 60), (3, 10, 40, 2, 40)])


def test_columns_are_as_a_file_and_gaps_as_the_platform_says(tmp_path: Path) -> None:
    """A DataFrame, arrays, lists and a file. A gap is an empty field, NaN of a frame, None of a list, or NA of a column of
    whole numbers; more than nine places are rounded."""
    path = tmp_path / "power.csv"
    path.write_text("job_id,power,memory_bound\n1,0.5,0.25\n3,1.25,1\n")
    frame = pd.read_csv(path)
    options = [PowerOptions(job_power=one) for one in (path, frame, {name: frame[name].to_numpy() for name in frame})]
    first, *others = [bridge.simulate(THREE_JOBS, MACHINE, als="recorded", power=one) for one in options]
    for one in others:
        pd.testing.assert_frame_equal(one.jobs, first.jobs, check_exact=True)
    assert [one.names()["job_power"] for one in options[:2]] == [str(path), frame.to_dict("list")]
    columns: dict[str, Any] = {"job_id": [1, 2], "power": [0.1234567894, None], "memory_bound": [float("nan"), 0.5]}
    frame = pd.DataFrame(columns)
    for given_one in (columns, frame, frame.assign(power=frame.power.astype("Float64"))):
        found = bridge.simulate(THREE_JOBS, MACHINE, als="recorded", power=PowerOptions(job_power=given_one))
        assert found.jobs.power.tolist() == [0.123456789, 1, 1]
        assert found.jobs.memory_bound.tolist() == [0, 0.5, 0]


@pytest.mark.parametrize(("given", "message"), table_rows(__file__, "columns_that_cannot_be_used"))
def test_columns_that_cannot_be_used(given: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        bridge.simulate(THREE_JOBS, MACHINE, als="recorded", power=PowerOptions(job_power=given))
    assert str(caught.value).startswith(f"job_power: {message}")
    with pytest.raises(InputError, match="a file of job_id, power and memory_bound"):
        bridge.simulate(THREE_JOBS, MACHINE, als="recorded", power=PowerOptions(job_power=tmp_path))


def test_a_machine_that_could_draw_too_much() -> None:
    """10¹⁵ W are allowed, and a job that draws three times as much is named."""
    machine = Platform((HostGroup(1000, 1000, 1.0, power=HostPower(1, [(1, 10**9)])),))

    def start(job: int, power: float, **options: Any) -> int:
        made = PowerOptions(job_power={"job_id": [job], "power": [power]}, **options)
        return int(
            bridge.simulate(
                THREE_JOBS, machine, als="recorded", backfill="conservative", power=made
            ).jobs.start_ns.max()
        )

    start(1, 1.1)
    with pytest.raises(InputError, match=r"cores draw as those of job 2 do, of power 3, the platform's hosts draw"):
        start(2, 3)
    assert start(1, 1.15, limits=[(0, 10 * S_POWER, 10**12)], fallback="hold") == 10 * S_POWER


@pytest.mark.parametrize("backfill", ["none", "easy", "2", "conservative"])
def test_more_than_full_power_where_nothing_is_limited(backfill: str) -> None:
    """Jobs that together draw more than all cores at full speed run side by side where no limit is known, also by plans."""
    given = {"job_id": [1, 2, 3], "power": [5, 5, 5]}
    power = PowerOptions(limits=[(500 * S_POWER, 600 * S_POWER, 300)], fallback="hold", job_power=given)
    jobs = Workload.from_jobs([(1, 0, 100, 2, 100), (2, 0, 60, 1, 60), (3, 10, 40, 1, 40)])
    found = bridge.simulate(jobs, MACHINE, als="recorded", backfill=backfill, power=power)
    assert found.jobs.start_ns.tolist() == [0, 0, 10 * S_POWER]
    assert found.metrics["peak_power_w"] == 200 + 4 * 250


@pytest.mark.parametrize(
    ("power", "limit_w", "reasons"), [(1.2, 300, ["running"]), (1.2, 410, ["prediction"]), (0.9, 390, [])]
)
def test_why_power_is_above_a_limit_with_predictions(power: float, limit_w: float, reasons: list[str]) -> None:
    """A job that runs as a limit begins draws too much also as it is thought to; or only so; or is only thought to."""
    jobs = Workload.from_jobs([(1, 0, 100, 4, 100)])
    limits, given = [(50 * S_POWER, 80 * S_POWER, limit_w)], {"job_id": [1], "power": [power]}
    options = PowerOptions(limits=limits, fallback="hold", job_power=given, estimates="platform")
    found = bridge.simulate(jobs, MACHINE, als="recorded", power=options)
    assert found.power is not None
    assert [one.reason for one in found.power.excesses] == reasons


def test_a_policy_is_told_predictions() -> None:
    """And is held to them."""
    told = []

    class Starts:
        name = "starts"

        def decide(self, view: Any) -> Any:
            for job in view.waiting:
                told.append((job.job_id, view.power_of(job), view.power_of(job, [0]), view.power_left_w))
                if view.power_left_w is None or view.power_of(job) <= view.power_left_w:
                    yield job

    jobs, given = Workload.from_jobs([(1, 0, 100, 2, 100), (2, 10, 100, 1, 100)]), {"job_id": [1, 2], "power": [0.2, 2]}
    for estimates, expected in (
        ("exact", [(1, 20, 10, 100), (2, 100, 100, 80), (2, 100, 100, 100)]),
        ("platform", [(1, 100, 50, 100), (2, 50, 50, 0), (2, 50, 50, 100)]),
    ):
        told.clear()
        options = PowerOptions(limits=[(0, 500 * S_POWER, 300)], fallback="hold", job_power=given, estimates=estimates)
        found = bridge.simulate(jobs, MACHINE, bls=Starts(), als="recorded", power=options)
        assert told == expected
        assert found.jobs.start_ns.tolist() == [0, 100 * S_POWER]
    with pytest.raises(InputError, match="--power-estimates: needs --limits"):
        PowerOptions(estimates="platform")
    with pytest.raises(InputError, match="unknown estimates of power 'mean'; known: exact, platform, last-two"):
        PowerOptions(estimates="mean")
