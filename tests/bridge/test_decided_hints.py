"""Policies that say to whom running jobs are to leave their cores: as the engine's own rule, and in every coupling."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from test_decided_widths import changed_toy
from test_reaching import PLATFORM, drawn, jobs

import bridge
from als.techniques.contract import Technique
from bls import HostGroup, Platform, Rules
from bls.workloads.workload import Workload
from traces.base.errors import InputError, PeerError, PluginError
from traces.checks.ledger import check_ledger


class InOrder:
    """First come, first served; ``wants`` says to whom running jobs hear what."""

    name, directs = "in-order", ("hints",)

    def decide(self, view: Any) -> Iterator[Any]:
        free, waiting = view.free_cores, sorted(view.waiting, key=lambda job: (job.submit_ns, job.origin))
        while waiting and waiting[0].cores <= free:
            free -= waiting[0].cores
            yield waiting.pop(0)
        head = waiting[0] if waiting else None
        for job, cores in self.wants(view, head, free):
            view.hint(job, cores, head)

    def wants(self, view: Any, head: Any, free: int) -> Iterator[tuple[Any, list[int]]]:
        raise NotImplementedError


def held(view: Any, job: Any) -> list[int]:
    return [core for lo, hi in view.allocation(job) for core in range(lo, hi)]


class AsTheRule(InOrder):
    """What the head lacks is wanted of those that are expected to end first, up to half of what each holds."""

    def wants(self, view: Any, head: Any, free: int) -> Iterator[tuple[Any, list[int]]]:
        lack = head.cores - free if head else 0
        for job in sorted(view.running, key=lambda job: (job.expected_end_ns, job.row)):
            cores = held(view, job)
            wanted = cores[len(cores) - min(lack, len(cores) // 2) :]
            lack -= len(wanted)
            yield job, wanted


class Drawn(InOrder):
    """Any of their cores, or none, of some of the running jobs, by a draw of the instant."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def wants(self, view: Any, head: Any, free: int) -> Iterator[tuple[Any, list[int]]]:
        for job in view.running:
            chance, cores = random.Random(f"{self.seed} {view.now_ns} {job.row}"), held(view, job)
            if chance.random() < 0.7:
                yield job, chance.sample(cores, chance.randint(0, len(cores))) if head else []


class LastOfEach(InOrder):
    """The last core that each job holds, of two or more, is wanted while some wait."""

    def wants(self, view: Any, head: Any, free: int) -> Iterator[tuple[Any, list[int]]]:
        for job in view.running:
            cores = held(view, job)
            yield job, cores[-1:] if head and len(cores) > 1 else []


def assert_same(one: bridge.Result, other: bridge.Result) -> None:
    for result in (one, other):
        check_ledger(result.ledger)
    names = ["jobs", "hints", "releases"] + ["tasks"] * (one.ledger.tasks is not None)
    for name in names:
        pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name), check_exact=True)


def scenario(seed: int) -> tuple[Workload, dict[str, Any]]:
    options = drawn(seed)
    options["rules"] = Rules(coordination=options["rules"].coordination, max_attempts=1000)
    return jobs(random.Random(~seed), 25), options


def test_a_policy_that_wants_what_the_rule_wants() -> None:
    told = 0
    for seed in range(12):
        workload, options = scenario(seed)
        rule = bridge.simulate(workload, PLATFORM, bls="fcfs", **options)
        assert_same(rule, bridge.simulate(workload, PLATFORM, bls=AsTheRule(), **options))
        told += len(rule.hints)
    assert told > 200


@pytest.mark.parametrize("part", range(3))
def test_in_place_or_simulated_again_it_is_the_same(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    told = 0
    for seed in range(part, 15, 3):
        workload, options = scenario(seed)
        kept = bridge.simulate(workload, PLATFORM, **options | {"bls": Drawn(seed)})
        with monkeypatch.context() as patch:
            patch.setattr(Technique, "by_memo", False)
            assert_same(kept, bridge.simulate(workload, PLATFORM, **options | {"bls": Drawn(seed)}))
        told += len(kept.hints)
    assert told > 200


@pytest.mark.parametrize(("seed", "coupling"), [(2, "pool"), (5, "process"), (8, "pool")])
def test_in_every_coupling(seed: int, coupling: str) -> None:
    workload, options = scenario(seed)
    reference = bridge.simulate(workload, PLATFORM, bls=Drawn(seed), **options)
    assert len(reference.hints) > 20
    assert_same(
        reference, bridge.simulate(workload, PLATFORM, bls=Drawn(seed), coupling=coupling, workers=2, **options)
    )


#: The toy in Python, which wants of each running job the last of two cores or more, while some wait.
HINTS = {
    "directs=[]": 'directs=["hints"]',
    '"hint": []': '"hint": hints({one["job"] for one in chosen})',
    "def decide():\n": "def hints(started):\n"
    '    head = min(waiting.keys() - started, key=lambda job: waiting[job]["first"], default=None)\n'
    "    wanted = {job: max(cores) for job, cores in running.items() if len(cores) > 1 and head is not None}\n"
    '    return [{"job": job, "cores": column([wanted[job]]) if job in wanted else None, "waiting": head} '
    "for job in running]\n\n\ndef decide():\n",
}


@pytest.mark.parametrize(("seed", "coupling"), [(0, "inline"), (2, "inline"), (4, "pool"), (5, "process")])
def test_another_program_says_who_waits(seed: int, coupling: str, tmp_path: Path) -> None:
    workload, options = scenario(seed)
    reference = bridge.simulate(workload, PLATFORM, bls=LastOfEach(), **options)
    assert len(reference.hints) > 10
    options |= {"bls_command": changed_toy(tmp_path, HINTS), "coupling": coupling, "workers": 2}
    assert_same(reference, bridge.simulate(workload, PLATFORM, **options))


class Does(InOrder):
    """Does something of which the engine is to say that it cannot be."""

    def __init__(self, what: Any, **said: Any) -> None:
        self.what = what
        self.__dict__ |= said

    def decide(self, view: Any) -> Iterator[Any]:
        first = list(view.waiting)
        for job in view.running:
            self.what(view, job, first)
        free = view.free_cores
        for job in first:
            if job.cores <= free:
                free -= job.cores
                yield job


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (lambda v, job, w: v.hint(job, [5], w[0]), r"hint\(\) of job 7: core 5; allowed: cores that it holds and"),
        (lambda v, job, w: v.hint(job, [1, 1], w[0]), r"hint\(\) of job 7: core 1 twice; allowed: once$"),
        (lambda v, job, w: v.hint(job, "1", w[0]), r"hint\(\) of job 7: cores: '1'; allowed: numbers of cores"),
        (lambda v, job, w: v.hint(job, [1]), r"hint\(\) of job 7: waiting: None; allowed: who waits for these cores$"),
        (lambda v, job, w: [v.hint(job), v.hint(job)], r"hint\(\) of job 7 twice in one pass; allowed: once$"),
        (lambda v, job, w: v.hint(w[0]), r"hint\(\) was given job 8, which does not run; allowed: jobs of view.runn"),
        (lambda v, job, w: v.hint(7), r"hint\(\) was given 7; allowed: jobs of view.running$"),
        (
            lambda v, job, w: v.hint(job, [1], job),
            r"hint\(\) of job 7: waiting: job 7, which is not waiting; allowed: ",
        ),
        (
            lambda v, job, w: v.hint(job, [1], w[1]),
            r"decide\(\) hints to job 7 that job 9 waits, which it starts$",
        ),
        (
            lambda v, job, w: [v.hint(job, [1], w[0]), v.reject(w[0], "no")],
            r"decide\(\) hints to job 7 that job 8 waits, which it rejects$",
        ),
    ],
)
def test_what_cannot_be(what: Any, message: str) -> None:
    machine = Platform((HostGroup(1, 4, 1.0),))
    workload = Workload.from_jobs([(7, 0, 10, 2, 100), (8, 1, 10, 3, 100), (9, 1, 10, 1, 100)])
    with pytest.raises(PluginError, match=message):
        bridge.simulate(workload, machine, bls=Does(what), als="ss", rules=Rules(coordination="hint"))


def test_what_it_cannot_be_combined_with(tmp_path: Path) -> None:
    workload = Workload.from_jobs([(7, 0, 10, 16, 100), (8, 1, 10, 2, 100)])
    hints = Does(lambda view, job, waiting: view.hint(job))
    said: dict[str, Any] = {"als": "ss", "rules": Rules(coordination="hint")}
    with pytest.raises(PluginError, match=r"hint\(\) is for a batch policy whose directs has 'hints', with "):
        bridge.simulate(workload, PLATFORM, bls=hints, als="ss")
    with pytest.raises(
        InputError, match=r"its queue has no head; allowed: none, .*; or a policy or a scheduler that direc"
    ):
        bridge.simulate(workload, PLATFORM, bls=Does(None, directs=()), **said)
    with pytest.raises(
        InputError, match=r"its queue has no head; allowed: none, .*; or a policy or a scheduler that direc"
    ):
        bridge.simulate(workload, PLATFORM, bls_command=changed_toy(tmp_path, {}), **said)
    strange = {name: text.replace("max(cores)", "min(free)") for name, text in HINTS.items()}
    with pytest.raises(
        PeerError, match=r"scheduler '.*', at 1000000000 ns: hint\(\) of job 7: core 2; allowed: cores that it hol"
    ):
        bridge.simulate(
            Workload.from_jobs([(7, 0, 10, 2, 100), (8, 1, 10, 15, 100)]),
            PLATFORM,
            bls_command=changed_toy(tmp_path, strange),
            **said,
        )
