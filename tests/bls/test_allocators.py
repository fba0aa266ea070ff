"""Allocators: their rules, requested cores, invalid suggestions; and the first trials of compiled rules of users."""

import os
import tomllib
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from batch_drives import finish, said_cases, simulator_of
from hypothesis import given, settings
from inside import column
from pages import ROOT, blocks
from placing import Question, questions, suggestion
from reference import allocation
from reference.gpus import Left, in_units, units_of_gpus
from reference.machine import Host, Job, Machine, ranges

import bridge
from bls.allocators import ALLOCATORS, Allocator, PlacementRequest, allocator, allocator_kernel, placing
from bls.availability.free_cores import free_all, free_next
from bls.engine.status import BatchStatus
from bls.machine.platform import HostGroup, Platform
from bls.policies import POLICIES, KnownJobs, ScorePolicy, ScoringPolicy, account_kernel, score_kernel, scoring
from bls.simulator import BatchSimulator
from bls.workloads.workload import Workload
from traces.base.errors import InputError, PluginError
from traces.base.time import NS_PER_S
from traces.compiled import jit_enabled
from traces.intervals import parse_intervals

pytestmark = pytest.mark.whole

WORKLOAD = Workload.from_jobs([(1, 0, 10, 2, 10), (2, 0, 10, 3, 10), (3, 1, 10, 2, 10)])
REQUESTED = {1: "0 2", 2: "3-5", 3: "2-3"}


def simulator(allocator: Allocator, requested: dict[int, str] | None = None, n_cores: int = 6) -> BatchSimulator:
    platform = Platform(hosts=(HostGroup(count=1, cores=n_cores, speed_gflops=1.0),))
    return BatchSimulator(WORKLOAD, platform, POLICIES["fcfs"], allocator, recorded=True, requested=requested)


def placed(allocator: Allocator, requested: dict[int, str] | None = None) -> list[tuple[int, list[tuple[int, int]]]]:
    run = simulator(allocator, requested)
    assert run.advance(100) == BatchStatus.DONE
    return [
        (int(start) // NS_PER_S, list(run.allocation(row)))
        for row, start in enumerate(column(run.state, "jobs.start_ns")[: run.rows])
    ]


@pytest.mark.parametrize(
    ("requested", "message"),
    [
        (None, "allocator='given' needs the cores that each job requests: in Python, requested={job number: cores}"),
        ({1: "0-1"}, "requested[2]: missing; every job needs the cores that it requests"),
        ({**REQUESTED, 1: "0"}, "requested[1]: '0' is not 2 different cores, as the job requests"),
        ({**REQUESTED, 1: "3 3"}, "requested[1]: '3 3' is not 2 different cores, as the job requests"),
        ({**REQUESTED, 3: "5-6"}, "requested[3]: core 6; the platform has the cores 0 to 5"),
        ({**REQUESTED, 3: "2-x"}, "requested[3]: '2-x' is not a number or a range; allowed: e.g. 0-63 128 256-"),
        ({**REQUESTED, 2: ""}, "requested[2]: '' is not 3 different cores, as the job requests"),
    ],
)
def test_requests_that_cannot_be(requested: dict[int, str] | None, message: str) -> None:
    with pytest.raises(InputError) as caught:
        simulator(ALLOCATORS["given"], requested)
    assert str(caught.value) == message


@allocator_kernel
def _highest(request: PlacementRequest) -> int:
    words, n_cores = request.words, request.n_cores
    stop = request.host_first[request.host_first.size - 1]
    while stop > 0 and not free_all(words, stop - 1, stop):
        stop -= 1
    if stop < n_cores or not free_all(words, stop - n_cores, stop):
        return 0
    request.out_lo[0] = stop - n_cores
    request.out_hi[0] = stop
    return 1


@allocator_kernel
def _never(request: PlacementRequest) -> int:
    return 0


@allocator_kernel
def _first_cores(request: PlacementRequest) -> int:
    request.out_lo[0] = 0  # free or not
    request.out_hi[0] = request.n_cores
    return 1


@allocator_kernel
def _one_more(request: PlacementRequest) -> int:
    request.out_lo[0] = free_next(request.words, request.starts, 0)
    request.out_hi[0] = request.out_lo[0] + request.n_cores + 1
    return 1


@allocator_kernel
def _more_than_fit(request: PlacementRequest) -> int:
    return int(request.out_lo.size) + 1


def test_an_allocator_of_your_own() -> None:
    assert placed(Allocator("highest", _highest)) == [(0, [(4, 6)]), (0, [(1, 4)]), (10, [(4, 6)])]
    with pytest.raises(InputError, match="allocator_kernel: <lambda> takes 2 arguments; allowed: request"):
        allocator_kernel(lambda number, n_cores: 0)
    with pytest.raises(InputError, match=r"^allocator='gven': unknown allocator 'gven'; known: given, "):
        allocator("gven")
    stuck = (
        "stuck at job 1, at 1 s: nothing runs or arrives any more, and allocator mine does not place it on the empty"
    )
    with pytest.raises(InputError, match=f"^the simulation is {stuck} machine; 3 jobs wait$"):
        simulator(Allocator("mine", _never)).advance(100)


@pytest.mark.parametrize(("kernel", "job"), [(_first_cores, 2), (_one_more, 1), (_more_than_fit, 1)])
def test_an_impossible_suggestion_names_the_allocator_and_the_job(kernel: Any, job: int) -> None:
    with pytest.raises(PluginError) as caught:
        simulator(Allocator("mine", kernel), REQUESTED).advance(100)  # with room for more intervals than it should need
    needed = {1: 2, 2: 3}[job]
    assert str(caught.value) == (
        f"allocator mine: job {job} needs {needed} free cores, each once and in ascending intervals; "
        "it suggested something else"
    )


@allocator_kernel
def _wrong_gpus(request: PlacementRequest) -> int:
    """The first cores of two hosts of two; and by the parameter the right GPUs, 0 and 2, or others."""
    more, wrong = request.more, request.parameters[0]
    request.out_lo[0], request.out_hi[0], request.out_lo[1], request.out_hi[1] = 0, 1, 2, 3
    if more.out_gpu.size >= 2:
        more.out_gpu[0], more.out_gpu[1] = 0, 2
        if wrong in (1, 2):
            more.out_gpu[0] = 2 if wrong == 1 else 3  # twice; of the other host
        more.n_gpus = (2, 2, 2, 1, 3)[wrong]
    return 2


@pytest.mark.parametrize("wrong", range(5))
def test_impossible_gpus_name_the_allocator_and_the_job(wrong: int) -> None:
    """The job requests a GPU for each of its two cores, which are on two hosts."""
    platform = Platform(hosts=(HostGroup(2, 2, 1.0, gpus=2),))
    jobs = replace(Workload.from_jobs([(1, 0, 10, 2, 10)]), extras={"gpus": np.array([2])})
    simulated = partial(bridge.simulate, jobs, platform, als="recorded")
    rule = Allocator("mine", _wrong_gpus, by_units=True, parameters=(wrong,))
    if wrong == 0:
        assert simulated(allocator=rule).jobs.gpu_allocation.tolist() == ["0 2"]
        return
    needs = "2 free cores, each once and in ascending intervals, and GPUs of their hosts as it requests them"
    with pytest.raises(PluginError, match=f"^allocator mine: job 1 needs {needs}; it suggested something else$"):
        simulated(allocator=rule)


def fits_one_host(job: Job, machine: Machine) -> bool:
    """Whether all units of a job fit on one empty host."""
    units = job.cores // job.unit_cores
    for number, host in enumerate(machine.hosts):
        left = Left((), (), tuple((gpu, 1000) for gpu in machine.gpus_of(number)), host.kind)
        room = [host.cores // job.unit_cores] + [dict(host.amounts)[name] // amount for name, amount in job.needs]
        of_gpus = units_of_gpus(job, left)
        if min(room) >= units and (of_gpus is None or of_gpus >= units):
            return True
    return False


def test_the_example_of_an_allocator_by_units(tmp_path: Path) -> None:
    """Jobs lie on one host each; invariants are checked after every end."""
    (found,) = (block for block in blocks(ROOT / "CONTRIBUTING.md", "python") if "ON_ONE_HOST" in block)
    (tmp_path / "mine.py").write_text(found, encoding="utf-8")
    rule, placed = allocator(f"{tmp_path / 'mine.py'}:ON_ONE_HOST"), 0
    for case in said_cases(3, 40, (), always=("gpus", "units", "resources", "cancel")):
        jobs = tuple(job for job in case.jobs if fits_one_host(in_units(job), case.machine))
        if jobs:
            run = simulator_of(replace(case, jobs=jobs), allocator=rule)
            run.checks = 1
            for one in finish(run):
                placed += len(one.gpus) > 0
                assert len({case.machine.host_of(core) for core in one.cores}) <= 1
    assert placed > 10


def test_an_allocator_that_is_not_compiled_is_refused() -> None:
    fault = pytest.raises(PluginError, match=r"allocator plain: .*; decorate it with allocator_kernel")
    with fault if jit_enabled() else nullcontext():  # in a debugger everything is plain
        simulator(Allocator("plain", lambda *arguments: 0))


def chosen(
    name: str,
    n_cores: int,
    free: str,
    hosts: str = "4 4 4",
    *,
    unit: int = 1,
    limit: int = 0,
    switches: tuple[tuple[int, frozenset[int]], ...] = (),
    number: int = 1,
    wanted: str = "",
    offered: str = "",
    seed: int = 0,
) -> list[int] | None:
    job = Job(number, 0, 1, n_cores, 1, frozenset(_cores(wanted)) or None, unit_cores=unit, limit=limit)
    machine = Machine(tuple(Host(int(cores)) for cores in hosts.split()), switches=switches)
    question = Question(job, machine, frozenset(_cores(free)), frozenset(_cores(offered or free)), seed)
    cores = suggestion(ALLOCATORS[name], question)
    return None if cores is None else sorted(cores)


def _cores(text: str) -> list[int]:
    return [core for lo, hi in parse_intervals(text, "cores") for core in range(lo, hi)]


@settings(max_examples=200, deadline=None)
@given(question=questions())
@pytest.mark.parametrize("name", allocation.ALLOCATORS)
def test_as_the_slow_reference(name: str, question: Question) -> None:
    free, offered = set(question.free), set(question.offered)
    expected = allocation.ALLOCATORS[name](question.job, free, offered, question.machine, question.seed)
    assert suggestion(ALLOCATORS[name], question) == expected


#: Four leaf switches of two hosts each, two switches above them, and one above these.
TREE: dict[str, Any] = {"hosts": "2 2 2 2 2 2 2 2"}
TREE["switches"] = ranges((0, 0, 2), (0, 2, 4), (0, 4, 6), (0, 6, 8), (1, 0, 4), (1, 4, 8), (2, 0, 8))

#: Two leaf switches of three hosts each, whose hosts alternate, and two more below another switch.
_LEAVES = ((0, frozenset({0, 2, 4})), (0, frozenset({1, 3, 7})), (0, frozenset({5})), (0, frozenset({6})))
GAPS: dict[str, Any] = {"hosts": "2 2 2 2 2 2 2 2"}
GAPS["switches"] = (*_LEAVES, (1, frozenset({0, 2, 4, 6})), (1, frozenset({1, 3, 5, 7})))


MACHINES: dict[str, dict[str, Any]] = {"": {}, "tree": TREE, "gaps": GAPS}
ROWS = tomllib.loads(Path(__file__).with_name("placements.toml").read_text("utf-8"))["rows"]


@pytest.mark.parametrize(("name", "n_cores", "free", "options", "expected"), ROWS)
def test_rules(name: str, n_cores: int, free: str, options: dict[str, Any], expected: str) -> None:
    machine = MACHINES[options.get("machine", "")]
    others = {option: value for option, value in options.items() if option != "machine"}
    assert chosen(name, n_cores, free, **machine, **others) == (_cores(expected) if expected else None)


def test_random_draws_every_set_alike_in_whole_units_and_by_seed() -> None:
    pairs = Counter(tuple(chosen("random", 2, "1 3-4 7 9-10", number=number) or ()) for number in range(3000))
    assert set(pairs) == set(combinations([1, 3, 4, 7, 9, 10], 2))
    assert all(130 < times < 270 for times in pairs.values()), "200 each, give or take five deviations"
    units = {tuple(chosen("random", 2, "1-3 6 8-11", unit=2, number=number) or ()) for number in range(40)}
    assert units == {(1, 2), (8, 9), (10, 11)}
    drawn = [chosen("random", 5, "0-11", number=3, seed=seed) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]


KILLED = r"was killed by SIG[A-Z]+ in its first trial; allowed: to read and write its arrays only "
KILLED += r"\(.*test_allocators\.py:\d+: {}\)$"

compiled_only = pytest.mark.skipif(not jit_enabled(), reason="Python does not let a rule go that far")


@allocator_kernel
def places_astray(request: Any) -> int:
    request.out_lo[request.n_cores * 10**9] = 1
    return 0


@allocator_kernel
def places_beside(request: Any) -> int:
    request.out_hi[request.out_hi.size + 2] = 1
    return 0


@allocator_kernel
def takes_itself(request: Any) -> int:
    request.words[0] = 0
    return 0


@allocator_kernel
def fails(request: Any) -> int:
    if request.n_cores > 40:
        raise ValueError("too wide")
    return 0


@allocator_kernel
def nowhere(request: Any) -> int:
    return 0


def plain(request: Any) -> int:
    return 0


@compiled_only
@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (places_astray, "allocator mine: its rule " + KILLED.format("places_astray")),
        (places_beside, "allocator mine: its rule writes outside out_hi, which has room for 2 there$"),
        (takes_itself, "allocator mine: its rule changes words; allowed: out_lo, out_hi$"),
        (fails, r"allocator mine: its rule raises ValueError too wide; allowed: an answer"),
        (plain, "allocator mine: plain is not compiled for .*; decorate it with allocator_kernel$"),
    ],
)
def test_forbidden_answers_of_an_allocator_are_refused(rule: Any, words: str) -> None:
    for _ in range(2):  # what failed once is not taken for tried
        with pytest.raises(PluginError, match=words):
            placing(Allocator("mine", rule))


def jobs(n: int = 5) -> KnownJobs:
    return KnownJobs(*(np.arange(1, n + 1) * 10**9 for _ in range(4)), np.arange(1, n + 1), n_cores=n)


@score_kernel
def scores_all(
    now_ns: int, waiting: Any, n_waiting: int, eligible_ns: Any, submit_ns: Any, estimate_ns: Any, cores: Any,
    numbers: Any, memory: Any, key: Any,
) -> int:  # fmt: skip
    for k in range(n_waiting):
        key[k] = numbers[0, waiting[k]] + memory[0]
    return 0


@score_kernel
def scores_astray(
    now_ns: int, waiting: Any, n_waiting: int, eligible_ns: Any, submit_ns: Any, estimate_ns: Any, cores: Any,
    numbers: Any, memory: Any, key: Any,
) -> int:  # fmt: skip
    key[now_ns] = 1.0
    return 0


@score_kernel
def scores_by_instant(
    now: int, rows: Any, n: int, eligible: Any, submit: Any, estimate: Any, cores: Any, numbers: Any, memory: Any, key: Any,
) -> int:  # fmt: skip
    submit[0] = 1
    return 0


@account_kernel
def remembers(now_ns: int, row: int, cores: int, change: int, numbers: Any, memory: Any) -> int:
    numbers[0, row] += change
    memory[0] += change
    return 0


@account_kernel
def remembers_astray(now_ns: int, row: int, cores: int, change: int, numbers: Any, memory: Any) -> int:
    numbers[change * 10**9, row] = 1.0
    return 0


def prepared(known: KnownJobs) -> tuple[Any, Any]:
    return np.ones((1, len(known.job_id))), np.zeros(1)


@compiled_only
@pytest.mark.parametrize(
    ("score", "account", "words"),
    [
        (scores_astray, remembers, KILLED.format("scores_astray")),
        (scores_all, remembers_astray, KILLED.format("remembers_astray")),
        (scores_by_instant, remembers, "changes submit_ns; allowed: numbers, memory, key$"),
    ],
)
def test_forbidden_answers_of_a_policy_are_refused(score: Any, account: Any, words: str) -> None:
    for _ in range(2):
        with pytest.raises(PluginError, match="batch policy mine: its rule " + words):
            scoring(ScorePolicy("mine", score, account, prepared), jobs())


@compiled_only
def test_a_rule_is_tried_once_a_process_and_ours_never(monkeypatch: pytest.MonkeyPatch) -> None:
    placing(Allocator("mine", nowhere))
    for n in (1, 2, 100):  # a trial leaves no trace in the run
        made = scoring(ScorePolicy("mine", scores_all, remembers, prepared), jobs(n))
        assert (made.numbers.tolist(), made.memory.tolist()) == ([[1.0] * n], [0.0])
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("tried once more"))
    placing(Allocator("mine", nowhere, parameters=(1,)))
    scoring(ScorePolicy("other", scores_all, remembers, prepared), jobs())
    for ours in ALLOCATORS.values():
        placing(ours)
    for policy in POLICIES.values():
        if isinstance(policy, ScoringPolicy):
            scoring(policy, jobs())
