"""The connection of a scheduler under a simulated network: the same tables for every seed, or one line that says why not."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from batch_features import jobs
from virtual_scheduler import FAULTS, TIMEOUT_S, VirtualScheduler

import bridge
from bls import Rules, Surroundings
from bls.machine.platform import HostGroup, Platform
from traces.base.errors import PeerError
from traces.checks.ledger import check_ledger

MACHINE = Platform((HostGroup(2, 4, 40.0), HostGroup(1, 4, 60.0)))

SEEDS = 150


def simulated(scheduler: VirtualScheduler | None) -> bridge.Result:
    """Jobs in a chain, some withdrawn, some killed."""
    return bridge.simulate(
        jobs(),
        MACHINE,
        als="recorded",
        rules=Rules(kill_at_walltime=True),
        surroundings=Surroundings(dependencies=True),
        **({} if scheduler is None else {"bls": scheduler}),  # type: ignore[arg-type]
    )


def drawn(seed: int) -> VirtualScheduler:
    draw = random.Random(seed)
    fault = draw.choice((None, *FAULTS))
    return VirtualScheduler(seed, fault, draw.choice((1, 2, 3, draw.randint(4, 90))))


def outcome(scheduler: VirtualScheduler) -> tuple[str, list[str]]:
    """What a run comes to: nothing, or what it says; and what happened."""
    try:
        result = simulated(scheduler)
    except PeerError as error:
        return str(error), scheduler.world.story
    check_ledger(result.ledger)
    expected = simulated(None)
    assert result.jobs.drop(columns="why").equals(expected.jobs.drop(columns="why"))
    return "", scheduler.world.story


def test_every_seed_gives_the_same_tables_or_says_why_not() -> None:
    found: Counter[str] = Counter()
    for seed in (*range(SEEDS), 1883):
        scheduler = drawn(seed)
        said, story = outcome(scheduler)
        fault = next((one for one in FAULTS if one in story), None)
        if fault is None:
            assert said == "", (seed, said)
            found["nothing"] += 1
            continue
        found[f"{fault}{'' if said else ', unharmed'}"] += 1
        assert said.isprintable()
        if fault == "slow":
            assert not said or f"for {TIMEOUT_S:g} s; allowed: " in said, (seed, said)
            continue
        if (
            fault == "twice" and not said
        ):  # the last answer of all: nobody hears the second one, and nothing depends on it
            assert not any("answer" in one for one in story[story.index(fault) :]), seed
            continue
        assert said.startswith("scheduler 'true'"), (seed, said)
        reasons = {
            "killed": "was killed by SIGKILL|before it has connected",
            "silent": f"for {TIMEOUT_S:g} s; allowed: ",
            # What is none before a hello is a stranger's, and the scheduler may still come.
            "garbage": "not a message|has not connected",
            "half a frame": "was killed by SIGKILL|before it has connected",
            "twice": "is not allowed while the connection is|; expected: ",
        }
        assert any(one in said for one in reasons[fault].split("|")), (seed, fault, said)
    assert {*FAULTS, "nothing", "slow, unharmed"} <= found.keys(), found


@pytest.mark.parametrize("seed", range(0, SEEDS, 15))
def test_a_seed_is_repeated_exactly(seed: int) -> None:
    first, second = outcome(drawn(seed)), outcome(drawn(seed))
    assert first == second
    assert len(first[1]) > 0
