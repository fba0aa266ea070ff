"""The techniques that learn nothing: chunks of the literature, exact arithmetic, limits, and wrong parameters."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from event_driven import Loop
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reference.chunk_rules import Bold, sizes

from als.chunk_sequence import chunk_sequence
from als.techniques import TECHNIQUES, split_techniques, technique
from als.techniques.contract import MEAN_S, NOW_NS, OVERHEAD_S, SIGMA_S, UNIFORM
from als.techniques.fixed.fiss import FissParameters
from als.techniques.fixed.fsc import FscParameters
from als.techniques.fixed.gss import GssParameters
from als.techniques.fixed.rnd import RndParameters
from als.techniques.fixed.tap import TapParameters
from traces.base.errors import InputError

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


@pytest.mark.parametrize("name", ["fsc", "fac-mu-sigma", "mfac", "tap", "bold"])
def test_what_is_not_given_comes_from_the_job(name: str) -> None:
    plain = TECHNIQUES[name]
    assert plain.moments
    values = {"mu": 0.25, "sigma": 0.2, "h": 0.5}
    known: dict[str, Any] = {key: value for key, value in values.items() if key in PARAMETERS[name]}
    loop = Loop(plain, 1000, 4)
    loop.facts[[MEAN_S, SIGMA_S, OVERHEAD_S]] = values["mu"], values["sigma"], values["h"]
    stated = Loop(technique(written(name, known)), 1000, 4)
    found = loop.sizes()
    assert found == stated.sizes() == list(sizes(name, 1000, 4, **known))
    assert not stated.technique.moments
    assert found != [250] * 4
    assert found[0] > 1


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


def test_bold_bears_cores_that_are_lost_again_and_again() -> None:
    """The same tasks are assigned over and over: those that were are more than there ever were."""
    loop = Loop(technique("bold:mu=1,sigma=2,h=0.1"), 1000, 4)
    for turn in range(100):
        loop.facts[NOW_NS] = turn * 10**9
        assert 10 < loop.ask(turn % 4) <= 250
        loop.left = 1000


def test_parameters_are_checked_where_they_are_built() -> None:
    with pytest.raises(InputError, match=r"^technique fsc: sigma: 0; allowed: above 0$"):
        FscParameters(sigma=0)
    with pytest.raises(InputError, match=r"^technique fsc: h: nan; allowed: 0 or more$"):
        FscParameters(h=float("nan"))
    with pytest.raises(InputError, match=r"^technique tap: mu: inf; allowed: above 0$"):
        TapParameters(mu=float("inf"))
    for wrong in ({"sigma": 10**400}, {"h": 10**400}):  # integers beyond every float
        with pytest.raises(InputError, match=r"^technique fsc: (sigma|h): 1000+…; allowed: (above 0|0 or more)$"):
            FscParameters(**wrong)
    with pytest.raises(InputError, match=r"^technique gss: min: True is not a whole number"):
        GssParameters(min=True)
    with pytest.raises(InputError, match=r"^technique rnd: high: 1; allowed: 2, which is low, or more$"):
        RndParameters(low=2, high=1)
    assert replace(FissParameters(), stages=5).technique().params[0] == 5


#: Tasks, cores, the technique and the sizes; ``63x4`` is four chunks of 63.
VECTORS = [
    row.split("|") for row in (Path(__file__).parent / "chunks.csv").read_text(encoding="utf-8").splitlines()[1:]
]


def listed(text: str) -> list[int]:
    return [
        int(size) for part in text.split() for size, _, times in [part.partition("x")] for _ in range(int(times or 1))
    ]


def compact(chunks: list[int]) -> str:
    """Sizes as :data:`VECTORS` has them, which a failure shows better than hundreds of numbers."""
    runs = [(size, len(list(same))) for size, same in groupby(chunks)]
    return " ".join(f"{size}x{times}" if times > 1 else f"{size}" for size, times in runs)


@pytest.mark.parametrize(("tasks", "cores", "name", "expected"), VECTORS)
def test_chunks(tasks: str, cores: str, name: str, expected: str) -> None:
    assert compact(chunk_sequence(technique(name), int(tasks), int(cores))) == expected
    assert sum(listed(expected)) == int(tasks)


@pytest.mark.parametrize("tasks", [1, 3, 10, 100, 1000])
@pytest.mark.parametrize("sigma", [0, 0.1, 0.5, 1, 3])
def test_mfac_has_the_chunks_of_fac_mu_sigma(tasks: int, sigma: float) -> None:
    parameters = f"mu=1,sigma={sigma}"
    expected = chunk_sequence(technique(f"fac-mu-sigma:{parameters}"), tasks, 4)
    assert chunk_sequence(technique(f"mfac:{parameters}"), tasks, 4) == expected
