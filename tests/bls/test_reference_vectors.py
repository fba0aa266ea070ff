"""The slow reference of the batch level itself: published and hand-drawn schedules, textbook EASY, and what always holds."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from batch_cases import FEATURES, BatchCase, cases, expected, seeded_cases
from hypothesis import given, settings
from reference import batch, easy, invariants
from reference.cluster import NeverFinishes, run
from reference.machine import Attempt, Host, Job, Machine, Partition, Rules, Window, ranges

FCFS, EASY, REBUILD = Rules(), Rules(depth=1), Rules(depth=None)
KEEP = replace(REBUILD, keep=True)


def jobs_of(*rows: tuple[int, ...]) -> list[Job]:
    """Jobs of (submit, cores, estimate, run), numbered from 1."""
    return [Job(number, q, p, n, r) for number, (q, n, r, p) in enumerate(rows, 1)]


def machine_of(*sizes: int, **more: object) -> Machine:
    return replace(Machine(tuple(Host(cores) for cores in sizes)), **more)  # type: ignore[arg-type]


def starts(jobs: list[Job], machine: Machine, rules: Rules) -> list[int]:
    return [one.start for one in run(jobs, machine, rules)]


def drawn(attempts: list[Attempt]) -> list[str]:
    """``number.attempt start-end cores why state``."""
    return [
        f"{one.number}.{one.attempt} {one.start}-{one.end} {','.join(map(str, one.cores))} {one.why} {one.state}"
        for one in attempts
    ]


# ---- backfilling ----

# M, jobs, starts by fcfs, easy, conservative keep, conservative rebuild; the last vector is of the latter two only.
VECTORS = [
    (
        4,
        [(0, 3, 10, 10), (1, 4, 5, 5), (2, 1, 8, 8), (3, 1, 9, 9)],
        [0, 10, 15, 15],
        [0, 10, 2, 15],
        [0, 10, 2, 15],
        None,
    ),
    (
        6,
        [(0, 4, 10, 10), (1, 4, 5, 5), (2, 2, 100, 100), (3, 2, 4, 4)],
        [0, 10, 10, 15],
        [0, 10, 2, 15],
        [0, 10, 2, 15],
        None,
    ),
    (
        4,
        [(0, 3, 500, 100), (1, 4, 50, 50), (2, 1, 98, 98), (3, 1, 600, 600)],
        [0, 100, 150, 150],
        [0, 100, 2, 150],
        [0, 100, 2, 150],
        None,
    ),
    (
        4,
        [(1, 3, 5, 5), (1, 2, 3, 3), (2, 3, 1, 1), (2, 2, 1, 1), (3, 1, 5, 5)],
        [1, 6, 9, 10, 10],
        [1, 6, 9, 8, 3],
        [1, 6, 9, 6, 7],
        None,
    ),
    (
        4,
        [(0, 2, 6, 6), (0, 3, 1, 1), (0, 2, 5, 5), (0, 4, 2, 2), (1, 1, 3, 3)],
        [0, 6, 7, 12, 14],
        [0, 6, 0, 8, 5],
        [0, 6, 0, 7, 9],
        None,
    ),
    (
        4,
        [(0, 2, 7, 5), (0, 3, 7, 5), (1, 1, 2, 1), (2, 1, 3, 3), (3, 2, 2, 2)],
        None,
        None,
        [0, 7, 1, 2, 5],
        [0, 5, 1, 2, 10],
    ),
]


@pytest.mark.parametrize("scale", [1, 10**9])
@pytest.mark.parametrize("vector", range(len(VECTORS)))
def test_reference_vectors(vector: int, scale: int) -> None:
    n_cores, rows, fcfs, by_easy, keep, rebuild = VECTORS[vector]
    jobs = jobs_of(*((q * scale, n, r * scale, p * scale) for q, n, r, p in rows))
    for rules, answer in ((FCFS, fcfs), (EASY, by_easy), (KEEP, keep), (REBUILD, rebuild or keep)):
        if answer is not None:
            for counts in (True, False):
                found = starts(jobs, machine_of(n_cores), replace(rules, counts=counts))
                assert [start // scale for start in found] == answer


def test_the_old_call_of_one_kind_of_cores() -> None:
    jobs = jobs_of(*VECTORS[0][1])
    placed = batch.simulate(jobs, 4, "fcfs", 2.0, lambda row, start, cores: start + jobs[row].run, depth=1)
    assert [(one.start, one.end, one.cores) for one in placed] == [
        (0, 10, (0, 1, 2)),
        (10, 15, (0, 1, 2, 3)),
        (2, 10, (3,)),
        (15, 24, (0,)),
    ]
    assert batch.key(jobs[0], "edf", 0.5) == 5


def test_why_a_job_started() -> None:
    jobs = jobs_of(*VECTORS[0][1])
    assert [one.why for one in run(jobs, machine_of(4), EASY)] == ["head", "reserved", "backfill", "reserved"]
    assert [one.why for one in run(jobs, machine_of(4), FCFS)] == ["head"] * 4


@pytest.mark.parametrize(("depth", "answer"), [(0, 12), (1, 0), (2, 12), (None, 12)])
def test_the_depth_says_how_many_are_protected(depth: int | None, answer: int) -> None:
    # The last job, beside the first until 11, delays the third (4 cores at 10) and not the second (2 cores at 5).
    jobs = jobs_of((0, 3, 5, 5), (0, 2, 5, 5), (0, 4, 2, 2), (0, 1, 11, 11))
    assert starts(jobs, machine_of(4), Rules(depth=depth))[3] == answer


def test_an_overdue_job_is_expected_to_end_at_the_next_instant() -> None:
    # At 6 job 1 is overdue: the head is expected to start at 7, so that job 3 may not run beyond.
    jobs = jobs_of((0, 3, 5, 9), (1, 4, 5, 5), (6, 1, 2, 2), (6, 1, 1, 1))
    assert starts(jobs, machine_of(4), EASY) == [0, 9, 14, 6]


def test_keep_wakes_at_a_slot_and_finds_the_plan_broken() -> None:
    # Nothing ends at 5. The pass at the kept slot sees that job 1 is overdue, and plans job 2 for 6.
    assert starts(jobs_of((0, 4, 5, 8), (1, 4, 5, 5)), machine_of(4), KEEP) == [0, 8]


def test_a_depth_of_one_is_easy_by_the_book() -> None:
    for case in seeded_cases(1, 500, ()):
        jobs, n_cores = list(case.jobs), sum(host.cores for host in case.machine.hosts)
        assert starts(jobs, case.machine, EASY) == easy.starts_by_the_book(jobs, n_cores), case


def test_conservative_never_starts_later_than_fcfs_if_estimates_are_exact() -> None:
    later_by_easy = 0
    for case in seeded_cases(2, 500, ()):
        jobs = [replace(job, estimate=max(1, job.run), run=max(1, job.run)) for job in case.jobs]
        fcfs = starts(jobs, case.machine, FCFS)
        for rules in (KEEP, REBUILD):
            assert all(a <= b for a, b in zip(starts(jobs, case.machine, rules), fcfs, strict=True)), case
        later_by_easy += any(a > b for a, b in zip(starts(jobs, case.machine, EASY), fcfs, strict=True))
    assert later_by_easy > 0


def test_an_exact_estimate_leaves_nothing_to_keep() -> None:
    # With exact estimates no plan is ever broken or bettered, and in fcfs order a plan made anew is the same.
    for case in seeded_cases(3, 500, ()):
        jobs = [replace(job, estimate=max(1, job.run), run=max(1, job.run)) for job in case.jobs]
        assert run(jobs, case.machine, KEEP) == run(jobs, case.machine, REBUILD)


# ---- orders ----


@pytest.mark.parametrize(
    ("order", "answer"),
    [
        ("fcfs", [1, 2, 3]),
        ("sjf", [2, 3, 1]),
        ("ljf", [1, 3, 2]),
        ("saf", [3, 1, 2]),
        ("edf", [2, 3, 1]),
        ("wfp3", [2, 3, 1]),  # (50/20)³·1, (49/4)³·6, (48/8)³·1 at 50 s
        ("unicef", [3, 1, 2]),  # one-core jobs first, the longest wait for its length before
        ("f3", [1, 2, 3]),  # submits before 1 s count as 1 s
        (lambda job, now: -job.number, [3, 2, 1]),
    ],
)
def test_orders(order: object, answer: list[int]) -> None:
    # All wait for the first job to end, at 50 s. Columns: submit, cores, estimate, run.
    s = 10**9
    jobs = jobs_of((0, 6, 50 * s, 50 * s), (0, 1, 20 * s, s), (s, 6, 4 * s, s), (2 * s, 1, 8 * s, s))
    jobs = [replace(job, number=job.number - 1) for job in jobs]
    # One job at a time.
    machine = machine_of(6, partitions=(Partition(max_jobs=1),))
    jobs[0] = replace(jobs[0], preset=True)
    attempts = run(jobs, machine, Rules(order=order, slack=Fraction(1)))  # type: ignore[arg-type]
    assert [one.number for one in sorted(attempts, key=lambda one: one.start)][1:] == answer


# ---- the life of a job ----


def test_walltime() -> None:
    jobs = jobs_of((0, 1, 5, 8), (0, 1, 5, 5), (0, 1, 5, 3))
    assert drawn(run(jobs, machine_of(4), replace(FCFS, kill=True))) == [
        "1.0 0-5 0 head killed",
        "2.0 0-5 1 head completed",
        "3.0 0-3 2 head completed",
    ]


def test_cancellations() -> None:
    cancel = (3, 6, 5, 1, 9)
    jobs = jobs_of((0, 4, 5, 5), (0, 1, 9, 9), (2, 1, 5, 5), (2, 1, 5, 5), (4, 1, 1, 1))
    jobs = [replace(job, cancel=instant) for job, instant in zip(jobs, cancel, strict=True)]
    jobs[2] = replace(jobs[2], run=-1)
    assert drawn(run(jobs, machine_of(4), FCFS)) == [
        "1.0 0-3 0,1,2,3 head cancelled",
        "2.0 3-6 0 head cancelled",
        "3.0 3-5 1 head cancelled",
        "4.0 -1--1  never cancelled",  # before its submit
        "5.0 4-5 2 head completed",
    ]
    assert [one.eligible for one in run(jobs, machine_of(4), FCFS)] == [0, 0, 2, -1, 4]


def test_dependencies() -> None:
    jobs = jobs_of((0, 1, 5, 3), (1, 1, 5, 5), (2, 1, 5, 5), (2, 1, 5, 5))
    jobs = [jobs[0], replace(jobs[1], after=0, think=4), replace(jobs[2], after=3), replace(jobs[3], cancel=2)]
    attempts = run(jobs, machine_of(4), FCFS)
    assert [one.eligible for one in attempts] == [0, 7, 2, -1]
    assert [one.start for one in attempts] == [0, 7, 2, -1]


def test_what_waits_for_ever_is_said() -> None:
    with pytest.raises(NeverFinishes, match=r"\[0, 1\]"):
        run(jobs_of((0, 5, 1, 1), (0, 1, 1, 1)), machine_of(4), FCFS)
    with pytest.raises(NeverFinishes, match=r"\[0\]"):
        run(jobs_of((0, 5, 1, 1), (0, 1, 1, 1)), machine_of(4), EASY)


def test_presets() -> None:
    jobs = jobs_of((0, 2, 5, 5), (0, 3, 5, 4))
    jobs[1] = replace(jobs[1], preset=True)
    assert drawn(run(jobs, machine_of(4), FCFS)) == ["1.0 4-9 0,1 head completed", "2.0 0-4 0,1,2 preset completed"]


def test_the_cost_of_deciding() -> None:
    # The pass at 0 takes until 2; what arrives at 1 is looked at then, and starts at 4.
    jobs = jobs_of((0, 1, 5, 5), (1, 1, 5, 5), (3, 1, 5, 5))
    assert starts(jobs, machine_of(4), replace(FCFS, cost=2)) == [2, 4, 6]


# ---- hosts that go, and windows ----


def test_outages() -> None:
    machine = Machine((Host(2, outages=((3, 7),)), Host(2)))
    jobs = jobs_of((0, 2, 5, 5), (0, 1, 5, 3), (2, 1, 5, 5))
    assert drawn(run(jobs, machine, FCFS)) == [
        "1.0 0-3 0,1 head requeued",
        "1.1 7-12 0,1 head completed",
        "2.0 0-3 2 head completed",
        "3.0 2-7 3 head completed",
    ]
    assert drawn(run(jobs, machine, replace(FCFS, requeue=False)))[0] == "1.0 0-3 0,1 head failed"


def test_equal_instants_of_an_end_and_of_what_cuts() -> None:
    machine = Machine((Host(1, outages=((5, 6),)),))
    job = Job(1, 0, 9, 1, 5)
    for other, state in (
        (replace(job, run=5), "completed"),
        (replace(job, cancel=5), "killed"),
        (replace(job, cancel=5, estimate=6), "cancelled"),
        (replace(job, estimate=6), "failed"),
    ):
        assert [one.state for one in run([other], machine, Rules(kill=True, requeue=False))] == [state]


def test_maintenance_is_planned_around_and_cuts() -> None:
    machine = machine_of(2, 2, windows=(Window(4, 6, True, frozenset({0, 1})),))
    jobs = jobs_of((0, 2, 4, 9), (0, 2, 5, 5), (0, 1, 5, 1), (0, 2, 2, 1))
    assert drawn(run(jobs, machine, EASY)) == [
        "1.0 0-4 0,1 head requeued",
        "1.1 5-14 2,3 reserved completed",
        "2.0 0-5 2,3 head completed",
        "3.0 6-7 0 reserved completed",
        "4.0 7-8 0,1 reserved completed",
    ]


def test_a_reservation_is_for_its_jobs() -> None:
    machine = machine_of(4, windows=(Window(5, 10, False, frozenset({0, 1})),))
    jobs = jobs_of((0, 2, 5, 5), (0, 2, 6, 6), (0, 1, 4, 4), (0, 4, 1, 1))
    jobs[2] = replace(jobs[2], window=0)
    # Job 1 is done when it begins, job 2 goes past it, job 3 runs in it, and job 4 needs all cores.
    assert drawn(run(jobs, machine, KEEP)) == [
        "1.0 0-5 0,1 head completed",
        "2.0 0-6 2,3 head completed",
        "3.0 5-9 0 reserved completed",
        "4.0 10-11 0,1,2,3 reserved completed",
    ]


# ---- partitions ----


def test_partitions() -> None:
    left, everywhere = frozenset({0}), None
    machine = machine_of(2, 2, partitions=(Partition(left), Partition(everywhere, tier=1)))
    jobs = jobs_of((0, 2, 5, 5), (0, 1, 3, 3), (0, 3, 4, 4))
    jobs[2] = replace(jobs[2], partition=1)
    # The third job stands first; it has core 0 to 2, and nothing of it keeps the others but the cores.
    assert starts(jobs, machine, FCFS) == [4, 9, 0]
    assert starts(jobs, machine, replace(EASY, order="sjf")) == [7, 4, 0]


def test_limits_pass_a_job_over() -> None:
    jobs = jobs_of((0, 1, 5, 5), (0, 1, 5, 5), (0, 1, 5, 5), (0, 2, 1, 1))
    jobs = [replace(job, user=user) for job, user in zip(jobs, (1, 1, 2, 2), strict=True)]
    for limits, answer in (
        (Partition(max_jobs=2), [0, 0, 5, 5]),
        (Partition(max_cores=3), [0, 0, 0, 5]),
        (Partition(max_user_jobs=1), [0, 5, 0, 5]),
        (Partition(max_user_cores=2), [0, 0, 0, 5]),
    ):
        attempts = run(jobs, machine_of(8, partitions=(limits,)), FCFS)
        assert [one.start for one in attempts] == answer
    passed_over = run(jobs, machine_of(8, partitions=(Partition(max_user_jobs=1),)), FCFS)
    assert [one.why for one in passed_over] == ["head", "head", "backfill", "head"]


# ---- where ----


@pytest.mark.parametrize(
    ("allocator", "more", "answer"),
    [
        # Hosts 0-3, 4-7, 8-11; free are 3, 6 7, 8 9 10 11.
        ("first-fit", {}, (3, 6, 7)),
        ("best-fit", {}, (3, 6, 7)),
        ("best-fit", {"cores": 2}, (3, 6)),
        ("worst-fit", {}, (8, 9, 10)),
        ("worst-fit", {"cores": 5}, (6, 8, 9, 10, 11)),
        ("contiguous", {}, (6, 7, 8)),
        ("contiguous", {"cores": 2, "unit_cores": 2}, (6, 7)),
        ("contiguous", {"cores": 6, "unit_cores": 2}, (6, 7, 8, 9, 10, 11)),
        ("whole-host", {}, (8, 9, 10, 11)),
        ("given", {"wanted": frozenset({3, 8, 11})}, (3, 8, 11)),
        ("topology", {}, (8, 9, 10)),
        ("topology", {"cores": 2}, (6, 7)),
        ("topology", {"cores": 5}, (3, 8, 9, 10, 11)),
        ("first-fit", {"cores": 2, "unit_cores": 2}, (6, 7)),
        ("first-fit", {"cores": 2, "needs": (("gpu", 1),)}, (6, 8)),
    ],
)
def test_allocators(allocator: str, more: dict[str, object], answer: tuple[int, ...]) -> None:
    machine = Machine(
        tuple(Host(4, (("gpu", gpus),)) for gpus in (0, 1, 1)), switches=ranges((0, 0, 1), (0, 1, 2), (0, 2, 3))
    )
    blocks = [frozenset({0, 1, 2}), frozenset({4, 5})]
    held = tuple(Window(0, 10, True, cores) for cores in blocks)
    job = replace(Job(1, 0, 1, 3, 1), **more)  # type: ignore[arg-type]
    (one,) = run([job], replace(machine, windows=held), Rules(allocator=allocator))
    assert one.start == 0
    assert one.cores == answer


def test_whole_hosts_are_held_whole() -> None:
    jobs = jobs_of((0, 1, 5, 5), (0, 3, 5, 5), (0, 1, 5, 5))
    assert drawn(run(jobs, machine_of(2, 2, 2), Rules(allocator="whole-host"))) == [
        "1.0 0-5 0,1 head completed",
        "2.0 0-5 2,3,4,5 head completed",
        "3.0 5-10 0,1 head completed",
    ]


def test_a_limit_on_switches() -> None:
    machine = machine_of(2, 2, 2, switches=ranges((0, 0, 1), (0, 1, 2), (0, 2, 3)))
    jobs = jobs_of((0, 1, 5, 5), (0, 4, 5, 5), (0, 2, 5, 5))
    rules = Rules(allocator="topology")
    assert starts([jobs[0], replace(jobs[1], limit=2), jobs[2]], machine, rules) == [0, 0, 5]
    assert starts([jobs[0], jobs[2], replace(jobs[1], limit=2)], machine, rules) == [0, 0, 5]


def test_licences_and_memory() -> None:
    machine = Machine((Host(2, (("memory", 3),)), Host(2, (("memory", 4),))), licences=(("solver", 1),))
    jobs = jobs_of((0, 3, 5, 5), (0, 1, 3, 3), (0, 1, 5, 5))
    jobs = [
        replace(jobs[0], needs=(("memory", 2),)),
        replace(jobs[1], licences=(("solver", 1),)),
        replace(jobs[2], licences=(("solver", 1),)),
    ]
    assert drawn(run(jobs, machine, FCFS)) == [
        "1.0 0-5 0,2,3 head completed",
        "2.0 0-3 1 head completed",
        "3.0 3-8 1 head completed",
    ]


# ---- what always holds ----


@settings(max_examples=300)
@given(case=cases())
def test_invariants_of_what_hypothesis_finds(case: BatchCase) -> None:
    invariants.check(case.jobs, case.machine, case.rules, expected(case))


@pytest.mark.parametrize("feature", FEATURES)
def test_invariants_of_each_feature(feature: str) -> None:
    for case in seeded_cases(4, 100, (feature, "orders", "allocators")):
        invariants.check(case.jobs, case.machine, case.rules, expected(case))


def test_random_cases_are_rich() -> None:
    attempts = [one for case in seeded_cases(5, 400) for one in expected(case)]
    assert {one.why for one in attempts} == {"head", "backfill", "reserved", "preset", "never"}
    assert {one.state for one in attempts} == {"completed", "killed", "cancelled", "failed", "requeued"}
    assert sum(one.attempt > 0 for one in attempts) > 10
