"""Policies that say how wide running jobs are: as the engine's own rules where they say the same, and in every coupling."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from test_reaching import PLATFORM, drawn_wide, jobs

import bridge
from als.techniques.contract import Technique
from bls import Rules
from bls.constraints.options import Surroundings
from bls.engine import state as b
from bls.workloads.workload import Workload
from traces.base.errors import InputError, PeerError, PluginError
from traces.checks.ledger import check_ledger

S = 10**9


class InOrder:
    """First come, first served, as the engine does it where nothing limits jobs."""

    name, directs = "in-order", ("widths",)

    def decide(self, view: Any) -> Iterator[Any]:
        free, waiting = view.free_cores, sorted(view.waiting, key=lambda job: (job.submit_ns, job.origin))
        starts = []
        while waiting and waiting[0].cores <= free:
            free -= waiting[0].cores
            starts.append(waiting.pop(0))
        yield from starts
        for job in [*view.running, *starts]:
            width = view.width(job)
            if width.least < width.most:
                view.resize(job, self.cores(view, job, width, bool(waiting)))

    def cores(self, view: Any, job: Any, width: Any, some_wait: bool) -> int:
        raise NotImplementedError


class Expands(InOrder):
    """When nobody waits, each is to have its most; else what it has."""

    def cores(self, view: Any, job: Any, width: Any, some_wait: bool) -> int:
        return int(max(width.least, (width.cores or job.cores)) if some_wait else width.most)


class Drawn(InOrder):
    """As many as a draw of the instant says."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def cores(self, view: Any, job: Any, width: Any, some_wait: bool) -> int:
        return random.Random(f"{self.seed} {view.now_ns} {job.row}").randint(width.least, width.most)


class Follows(Drawn):
    """And keeps books: it knows from the news which cores each running job has."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.held: dict[int, set[int]] = {}
        self.given = 0

    def finish(self, view: Any) -> None:
        self.look(view)

    def look(self, view: Any) -> None:
        for one in view.news():
            cores = {core for lo, hi in getattr(one, "cores", ()) for core in range(lo, hi)}
            kind = type(one).__name__
            if kind == "JobStarted":
                self.held[one.job.row] = cores
            elif kind == "CoresGiven":
                assert not cores & self.held[one.job.row]
                self.held[one.job.row] |= cores
                self.given += len(cores)
            elif kind == "CoresReleased":
                assert cores <= self.held[one.job.row]
                self.held[one.job.row] -= cores
            elif kind == "JobEnded":
                self.held.pop(one.job.row, None)

    def decide(self, view: Any) -> Iterator[Any]:
        self.look(view)
        for job in view.running:
            assert self.held[job.row] == {core for lo, hi in view.allocation(job) for core in range(lo, hi)}
            assert len(self.held[job.row]) == view.width(job).cores
            assert job.expected_end_ns == view._simulator.state.jobs[b.EXPECTED, job.row]
        yield from super().decide(view)


def tables(result: bridge.Result) -> list[pd.DataFrame]:
    check_ledger(result.ledger)
    return [result.jobs, result.widths, result.releases, *([result.tasks] if result.ledger.tasks is not None else [])]


def assert_same(one: bridge.Result, other: bridge.Result) -> None:
    for mine, theirs in zip(tables(one), tables(other), strict=True):
        pd.testing.assert_frame_equal(mine, theirs, check_exact=True)


def scenario(seed: int, resize: str = "decide") -> tuple[Workload, dict[str, Any]]:
    options = drawn_wide(seed)
    coordination = options["rules"].coordination
    options["rules"] = Rules(coordination=coordination, resize=resize, max_attempts=1000)
    return jobs(random.Random(~seed), 25), options


def test_a_policy_that_expands_is_the_rule_expand() -> None:
    changes = 0
    for seed in range(12):
        workload, options = scenario(seed, "expand")
        options["level"] = replace(options["level"], resize_ns=0)
        options["bls"] = "fcfs"
        rule = bridge.simulate(workload, PLATFORM, **options)
        options |= {"bls": Expands(), "rules": replace(options["rules"], resize="decide")}
        found = bridge.simulate(workload, PLATFORM, **options)
        assert_same(rule, found)
        changes += len(found.widths)
    assert changes > 100


@pytest.mark.parametrize("part", range(3))
def test_in_place_or_simulated_again_it_is_the_same(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    changes = 0
    for seed in range(part, 15, 3):
        workload, options = scenario(seed)
        kept = bridge.simulate(workload, PLATFORM, **options | {"bls": Drawn(seed)})
        with monkeypatch.context() as patch:
            patch.setattr(Technique, "by_memo", False)
            assert_same(kept, bridge.simulate(workload, PLATFORM, **options | {"bls": Drawn(seed)}))
        changes += len(kept.widths)
    assert changes > 200


@pytest.mark.parametrize(("seed", "coupling"), [(0, "pool"), (5, "process"), (7, "pool"), (11, "pool")])
def test_in_every_coupling(seed: int, coupling: str) -> None:
    workload, options = scenario(seed)
    policy = Follows(seed)
    reference = bridge.simulate(workload, PLATFORM, **options | {"bls": policy})
    assert policy.given > 20
    again = bridge.simulate(workload, PLATFORM, **options | {"bls": Follows(seed)}, coupling=coupling, workers=2)
    assert_same(reference, again)


class ByHand(InOrder):
    """At 2 s the one job is to have a core of its two; at 6 s three."""

    def decide(self, view: Any) -> Iterator[Any]:
        yield from view.waiting
        for instant, cores in ((2 * S, 1), (6 * S, 3)):
            if view.now_ns < instant:
                view.wake_at(instant)
            elif view.now_ns == instant:
                for job in view.running:
                    view.resize(job, cores)


def test_by_hand() -> None:
    """Ten tasks of 2 s. Two cores have done four by 4 s, when the second one goes. The first has done one more by 6 s, and
    begins the next before two cores come, which ask 1 ns later; the last task begins as they ask again."""
    workload = Workload.from_jobs([(7, 0, 10, 2, 100)])
    around = Surroundings(malleable="1:0.5:2")
    result = bridge.simulate(
        workload, PLATFORM, bls=ByHand(), als="ss", tasks_per_core=5, rules=Rules(resize="decide"), surroundings=around
    )
    check_ledger(result.ledger)
    changes = result.widths[["told_ns", "core", "change"]].to_numpy().tolist()
    assert changes[0][0] == 2 * S
    assert changes[0][2] == -1
    assert [row[::2] for row in changes[1:]] == [[6 * S, 1], [6 * S, 1]]
    assert result.jobs.end_ns.tolist() == [10 * S + 1]


class Does(InOrder):
    """Does something of which the engine is to say that it cannot be."""

    def __init__(self, what: Any, **said: Any) -> None:
        self.what = what
        self.__dict__ |= said

    def decide(self, view: Any) -> Iterator[Any]:
        yield from view.waiting
        view.wake_after(S)
        for job in view.running:
            self.what(view, job)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (
            Does(lambda view, job: view.resize(job, 5)),
            r"resize\(\) of job 7: cores: 5 is out of range; allowed: 1 to 4$",
        ),
        (
            Does(lambda view, job: view.resize(job, 0)),
            r"resize\(\) of job 7: cores: 0 is out of range; allowed: 1 to 4$",
        ),
        (Does(lambda view, job: view.resize(7, 1)), r"resize\(\) was given 7; allowed: jobs of view.running"),
    ],
)
def test_what_cannot_be(policy: Any, message: str) -> None:
    workload, around = Workload.from_jobs([(7, 0, 10, 2, 100)]), Surroundings(malleable="1:0.5:2")
    with pytest.raises(PluginError, match=message):
        bridge.simulate(workload, PLATFORM, bls=policy, als="ss", rules=Rules(resize="decide"), surroundings=around)


def test_what_it_cannot_be_combined_with() -> None:
    workload = Workload.from_jobs([(7, 0, 10, 2, 100), (8, 0, 10, 2, 100)])
    around = Surroundings(malleable="1:0.5:2")
    resizes = Does(lambda view, job: view.resize(job, 2))
    with pytest.raises(PluginError, match=r"resize\(\) is for a batch policy whose directs has 'widths', with "):
        bridge.simulate(workload, PLATFORM, bls=resizes, als="ss")
    for said, policy, message in (
        ("decide", "fcfs", "resize='decide': batch policy fcfs does not say how wide jobs are; allowed: a policy in "),
        ("equal", resizes, "resize='equal': batch policy in-order decides itself which jobs start, and its queue has no head; "
         "allowed: decide, none"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=message):
            bridge.simulate(workload, PLATFORM, bls=policy, als="ss", rules=Rules(resize=said), surroundings=around)


class Turns(InOrder):
    """As wide as the number of the decision says."""

    def __init__(self) -> None:
        self.decision = 0

    def decide(self, view: Any) -> Iterator[Any]:
        self.decision += 1
        yield from super().decide(view)

    def cores(self, view: Any, job: Any, width: Any, some_wait: bool) -> int:
        return int(width.least + (job.row + self.decision) % (width.most - width.least + 1))


#: The toy in Python, which says how wide jobs are, and checks its books.
RESIZES = {
    'directs=[]': 'directs=["widths"]',
    '"resize": []': '"resize": [{"job": job, "cores": width_of(job)} for job in [*running, *(one["job"] for one in chosen)] '
    "if widths[job][0] < widths[job][1]]",
    "def decide():\n": "widths = {}\n\n\ndef width_of(job):\n    least, most = widths[job]\n"
    '    return least + (job + message["decision"]) % (most - least + 1)\n\n\n'
    'def decide():\n    assert sum(host_of[core] not in down for core in free) == message["free_cores"]\n',
    '    elif kind == "submitted":\n': '    elif kind == "submitted":\n'
    '        widths[job] = message["min_cores"], message["max_cores"]\n',
}  # fmt: skip


def changed_toy(directory: Path, changes: dict[str, str]) -> str:
    """The command of the toy with some of its text replaced."""
    text = (Path(__file__).parent / "toy_scheduler.py").read_text()
    for old, new in changes.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (directory / "changed.py").write_text(text)
    return f"{sys.executable} {directory / 'changed.py'}"


@pytest.mark.parametrize(("seed", "coupling"), [(0, "inline"), (5, "inline"), (7, "pool"), (11, "process")])
def test_another_program_says_how_wide(seed: int, coupling: str, tmp_path: Path) -> None:
    workload, options = scenario(seed)
    reference = bridge.simulate(workload, PLATFORM, **options | {"bls": Turns()})
    assert len(reference.widths) > 20
    options |= {"bls_command": changed_toy(tmp_path, RESIZES), "coupling": coupling, "workers": 2}
    assert_same(reference, bridge.simulate(workload, PLATFORM, **options))


def test_what_another_program_may_not(tmp_path: Path) -> None:
    workload, around = Workload.from_jobs([(7, 0, 10, 2, 100)]), Surroundings(malleable="1:0.5:2")
    said: dict[str, Any] = {"als": "ss", "surroundings": around}
    toy = changed_toy(tmp_path, {})
    with pytest.raises(
        InputError, match=r"resize='decide': batch policy .* does not say how wide jobs are; allowed: .* hello"
    ):
        bridge.simulate(workload, PLATFORM, bls_command=toy, rules=Rules(resize="decide"), **said)
    for cores, message in (
        ("9", "it resizes job 0 .number 7. to 9 cores; allowed: 1 to 4$"),
        ("0", "not a message.*resize"),
    ):
        changes = RESIZES | {'"resize": []': f'"resize": [{{"job": job, "cores": {cores}}} for job in running]'}
        changes['"wake_ns": []'] = '"wake_ns": [message["now_ns"] + 10**9]'
        with pytest.raises(PeerError, match=message):
            bridge.simulate(
                workload, PLATFORM, bls_command=changed_toy(tmp_path, changes), rules=Rules(resize="decide"), **said
            )
    changes['"resize": []'] = '"resize": [{"job": job, "cores": 1} for job in running]'
    with pytest.raises(PeerError, match=r"it resizes job 0 .number 7.; allowed: where machine says resizes = true"):
        bridge.simulate(workload, PLATFORM, bls_command=changed_toy(tmp_path, changes), als="ss")
