"""The adaptive techniques: sequences that other tools gave, what they learn, and a slow reference that agrees.

The vectors are for N = 1000 tasks of a second each on P = 4 cores. A core asks when it is idle; the speeds are 2, 1, 1 and 1.
What cores get that ask in turn is in chunks.csv.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from event_driven import Loop, S, drive, said
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.adaptive_rules import Factoring, Stealing, Weights

from als.chunk_sequence import chunk_sequence
from als.techniques import TECHNIQUES, technique
from als.techniques.contract import FIRST, LAST_SQUARES, Technique

UNEQUAL = [2.0, 1.0, 1.0, 1.0]

BY_BATCH = (
    "0:125 1:125 2:125 3:125 0:63 0:63 1:63 2:63 3:25 0:50 3:25 0:50 3:11 0:21 0:21 3:11 1:4 2:4 1:4 2:4 1:3 2:3 0:5 3:3 0:2 "
    "1:1 2:1"
)
BY_CHUNK = (
    "0:125 1:110 2:96 3:84 0:74 3:64 2:56 0:49 1:35 0:63 1:25 3:23 2:20 0:36 1:15 3:13 2:12 0:21 0:16 2:7 3:6 1:6 3:5 1:4 2:4 "
    "0:7 1:3 2:3 3:3 0:4 0:4 1:1 2:1 3:1 1:1 2:1 3:1 0:1"
)
FACTORING = (
    "0:25 1:25 2:25 3:25 0:332 1:103 2:83 3:68 3:55 2:45 1:37 3:30 2:24 1:20 2:17 3:14 0:22 1:8 0:12 3:4 1:4 2:3 0:5 3:2 1:2 "
    "2:1 0:2 2:1 3:1 0:1 1:1 2:1 3:1 0:1"
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("awf-b", BY_BATCH),
        ("awf-d", BY_BATCH),
        ("awf-c", BY_CHUNK),
        ("awf-e", BY_CHUNK),
        ("af:mu=known,sigma=0.5", FACTORING),
    ],
)
def test_sequences_by_events(name: str, expected: str) -> None:
    assert said(drive(technique(name), 1000, UNEQUAL)) == expected


def test_known_moments_are_the_loop_s() -> None:
    """With σ = 0.4 s at the mean speed of 1.25 it is 0.25 s on the fast core and 0.5 s on the others."""
    alike = drive(technique("af:mu=known"), 1000, [1.0] * 4, sigma_s=0.5)
    assert said(alike) == said(drive(technique("af:mu=known,sigma=0.5"), 1000, [1.0] * 4))
    apart = drive(technique("af:mu=known"), 1000, UNEQUAL, sigma_s=0.4)
    d, t, left = 0.25**2 / 0.5 + 3 * 0.5**2, 1 / 5, 900
    assert apart[4].size == np.ceil((d + 2 * t * left - np.sqrt(d * d + 4 * d * t * left)) / (2 * 0.5)) == 336


def test_awf_learns_over_time_steps() -> None:
    """The first step is FAC2; then the fast core has weight 1.6 and the others 0.8, as µ is 0.5 s and 1 s."""
    chunks = drive(technique("awf"), 1000, UNEQUAL, steps=3)
    by_step = [[chunk for chunk in chunks if chunk.step == step] for step in range(3)]
    assert [chunk.size for chunk in by_step[0]] == chunk_sequence(TECHNIQUES["fac"], 1000, 4)
    for learned in by_step[1:]:
        assert said(learned[:4]) == "0:200 1:100 2:100 3:100"
        # 500 are left: ⌈1.6·63⌉ and ⌈0.8·63⌉
        assert Counter((chunk.core == 0, chunk.size) for chunk in learned[4:8]) == {(True, 101): 1, (False, 51): 3}
    ends = [max(chunk.end_ns for chunk in step) for step in by_step]
    assert ends == [200 * S, 400 * S, 600 * S]  # 1000/5 s each


def test_awf_weighs_late_steps_more() -> None:
    """Core 0 was fast in step 1 alone: π = (1·0.5·n₁ + 2·1·n₂) / (1·n₁ + 2·n₂)."""
    chunks = drive(technique("awf"), 1000, UNEQUAL, steps=3, changes={(1, 0): 1.0})
    n1, n2 = (sum(chunk.size for chunk in chunks if chunk.core == 0 and chunk.step == step) for step in (0, 1))
    rate = (n1 + 2 * n2) / (0.5 * n1 + 2 * n2)
    third = next(chunk for chunk in chunks if chunk.step == 2)
    assert (third.core, third.size) == (0, int(np.ceil(4 * rate / (rate + 3) * 125 - 1e-9)))
    assert 125 < third.size < 200


def test_what_a_chunk_costs_counts_in_d_and_e_only() -> None:
    """Chunks of few tasks seem slow where each chunk costs 10 s."""
    for without, with_cost in (("awf-b", "awf-d"), ("awf-c", "awf-e"), ("af", "maf")):
        free = [said(drive(technique(name), 300, UNEQUAL)) for name in (without, with_cost)]
        assert free[0] == free[1]
        costly = [said(drive(technique(name), 300, UNEQUAL, overhead_ns=10 * S)) for name in (without, with_cost)]
        assert costly[0] != costly[1]
    assert technique("awf:time=total").params != technique("awf").params


def test_af_measures_each_core_s_mean_and_deviation() -> None:
    """Chan's formula over chunks of (1, 3), (2) and (4, 6, 8) s gives the sample variance of all six."""
    loop, size = Loop(technique("af"), 1000, 1), 0
    times = [[1.0, 3.0], [2.0], [4.0, 6.0, 8.0]]
    for request, chunk in enumerate(times, start=1):
        loop.facts[LAST_SQUARES] = np.var(chunk) * len(chunk) * S * S
        size = loop.ask(0, (len(chunk), sum(chunk) * S), left=1000, request=request)
    every = [time for chunk in times for time in chunk]
    mean, d = np.mean(every), np.var(every, ddof=1) / np.mean(every)
    exact = (d + 2 * mean * 1000 - np.sqrt(d * d + 4 * d * mean * 1000)) / (2 * mean)
    assert size == np.ceil(exact) < 1000


@pytest.mark.parametrize("name", ["awf-b", "awf-c"])
def test_cores_that_are_not_there_are_not_waited_for(name: str) -> None:
    """Of four cores, the last is not there; the weights of the others sum to three, and a late one begins with 1."""
    loop, left = Loop(technique(name), 8000, 4, [2.0, 1.0, 1.0, 0.0]), 8000
    for core in range(3):
        loop.ask(core, left=left)
    loop.ask(0, (100, 50 * S), left=left)
    loop.ask(1, (100, 100 * S), left=left)
    assert loop.ask(2, (100, 100 * S), left=left, request=8) == 750
    assert loop.ask(0, left=left) == 1500
    loop.speed[3] = 1.0
    assert loop.ask(3, left=left, request=12) == 1000
    assert loop.ask(0, left=left) == 1500


loops = st.fixed_dictionaries(
    {
        "lengths": st.lists(st.sampled_from([0.25, 1.0, 1.5, 7.0]), min_size=1, max_size=120),
        "speeds": st.lists(st.sampled_from([0.5, 1.0, 2.0, 3.0]), min_size=1, max_size=9),
        "overhead_ns": st.sampled_from([0, 3, S]),
        "steps": st.integers(1, 3),
    }
)


def as_reference(name: str, slow: Technique, loop: dict[str, Any]) -> None:
    n_tasks = len(loop["lengths"])
    assert drive(technique(name), n_tasks, **loop) == drive(slow, n_tasks, **loop)


@settings(max_examples=150)
@given(
    loop=loops,
    variant=st.sampled_from(["", "b", "c", "d", "e"]),
    least=st.integers(1, 3),
    rounds=st.sampled_from(["up", "half"]),
    known=st.fixed_dictionaries(
        {
            "start": st.sampled_from(["half", "tenth"]),
            "unmeasured": st.sampled_from(["wait", "skip"]),
            "base": st.sampled_from(["remaining", "halving"]),
        }
    ),
    change=st.tuples(st.integers(1, 2), st.integers(0, 8), st.sampled_from([0.5, 1.0, 4.0])),
)
def test_weights_as_the_slow_reference(
    loop: dict[str, Any], variant: str, least: int, rounds: str, known: dict[str, str], change: tuple[int, int, float]
) -> None:
    taken = ["start", "unmeasured"] * bool(variant) + ["base"] * (variant in ("", "b", "d"))
    known = {key: value for key, value in known.items() if key in taken}
    text = ",".join(f"{key}={value}" for key, value in {"round": rounds, "min": least, **known}.items())
    slow = Weights(least, rounds, variant=variant, **known)
    loop["changes"] = {change[:2]: change[2]} if change[1] < len(loop["speeds"]) else None
    as_reference(f"awf-{variant}:{text}" if variant else f"awf:{text}", slow.technique(), loop)


@settings(max_examples=150)
@given(
    loop=loops,
    name=st.sampled_from(["af", "maf"]),
    known=st.booleans(),
    given_ones=st.fixed_dictionaries(
        {
            "start": st.sampled_from(["tenth", "half", "none"]),
            "unmeasured": st.sampled_from(["wait", "own"]),
            "spread": st.sampled_from(["variance", "deviation"]),
            "round": st.sampled_from(["up", "down", "half"]),
            "cap": st.booleans(),
            "min": st.integers(1, 3),
        },
        optional={"sigma": st.sampled_from([0.0, 0.5, 3.0]), "first": st.just(5)},
    ),
)
def test_factoring_as_the_slow_reference(
    loop: dict[str, Any], name: str, known: bool, given_ones: dict[str, Any]
) -> None:
    if known:
        given_ones.setdefault("sigma", 0.125)
    elif given_ones["start"] == "none":
        given_ones["start"] = "half"
    text = ",".join(f"{key}={str(value).lower()}" for key, value in given_ones.items())
    least, rounds = given_ones.pop("min"), given_ones.pop("round")
    slow = Factoring(least, rounds, whole=name == "maf", known=known, **given_ones).technique(learns=not known)
    as_reference(f"{name}:mu={'known' if known else 'measured'},{text}", slow, loop)


def test_weights_that_are_no_binary_fractions() -> None:
    """They are 16/9 and 8/9, so a base of 9 k gives 16 k and 8 k, and not one more."""
    cores = [1.0] * 7 + [2.0]
    assert drive(technique("awf-c"), 1000, cores) == drive(Weights(variant="c").technique(), 1000, cores)


def test_af_takes_no_notice_of_cores_that_are_not_there() -> None:
    """Core 2 is not there; then it comes, and has chunks of ⌈N/30⌉ until it is measured, while the others go on."""
    loop, left = Loop(technique("af"), 900, 3, [2.0, 1.0, 0.0]), 900
    assert [loop.ask(core, left=left) for core in (0, 1)] == [30, 30]
    assert loop.ask(0, (30, 15 * S), left=left) == 30
    assert loop.ask(1, (30, 30 * S), left=left) == 300
    assert loop.ask(0, left=left) == 600
    loop.speed[2] = 1.0
    assert [loop.ask(core, left=left) for core in (2, 0)] == [30, 600]
    assert loop.ask(2, (30, 30 * S), left=left) == 225
    loop.speed[1] = 0.0
    assert loop.ask(0, left=left) == 600


def test_as_many_chunks_as_cores_are_chunks_and_fewer_are_blocks() -> None:
    for name, first, blocks in (("static-steal:chunk=4", 10, [4, 4, 2]), ("static-steal:chunk=5", 10, [4, 3, 3])):
        assert [chunk.size for chunk in drive(technique(name), first, [1.0] * 3)] == blocks


def taken(loop: Loop, core: int) -> list[int]:
    found = []
    while loop.left and loop.ask(core):
        found.append(int(loop.facts[FIRST]))
    return found


def test_a_quarter_is_stolen_and_the_victim_remembered() -> None:
    """40 chunks on 4 cores; core 3 asks alone: its own ten, then from core 0 ⌊10/4⌋ = 2, ⌊8/4⌋ = 2, ⌊6/4⌋ = 1, …, down to 1."""
    stolen = [8, 9, 6, 7, 5, 4, 3, 2, 1]
    expected = [*range(30, 40), *stolen, *(first + 10 for first in stolen), *(first + 20 for first in stolen)]
    assert taken(Loop(technique("static-steal"), 40, 4), 3) == expected


def test_what_absent_cores_have_left_is_taken_whole() -> None:
    assert taken(Loop(technique("static-steal:chunk=5"), 20, 2, [1.0, 0.0]), 0) == [0, 5, 15, 10]
    # Fewer tasks than cores: two tasks are the blocks of cores 0 and 1, which are late.
    few = Loop(technique("static-steal"), 2, 4, [0.0, 0.0, 1.0, 1.0])
    assert taken(few, 2) == [0, 1]
    assert few.ask(3, left=1) == 0


@settings(max_examples=150)
@given(
    tasks=st.integers(1, 200),
    chunk=st.integers(1, 9),
    cores=st.lists(st.sampled_from([0.5, 1.0, 2.0, 30.0]), min_size=1, max_size=9),
)
def test_stealing_as_the_slow_reference(tasks: int, chunk: int, cores: list[float]) -> None:
    slow = Stealing(chunk)
    there = [True] * len(cores)

    def asked(
        n_tasks: int, n_cores: int, core: int, request: int, left: int, facts: Any, speed: Any, params: Any, memo: Any
    ) -> int:
        if request == 0 and not slow.lists:
            slow.begin(n_tasks, n_cores)
        facts[FIRST], size = slow.take(core, there) or (0, 0)
        return size

    reference = Technique("reference", asked, places=True)
    assert drive(technique(f"static-steal:chunk={chunk}"), tasks, cores) == drive(reference, tasks, cores)


def test_a_core_that_is_away_as_the_weights_of_a_batch_change_comes_back_with_its_own() -> None:
    """Core 0 takes 1 s a task, the others 2 s: of two cores that are there, its weight would be 2 beside their 1 and 1."""
    loop = Loop(technique("awf-b"), 600, 3)
    assert [loop.ask(core, left=600 - 100 * core) for core in range(3)] == [100, 100, 100]
    for core, left, seconds in ((0, 300, 100), (1, 250, 200), (2, 200, 200)):
        loop.ask(core, (100, seconds * 1e9), left=left)
    loop.speed[0] = 0.0
    assert loop.ask(1, left=120) == 20  # a batch: ⌈120/6⌉, weights of 1 and 1
    loop.speed[0] = 1.0
    assert loop.ask(0, left=100) == 40
