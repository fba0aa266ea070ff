"""Policies that do to running jobs all that there is, at once, and limits to power: both ways inline, in every coupling."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from batch_traces import read_batch
from directors import Director
from test_power_runs import PLATFORM as POWERED
from test_power_runs import drawn as power_drawn
from test_power_runs import states_told
from test_reaching import PLATFORM, drawn, drawn_wide, jobs

import bridge
from als.techniques.contract import Technique
from bls import HostGroup, Platform, Rules, Surroundings
from bls.machine.host_power import HostPower
from bls.policies.contract import DIRECTIONS
from bls.power.options import PowerOptions
from bls.workloads.workload import Workload
from traces.checks.ledger import check_ledger

S = 10**9

#: The tables of what running jobs were told.
TOLD = {"scales", "widths", "hints"}


class Everything(Director):
    """First come, first served; scales, ends, resizes and hints, what of it ``kinds`` names, as is drawn from the instant."""

    name = "everything"

    def __init__(self, seed: int, kinds: tuple[str, ...]) -> None:
        super().__init__(seed, 0.4 if "speeds" in kinds else 0.0, 0.02 if "ends" in kinds else 0.0)
        self.directs = kinds

    def decide(self, view: Any) -> Iterator[Any]:
        chance, starts = random.Random(f"{self.seed} {view.now_ns} more"), []
        for job in super().decide(view):
            starts.append(job)
            yield job
        waiting = [job for job in view.waiting if job not in starts]
        for job in [*view.running, *starts] if "widths" in self.directs else ():
            width = view.width(job)
            if width.least < width.most and chance.random() < 0.5:
                view.resize(job, chance.randint(width.least, width.most))
        for job in view.running if "hints" in self.directs else ():
            if chance.random() < 0.5:
                held = [core for lo, hi in view.allocation(job) for core in range(lo, hi)]
                cores = chance.sample(held, chance.randint(0, len(held))) if waiting else []
                view.hint(job, cores, chance.choice(waiting) if waiting else None)


def scenario(seed: int) -> tuple[Workload, dict[str, Any]]:
    """A workload, and a policy that directs two or more kinds of things; whatever else may happen, too."""
    chance = random.Random(-seed - 11)
    kinds = chance.sample(DIRECTIONS, chance.choice((2, 3, 4, 4)))
    hints, widths = "hints" in kinds, "widths" in kinds
    options = drawn_wide(seed) if widths else drawn(seed)
    options["rules"] = Rules(
        coordination="hint" if hints else chance.choice(("none", "release")),
        resize="decide" if widths else "none",
        kill_at_walltime=chance.random() < 0.3,
        max_attempts=1000,
    )
    return jobs(random.Random(~seed), 24), options | {"bls": Everything(seed, tuple(kinds))}


class UnderLimits(Everything):
    """And starts only what fits the limit to power, wherever it is placed."""

    name = "under-limits"

    def may_start(self, view: Any, job: Any, starts: list[Any]) -> bool:
        left = view.power_left_w
        return left is None or sum(view.power_of(one, [12] * one.cores) for one in [*starts, job]) <= left


def limited(seed: int) -> tuple[Workload, dict[str, Any]]:
    """A workload under limits to power: hints, widths that change by a rule, or a policy that does what limits do not."""
    chance, power = random.Random(seed), power_drawn(seed)["power"]
    what = chance.choice(("hint", "resize", "both", "policy", "policy"))
    if what == "policy":
        kinds = tuple(chance.sample(("ends", "widths", "hints"), chance.choice((0, 1, 2, 3, 3))))
        options = drawn_wide(seed) if "widths" in kinds else drawn(seed)
        options["bls"] = UnderLimits(seed, kinds)
        coordination = "hint" if "hints" in kinds else chance.choice(("none", "release"))
        rules = {"resize": "decide" if "widths" in kinds else "none", "coordination": coordination}
    else:
        options = drawn(seed) if what == "hint" else drawn_wide(seed)
        rules = {"backfill": options["rules"].backfill, "resize": options["rules"].resize}
        rules |= {"coordination": chance.choice(("none", "release") if what == "resize" else ("hint", "hint:core"))}
    options["rules"] = Rules(**rules, kill_at_walltime=chance.random() < 0.3, max_attempts=10**6)
    options["power"] = replace(power, fallback=chance.choice(("dvfs", "dvfs", "submit:state=1", "hold")))
    return jobs(random.Random(~seed), 24), options


def tables(result: bridge.Result) -> dict[str, pd.DataFrame]:
    """What came of it."""
    check_ledger(result.ledger)
    names = ["jobs"] + [
        name for name in ("scales", "widths", "hints", "releases", "tasks") if getattr(result.ledger, name) is not None
    ]
    return {name: getattr(result, name) for name in names}


def assert_same(one: bridge.Result, other: bridge.Result) -> None:
    mine, theirs = tables(one), tables(other)
    assert list(mine) == list(theirs)
    for name in mine:
        pd.testing.assert_frame_equal(mine[name], theirs[name], check_exact=True)


@pytest.mark.parametrize("draw", [scenario, limited])
@pytest.mark.parametrize("part", range(3))
def test_in_place_or_simulated_again_it_is_the_same(part: int, draw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    platform, told = PLATFORM if draw is scenario else POWERED, dict.fromkeys(TOLD, 0)
    for seed in range(part, 18, 3):
        workload, options = draw(seed)
        kept = bridge.simulate(workload, platform, **options)
        with monkeypatch.context() as patch:
            patch.setattr(Technique, "by_memo", False)
            assert_same(kept, bridge.simulate(workload, platform, **draw(seed)[1]))
        if draw is limited:
            states_told(kept)
        for name in TOLD & tables(kept).keys():
            told[name] += len(getattr(kept, name))
    assert min(told.values()) > 50


@pytest.mark.parametrize(
    ("draw", "seed", "coupling"),
    [(scenario, 2, "pool"), (scenario, 6, "process"), (limited, 9, "pool"), (limited, 13, "process")],
)
def test_in_every_coupling(draw: Any, seed: int, coupling: str) -> None:
    platform = PLATFORM if draw is scenario else POWERED
    (workload, options), again = draw(seed), draw(seed)[1]
    reference = bridge.simulate(workload, platform, **options)
    assert sum(len(getattr(reference, name)) for name in TOLD & tables(reference).keys()) > 20
    assert_same(reference, bridge.simulate(workload, platform, coupling=coupling, workers=2, **again))


def test_the_trace_shows_all_of_it(tmp_path: Path) -> None:
    workload, options = scenario(2)
    result = bridge.simulate(workload, PLATFORM, **options)
    shown = read_batch(result.write_trace(tmp_path))[0]["batch scheduler"]
    for name in (*TOLD, "releases"):
        frame = getattr(result, name)
        at = frame["released_ns" if name == "releases" else "told_ns"]
        together = [frame["row"], at] if name in ("widths", "releases") else [frame.index]
        assert len(frame)
        assert [start for _, start, _, _ in shown[name]] == sorted(at.groupby(together).first().tolist())
        assert {region for region, *_ in shown[name]} == {name.removesuffix("s")}
    of = {tuple(values) for *_, values in (one for name in TOLD for one in shown[name])}
    assert of == {
        ("told job", "waiting job", "lack", "wanted"),
        ("told job", "given", "asked", "wished"),
        ("told job", "core", "parts per billion"),
    }


class OnceEach:
    """Job 7 starts alone; at 4 s it is told everything at once."""

    name, directs = "once-each", ("speeds", "widths", "hints", "ends")

    def decide(self, view: Any) -> Iterator[Any]:
        yield from [job for job in view.waiting if job.job_id == 7]
        if view.now_ns < 4 * S:
            view.wake_at(4 * S)
        if view.now_ns == 4 * S:
            (job,), (waits,) = view.running, view.waiting
            view.scale(job, 0.5)
            view.resize(job, 4)
            view.hint(job, [1], waits)
        if view.now_ns > 4 * S and not view.n_running:
            yield from view.waiting


@pytest.mark.parametrize("coupling", ["inline", "pool"])
def test_by_hand(coupling: str, tmp_path: Path) -> None:
    """Eight tasks of 2 s. At 4 s two cores have done four of them; with four, 1 ns later, at half speed, the rest take 4 s."""
    widths = tmp_path / "widths.csv"
    widths.write_text("job_id,min_cores,max_cores\n7,1,4\n")
    said: dict[str, Any] = {"als": "ss", "tasks_per_core": 4, "coupling": coupling}
    said |= {"rules": Rules(resize="decide", coordination="hint"), "surroundings": Surroundings(malleable=widths)}
    workload = Workload.from_jobs([(7, 0, 8, 2, 100), (8, 1, 1, 4, 100)])
    found = bridge.simulate(workload, Platform((HostGroup(1, 4, 4.0),)), bls=OnceEach(), **said)
    check_ledger(found.ledger)
    assert found.tasks.start_ns.tolist()[:8] == [0, 0, 2 * S, 2 * S, 4 * S, 4 * S, 4 * S + 1, 4 * S + 1]
    assert found.jobs.end_ns.tolist()[0] == 8 * S + 1
    assert found.widths[["told_ns", "core", "change"]].to_numpy().tolist() == [[4 * S, 2, 1], [4 * S, 3, 1]]
    assert found.hints[["told_ns", "waiting_job_id", "lack", "wanted"]].to_numpy().tolist() == [[4 * S, 8, 4, 1]]
    assert found.scales[["told_ns", "core", "factor"]].to_numpy().tolist() == [[4 * S, -1, 0.5]]


class EndsAll:
    """Starts what waits; at 4 s it ends all that runs."""

    name, directs = "ends-all", ("ends",)

    def decide(self, view: Any) -> Iterator[Any]:
        yield from view.waiting
        if view.now_ns < 4 * S:
            view.wake_at(4 * S)
        for job in view.running if view.now_ns == 4 * S else ():
            view.cancel(job)


@pytest.mark.parametrize("said", [{"als": "ss"}, {"als": "ss", "coupling": "pool"}, {"als": "recorded"}])
def test_all_are_ended_as_a_limit_begins(said: dict[str, Any]) -> None:
    """Each of as many jobs as there are cores is told two things at one instant: that it ends, 1 ns later, and its level."""
    machine = Platform((HostGroup(1, 4, 4.0, power=HostPower(10, [(1, 100), (0.5, 40)])),))
    power = PowerOptions(limits=[(4 * S, 9 * S, 200)], fallback="dvfs", stretch_walltime=True)
    workload = Workload.from_jobs([(k, 0, 10, 1, 20) for k in range(1, 5)])
    rules = Rules(kill_at_walltime=True)
    tasks: dict[str, Any] = {} if said["als"] == "recorded" else {"tasks_per_core": 4}
    found = bridge.simulate(workload, machine, bls=EndsAll(), power=power, rules=rules, **tasks, **said)
    check_ledger(found.ledger)
    assert found.jobs.end_ns.tolist() == [4 * S + 1] * 4
    assert found.jobs.state.tolist() == ["cancelled"] * 4
    assert found.scales[["told_ns", "factor"]].to_numpy().tolist() == [[4 * S, 0.5]] * 4
