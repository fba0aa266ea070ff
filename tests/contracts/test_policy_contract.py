"""The contract of batch policies: these tests run over the registry, so its entry there tests a new policy."""

from dataclasses import fields

import grimp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenarios import Case, cases, done

from bls.machine.host_power import HostPower
from bls.machine.platform import HostGroup, Platform
from bls.policies import POLICIES, DecidingPolicy, KnownJobs, Policy, ScoringPolicy, policy, ranks, scoring
from bls.policies.contract import columns_declared, for_one_run, may_not_fit

STATIC = [name for name, kept in POLICIES.items() if isinstance(kept, Policy)]
DYNAMIC = [name for name, kept in POLICIES.items() if isinstance(kept, ScoringPolicy)]
DECIDING = [name for name, kept in POLICIES.items() if isinstance(kept, DecidingPolicy)]

#: (submit, estimate, slack × estimate, cores, user), in units of TICK_NS
rows = st.lists(
    st.tuples(st.integers(0, 9), st.integers(1, 9), st.integers(0, 20), st.integers(1, 64), st.integers(-1, 3)),
    min_size=1,
    max_size=20,
)
TICK_NS = 500_000_000


def known(values: list[tuple[int, int, int, int, int]]) -> KnownJobs:
    submit, estimate, slack, cores, user = np.array(sorted(values), np.int64).T
    submit, estimate, slack = submit * TICK_NS, estimate * TICK_NS, slack * TICK_NS
    numbers = np.arange(len(values)) * 7 + 1
    group, queue, partition, qos = (user.copy() for _ in range(4))
    core_mw = 1000 * (1 + numbers % 5)
    jobs = KnownJobs(numbers, submit, estimate, submit + slack, cores, user, group, queue, partition, qos, 64, core_mw)
    for field in fields(jobs):
        if field.name not in ("n_cores", "n_gpus"):
            getattr(jobs, field.name).flags.writeable = False
    return jobs


def columns_of(jobs: KnownJobs) -> list[np.ndarray]:
    return [np.array(getattr(jobs, field.name)) for field in fields(jobs)]


def test_every_policy_is_of_a_kind() -> None:
    assert sorted(STATIC + DYNAMIC + DECIDING) == sorted(POLICIES)


def test_deciding_policies_have_their_own_state_per_run_and_valid_declarations() -> None:
    for name in DECIDING:
        kept = policy(name)
        assert for_one_run(kept, named=True) is not kept
        assert for_one_run(kept, named=True).name == name
        columns_declared(kept)
        may_not_fit(kept)


@pytest.mark.parametrize("name", POLICIES)
def test_it_is_found_under_its_own_name(name: str) -> None:
    assert policy(name).name == name == name.lower()
    assert type(POLICIES[name]).__doc__


@settings(max_examples=50)
@given(values=rows)
@pytest.mark.parametrize("name", [name for name in STATIC if name != "reject"])
def test_keys_are_one_number_per_job(name: str, values: list[tuple[int, int, int, int, int]]) -> None:
    jobs, kept = known(values), POLICIES[name]
    assert isinstance(kept, Policy)
    before = columns_of(jobs)
    keys = np.array(kept.keys(jobs))
    assert keys.shape == (len(values),)
    assert sorted(ranks(kept, jobs).tolist()) == list(range(len(values)))
    assert np.array_equal(keys, kept.keys(jobs)), "the same question has the same answer"
    for after, column in zip(columns_of(jobs), before, strict=True):
        assert np.array_equal(after, column)


@settings(max_examples=50)
@given(values=rows, later=st.integers(0, 10**6), data=st.data())
@pytest.mark.parametrize("name", DYNAMIC)
def test_it_scores_every_waiting_job_at_any_time_and_changes_nothing(
    name: str, values: list[tuple[int, int, int, int, int]], later: int, data: st.DataObject
) -> None:
    jobs, kept = known(values), POLICIES[name]
    assert isinstance(kept, ScoringPolicy)
    before = columns_of(jobs)
    run = scoring(kept, jobs)
    assert run.policy.name == name
    columns = [np.array(column) for column in (jobs.submit_ns, jobs.submit_ns, jobs.estimate_ns, jobs.cores)]
    columns_before = [column.copy() for column in columns]
    waiting = np.array(data.draw(st.permutations(range(len(values)))), np.int64)
    waiting = waiting[: data.draw(st.integers(0, len(values)))]
    now_ns = int(jobs.submit_ns.max()) + later * TICK_NS
    answers = []
    for _ in range(2):
        numbers, memory, key = run.numbers.copy(), run.memory.copy(), np.full(len(values) + 1, 7.0)
        rows = np.append(waiting, [-1])
        assert run.policy.score(now_ns, rows, len(waiting), *columns, numbers, memory, key) == 0
        assert rows.tolist() == [*waiting.tolist(), -1]
        assert np.isfinite(key).all()
        assert (key[len(waiting) :] == 7.0).all(), "it writes the keys that are asked for and no other"
        answers.append(key.tolist())
    assert answers[0] == answers[1], "the same question has the same answer"
    row = data.draw(st.integers(0, len(values) - 1))
    for change in (1, -1):
        assert run.policy.account(now_ns, row, int(jobs.cores[row]), change, run.numbers, run.memory) == 0
    for after, column in zip(columns_of(jobs) + columns, before + columns_before, strict=True):
        assert np.array_equal(after, column)


@settings(max_examples=40)
@given(case=cases(recorded=True, max_jobs=12))
@pytest.mark.parametrize("name", [name for name in STATIC + DYNAMIC if name != "reject"])
def test_under_it_every_job_runs_once_and_the_records_are_sound(name: str, case: Case) -> None:
    machine = Platform(tuple(HostGroup(*group, power=HostPower(5, [(1, 20)])) for group in case.groups))
    result = case.simulated(bls=name, platform=machine)  # with check_ledger
    jobs = done(result)
    assert sorted(job.number for job in jobs) == sorted(job.number for job in case.jobs)
    assert [job.end - job.start for job in jobs] == result.scenario.workload.run_ns.tolist()
    assert done(case.simulated(bls=name, platform=machine)) == jobs


@pytest.mark.parametrize(("lower", "upper"), [("bls.view", "bls.policies"), ("bls.policies", "bls.simulator")])
def test_views_import_neither_policies_nor_the_simulator(lower: str, upper: str) -> None:
    graph = grimp.build_graph("bls", cache_dir=None)  # with what is imported only for the sake of types
    assert graph.find_shortest_chain(lower, upper, as_packages=True) is None
