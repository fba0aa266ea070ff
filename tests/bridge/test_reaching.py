"""Jobs that are reached in the inline coupling: kept where they are and advanced, or simulated again from their beginnings.

Both ways are held against each other, which have next to nothing in common.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from one_result import assert_one_result

import bridge
from als.techniques import TECHNIQUES
from als.techniques.contract import Technique
from bls import HostGroup, Platform, Rules, Surroundings, Workload
from bridge.couplings import inline, inline_state
from bridge.scenarios.application_level import ApplicationLevel
from bridge.scenarios.application_map import parse_application_map
from traces.checks.ledger import check_ledger

PLATFORM = Platform((HostGroup(3, 4, 1.0), HostGroup(1, 4, 2.0)))
SPEEDS = (
    "square:period=3s,low=0.4,duty=0.3",
    "noise:period=7s,sigma=0.3",
    "lost:cores=5 11,at=40s,until=60s",
    "lost:cores=2,at=70s",
)


def jobs(chance: random.Random, n: int) -> Workload:
    """So many jobs that come fast enough for most to wait."""
    submit, rows = 0, []
    for number in range(1, n + 1):
        submit += chance.choice((0, 1, 1, 2, 5))
        run = chance.randint(1, 30)
        rows.append((number, submit, run, chance.randint(1, 12), run + chance.randint(0, 20)))
    return Workload.from_jobs(rows)


def drawn(seed: int) -> dict[str, Any]:
    """A scenario in which jobs are told who waits."""
    chance = random.Random(seed)
    options: dict[str, Any] = {
        "als": chance.choice((*sorted(TECHNIQUES), "ss", "select:ss,gss,static")),
        "variation": chance.choice((0.0, 0.3, 0.8)),
        "tasks_per_core": chance.choice((1, 3, 8)),
        "overhead_ns": chance.choice((0, 1000, 200_000_000)),
        "keep_tasks": chance.random() < 0.7,
        "seed": seed,
        "rules": Rules(
            coordination=chance.choice(("hint", "hint:core", "hint:host")),
            backfill=chance.choice(("none", "easy", "conservative")),
            kill_at_walltime=chance.random() < 0.4,
        ),
        "level": ApplicationLevel(
            latency_ns=chance.choice((0, 5_000_000, 700_000_000)),
            assignment=chance.choice(("distributed", "distributed", "master")),
            speeds=tuple(one for one in SPEEDS if chance.random() < 0.4),
        ),
    }
    if chance.random() < 0.4:
        options["surroundings"] = Surroundings(failures="mtbf:150s,mttr:5s")
    return options


def drawn_wide(seed: int) -> dict[str, Any]:
    """A scenario in which the widths of jobs change."""
    chance, options = random.Random(-seed), drawn(seed)
    rules: Rules = options["rules"]
    options["als"] = chance.choice((*sorted(TECHNIQUES), "ss", "gss"))
    options["rules"] = replace(
        rules,
        coordination=chance.choice(("none", "none", "release")),
        resize=chance.choice(("expand", "shrink", "expand+shrink", "equal")),
    )
    around: Surroundings = options.get("surroundings", Surroundings())
    options["surroundings"] = replace(around, malleable=chance.choice(("1:0.25:3", "0.7:0.5:2", "1:1:4", "0.5:0.1:1")))
    options["level"] = replace(options["level"], resize_ns=chance.choice((0, 1_000_000, 500_000_000)))
    return options


def drawn_evolving(seed: int) -> dict[str, Any]:
    """A scenario in which applications say how wide jobs are."""
    chance, options = random.Random(3 * seed + 1), drawn_wide(seed)
    options["rules"] = replace(options["rules"], resize="evolve")
    phases = []
    for _ in range(chance.randint(1, 4)):
        cores = f", cores = {chance.choice((0.25, 0.5, 1.0, 1.5, 3.0))}" if chance.random() < 0.8 else ""
        serial = chance.random() < 0.2
        phases.append(
            f'{{ kind = "{"serial" if serial else "loop"}", share = {chance.choice((0.1, 1.0, 2.0))}{cores} }}'
        )
    text = f"[default]\nsteps = {chance.randint(1, 4)}\nphases = [{', '.join(phases)}]\n"
    options["level"] = replace(options["level"], applications=parse_application_map(text, "drawn"))
    return options


def both_ways(
    seed: int, monkeypatch: pytest.MonkeyPatch, scenario: Callable[[int], dict[str, Any]] = drawn, **other: Any
) -> int:
    """Compare the two ways, perhaps with other options, and say how often jobs were told something."""
    workload, options = jobs(random.Random(~seed), 40), scenario(seed) | other
    kept = bridge.simulate(workload, PLATFORM, **options)
    check_ledger(kept.ledger)
    with monkeypatch.context() as patch:
        patch.setattr(Technique, "by_memo", False)
        assert_one_result(kept, bridge.simulate(workload, PLATFORM, **options))
    return len(kept.widths if kept.ledger.hints is None else kept.hints)


@pytest.mark.parametrize("scenario", [drawn, drawn_wide, drawn_evolving])
def test_kept_or_simulated_again_it_is_the_same(
    scenario: Callable[[int], dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sum(both_ways(seed, monkeypatch, scenario) for seed in range(6)) > 60


OFTEN = Surroundings(failures="mtbf:100s,mttr:5s")


@pytest.mark.parametrize(
    ("seed", "other"),
    [
        *((seed, {}) for seed in (33, 56, 136, 236, 575, 869)),
        (305, {"surroundings": OFTEN, "keep_tasks": False}),
        (0, {"als": "select:ss,gss,static,every=2s", "tasks_per_core": 8}),
    ],
)
def test_scenarios_that_once_differed(seed: int, other: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A release at the very instant of a promise; two commands at one; requests of idle cores; losses that were taken back;
    tasks cut by a stop that was deferred; room before later attempts have rows; choices that were counted twice."""
    assert both_ways(seed, monkeypatch, **other) > 0


def test_what_is_kept_goes_as_its_job_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room is found by leaving out what jobs had that have ended, and grows only with those that run."""
    sizes = []
    with_saved = inline_state.with_saved

    def noted(state: Any, running: Any) -> Any:
        grown = with_saved(state, running)
        sizes.append((len(grown.saved.ints), int(grown.saved.used[0]), len(running)))
        assert (grown.saved.first[:, np.setdiff1d(np.arange(grown.saved.first.shape[1]), running)] == -1).all()
        return grown

    monkeypatch.setattr(inline, "with_saved", noted)
    workload = Workload.from_jobs([(number, 20 * number, 10, 8, 20) for number in range(1, 201)])
    options: dict[str, Any] = {"als": "ss", "tasks_per_core": 8, "rules": Rules(coordination="hint")}
    bridge.simulate(workload, PLATFORM, keep_tasks=False, **options)
    # One runs at a time; each needs some 450 numbers, and there was room for 28 of them.
    assert len(sizes) >= 5
    assert {running for _, _, running in sizes} == {1}
    assert len({size for size, _, _ in sizes}) == 1
