"""Limits to power: cases by hand, the engine against a slow reference, and what must hold of every run."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference import application
from reference.drawing import task_lengths
from reference.energy import used_pj
from reference.power import Case, Down, Job, Limit, Machine, Outcome, run

import bridge
from bls import HostGroup, Platform, Rules, Surroundings, Workload
from bls.machine.host_power import HostPower
from bls.power.accounting import PJ_PER_J
from bls.power.host_accounts import HostIntervals
from bls.power.options import PowerOptions, PowerPlan
from bls.simulator import BatchSimulator
from traces.base.errors import InputError

S = 10**9
FALLBACKS = ("none", "hold", "submit", "dvfs", "stop:idle", "stop:off")


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
    power = PowerOptions(
        limits=[(one.begin, one.end, one.power / 1000) for one in case.limits],
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


def estimates_of(case: Case) -> str:
    """As they are said: where no user is known, last-two is refused, and would predict what the platform says."""
    unknown = case.estimates == "last-two" and all(job.user < 0 for job in case.jobs)
    return "platform" if unknown else case.estimates


def fallback_of(case: Case) -> str:
    """As the command line says it."""
    if case.fallback == "submit":
        return f"submit:state={case.slow}"
    return f"dvfs:slow={case.order}" if case.order != "together" else case.fallback


def job_power_of(case: Case) -> dict[str, list[float]] | None:
    """What is said of jobs, where anything is."""
    if all((one.power, one.memory) == (1, 0) for one in case.jobs):
        return None
    return {
        "job_id": list(range(1, len(case.jobs) + 1)),
        "power": [float(one.power) for one in case.jobs],
        "memory_bound": [float(one.memory) for one in case.jobs],
    }


def surroundings(case: Case, folder: Path) -> Surroundings:
    """Failures and maintenance of hosts, in files."""
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


@pytest.mark.parametrize("by_cores", [False, True])
@pytest.mark.parametrize("fallback", FALLBACKS)
def test_as_the_slow_reference(fallback: str, by_cores: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By counts, and where it matters which cores are free, as where hosts are not alike."""
    if by_cores:
        monkeypatch.setattr(PowerPlan, "alike", property(lambda plan: False))
    met = 0
    for seed in range(40):
        case = drawn(seed, fallback)
        expected = run(case)
        if expected is not None:
            assert_as(expected, simulated(case, tmp_path))
            met += 1
    assert met > 20


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


@pytest.mark.parametrize("fallback", FALLBACKS)
def test_beside_failures_and_maintenance_as_the_slow_reference(
    fallback: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BatchSimulator, "checks", 1)
    monkeypatch.setattr(BatchSimulator, "most_ends", 1)
    met = cut = 0
    for seed in range(80):
        case = with_downs(drawn(seed, fallback), seed)
        expected = run(case)
        if expected is not None:
            found = simulated(case, tmp_path)
            assert_as(expected, found)
            met, cut = met + 1, cut + len(expected.attempts) - len(case.jobs)
    assert met > 50
    assert cut > 20


@pytest.mark.parametrize("fallback", ["stop:idle", "stop:off"])
@pytest.mark.parametrize("backfill", ["easy", "2", "conservative"])
def test_stopped_hosts_that_go_down_are_planned_with(
    fallback: str, backfill: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine's state, its plan among it, is checked at each step; what was drawn is counted again core by core."""
    monkeypatch.setattr(BatchSimulator, "checks", 1)
    monkeypatch.setattr(BatchSimulator, "most_ends", 1)
    met = 0
    for seed in range(30):
        case = with_downs(drawn(seed, fallback), seed)
        if run(case) is None:
            continue
        found = simulated(case, tmp_path, backfill=backfill)
        assert found.power is not None
        assert (found.power.accounts.jobs.pj_each(), found.power.series.energy_pj()) == used_pj(found)
        met += 1
    assert met > 15


def test_a_host_that_fails_makes_room_for_another_by_hand(tmp_path: Path) -> None:
    """Three hosts of 200 W, 100 W idle and 10 W down; of 450 W one may work, or two while the third is down.

    At 10 s host 2 is stopped, host 1 is at work. At 20 s host 0 fails: host 2 is back at once, and has job 1. At 40 s host 0
    is back, and it and host 1, which is idle, are stopped at that instant.
    """
    machine = Machine(3, 2, 50_000, TWO.states, off=10_000)
    jobs = (Job(0, 2, 30 * S, True), Job(0, 2, 30 * S, True))
    case = Case(machine, jobs, (Limit(10 * S, 100 * S, 450_000),), "stop:idle", downs=(Down(0, 20 * S, 40 * S),))
    result = simulated(case, tmp_path)
    assert result.jobs.start_ns.tolist() == [0, 0, 20 * S]
    assert result.jobs.end_ns.tolist() == [20 * S, 30 * S, 50 * S]
    columns = ["instant_ns", "power_mw", "hosts_up", "hosts_out", "hosts_down"]
    assert result.power_over_time[columns].to_numpy().tolist() == [
        [0, 500_000, 3, 0, 0],
        [10 * S, 500_000, 2, 1, 0],
        [20 * S, 410_000, 2, 0, 1],
        [30 * S, 310_000, 2, 0, 1],
        [40 * S, 400_000, 1, 2, 0],
    ]
    assert result.power is not None
    assert [(one.begin_ns // S, one.end_ns // S, one.reason) for one in result.power.excesses] == [(10, 20, "running")]


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
        """When a job ends on so many cores, told so."""
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


@pytest.mark.parametrize("fallback", ["hold", "submit", "dvfs", "stop:off"])
def test_both_levels_as_the_slow_reference(fallback: str, tmp_path: Path) -> None:
    """Jobs are loops: whenever their speed changes the reference runs them again from their start; task by task."""
    met = changes = 0
    for seed in range(24):
        chance, case = random.Random(seed), drawn(seed, fallback)
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
    assert met > 12
    assert changes > 30 or fallback in ("hold", "stop:off")


def asking_for_more(case: Case, seed: int) -> Case:
    """Jobs ask for longer than they run."""
    chance = random.Random(f"{seed} estimates")
    return replace(
        case, jobs=tuple(replace(one, estimate=one.run + chance.choice((0, 7, 40)) * S) for one in case.jobs)
    )


@pytest.mark.parametrize("estimates", ["requested", "application"])
@pytest.mark.parametrize("fallback", ["hold", "submit", "dvfs"])
def test_easy_plans_with_power(fallback: str, estimates: str, tmp_path: Path) -> None:
    """With what jobs ask for, or, once they run, with when they end at the speeds of now."""
    met = 0
    for seed in range(60):
        case = asking_for_more(drawn(seed, fallback, easy=True), seed)
        expected = run(replace(case, promised=estimates == "application"))
        if expected is not None:
            assert_as(expected, simulated(case, tmp_path, estimates=estimates))
            met += 1
    assert met > 30


@pytest.mark.parametrize("easy", [False, True])
@pytest.mark.parametrize("fallback", ["none", "hold", "submit"])
def test_decisions_that_take_time_as_the_slow_reference(fallback: str, easy: bool, tmp_path: Path) -> None:
    """A job starts later than was decided, in the state that is set for it; nobody is held back by limits that came since."""
    met = 0
    for seed in range(40):
        cost = random.Random(f"{seed} cost").choice((1, S // 2, 4 * S))
        case = replace(drawn(seed, fallback, easy=easy), cost=cost)
        expected = run(case)
        if expected is not None:
            rules = Rules("easy" if easy else "none", charge_decisions=True, decision_cost_ns=cost)
            assert_as(expected, simulated(case, tmp_path, rules=rules))
            met += 1
    assert met > 20


def moldable(case: Case, seed: int) -> Case:
    """Half of the jobs may start with other widths."""
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


@pytest.mark.parametrize(
    ("fallback", "easy"),
    [*((fallback, False) for fallback in FALLBACKS), *((fallback, True) for fallback in ("hold", "submit", "dvfs"))],
)
def test_moldable_jobs_as_the_slow_reference(fallback: str, easy: bool, tmp_path: Path) -> None:
    """The width with which a job starts fits what is left of the limit; with EASY it would not end earlier by its slot."""
    met = changed = 0
    for seed in range(40):
        case = moldable(drawn(seed, fallback, easy=easy), seed)
        if all(one.widths is None or one.widths[0] == one.widths[1] for one in case.jobs):
            continue
        said = {"als": "static", "variation": 0.0, "tasks_per_core": 6, "seed": seed}
        loops = Loops(case, "static", 0, 0.0, 6, seed)
        expected = run(replace(case, end_of=loops.end_of))
        if expected is None:
            continue
        around = Surroundings(malleable=widths_file(case, tmp_path))
        found = simulated(
            case, tmp_path, **said, rules=Rules("easy" if easy else "none", resize="mold"), surroundings=around
        )
        assert_as(expected, found)
        met += 1
        changed += int((found.jobs.held_cores != found.jobs.cores).sum())
    assert met > 15
    assert changed > 20


@pytest.mark.parametrize(
    ("fallback", "start_s", "end_s", "cores"), [("hold", 30, 150, 1), ("dvfs", 30, 95, 3), ("none", 30, 70, 3)]
)
def test_a_width_that_fits_the_limit_by_hand(
    fallback: str, start_s: int, end_s: int, cores: int, tmp_path: Path
) -> None:
    """Of 300 W two cores may work, or five slowed ones. Job 1 has one of them as job 2 arrives, which asks for two.

    With hold it starts with one, and takes 120 s. With dvfs it takes all three, and has done 25 of its 40 s as the limit ends.
    """
    jobs = (Job(0, 1, 120 * S, True), Job(30 * S, 2, 60 * S, True, (1, 4)))
    case = Case(TWO, jobs, LIMIT, fallback)
    said = {"als": "static", "variation": 0.0, "tasks_per_core": 6, "rules": Rules(resize="mold")}
    found = simulated(case, tmp_path, surroundings=Surroundings(malleable=widths_file(case, tmp_path)), **said)
    assert found.jobs.start_ns[1] == start_s * S
    assert found.jobs.end_ns[1] == end_s * S
    assert found.jobs.held_cores[1] == cores
    assert found.jobs.end_ns[0] == (145 if fallback == "dvfs" else 120) * S


@pytest.mark.parametrize("fallback", ["none", "hold", "submit", "dvfs"])
def test_limits_that_are_known_before_as_the_slow_reference(
    fallback: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BatchSimulator, "checks", 1)
    monkeypatch.setattr(BatchSimulator, "most_ends", 1)
    met = others = 0
    for seed in range(30):
        case = asking_for_more(drawn(seed, fallback), seed)
        case = replace(case, reaction=0, notice=random.Random(seed).choice((1, 10, 40, 10**4)) * S)
        expected = run(case)
        if expected is not None:
            assert_as(expected, simulated(case, tmp_path))
            met += 1
            at_once = run(replace(case, notice=0))
            others += at_once is None or at_once.attempts != expected.attempts
    assert met > 15
    assert others > 5 or fallback == "none"


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
    for seed in range(24):
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
    assert met > 8


def test_notice_by_hand(tmp_path: Path) -> None:
    """Of 300 W from 20 to 80 s two cores may work. Known 15 s before, at 5 s, that keeps job 2 back, which would be at work
    then, and lets job 3 start, which is over by 20 s; known at its begin it keeps neither back, and the limit is exceeded."""
    jobs = (Job(0, 2, 40 * S, True), Job(6 * S, 2, 30 * S, True), Job(7 * S, 2, 13 * S, True))
    case = Case(TWO, jobs, LIMIT, "hold", notice=15 * S)
    known = simulated(case, tmp_path, backfill="easy")
    assert known.jobs.start_ns.tolist() == [0, 40 * S, 7 * S]
    assert known.power is not None
    assert known.power.excesses == []
    late = simulated(replace(case, notice=0), tmp_path, backfill="easy")
    assert late.jobs.start_ns.tolist() == [0, 6 * S, 40 * S]
    assert late.power is not None
    assert [(one.begin_ns // S, one.end_ns // S) for one in late.power.excesses] == [(20, 36)]


def test_many_limits_that_are_known_at_once_have_room(tmp_path: Path) -> None:
    """By cores: 300 limits that begin together, or are known together, each lasting longer than the one before."""
    limits = tuple(Limit(5 * S, (10 + k) * S, 250_000 + 100 * k) for k in range(300))
    apart = tuple(Limit((10 + k) * S, (11 + k) * S, 250_000 + 100 * (k % 7)) for k in range(300))
    for case in (Case(TWO, JOBS, limits, "hold"), Case(TWO, JOBS, apart, "hold", notice=10**6 * S)):
        found = simulated(case, tmp_path, backfill="conservative")
        assert found.jobs.end_ns.max() > 300 * S


TWO = Machine(2, 2, 50_000, ((Fraction(1), 100_000), (Fraction(1, 2), 70_000)))
JOBS = (Job(0, 2, 100 * S, True), Job(0, 2, 60 * S, True), Job(10 * S, 2, 40 * S, True))
LIMIT = (Limit(20 * S, 80 * S, 300_000),)


def test_by_hand(tmp_path: Path) -> None:
    """Two jobs draw 400 W; at 20 s the limit is 300 W, and both are at half speed. At 80 s they have 50 s and 10 s left."""
    result = simulated(Case(TWO, JOBS, LIMIT, "dvfs"), tmp_path)
    assert result.jobs.end_ns.tolist() == [130 * S, 90 * S, 130 * S]
    assert result.power is not None
    assert result.power.series.energy_pj() == 44_800 * PJ_PER_J
    assert result.power.excesses == []
    table = result.power_over_time
    assert table.instant_ns.tolist() == [0, 20 * S, 80 * S]
    assert table.level.tolist() == [0, 1, 0]
    assert table.limit_mw.tolist() == [-1, 300_000, -1]


def test_energy_is_the_integral_of_power_and_adds_up(tmp_path: Path) -> None:
    """Jobs and idle cores make the machine; exactly, and as counted core by core."""
    for seed in range(30):
        for fallback in FALLBACKS:
            case = drawn(seed, fallback)
            if run(case) is None:
                continue
            result = simulated(case, tmp_path)
            power, table = result.power, result.power_over_time
            assert power is not None
            lasts = np.diff(np.append(table.instant_ns, power.until_ns)).tolist()
            total = sum(mw * ns for mw, ns in zip(table.power_mw.tolist(), lasts, strict=True))
            assert total == power.series.energy_pj()
            jobs = power.accounts.jobs.total_pj()
            assert 0 < jobs <= total
            assert (power.accounts.jobs.pj_each(), total) == used_pj(result)
            metrics = result.metrics
            assert metrics["energy_jobs_j"] + metrics["energy_idle_j"] == pytest.approx(metrics["energy_j"])
            assert result.jobs.energy_j.sum() == pytest.approx(metrics["energy_jobs_j"])
            above = {(one.begin_ns, one.end_ns) for one in power.excesses}
            drawn_w, limit = table.power_mw.to_numpy(), table.limit_mw.to_numpy()
            over = table.instant_ns[(limit >= 0) & (drawn_w > limit)].tolist()
            assert all(any(begin <= at < end for begin, end in above) for at in over)


def test_hosts_make_the_machine(tmp_path: Path) -> None:
    """Exactly, what for, and which of them are in which state; with whatever fallback."""
    stopped = 0
    for seed in range(30):
        for fallback in FALLBACKS:
            case = drawn(seed, fallback)
            if run(case) is None:
                continue
            result = simulated(case, tmp_path)
            power, nodes, table = result.power, result.nodes, result.power_over_time
            assert power is not None
            host, begin, end = (nodes[name].to_numpy() for name in ("host", "begin_ns", "end_ns"))
            used = power.host_energies(HostIntervals(host, begin, end))
            assert used.total.total_pj() == power.series.energy_pj()
            assert used.jobs.total_pj() == power.accounts.jobs.total_pj()
            assert all((part.mj >= 0).all() for part in (used.jobs, used.idle_cores, used.base, used.off))
            assert nodes.energy_j.tolist() == used.total.joules().tolist()
            # Without gaps, and neighbours differ.
            next_of = host[1:] == host[:-1]
            assert (begin[1:][next_of] == end[:-1][next_of]).all()
            assert (nodes.state.to_numpy()[1:] != nodes.state.to_numpy()[:-1])[next_of].all()
            assert (end > begin).all()
            for row in table.itertuples():
                now = nodes[(nodes.begin_ns <= row.instant_ns) & (nodes.end_ns > row.instant_ns)]
                assert len(now) == case.machine.hosts
                for name in ("out", "stopping", "off", "booting"):
                    assert (now.state == name).sum() == getattr(row, f"hosts_{name}")
                    stopped += (now.state == name).sum()
    assert stopped > 100


def test_what_hosts_have_used_by_hand() -> None:
    """Host 0 has base power, host 1 other cores: a job of three cores is on both, another one waits for it."""
    machine = Platform((
        HostGroup(1, 2, 2.0, power=HostPower(50, [(1, 100)], base_w=20)),
        HostGroup(1, 2, 2.0, power=HostPower(60, [(1, 150)])),
    ))  # fmt: skip
    jobs = Workload.from_jobs([(1, 0, 10, 3, 10), (2, 0, 20, 4, 20), (3, 0, 5, 1, 5)])
    nodes = bridge.simulate(jobs, machine, als="recorded", power=PowerOptions()).nodes
    columns = ("host", "end_ns", "state", "energy_j", "energy_jobs_j", "energy_idle_cores_j", "energy_base_j")
    assert list(nodes[list(columns)].itertuples(index=False, name=None)) == [
        (0, 30 * S, "allocated", 6600, 6000, 0, 600),
        (0, 35 * S, "mixed", 850, 500, 250, 100),
        (1, 10 * S, "mixed", 2100, 1500, 600, 0),
        (1, 30 * S, "allocated", 6000, 6000, 0, 0),
        (1, 35 * S, "idle", 600, 0, 600, 0),
    ]
    assert nodes.energy_off_j.tolist() == [0] * 5
    plain = bridge.simulate(jobs, machine, als="recorded").nodes
    assert list(plain.columns) == ["host", "begin_ns", "end_ns", "state"]


def test_a_host_that_is_off_by_hand(tmp_path: Path) -> None:
    """It shuts down with 250 W for 5 s, is off with 10 W, and boots with nothing for a second; 100 W when it is idle."""
    case = Case(OFF, (Job(0, 2, 40 * S, True),), (Limit(10 * S, 30 * S, 300_000),), "stop:off")
    nodes = simulated(case, tmp_path).nodes
    columns = ("host", "begin_ns", "state", "energy_jobs_j", "energy_idle_cores_j", "energy_off_j", "energy_j")
    assert list(nodes[list(columns)].itertuples(index=False, name=None)) == [
        (0, 0, "allocated", 8000, 0, 0, 8000),
        (1, 0, "idle", 0, 1000, 0, 1000),
        (1, 10 * S, "stopping", 0, 0, 1250, 1250),
        (1, 15 * S, "off", 0, 0, 150, 150),
        (1, 30 * S, "booting", 0, 0, 0, 0),
        (1, 31 * S, "idle", 0, 900, 0, 900),
    ]


@pytest.mark.parametrize("fallback", ["hold", "dvfs"])
def test_with_easy_a_limit_that_is_not_reached_changes_nothing(fallback: str, tmp_path: Path) -> None:
    for seed in range(40):
        case = drawn(seed, fallback, easy=True)
        limits = tuple(replace(one, power=10**9) for one in case.limits)
        free = simulated(replace(case, fallback="none"), tmp_path)
        found = simulated(replace(case, limits=limits, reaction=0), tmp_path)
        assert found.jobs.start_ns.tolist() == free.jobs.start_ns.tolist()
        assert found.jobs.end_ns.tolist() == free.jobs.end_ns.tolist()


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


@pytest.mark.parametrize("fallback", ["hold", "submit", "dvfs", "stop:off"])
def test_to_split_a_limit_changes_nothing(fallback: str, tmp_path: Path) -> None:
    for seed in range(20):
        case = drawn(seed, fallback)
        whole = case.limits[:1]
        if whole[0].end - whole[0].begin < 10 * S:
            continue
        middle = (whole[0].begin + whole[0].end) // 2
        parts = (Limit(whole[0].begin, middle, whole[0].power), Limit(middle, whole[0].end, whole[0].power))
        one, two = (Case(case.machine, case.jobs, limits, fallback) for limits in (whole, parts))
        if run(one) is None:
            continue
        assert simulated(one, tmp_path).jobs.equals(simulated(two, tmp_path).jobs)


def test_one_state_is_hold(tmp_path: Path) -> None:
    for seed in range(20):
        case = drawn(seed, "dvfs")
        machine = Machine(**{**vars(case.machine), "states": case.machine.states[:1]})
        jobs = [
            simulated(Case(machine, case.jobs, case.limits, fallback, case.reaction), tmp_path).jobs
            for fallback in ("dvfs", "hold")
            if run(Case(machine, case.jobs, case.limits, "hold", case.reaction)) is not None
        ]
        assert not jobs or jobs[0].equals(jobs[1])


def test_a_job_that_never_fits_is_named(tmp_path: Path) -> None:
    case = Case(TWO, JOBS, (Limit(20 * S, 10**9 * S, 250_000),), "hold")
    limits = [(20 * S, None, 250)]
    with pytest.raises(
        InputError, match=r"stuck at job 3, .*does not fit the limit to power that holds for ever, 250 W, even"
    ):
        simulated(case, tmp_path, power=PowerOptions(limits=limits, fallback="hold"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("from,to\n0,1\n", "the columns are 'from,to'; allowed: from,to,limit_w"),
        ("from,to,limit_w\n5,5,100\n", "line 2: to 5 is not after from 5; allowed: from before to"),
        ("from,to,limit_w\n0,5,120%\n", "line 2: limit_w: '120%'; allowed: W, as 407000, or a share of full power"),
        ("from,to,limit_w\n0,5,-3\n", "line 2: limit_w: '-3'; allowed: W, as 407000, or a share"),
        ("from,to,limit_w\nsoon,5,3\n", "line 2: from: 'soon' is not a duration"),
        ("from,to,limit_w\n", "no limit; allowed: a line for each"),
    ],
)
def test_files_that_cannot_be_used(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "limits.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        simulated(Case(TWO, JOBS, LIMIT, "dvfs"), tmp_path, power=PowerOptions(limits=file, fallback="dvfs"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"notice_ns": 5}, "notice.*needs.*limits"),
        ({"limits": [(0, 1, 5)], "notice_ns": -5}, "notice: -5 is out of range"),
        ({"limits": [(0, 1, 5)], "notice_ns": 5, "reaction_ns": 5}, "notice: not with .*reaction"),
        (
            {"limits": [(0, 1, 5)], "notice_ns": 5, "fallback": "stop:off"},
            "notice: not with .*stop:off, as hosts leave",
        ),
        ({"fallback": "dvfs"}, "needs limits, the limits to the machine's power|needs --limits"),
        ({"limits": [(0, 1, 5)], "fallback": "dfvs"}, "unknown fallback 'dfvs'; known: dvfs, dvfs:slow=…, hold"),
        ({"limits": [(0, 1, 5)], "fallback": "submit:state=2"}, "state 2; allowed: 1 to 1"),
        (
            {"limits": [(0, 1, 5)], "fallback": "submit:level=1"},
            "allowed: none, hold, submit, submit:state=1, dvfs, dvfs:slow=…, stop:idle, stop:off",
        ),
        *(
            (
                {"limits": [(0, 1, 5)], "fallback": f"submit:{said}"},
                "--fallback: 'submit:.*'; allowed: none, .*submit:state=1, dvfs, dvfs:slow=…, stop:idle, stop:off$",
            )
            for said in ("state=²", "state=1,state=1", "state=", "state=-1", "state=1,", "", "state=1 ")
        ),
        ({"limits": [(0, 1, 5)], "fallback": "dvfs", "allowed": "1.5"}, "'1.5'; allowed: a share from 0 to 1"),
        ({"limits": [(0, 1, 5)], "fallback": "dvfs", "allowed": "users:a"}, "allowed: numbers of users"),
        ({"limits": [(0, 1, 5)], "fallback": "dvfs", "allowed": "users:3,17"}, "separated by spaces, as users:3 17"),
        ({"limits": [(0, 1, 5)], "fallback": "dvfs", "allowed": "101%"}, "a share from 0 to 1, or from 0% to 100%"),
        *(
            (
                {"limits": [(0, 1, 5)], "fallback": "dvfs", "allowed": said},
                f"^allowed=: '{said}': no such file; allowed: none, all, a share as 0.75 or 75%, users:3 17, or a CSV file$",
            )
            for said in ("-0.5", "nan", "0,5", "", "some.csv")
        ),
        ({"limits": [(3, 1, 5)], "fallback": "dvfs"}, "from 3 to 1 ns; allowed: from before to"),
    ],
)
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


@pytest.mark.parametrize(
    ("share", "n"), [("none", 0), ("all", 400), ("0", 0), ("1", 400), ("0%", 0), ("100%", 400), ("100.0 %", 400)]
)
def test_shares(share: str, n: int) -> None:
    from bls.power.allowed import allowed_jobs

    workload = Workload.from_jobs([(k, k, 5, 1, 5) for k in range(1, 401)])
    assert allowed_jobs(share, workload, np.zeros(0, np.int64), 3).sum() == n


def test_smaller_shares_are_within_greater_ones() -> None:
    from bls.power.allowed import allowed_jobs

    workload = Workload.from_jobs([(k, k, 5, 1, 5) for k in range(1, 401)])
    found = [allowed_jobs(share, workload, np.zeros(0, np.int64), 3) for share in ("0.25", "0.5", "75%")]
    assert (found[2] == allowed_jobs("0.75", workload, np.zeros(0, np.int64), 3)).all()
    assert (found[0] <= found[1]).all()
    assert (found[1] <= found[2]).all()
    for rows, share in zip(found, (0.25, 0.5, 0.75), strict=True):
        assert abs(rows.sum() - 400 * share) < 40


OFF = Machine(2, 2, 50_000, TWO.states, off=10_000, shutdown=(5 * S, 250_000), boot=(S, 0))


@pytest.mark.parametrize(
    ("case", "excesses"),
    [
        (Case(TWO, JOBS, LIMIT, "none"), [(20, 80, 100, "ignored")]),
        (Case(TWO, JOBS, LIMIT, "dvfs", reaction=5 * S), [(20, 25, 100, "reaction")]),
        # Job 1 cannot be slowed, and draws 300 W with the idle cores; from 30 s on nobody can be below 200 W.
        (
            Case(
                TWO,
                (Job(0, 2, 40 * S, False),),
                (Limit(10 * S, 30 * S, 250_000), Limit(30 * S, 50 * S, 150_000)),
                "dvfs",
            ),
            [(10, 30, 50, "running"), (30, 40, 150, "infeasible")],
        ),
        # An idle host shuts down with 250 W for 5 s, and is off with 10 W then; the other has a job, and draws 200 W.
        (
            Case(OFF, (Job(0, 2, 40 * S, True),), (Limit(10 * S, 30 * S, 300_000),), "stop:off"),
            [(10, 15, 150, "stopping")],
        ),
        # Both hosts have jobs as one is to be out of service; at 20 s one of them falls idle.
        (
            Case(
                TWO,
                (Job(0, 2, 40 * S, True), Job(0, 2, 20 * S, True)),
                (Limit(10 * S, 30 * S, 350_000),),
                "stop:idle",
            ),
            [(10, 20, 50, "running")],
        ),
        # With both hosts idle 200 W are drawn; and with both off 20 W.
        (
            Case(TWO, (Job(0, 2, 40 * S, True),), (Limit(10 * S, 30 * S, 150_000),), "stop:idle"),
            [(10, 30, 150, "infeasible")],
        ),
        (
            Case(OFF, (Job(0, 2, 40 * S, True),), (Limit(10 * S, 30 * S, 15_000),), "stop:off"),
            [(10, 15, 435, "infeasible"), (15, 30, 195, "infeasible")],
        ),
    ],
)
def test_why_more_is_drawn_than_a_limit_allows(
    case: Case, excesses: list[tuple[int, int, int, str]], tmp_path: Path
) -> None:
    power = simulated(case, tmp_path).power
    assert power is not None
    found = [(one.begin_ns // S, one.end_ns // S, one.above_mw // 1000, one.reason) for one in power.excesses]
    assert found == excesses


def test_hosts_that_are_not_alike_are_stopped_by_what_they_draw() -> None:
    """860 W at the most. At 10 s the big host, of 800 W, is at work, and to stop the three small ones does not suffice; at 30 s
    it falls idle, and is stopped in their place. Job 3 needs some of its cores, and waits for the limit to end."""
    big, small = HostPower(10, [(1, 100)]), HostPower(10, [(1, 20)])
    machine = Platform((HostGroup(3, 1, 1.0, power=small), HostGroup(1, 8, 8.0, power=big)))
    rows = [(1, 0, 5, 3, 5), (2, 0, 30, 8, 30), (3, 40, 100, 8, 100)]
    power = PowerOptions(limits=[(10 * S, 400 * S, 600)], fallback="stop:idle")
    found = bridge.simulate(Workload.from_jobs(rows), machine, als="recorded", power=power)
    assert found.jobs.start_ns.tolist() == [0, 0, 400 * S]
    table = found.power_over_time
    assert table[["instant_ns", "power_mw", "hosts_out"]].to_numpy().tolist() == [
        [0, 860_000, 0],
        [5 * S, 830_000, 0],
        [10 * S, 830_000, 3],
        [30 * S, 110_000, 1],
        [400 * S, 590_000, 0],
    ]
