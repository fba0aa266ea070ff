"""The slow reference's GPUs: schedules, allocators and fragmentation that were worked out on paper."""

import random
import re
import tomllib
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from batch_cases import FEATURES, KINDS, LATER, BatchCase, expected, seeded_cases
from batch_drives import attempts, constraints_of, finish, platform_of, said_cases, simulator_of, workload_of
from reference.cluster import run
from reference.gpu_metrics import Gpu, measure
from reference.gpus import BY_UNITS, Left, fragmentation, fragments, in_units, place_units, share_of_fragments
from reference.machine import Gpus, Host, Job, Machine, Partition, Rules

import bridge
from bls.allocators import Allocator, HostAmounts, PlacementRequest, allocator
from bls.availability.free_cores import free_give, new_free
from bls.engine.status import BatchStatus
from bls.metrics.gpus import gpu_fragmentation, gpu_metrics
from bls.metrics.schedule import NO_DOWNTIME, Schedule
from bls.scheduler_options import ConstraintOptions
from bls.scheduler_options import Rules as BatchRules
from bls.workloads.workload import Workload
from traces.checks.ledger import check_ledger
from traces.ledger import STATES, WHY, JobRecords, Ledger
from traces.ledger_tables import stored_ledger
from traces.records.gpus import GpuRecords

TABLE = tomllib.loads(Path(__file__).with_name("tables").joinpath("gpu_reference.toml").read_text("utf-8"))
CASES = TABLE["case"]

_HOSTS = re.compile(r"(\d+)x(\d+)(?::(\d+)(?: (\w+))?)?")
_GPUS = re.compile(r"([\d.]+)(?:/(host|job))?(?::([\w+]+))?")


def gpus_of(word: str) -> Gpus | None:
    """``2/host``, ``0.5`` or ``1:a100+v100``."""
    match = _GPUS.fullmatch(word)
    if match is None:
        return None
    share = "." in match[1]
    milli = round(1000 * float(match[1])) if share else 1000
    kinds = frozenset((match[3] or "").split("+")) - {""}
    return Gpus(1 if share else int(match[1]), match[2] or "unit", milli, kinds)


def machine_of(case: dict[str, Any]) -> Machine:
    amounts = (("memory", case["memory"]),) if "memory" in case else ()
    hosts = []
    for group in case["machine"].split(" + "):
        match = _HOSTS.fullmatch(group)
        assert match is not None, group
        hosts += [Host(int(match[2]), amounts, (), (), int(match[3] or 0), match[4] or "")] * int(match[1])
    if "outage" in case:
        number, *outage = case["outage"]
        down, up = outage
        hosts[number] = Host(hosts[number].cores, amounts, ((down, up),), (), hosts[number].gpus)
    return Machine(tuple(hosts), partitions=(Partition(**case.get("partition", {})),))


def numbers(word: str) -> tuple[int, ...]:
    """``0-1,4``, with repeated numbers."""
    parts = [] if word == "-" else [part.partition("-") for part in word.split(",")]
    return tuple(n for low, _, high in parts for n in range(int(low), int(high or low) + 1))


def job_of(words: dict[str, str]) -> Job:
    return Job(
        int(words["job"]),
        int(words["submit"]),
        int(words["run"]),
        int(words["cores"]),
        int(words["walltime"]),
        unit_cores=int(words.get("unit", 1)),
        needs=(("memory", int(words["memory"])),) if "memory" in words else (),
        gpus=gpus_of(words["gpus"]),
    )


def schedule(case: dict[str, Any]) -> tuple[list[Job], list[tuple[int, int, tuple[int, ...], tuple[int, ...]]]]:
    """The jobs of a case; and for each attempt the job's number, its start, cores and GPUs."""
    header, *lines = (line.partition("|") for line in case["jobs"].strip().splitlines())
    jobs, answer = {}, []
    for left, _, right in lines:
        words = dict(zip(header[0].split(), left.split(), strict=True))
        said = dict(zip(header[2].split(), right.split(), strict=True))
        jobs[words["job"]] = job_of(words)
        answer.append((int(words["job"]), int(said["start"]), numbers(said["cores"]), numbers(said["gpus"])))
    return list(jobs.values()), answer


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_schedules(case: dict[str, Any]) -> None:
    jobs, answer = schedule(case)
    rules = case.get("rules", {})
    rules = rules | ({"depth": None} if rules.get("depth") == "all" else {})
    found = run(jobs, machine_of(case), Rules(**rules))
    assert [(one.number, one.start, one.cores, one.gpus) for one in found] == answer


def requested(jobs: list[Job]) -> str:
    """A file of requests."""
    per = {"unit": "gpus_per_task", "host": "gpus_per_host", "job": "gpus"}
    lines = []
    for one in jobs:
        asked = one.gpus or Gpus(0)
        line = {"job_id": one.number, "unit_cores": one.unit_cores, "gpu_milli": asked.milli}
        line |= (
            {"gpu_kind": "|".join(sorted(asked.kinds))}
            | dict.fromkeys(per.values(), "")
            | {per[asked.per]: asked.n or ""}
        )
        lines.append(line | {f"{name}_kb": amount for name, amount in one.needs})
    return "\n".join(",".join(map(str, line)) for line in [[*lines[0]], *([*line.values()] for line in lines)])


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_the_simulator_makes_these_schedules(case: dict[str, Any], tmp_path: Path) -> None:
    jobs, answer = schedule(case)
    path, failures = tmp_path / "requests.csv", tmp_path / "failures.csv"
    path.write_text(requested(jobs))
    said = ConstraintOptions(requests=str(path))
    if "outage" in case:
        failures.write_text("host,down_s,up_s\n" + ",".join(map(str, case["outage"])))
        said = replace(said, failures=str(failures))
    rows = [(one.number, one.submit, one.run, one.cores, one.estimate) for one in jobs]
    rules = case.get("rules", {})
    chosen = BatchRules({"all": "conservative"}.get(rules.get("depth"), str(rules.get("depth", 0))))
    result = bridge.simulate(
        Workload.from_jobs(rows),
        platform_of(machine_of(case)),
        als="recorded",
        allocator=rules.get("allocator", "first-fit"),
        rules=replace(chosen, kill_at_walltime=rules.get("kill", False)),
        constraints=said,
    )
    table = result.jobs.sort_values(["job_id", "attempt"])
    cores, gpus = (
        [numbers(re.sub(r":\d+", "", text).replace(" ", ",") or "-") for text in table[name]]
        for name in ("allocation", "gpu_allocation")
    )
    share = {one.number: (one.gpus or Gpus(0)).milli for one in jobs}
    expected = [
        (job, start, on, share[job] * len(held), tuple(sorted({*held}))) for job, start, on, held in sorted(answer)
    ]
    assert list(zip(table.job_id, table.start_ns // 10**9, cores, table.gpus, gpus, strict=True)) == expected
    check_ledger(result.ledger)
    stored = stored_ledger({**result.jobs}, result.ledger.machine).gpus
    assert stored is not None
    assert stored.columns_of_jobs()["gpu_allocation"] == result.jobs.gpu_allocation.tolist()


def job(cores: int, gpus: Gpus | None) -> Job:
    return Job(1, 0, 1, cores, 1, unit_cores=cores, gpus=gpus)


def answer(
    rule: Allocator, job: Job, left: dict[int, Left], jobs: list[Job], memo: Any
) -> tuple[set[int], tuple[int, ...]] | None:
    """The cores and GPUs that an allocator by unit chooses of what hosts of 3 cores have left, with its memo; ``jobs``: all."""

    def column(values: Iterable[Any]) -> Any:
        return np.array(list(values), np.int64)

    def unit(one: Job) -> tuple[int, ...]:
        asked = one.gpus or Gpus(0)
        counts = (asked.n * (asked.per == "unit"), asked.n * (asked.per == "host"))
        kinds = sum(1 << k for k, kind in enumerate(KINDS) if not asked.kinds or kind in asked.kinds)
        return one.unit_cores, *counts, asked.milli, kinds, dict(one.needs).get("memory", 0)

    classes = sorted({unit(one) for one in jobs})
    words, starts = new_free(3 * len(left))
    words[:] = 0
    for here in left.values():
        for core in here.cores:
            free_give(words, starts, core, core + 1)
    _, per_unit, per_host, milli, kinds, memory = unit(job)
    more = HostAmounts.none(
        gpus=per_unit,
        gpus_per_host=per_host,
        gpu_milli=milli,
        gpu_kinds=kinds,
        own_class=classes.index(unit(job)),
        amounts=column(amount for here in left.values() for _, amount in here.amounts),
        needs=column([memory]),
        most=column([9]),
        gpu_first=np.cumsum([0, *(len(here.gpus) for here in left.values())]),
        gpu_kind=column(KINDS.index(here.kind) for here in left.values()),
        gpu_left=column(milli for here in left.values() for _, milli in here.gpus),
        out_gpu=np.zeros(per_unit * (job.cores // job.unit_cores) + per_host * len(left), np.int64),
        classes=column((sum(unit(one) == each for one in jobs), *each) for each in classes),
        memo=memo,
    )
    request = PlacementRequest.none(
        n_cores=job.cores,
        unit_cores=job.unit_cores,
        words=words,
        starts=starts,
        host_first=column(range(0, 3 * len(left) + 1, 3)),
        host_free=column(len(here.cores) for here in left.values()),
        parameters=column(rule.parameters),
        out_lo=np.zeros(2 * job.cores, np.int64),
        out_hi=np.zeros(2 * job.cores, np.int64),
        more=more,
        number=1,
        limit=0,
    )
    count = rule.place(request)
    cores = {core for k in range(count) for core in range(request.out_lo[k], request.out_hi[k])}
    return (cores, tuple(sorted(more.out_gpu[: more.n_gpus].tolist()))) if count else None


def without(here: Left, job: Job, cores: set[int], gpus: tuple[int, ...]) -> Left:
    """What a host has left when a job has been placed."""
    units = len(cores.intersection(here.cores)) // job.unit_cores
    needs, milli = dict(job.needs), (job.gpus or Gpus(0)).milli
    return replace(
        here,
        cores=tuple(core for core in here.cores if core not in cores),
        amounts=tuple((name, amount - units * needs.get(name, 0)) for name, amount in here.amounts),
        gpus=tuple((gpu, some - milli * gpus.count(gpu)) for gpu, some in here.gpus),
    )


@pytest.mark.parametrize("rule", BY_UNITS)
def test_allocators_by_unit_on_random_hosts(rule: str) -> None:
    """Few different states and requests, so that ``fgd`` finds scores of earlier questions in its memo."""
    rng, placed = random.Random(5), 0
    for _ in range(60):
        gpus = [rng.randint(0, 3) for _ in range(3)]
        machine = Machine(tuple(Host(3, (("memory", 9),), gpus=n, kind=rng.choice(KINDS)) for n in gpus))
        jobs = []
        for _ in range(rng.randint(1, 4)):
            cores, memory = rng.randint(1, 2), rng.choice([(), (("memory", rng.randint(1, 3)),)])
            shares = [Gpus(1, milli=300), Gpus(1, "host", 500), Gpus(1), Gpus(2), Gpus(1, "host"), Gpus(2, "host")]
            asked = rng.choice([None, *shares, replace(shares[0], kinds=frozenset(KINDS[:1]))])
            one = Job(1, 0, 1, cores * rng.randint(1, 3), 1, unit_cores=cores, needs=memory, gpus=asked)
            jobs += [one] * rng.randint(1, 5)
        memo = np.full((2 * len(jobs) * 3, 3 + 1 + 3), -1)
        left = {
            number: Left(
                machine.cores_of(number),
                host.amounts,
                tuple((gpu, 1000) for gpu in machine.gpus_of(number)),
                host.kind,
            )
            for number, host in enumerate(machine.hosts)
        }
        for _ in range(60):
            host = rng.randint(0, 2)  # a part of one host changes at a time
            changes: list[dict[str, Any]] = [
                {"cores": tuple(core for core in machine.cores_of(host) if rng.randint(0, 3))},
                {"amounts": (("memory", rng.randint(1, 6)),)},
                {"gpus": tuple((gpu, rng.choice((200, 300, 800, 1000))) for gpu in machine.gpus_of(host))},
            ]
            left[host] = replace(left[host], **rng.choice(changes))
            one = rng.choice(jobs)
            expected = place_units(one, left, rule, machine, jobs)
            assert answer(allocator(rule), one, left, jobs, memo) == expected, (one, left, jobs)
            placed += expected is not None
            if expected is not None and rng.randint(0, 2) == 0:
                left = {host: without(here, one, *expected) for host, here in left.items()}
    assert placed > 200


def test_parts_of_a_job() -> None:
    asked = Job(1, 0, 1, 12, 1, unit_cores=2, needs=(("memory", 5),), gpus=Gpus(4, "job"))
    assert in_units(asked) == Job(1, 0, 1, 12, 1, unit_cores=6, needs=(("memory", 15),), gpus=Gpus(2))
    assert in_units(job(3, Gpus(2))) == job(3, Gpus(2))


#: Left of a host of four GPUs: 1 core.
USED = Left((0,), gpus=((0, 200), (1, 1000), (2, 1000), (3, 500)), kind="k80")


@pytest.mark.parametrize(
    ("asked", "milli"),
    [
        (job(1, Gpus(2)), 700),  # fits on GPUs 1 and 2: 200 + 500 are too small
        (job(1, Gpus(1, milli=300)), 200),
        (job(1, Gpus(1, milli=100)), 0),
        (job(1, Gpus(3)), 2700),  # does not fit: everything is fragmented
        (job(2, Gpus(1, milli=100)), 2700),  # not enough cores
        (job(1, Gpus(1, kinds=frozenset({"a100"}))), 2700),
        (job(1, Gpus(1, kinds=frozenset({"a100", "k80"}))), 700),
        (job(1, None), 2700),  # a job without GPUs can use none of them
    ],
)
def test_fragments_of_a_host(asked: Job, milli: int) -> None:
    assert fragments(USED, asked) == milli


@pytest.mark.parametrize(
    ("jobs", "kind", "cpu", "left", "mean"),
    [(some["jobs"], *host) for some in TABLE["fragmentation"] for host in some["hosts"]],
)
def test_fragmentation_of_published_hosts(jobs: str, kind: str, cpu: int, left: list[int], mean: float) -> None:
    classes = Counter[Job]()
    for each in jobs.split():
        asked, _, number = each.partition("=")
        needs, gpus, *kinds = asked.split(":")
        n, _, milli = gpus.partition("x")
        of_gpus = Gpus(int(n), milli=int(milli), kinds=frozenset(kinds)) if milli else None
        classes[replace(job(1, of_gpus), needs=(("cpu", int(needs)),))] += int(number)
    here = Left((0,), (("cpu", cpu),), tuple(enumerate(left)), kind)
    assert fragmentation(here, classes) / 10_000 == pytest.approx(mean, abs=0.001)


def test_share_of_fragments() -> None:
    """Two classes with 3 and 1 jobs: (3 · 700 + 1 · 2700) / 4 = 1200 of the host's 2700, and 0 of an empty host's 1000."""
    classes = Counter({job(1, Gpus(2)): 3, job(2, Gpus(1, milli=100)): 1})
    assert share_of_fragments([USED], classes) == Fraction(1200, 2700)
    empty = Left((4, 5), gpus=((4, 1000),))  # one GPU: a job of two does not fit
    assert share_of_fragments([USED, empty], classes) == Fraction(4 * 1200 + 3 * 1000, 4 * 3700)
    assert share_of_fragments([Left((0,))], classes) == 0


SIX = [Job(k, 0, 10, 1, 10, gpus=Gpus(1, milli=200 if k < 4 else 600)) for k in range(1, 7)]


def test_metrics_of_six_tasks() -> None:
    """First fit: jobs 1 to 5 until 10, job 6 until 20, on 3 GPUs. Until 10 host 0 has 400 milli left and host 1 twice 400, all
    useless for 600: (3 · 0 + 3 · 1200) / 6 = 600 of 1200; then 200 of 2400, since GPU 0 has 400. No host is full."""
    machine = Machine((Host(4, gpus=1), Host(4, gpus=2)))
    used = Fraction((3 * 200 + 2 * 600) * 10 + 600 * 10, 3000 * 20)
    fragmented = Fraction(600 * 10 + 200 * 10, 1200 * 10 + 2400 * 10)
    found = measure(SIX, machine, run(SIX, machine, Rules()))
    assert found == Gpu(used, Fraction(0), Fraction(0), fragmented, Fraction(10, 6))
    assert measure(SIX, machine, run(SIX, machine, Rules(allocator="fgd"))).mean_wait == 0


def test_metrics_of_full_hosts() -> None:
    """Until 10 job 1 has both cores of the host with GPUs, so its two GPUs are idle; then job 2 has both GPUs and one core. A
    host without GPUs counts in neither."""
    jobs = [Job(1, 0, 10, 2, 10), Job(2, 0, 10, 1, 10, gpus=Gpus(2))]
    machine = Machine((Host(2, gpus=2), Host(1)))
    assert measure(jobs, machine, run(jobs, machine, Rules())) == Gpu(
        used=Fraction(1, 2),
        without_cores=Fraction(1, 2),
        idle_cores=Fraction(1, 4),
        fragmented=Fraction(1),  # without a free core nothing that is left can be used
        mean_wait=Fraction(10),
    )


def held_milli(case: BatchCase) -> Counter[int]:
    """The most that jobs hold of each GPU at any time."""
    asked = {one.number: one.gpus for one in case.jobs}
    most = Counter[int]()
    for now in expected(case):
        running = [one for one in expected(case) if one.start <= now.start < one.end]
        at = Counter[int]()
        for one in running:
            if (gpus := asked[one.number]) is not None:
                at.update({gpu: gpus.milli * n for gpu, n in Counter(one.gpus).items()})
        most |= at
    return most


@pytest.mark.parametrize("feature", [(), *((name,) for name in (*FEATURES, *LATER))], ids="".join)
def test_random_cases(feature: tuple[str, ...]) -> None:
    """Jobs that run have what they request, on their hosts, and no GPU is held twice."""
    ran = 0
    for case in seeded_cases(7, 12, (), always=("gpus", "allocators" if feature != ("given",) else "orders", *feature)):
        machine = case.machine
        assert all(milli <= 1000 for milli in held_milli(case).values()), case
        for attempt in expected(case):
            job = in_units(next(one for one in case.jobs if one.number == attempt.number))
            hosts = {machine.host_of(core) for core in attempt.cores}
            homes = [next(host for host in hosts if gpu in machine.gpus_of(host)) for gpu in attempt.gpus]
            if job.gpus is None or not attempt.cores:
                assert not attempt.gpus
                continue
            ran += 1
            assert all(not job.gpus.kinds or machine.hosts[host].kind in job.gpus.kinds for host in homes)
            n = len(hosts) if job.gpus.per == "host" else job.cores // job.unit_cores
            assert len(attempt.gpus) == n * job.gpus.n, case
    assert ran


def ledger_of(case: BatchCase) -> tuple[Ledger, Schedule]:
    """The records of the slow reference's attempts."""
    found, of_job = expected(case), {one.number: one for one in case.jobs}
    zeros = np.zeros(len(found), np.int64)
    submit, cores = (np.array([getattr(of_job[one.number], name) for one in found]) for name in ("submit", "cores"))
    number, start, end, eligible = (
        np.array([getattr(one, name) for one in found]) for name in ("number", "start", "end", "eligible")
    )
    held = [core for one in found for core in one.cores]
    first, lo = np.cumsum([0, *(len(one.cores) for one in found)]), np.array(held, np.int64)
    told = {
        "state": np.where(start < 0, STATES.index("cancelled"), 0),
        "why": np.where(start < 0, WHY.index("never"), 0),
    }
    known = (number, submit, start, end, zeros, zeros, cores, zeros, zeros, zeros, zeros, zeros, first, lo, lo + 1)
    jobs = JobRecords(*known, eligible_ns=eligible, **told)
    parts = [
        (row, gpu, (of_job[one.number].gpus or Gpus(0)).milli) for row, one in enumerate(found) for gpu in one.gpus
    ]
    gpus = GpuRecords.of(len(found), *np.array(parts, np.int64).reshape(-1, 3).T)
    machine = platform_of(case.machine).machine()
    schedule = Schedule(
        submit_ns=submit, start_ns=start, end_ns=end, cores=cores, n_cores=machine.n_cores, begin_ns=eligible, **told
    )
    return Ledger(machine, jobs, None, gpus=gpus), schedule


@pytest.mark.parametrize("feature", ["orders", "units", "resources", "reservations", "cancel"])
def test_metrics_of_random_cases(feature: str) -> None:
    for case in seeded_cases(9, 30, (), always=("gpus", "allocators", feature)):
        ledger, schedule = ledger_of(case)
        check_ledger(ledger)
        begin, end = schedule.span_ns
        if begin == end or begin > min(one.submit for one in case.jobs) or not any(one.gpus for one in expected(case)):
            continue
        exact, found = measure(case.jobs, case.machine, expected(case)), gpu_metrics(ledger, schedule, NO_DOWNTIME)
        assert found["gpu_utilisation"] == float(exact.used)
        assert found["gpu_share_without_cores"] == float(exact.without_cores)
        assert found["core_share_without_gpus"] == float(exact.idle_cores)
        assert found["mean_gpu_wait_ns"] == float(exact.mean_wait)
        platform, workload = (
            platform_of(case.machine),
            workload_of([replace(one, run=1, cancel=None) for one in case.jobs]),
        )
        plain = replace(case, machine=replace(case.machine, windows=()))
        asked = constraints_of(plain, platform, workload).requests
        assert asked is not None
        origin = np.searchsorted(workload.job_id, ledger.jobs.job_id, sorter=np.argsort(workload.job_id))
        origin = np.argsort(workload.job_id)[origin]
        assert gpu_fragmentation(ledger, schedule, NO_DOWNTIME, platform, asked, origin) == float(exact.fragmented)


def test_limits_of_gpus_hold_jobs_back() -> None:
    """The engine's schedules, whole and in pieces, are the reference's; some would be others without the limits."""
    held_back = 0
    for case in said_cases(
        5, 60, ("units", "kill", "allocators", "outages", "orders"), always=("gpus", "limits"), max_jobs=14
    ):
        answer, parts = expected(case), case.machine.partitions
        assert finish(simulator_of(case)) == answer, case
        simulator = simulator_of(case)
        simulator.checks = 1
        while simulator.advance(1) != BatchStatus.DONE:
            pass
        assert attempts(simulator.state) == answer, case
        free = tuple(replace(part, max_milli=None, max_user_milli=None) for part in parts)
        held_back += expected(replace(case, machine=replace(case.machine, partitions=free))) != answer
    assert held_back
