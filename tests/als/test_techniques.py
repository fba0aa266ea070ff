"""Techniques: chunks of the literature, exact arithmetic, what adaptive ones learn, limits, and wrong parameters.

Vectors are in chunks.csv, for cores that ask in turn. Adaptive ones have N = 1000 tasks of a second each on P = 4 cores with
the speeds 2, 1, 1 and 1. That the engine gives the chunks of the slow reference is in test_engine_reference.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reference.chunk_rules import Bold, sizes

from als.application import Application
from als.chunk_sequence import chunk_sequence
from als.techniques import TECHNIQUES, split_techniques, technique
from als.techniques.contract import (
    FACTS,
    LAST_SIZE,
    LAST_SQUARES,
    LAST_WORK_NS,
    MEAN_S,
    NOW_NS,
    OVERHEAD_S,
    SIGMA_S,
    UNIFORM,
    Technique,
)  # fmt: skip
from als.techniques.fixed.fsc import FscParameters
from als.techniques.fixed.gss import GssParameters
from als.techniques.fixed.rnd import RndParameters
from als.techniques.fixed.tap import TapParameters
from traces.base.errors import InputError

S = 10**9
UNEQUAL = [2.0, 1.0, 1.0, 1.0]


class Loop:
    """One loop: asks the rule, with facts that the test sets, and checks every answer."""

    def __init__(self, found: Technique, n: int, p: int, speed: list[float] | None = None) -> None:
        self.technique, self.n, self.p = found, n, p
        self.left, self.request = n, 0
        self.facts = np.zeros(FACTS)
        self.speed = np.array([1.0] * p if speed is None else speed)
        self.params = np.array(found.params, np.float64)
        self.memo = np.zeros(found.memo_size + p * found.memo_per_core)

    def ask(self, core: int, last: tuple[int, float] = (0, 0.0), *, left: int = 0, request: int | None = None) -> int:
        """Return the size for this core, whose last chunk had this many tasks and took this many ns."""
        self.left = left or self.left
        self.request = self.request if request is None else request
        self.facts[[LAST_SIZE, LAST_WORK_NS]] = last
        given_ones = (self.n, self.p, core, self.request, self.left)
        size = self.technique.asked(*given_ones, self.facts, self.speed, self.params, self.memo)
        assert 0 <= size <= self.left
        self.left -= size
        self.request += size > 0
        return size


ROUND = st.sampled_from(("ceil", "floor"))
MU = st.sampled_from((1.0, 0.3, 7e-6, 2500.0)) | st.floats(1e-6, 1e3)
SIGMA = st.sampled_from((0.0, 0.5, 1.0)) | st.floats(1e-6, 1e4)
WHOLE = st.integers(1, 40)

#: What may stand behind each name.
PARAMETERS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "static": {"round": st.sampled_from(("block", "ceil"))},
    "ss": {"chunk": WHOLE},
    "fsc": {"h": st.just(0.0) | st.floats(1e-9, 1e3), "sigma": st.floats(1e-6, 1e3), "round": ROUND},
    "mfsc": {},
    "gss": {"round": st.sampled_from(("ceil", "floor", "closed")), "min": WHOLE},
    "guided": {"chunk": WHOLE},
    "tss": {
        "step": st.sampled_from(("integer", "real")),
        "first": st.integers(20, 2000),
        "last": st.integers(1, 20),
        "first_round": ROUND,
        "steps": ROUND,
    },
    "fac": {
        "round": st.sampled_from(("ceil", "floor", "half-even")),
        "rule": st.sampled_from(("remaining", "closed", "halving")),
        "min": WHOLE,
        "merge": st.booleans(),
    },
    "fac2": {"round": st.sampled_from(("ceil", "floor", "half-even"))},
    "fac-mu-sigma": {"mu": MU, "sigma": SIGMA},
    "mfac": {"mu": MU, "sigma": SIGMA},
    "wf": {"rule": st.sampled_from(("remaining", "halving")), "round": ROUND},
    "tfss": {},
    "fiss": {"stages": st.integers(2, 80), "rest": st.sampled_from(("run-on", "last"))},
    "viss": {"x": WHOLE},
    "rnd": {"low": WHOLE, "high": st.integers(40, 400)},
    "pls": {"swr": st.sampled_from((0.0, 0.1, 0.5, 1.0)) | st.floats(0, 1)},
    "tap": {"mu": MU, "sigma": SIGMA, "alpha": st.sampled_from((0.0, 1.0, 1.3)) | st.floats(0, 3)},
    "bold": {"mu": MU, "sigma": SIGMA, "h": st.just(0.0) | st.floats(1e-9, 1e3), "round": ROUND},
}
#: What cannot be left to the job by the functions below: it would be 0.
NEEDED = {"fsc": {"h", "sigma"}, "bold": {"h"}}


@st.composite
def named(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """Some of a technique's parameters."""
    strategies = PARAMETERS[name]
    keys = [key for key in strategies if key in NEEDED.get(name, ()) or draw(st.booleans())]
    return {key: draw(strategies[key]) for key in keys}


def written(name: str, parameters: dict[str, Any]) -> str:
    behind = ",".join(f"{key}={str(value).lower()}" for key, value in parameters.items())
    return f"{name}:{behind}" if behind else name


def uniforms(seed: int) -> Iterator[float]:
    generator = np.random.Generator(np.random.Philox(key=np.array([seed, 0], np.uint64)))
    while True:
        yield generator.random()


@pytest.mark.parametrize("name", PARAMETERS)
@settings(max_examples=50)
@given(data=st.data(), n=st.integers(1, 300) | st.integers(1, 5000), p=st.integers(1, 8) | st.integers(1, 64))
def test_sizes_are_those_of_exact_arithmetic(name: str, data: st.DataObject, n: int, p: int) -> None:
    parameters = data.draw(named(name))
    asked = dict(parameters)
    if name == "rnd":
        asked["uniforms"] = uniforms(3)
    if name == "wf":
        parts = data.draw(st.lists(st.integers(0, 40), min_size=p, max_size=p).filter(any) | st.just([1] * p))
        weights = [p * part / sum(parts) for part in parts]
        parameters["weights"] = "/".join(str(weight) for weight in weights)
        asked["weights"] = weights
    assert chunk_sequence(technique(written(name, parameters)), n, p, seed=3) == list(sizes(name, n, p, **asked))


@settings(max_examples=40)
@given(
    n=st.integers(1, 400),
    speeds=st.lists(st.sampled_from((1.0, 2.0, 0.5)), min_size=1, max_size=6),
    mu=st.sampled_from((1.0, 0.01)),
    variation=st.sampled_from((0.0, 0.1, 0.3, 1.0, 4.0)),
    h=st.sampled_from((0.0, 1e-4, 0.05, 1.0, 20.0)),
    rounding=ROUND,
    start_ns=st.sampled_from((0, 12_345_678_901)),
)
@example(n=400, speeds=[1.0, 2.0, 1.0, 0.5], mu=1.0, variation=0.3, h=0.05, rounding="floor", start_ns=0)
def test_bold_follows_what_is_under_way(
    n: int, speeds: list[float], mu: float, variation: float, h: float, rounding: str, start_ns: int
) -> None:
    """In time, with each core asking when its chunk has ended; what is not done is summed up anew at each request."""
    sigma, p = mu * variation, len(speeds)
    loop = Loop(technique(f"bold:mu={mu},sigma={sigma},h={h},round={rounding}"), n, p)
    expected = Bold(n, p, mu, sigma, h, rounding)
    idle = [(start_ns, core) for core in range(p)]
    while loop.left:
        now_ns, core = heapq.heappop(idle)
        loop.facts[NOW_NS] = now_ns
        size = loop.ask(core)
        assert size == expected.chunk(core, Fraction(now_ns - start_ns, 10**9))
        heapq.heappush(idle, (now_ns + round((h + size * mu / speeds[core]) * 1e9), core))


def test_large_loops() -> None:
    """A thousand million tasks on a million cores: no product leaves 64 bits."""
    for name in TECHNIQUES:
        loop = Loop(TECHNIQUES[name], 10**9, 2**20)
        loop.facts[[MEAN_S, SIGMA_S, OVERHEAD_S, UNIFORM]] = 1e-3, 1e-4, 1e-6, 0.5
        first = [loop.ask(core) for core in range(3)]
        assert all(1 <= size <= 954 for size in first), name
        loop.request = 2**20 * 50
        assert 1 <= loop.ask(3) <= loop.left or name == "static", name


def test_wf_takes_the_speeds_as_the_loop_begins() -> None:
    loop = Loop(TECHNIQUES["wf"], 1000, 4, [4.0, 2.0, 2.0, 2.0])
    assert [loop.ask(0)] == [200]
    loop.speed[:] = [1.0, 8.0, 8.0, 8.0]
    assert [loop.ask(core) for core in (1, 2, 3)] == [100] * 3
    late = Loop(TECHNIQUES["wf"], 1000, 3, [1.0, 0.0, 3.0])
    assert [late.ask(core) for core in (0, 2, 1)] == [126, 376, 1]  # of ⌈1000/6⌉: 3/4, 9/4, and 0


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("static,4,ss", ["static,4", "ss"]),
        ("nonmonotonic:dynamic, 2,static:chunk=3,gss", ["nonmonotonic:dynamic,2", "static:chunk=3", "gss"]),
        ("fac,guided,16,4", ["fac", "guided,16", "4"]),
    ],
)
def test_a_chunk_size_belongs_to_the_schedule_before_it(text: str, names: list[str]) -> None:
    assert split_techniques(text) == names


def test_parameters_are_checked_where_they_are_built() -> None:
    with pytest.raises(InputError, match=r"^technique fsc: sigma: 0; allowed: above 0$"):
        FscParameters(sigma=0)
    with pytest.raises(InputError, match=r"^technique tap: mu: inf; allowed: above 0$"):
        TapParameters(mu=float("inf"))
    for wrong in ({"sigma": 10**400}, {"h": 10**400}):  # integers beyond every float
        with pytest.raises(InputError, match=r"^technique fsc: (sigma|h): 1000+…; allowed: (above 0|0 or more)$"):
            FscParameters(**wrong)
    with pytest.raises(InputError, match=r"^technique gss: min: True is not a whole number"):
        GssParameters(min=True)
    with pytest.raises(InputError, match=r"^technique rnd: high: 1; allowed: 2, which is low, or more$"):
        RndParameters(low=2, high=1)


#: Tasks, cores, the technique and the sizes; ``63x4`` is four chunks of 63.
VECTORS = [row.split("|") for row in (Path(__file__).parent / "chunks.csv").read_text("utf-8").splitlines()[1:]]


@pytest.mark.parametrize(("tasks", "cores", "name", "expected"), VECTORS)
def test_chunks(tasks: str, cores: str, name: str, expected: str) -> None:
    runs = [(size, len(list(same))) for size, same in groupby(chunk_sequence(technique(name), int(tasks), int(cores)))]
    assert " ".join(f"{size}x{times}" if times > 1 else f"{size}" for size, times in runs) == expected


def chunks(name: str, n: int, steps: int = 1, overhead_ns: int = 0) -> list[list[tuple[int, int]]]:
    """Run loops of tasks of a second on the unequal cores: the core and the size of each chunk of each step, in order."""
    application = Application(
        [1.0] * (n * steps), UNEQUAL, phases=[technique(name)], part_tasks=[n] * steps, overhead_ns=overhead_ns
    )
    assert application.advance()
    found = []
    for step in range(steps):
        tasks = slice(step * n, step * n + n)
        of = sorted(zip(application.state.chunk[tasks].tolist(), application.state.core[tasks].tolist(), strict=True))
        found.append([(core, len(list(same))) for (_, core), same in groupby(of)])
    return found


def said(found: list[tuple[int, int]]) -> str:
    return " ".join(f"{core}:{size}" for core, size in found)


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
        *((name, BY_BATCH) for name in ("awf-b", "awf-d")),
        *((name, BY_CHUNK) for name in ("awf-c", "awf-e")),
        ("af:mu=known,sigma=0.5", FACTORING),
    ],
)
def test_sequences_by_events(name: str, expected: str) -> None:
    assert said(chunks(name, 1000)[0]) == expected


def test_known_moments_are_the_loop_s() -> None:
    """With σ = 0.4 s at the mean speed of 1.25 it is 0.25 s on the fast core and 0.5 s on the others."""
    loop = Loop(technique("af:mu=known"), 1000, 4, UNEQUAL)
    loop.facts[[MEAN_S, SIGMA_S]] = 0.8, 0.4
    d, t, left = 0.25**2 / 0.5 + 3 * 0.5**2, 1 / 5, 900
    expected = np.ceil((d + 2 * t * left - np.sqrt(d * d + 4 * d * t * left)) / (2 * 0.5))
    assert [loop.ask(core) for core in (0, 1, 2, 3, 0)] == [25, 25, 25, 25, expected] == [25, 25, 25, 25, 336]


def test_awf_learns_over_time_steps() -> None:
    """The first step is FAC2; then the fast core has weight 1.6 and the others 0.8, as µ is 0.5 s and 1 s."""
    first, *later = chunks("awf", 1000, steps=3)
    assert [size for _, size in first] == chunk_sequence(TECHNIQUES["fac"], 1000, 4)
    for learned in later:
        assert said(learned[:4]) == "0:200 1:100 2:100 3:100"
        # 500 are left: ⌈1.6·63⌉ and ⌈0.8·63⌉
        assert Counter((core == 0, size) for core, size in learned[4:8]) == {(True, 101): 1, (False, 51): 3}


def test_the_cost_of_a_chunk_counts_in_d_and_e_only() -> None:
    """Chunks of few tasks seem slow where each chunk costs 10 s."""
    for without, with_cost in (("awf-b", "awf-d"), ("awf-c", "awf-e"), ("af", "maf")):
        assert chunks(without, 300) == chunks(with_cost, 300)
        assert chunks(without, 300, overhead_ns=10 * S) != chunks(with_cost, 300, overhead_ns=10 * S)
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
