"""Both levels where the widths of running jobs change: each against its slow reference, and the reference of both at once."""

from __future__ import annotations

import random
from typing import Any

import pytest
from reference import batch, two_level
from scenarios import Case, done

import bridge
from als.techniques import TECHNIQUES
from bls import Rules
from bls.constraints.options import Surroundings
from bridge.scenarios.application_level import ApplicationLevel
from traces.checks.ledger import check_ledger

RESIZE = ("expand", "shrink", "expand+shrink", "equal")

#: Those that compute with the tasks alone, and with what they learn.
NAMES = tuple(sorted(TECHNIQUES))

GROUPS: tuple[tuple[tuple[int, int, float], ...], ...] = (((1, 4, 4.0),), ((2, 3, 3.0),), ((1, 2, 2.0), (1, 4, 8.0)))


def drawn(seed: int) -> tuple[Case, dict[int, tuple[int, int]], dict[str, Any]]:
    """A scenario; the widths of its jobs; and how these change."""
    chance = random.Random(seed)
    groups = chance.choice(GROUPS)
    n_cores = sum(hosts * cores for hosts, cores, _ in groups)
    scale = chance.choice((50, 1000, 10**9))
    jobs, widths = [], {}
    for number in chance.sample(range(1000), chance.randint(1, 9)):
        cores = chance.randint(1, n_cores)
        submit, run, estimate = chance.randint(0, 12), chance.randint(1, 9), chance.randint(1, 9)
        jobs.append(batch.Job(number, submit * scale, run * scale, cores, estimate * scale, None))
        rigid = chance.random() < 0.2
        widths[number] = (cores, cores) if rigid else (chance.randint(1, cores), chance.randint(cores, n_cores))
    if all(least == most for least, most in widths.values()):
        widths[jobs[0].number] = (1, n_cores) if n_cores > 1 else (1, 1)
    case = Case(
        tuple(jobs),
        groups,
        chance.choice(("fcfs", "sjf", "edf")),
        chance.choice(NAMES),
        chance.choice((0.0, 0.25, 1.0)),
        chance.randint(1, 6),
        chance.randrange(10**6),
        2.0,
        chance.choice((0, 0, scale // 40)),
    )
    how = {
        "resize": chance.choice(RESIZE),
        "cost": chance.choice((0, 0, scale // 20)),
        "releases": chance.random() < 0.3,
        "depth": chance.choice((0, 0, 1)),
        "latency": chance.choice((0, 0, scale // 50)),
        "master": chance.random() < 0.25,
    }
    return case, widths, how


def expected(case: Case, widths: dict[int, tuple[int, int]], how: dict[str, Any]) -> list[two_level.Done]:
    """The reference's result."""
    rows = sorted(case.jobs, key=lambda job: job.submit)
    sizes = [cores for hosts, cores, _ in case.groups for _ in range(hosts)]
    host_of = [host for host, cores in enumerate(sizes) for _ in range(cores)]
    return two_level.simulate(
        rows,
        case.core_speeds,
        policy=case.policy,
        technique=case.technique,
        variation=case.variation,
        tasks_per_core=case.tasks_per_core,
        seed=case.seed,
        slack=case.slack,
        overhead=case.overhead,
        wide=two_level.Wide([widths[job.number] for job in rows], host_of=host_of, **how),
    )


def simulated(
    case: Case, widths: dict[int, tuple[int, int]], how: dict[str, Any], folder: Any, **options: Any
) -> bridge.Result:
    """The project's."""
    path = folder / "widths.csv"
    lines = [f"{number},{least},{most}" for number, (least, most) in widths.items()]
    path.write_text("\n".join(["job_id,min_cores,max_cores", *lines]) + "\n")
    result = bridge.simulate(
        case.workload(),
        **case.options(),
        rules=Rules(
            resize=how["resize"],
            backfill=str(how["depth"]),
            coordination="release" if how["releases"] else "none",
        ),
        surroundings=Surroundings(malleable=path),
        level=ApplicationLevel(
            resize_ns=how["cost"], latency_ns=how["latency"], assignment="master" if how["master"] else "distributed"
        ),
        **options,
    )
    check_ledger(result.ledger)
    return result


def differs(seed: int, folder: Any, **options: Any) -> str:
    """Why the two differ, "" if they do not."""
    case, widths, how = drawn(seed)
    if all(least == most for least, most in widths.values()):
        return ""
    wanted, found = expected(case, widths, how), done(simulated(case, widths, how, folder, **options))
    for one, other in zip(wanted, found, strict=True):
        mine = (one.number, one.start, one.end, one.cores, one.chunks, one.tasks)
        theirs = (other.number, other.start, other.end, other.cores, other.chunks, other.tasks)
        if mine != theirs:
            return f"{case} {widths} {how}: {theirs}, and not {mine}"
    return ""


@pytest.mark.parametrize("part", range(4))
def test_as_the_reference(part: int, tmp_path: Any) -> None:
    for seed in range(part, 400, 4):
        assert differs(seed, tmp_path) == "", seed
