"""How few switches jobs accept, as users say it: ``--switches N[@TIME]`` and a request file, against the slow reference."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import pytest
from batch_cases import BatchCase
from batch_drives import platform_of, workload_of
from reference.cluster import run
from reference.machine import Host, Job, Machine, Rules

import bridge
from bls.constraints.options import Surroundings, surround
from bls.constraints.resource_requests import ASKS_TOO_MUCH
from bls.machine.platform import HostGroup, Platform
from bls.machine.switches import Switch
from bls.scheduler_options import Rules as BatchRules
from bls.workloads.workload import Workload

S = 10**9

#: Two hosts of four cores and two GPUs, a leaf switch each.
TWO_LEAVES = Platform(
    (HostGroup(2, 4, 4.0, {"gpu": 2}),),  # type: ignore[arg-type]
    switches=(Switch("a", "0"), Switch("b", "1")),
)


def starts(
    tmp_path: Path, jobs: list[tuple[int, int, int]], platform: Platform, text: str, switches: str | None
) -> list[int]:
    """The starts (s) of jobs (submit, run, cores) with a request file of this text."""
    path = tmp_path / "requests.csv"
    path.write_text(text)
    made = Workload.from_jobs([(k, submit, runs, cores, runs) for k, (submit, runs, cores) in enumerate(jobs, 1)])
    result = bridge.simulate(
        made,
        platform,
        als="recorded",
        allocator="topology",
        surroundings=Surroundings(requests=path, switches=switches),
    )
    found: list[int] = (result.jobs.start_ns // S).tolist()
    return found


def test_0_in_the_file_lifts_the_option(tmp_path: Path) -> None:
    """From 10 s on each leaf has one free core."""
    machine = Platform((HostGroup(2, 2, 2.0),), switches=(Switch("a", "0"), Switch("b", "1")))
    jobs = [(0, 100, 1), (0, 10, 1), (0, 100, 1), (11, 10, 2)]
    for line, start in (("4,0", 11), ("4,1", 100), ("4,", 100)):
        assert starts(tmp_path, jobs, machine, f"job_id,switches\n{line}\n", "1") == [0, 0, 0, start]


def test_the_option_asks_for_no_fewer_than_all_of_a_unit_needs(tmp_path: Path) -> None:
    """Four units of a core and a GPU, of which each leaf has two."""
    path = tmp_path / "requests.csv"
    path.write_text("job_id,unit_cores,gpu\n1,1,1\n")
    made = Workload.from_jobs([(1, 0, 10, 4, 10)])
    result = bridge.simulate(
        made, TWO_LEAVES, als="recorded", allocator="topology", surroundings=Surroundings(requests=path, switches="1")
    )
    assert result.jobs.allocation.tolist() == ["0-1 4-5"]


@pytest.mark.parametrize("switches", [None, "1", "1@30s"])
def test_the_number_of_a_file_is_taken_as_it_is(tmp_path: Path, switches: str | None) -> None:
    """A job that the empty machine has no such leaf for is a reject, however long others wait for few switches."""
    path = tmp_path / "requests.csv"
    path.write_text("job_id,gpu,switches\n1,1,1\n2,1,2\n")
    made = Workload.from_jobs([(1, 0, 10, 4, 10), (2, 0, 10, 4, 10)])
    left, around = surround(made, TWO_LEAVES, Surroundings(requests=path, switches=switches))
    assert left.job_id.tolist() == [2]
    assert left.rejects[ASKS_TOO_MUCH] == 1
    assert around.requests is not None
    assert around.requests.switches.tolist() == [2]


@dataclass(frozen=True)
class _Asks:
    """What a line of the file says; None: nothing."""

    unit_cores: int
    gpu: int
    memory: int
    switches: int | None


def test_as_the_slow_reference(tmp_path: Path) -> None:
    for seed in range(60):
        compare(seed, tmp_path)


def compare(seed: int, folder: Path) -> None:
    """Random machines with leaves of any hosts, and random request files, under ``--switches N[@TIME]`` or without it."""
    draw = random.Random(seed)
    hosts = tuple(
        Host(draw.randint(1, 5), (("gpu", draw.randint(0, 3)), ("memory", draw.randint(0, 8))))
        for _ in range(draw.randint(1, 6))
    )
    numbers = list(range(len(hosts)))
    if draw.random() < 0.7:
        draw.shuffle(numbers)
    cuts = sorted(draw.sample(range(1, len(hosts)), draw.randint(0, len(hosts) - 1)))
    leaves = [frozenset(numbers[lo:hi]) for lo, hi in zip([0, *cuts], [*cuts, len(hosts)], strict=True)]
    top = [(1, frozenset(numbers))] if draw.random() < 0.5 else []
    machine = Machine(hosts, switches=(*((0, leaf) for leaf in leaves), *top))
    has = {name for host in hosts for name, amount in host.amounts if amount}
    option, wait = draw.choice((None, 1, 1, 2)), draw.choice((None, 1, 3, 9))
    jobs, asked = [], []
    for number in range(1, draw.randint(2, 13)):
        unit, cores = draw.randint(1, 3), draw.randint(1, 4)
        line = _Asks(
            unit,
            draw.choice((0, 0, 1)) if "gpu" in has else 0,
            draw.choice((0, 0, 1, 3)) if "memory" in has else 0,
            draw.choice((None, None, 0, 1, 2)),
        )
        submit, runs = draw.randint(0, 12), draw.randint(1, 9)
        jobs.append(Job(number, submit * S, runs * S, unit * cores, draw.choice((runs, runs + 3)) * S))
        asked.append(line)
    order = sorted(range(len(jobs)), key=lambda row: jobs[row].submit)
    jobs, asked = [replace(jobs[row], number=k) for k, row in enumerate(order, 1)], [asked[row] for row in order]
    expected_jobs = []
    for job, line in zip(jobs, asked, strict=True):
        needs = tuple((name, amount) for name, amount in (("gpu", line.gpu), ("memory", line.memory)) if amount)

        def units(leaf: frozenset[int], line: _Asks = line, needs: tuple[tuple[str, int], ...] = needs) -> int:
            return sum(
                min(hosts[h].cores // line.unit_cores, *(dict(hosts[h].amounts)[name] // n for name, n in needs), 99)
                for h in leaf
            )

        def holds(n: int, job: Job = job, line: _Asks = line) -> bool:
            some = combinations(leaves, min(n, len(leaves)))
            return any(sum(units(leaf) for leaf in each) * line.unit_cores >= job.cores for each in some)

        if not holds(len(leaves)):
            continue
        fewest = next(n for n in range(1, len(leaves) + 1) if holds(n))
        limit = line.switches
        if limit is None:
            limit = 0 if option is None else max(option, fewest)
        if limit and not holds(limit):
            continue
        expected_jobs.append(replace(job, unit_cores=line.unit_cores, needs=needs, limit=limit))
    text = "job_id,unit_cores,gpu,memory_kb,switches\n" + "".join(
        f"{job.number},{line.unit_cores},{line.gpu},{line.memory},{'' if line.switches is None else line.switches}\n"
        for job, line in zip(jobs, asked, strict=True)
    )
    for name, column in (("gpu", "gpu"), ("memory", "memory_kb")):
        if name not in has:  # a column that the platform does not have
            at = text.split("\n")[0].split(",").index(column)
            lines = (line.split(",") for line in text.split())
            text = "\n".join(",".join(word for k, word in enumerate(line) if k != at) for line in lines) + "\n"
    depth, keep = draw.choice(((0, False), (1, False), (None, False), (None, True)))
    rules = Rules(depth=depth, keep=keep, allocator="topology", switch_wait=None if wait is None else wait * S)
    if not expected_jobs:
        return
    said = None if option is None else str(option) if wait is None else f"{option}@{wait}s"
    path = folder / f"requests{seed}.csv"
    path.write_text(text)
    result = bridge.simulate(
        workload_of(jobs),
        platform_of(machine),
        als="recorded",
        allocator="topology",
        rules=BatchRules(
            backfill="conservative" if depth is None else str(depth),
            conservative="keep" if keep else "rebuild",
            switch_wait_ns=rules.switch_wait if option is None else None,
        ),
        surroundings=Surroundings(requests=path, switches=said),
    )
    case = BatchCase(tuple(expected_jobs), machine, rules)
    told = {one.number: (one.start, list(one.cores)) for one in run(case.jobs, case.machine, case.rules)}
    found = {
        int(row.job_id): (int(row.start_ns), _cores(row.allocation)) for row in result.jobs.itertuples(index=False)
    }
    assert found == told, (seed, text, case)


def _cores(text: str) -> list[int]:
    found: list[int] = []
    for part in text.split():
        low, _, high = part.partition("-")
        found += range(int(low), int(high or low) + 1)
    return found
