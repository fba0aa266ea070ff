"""Techniques: chunks of the literature, exact arithmetic, what adaptive ones learn, limits, and wrong parameters.

Vectors are in chunks.csv, for cores that ask in turn. Adaptive ones have N = 1000 tasks of a second each on P = 4 cores with
the speeds 2, 1, 1 and 1. That the engine gives the chunks of the slow reference is in test_engine_reference.
"""

import heapq
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError, dataclass
from fractions import Fraction
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reference.chunk_rules import Bold, sizes
from tables import table_rows, table_text

from als.application import ApplicationSimulator
from als.chunk_sequence import chunk_sequence
from als.lengths import LengthModel, length_kernel, lengths
from als.lengths import trial as length_trial
from als.parameters import WholeNumber
from als.techniques import TECHNIQUES, Technique, split_techniques, technique, technique_kernel
from als.techniques.contract import (
    FACTS,
    LAST_SIZE,
    LAST_WORK_NS,
    MEAN_S,
    NOW_NS,
    OVERHEAD_S,
    SIGMA_S,
    UNIFORM,
    RuleParameters,
)  # fmt: skip
from als.techniques.fixed.fsc import FscParameters
from als.techniques.fixed.gss import GssParameters
from als.techniques.fixed.rnd import RndParameters
from als.techniques.fixed.tap import TapParameters
from als.techniques.python_technique import Ask, LoopStart, PythonTechnique
from als.techniques.trial import try_out
from traces import trials as apart
from traces.base.errors import InputError, PluginError
from traces.compiled import jit_enabled

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
        size = self.technique.asked(*given_ones, facts=self.facts, speed=self.speed, params=self.params, memo=self.memo)
        assert 0 <= size <= self.left
        self.left -= size
        self.request += size > 0
        return size


ROUND = st.sampled_from(("ceil", "floor"))
MU = st.sampled_from((1.0, 0.3, 7e-6, 2500.0)) | st.floats(1e-6, 1e3)
SIGMA = st.sampled_from((0.0, 0.5, 1.0)) | st.floats(1e-6, 1e4)
WHOLE = st.integers(1, 40)

#: Parameters that may follow each name.
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
    suffix = ",".join(f"{key}={str(value).lower()}" for key, value in parameters.items())
    return f"{name}:{suffix}" if suffix else name


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
def test_bold_follows_chunks_in_progress(
    n: int, speeds: list[float], mu: float, variation: float, h: float, rounding: str, start_ns: int
) -> None:
    """In time, where each core requests when its chunk has ended; the remaining work is summed up again at each request."""
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


def test_parameters_may_be_decorated_as_dataclasses_too() -> None:
    @dataclass(frozen=True)
    class Own(RuleParameters, name="own"):
        least: Annotated[int, WholeNumber(1)] = 1

    with pytest.raises(InputError, match=r"^technique own: least: 0 is out of range; allowed: 1 to 9007199254740992$"):
        Own(least=0)
    own = Own(least=2)
    for change in (partial(setattr, own, "least", 3), partial(delattr, own, "least")):
        with pytest.raises(FrozenInstanceError, match="'least'"):
            change()
    assert own == Own(least=2)
    assert own.numbers() == (2.0,)


#: Tasks, cores, the technique and the sizes; ``63x4`` is four chunks of 63.
VECTORS = [row.split("|") for row in (Path(__file__).parent / "chunks.csv").read_text("utf-8").splitlines()[1:]]


@pytest.mark.parametrize(("tasks", "cores", "name", "expected"), VECTORS)
def test_chunks(tasks: str, cores: str, name: str, expected: str) -> None:
    runs = [(size, len(list(same))) for size, same in groupby(chunk_sequence(technique(name), int(tasks), int(cores)))]
    assert " ".join(f"{size}x{times}" if times > 1 else f"{size}" for size, times in runs) == expected


def chunks(name: str, n: int, steps: int = 1, overhead_ns: int = 0) -> list[list[tuple[int, int]]]:
    """Run loops of tasks of a second on the unequal cores: the core and the size of each chunk of each step, in order."""
    application = ApplicationSimulator(
        [1.0] * (n * steps), UNEQUAL, phases=[technique(name)], part_tasks=[n] * steps, overhead_ns=overhead_ns
    )
    assert application.advance()
    found = []
    for step in range(steps):
        tasks = slice(step * n, step * n + n)
        of = sorted(zip(application.state.chunk[tasks].tolist(), application.state.core[tasks].tolist(), strict=True))
        found.append([(core, len(list(same))) for (_, core), same in groupby(of)])
    return found


@pytest.mark.parametrize(("names", "expected"), table_rows(__file__, "sequences_by_events"))
def test_sequences_by_events(names: list[str], expected: str) -> None:
    for name in names:
        assert " ".join(f"{core}:{size}" for core, size in chunks(name, 1000)[0]) == expected, name


def test_known_moments_are_the_loop_s() -> None:
    """With σ = 0.4 s at the mean speed of 1.25 it is 0.25 s on the fast core and 0.5 s on the others."""
    loop = Loop(technique("af:mu=known"), 1000, 4, UNEQUAL)
    loop.facts[[MEAN_S, SIGMA_S]] = 0.8, 0.4
    d, t, left = 0.25**2 / 0.5 + 3 * 0.5**2, 1 / 5, 900
    expected = np.ceil((d + 2 * t * left - np.sqrt(d * d + 4 * d * t * left)) / (2 * 0.5))
    assert [loop.ask(core) for core in (0, 1, 2, 3, 0)] == [25, 25, 25, 25, expected] == [25, 25, 25, 25, 336]


@technique_kernel
def forgets_its_memo(n_tasks: int, n_cores: int, core: int, request: int, remaining: int, memo: Any) -> int:
    memo[n_cores] = 1.0
    return 1


@technique_kernel
def later(n_tasks: int, n_cores: int, core: int, request: int, remaining: int, memo: Any) -> int:
    memo[request // 10] += 1.0
    return 1


@technique_kernel
def goes_back(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    speed[core - n_cores - 1] = 2.0
    return 1


@technique_kernel
def raises(n_tasks: int, n_cores: int, core: int, request: int, remaining: int, memo: Any) -> int:
    if remaining < 10:
        raise ValueError("too few")
    return 4


def tried_out(tried: Technique | LengthModel) -> None:
    if isinstance(tried, Technique):
        try_out(tried)
    else:
        length_trial.try_out(tried)


@length_kernel
def wanders(
    k: int, n: int, mean: float, params: Any, pattern: Any, memo: Any, keys: Any, cursor: Any, words: Any
) -> float:
    memo[k // 8] += 1.0
    if pattern.size > 0:
        pattern[pattern.size] = 1.0
    if params.size > 0:
        raise ValueError("no such parameter")
    return mean


def plain(n_tasks: int, n_cores: int, core: int, request: int, remaining: int, memo: Any) -> int:
    return 1


def plain_lengths(k, n, mean, params, pattern, memo, keys, cursor, words):  # type: ignore[no-untyped-def]
    return 1.0


SEE = "which has room for 0 there; see its memo_size"


@pytest.mark.parametrize(
    ("tried", "words"),
    [
        (Technique("a", forgets_its_memo), f"technique a: .* outside memo, {SEE}"),
        (Technique("a", forgets_its_memo, memo_per_core=1), "outside memo, which has room for 2 there"),
        (Technique("a", forgets_its_memo, memo_size=5, only_cores=5), "outside memo, which has room for 5"),
        (Technique("later", later, memo_size=1), "outside memo, which has room for 1"),
        (Technique("back", goes_back), "technique back: its rule writes outside speed, which has room for 2 there$"),
        (Technique("r", raises), "technique r: its rule raises ValueError too few; allowed: an answer"),
        (Technique("r", plain), "technique r: .* is not compiled for .*; decorate next_chunk with technique_kernel"),
        (LengthModel("w", wanders), f"lengths w: its rule writes outside memo, {SEE}"),
        (LengthModel("w", wanders, memo_size=1), "outside memo, which has room for 1"),
        (LengthModel("w", wanders, memo_size=2, pattern=np.ones(3)), "outside pattern, which has room for 3 there$"),
        (LengthModel("w", wanders, memo_size=2, params=(1.0,)), "lengths w: its rule raises ValueError no such param"),
        (LengthModel("w", plain_lengths), "lengths w: .* is not compiled for .*; decorate next_length with length_k"),
    ],
)
def test_forbidden_results_of_a_rule_are_refused(tried: Technique | LengthModel, words: str) -> None:
    with pytest.raises(PluginError, match=words):
        tried_out(tried)


def children() -> set[str]:
    """The processes that this thread has started, and that have not been waited for."""
    return set(Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split())


def test_allowed_values_are_accepted() -> None:
    before = children()  # of other tests
    for fit in (
        Technique("memo", forgets_its_memo, memo_size=1, memo_per_core=1),
        Technique("later", later, memo_size=2),
        *(TECHNIQUES[name] for name in ("awf-b", "bold", "static-steal")),
        LengthModel("w", wanders, memo_size=2),
        *(lengths(name, variation=0.25) for name in ("gamma", "correlated", "mandelbrot")),
    ):
        tried_out(fit)
    assert children() <= before, "a process is left of a trial"


def test_rules_of_a_file_are_tried_when_they_are_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "tried.py"
    file.write_text(
        "from test_techniques import *\nMINE, ENOUGH = Technique('m', later, memo_size=1), Technique('e', later, memo_size=2)\n"
        "LENGTHS, FIT = LengthModel('l', wanders), LengthModel('f', wanders, memo_size=2)\n"
    )
    assert technique(f"{file}:ENOUGH").name == "e"
    assert lengths(f"{file}:FIT").name == "f"
    for wrong in (f"{file}:MINE", f"select:ss,{file}:MINE"):
        with pytest.raises(PluginError, match="technique m: "):
            technique(wrong)
    with pytest.raises(PluginError, match="lengths l: "):
        lengths(f"{file}:LENGTHS")


@pytest.mark.parametrize("params", [("a",), 3, (1.0, None)])
def test_parameters_that_are_no_numbers(params: Any) -> None:
    for make, words in (
        (lambda: Technique("t", forgets_its_memo, params=params), "technique t"),
        (lambda: LengthModel("t", wanders, params=params), "lengths t"),
    ):
        with pytest.raises(InputError, match=rf"{words}: params .*; allowed: numbers"):
            make()


@technique_kernel
def goes_astray(n_tasks: int, n_cores: int, core: int, request: int, remaining: int, memo: Any) -> int:
    memo[n_tasks * 100_000_000] = 1.0
    return 1


@technique_kernel
def turns_for_ever(n_tasks: int, n_cores: int, core: int, request: int, remaining: int, memo: Any) -> int:
    k = 0
    while remaining > 0:
        k += 1
        memo[k & 1] = 1.0
    return 1


@length_kernel
def strays(
    k: int, n: int, mean: float, params: Any, pattern: Any, memo: Any, keys: Any, cursor: Any, words: Any
) -> float:
    return memo[n * 100_000_000] + mean


KILLED = r" its rule was killed by SIG[A-Z]+ in its first trial; allowed: to read and write its arrays only"
KILLED += r" \(.*\.py:\d+: \w+\)$"


@pytest.mark.skipif(not jit_enabled(), reason="Python does not let a rule go that far")
def test_crashes_of_user_code_are_errors() -> None:
    with pytest.raises(PluginError, match="technique astray:" + KILLED):
        try_out(Technique("astray", goes_astray, memo_size=2))
    with pytest.raises(PluginError, match="lengths astray:" + KILLED):
        length_trial.try_out(LengthModel("astray", strays))


@pytest.mark.skipif(not jit_enabled(), reason="what is not compiled can be interrupted")
def test_a_rule_that_does_not_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "_LONGEST_S", 1)
    words = r"technique turns: its rule does not end; allowed: an answer within 1 s \(.*techniques.py:\d+: turns_for_ever\)$"
    with pytest.raises(PluginError, match=words):
        try_out(Technique("turns", turns_for_ever, memo_size=2))


class Guided:
    def chunk(self, ask: Ask) -> int:
        return -(-ask.remaining // ask.n_cores)


@pytest.fixture
def asks() -> Callable[..., int]:
    def asked(rule: Technique, memo: Any, remaining: int = 17, request: int = 0, core: int = 0) -> int:
        arrays = {"facts": np.zeros(FACTS), "speed": np.ones(2), "params": np.array(rule.params), "memo": memo}
        return rule.asked(20, 2, core, request, remaining, **arrays)

    return asked


def test_gss_by_hand_is_gss() -> None:
    assert chunk_sequence(PythonTechnique(Guided), 100, 4) == chunk_sequence(TECHNIQUES["gss"], 100, 4)
    assert chunk_sequence(PythonTechnique(Guided()), 100, 4) == chunk_sequence(TECHNIQUES["gss"], 100, 4)


def test_it_sees_all_that_is_known() -> None:
    seen: list[tuple[Any, ...]] = []

    class Looks:
        def begin(self, loop: LoopStart) -> None:
            seen.append(("begin", loop.n_tasks, loop.n_cores, loop.step, loop.now_ns, loop.speed_gflops.tolist()))
            assert (loop.mean_s, loop.sigma_s, loop.overhead_s) == pytest.approx((2 / 3, 1 / 3, 1.0))

        def chunk(self, ask: Ask) -> int:
            assert (ask.n_tasks, ask.n_cores) == (6, 2)
            assert (ask.mean_s, ask.sigma_s, ask.overhead_s) == pytest.approx((2 / 3, 1 / 3, 1.0))
            assert ask.speed_gflops.tolist() == [2.0, 1.0]
            last = (ask.last_size, ask.last_work_ns / S, ask.last_total_ns / S) if ask.last_size else ()
            seen.append((ask.step, ask.core, ask.request, ask.remaining, ask.now_ns / S, last))
            return 2

        def finished(self, ask: Ask) -> None:
            assert ask.remaining == 0
            seen.append(("finished", ask.core, ask.last_size, ask.last_work_ns / S))

    given = {"phases": [PythonTechnique(Looks)], "part_tasks": [6, 6], "overhead_ns": S}
    assert ApplicationSimulator([0.5, 1.5] * 6, [2.0, 1.0], **given).advance()
    once: list[Callable[[int, int], tuple[Any, ...]]] = [
        lambda step, at: ("begin", 6, 2, step, at * S, [2.0, 1.0]),
        lambda step, at: (step, 0, 0, 6, at, ()),
        lambda step, at: (step, 1, 1, 4, at, ()),
        lambda step, at: (step, 0, 2, 2, at + 2, (2, 1.0, 2.0)),
        lambda step, at: ("finished", 1, 2, 2.0),
        lambda step, at: ("finished", 0, 2, 1.0),
    ]
    # Core 1 is done at 3 s, core 0 at 4 s, where the second step begins.
    assert seen == [line(step, at) for step, at in ((0, 0), (1, 4)) for line in once]


def test_each_job_has_its_own(asks: Callable[..., int]) -> None:
    made = []

    class Counts:
        def __init__(self) -> None:
            self.count = 0
            made.append(self)

        def chunk(self, ask: Ask) -> int:
            self.count += 1
            return self.count

    for found, copies in ((Counts, 2), (Counts(), 0)):
        made.clear()
        rule = PythonTechnique(found)
        one, two = np.zeros(2), np.zeros(2)
        answers = [asks(rule, memo, request=request) for request, memo in ((0, one), (1, one), (0, two), (2, one))]
        assert answers == [1, 2, 1, 3]
        assert len(made) == copies
        assert asks(rule, one) == 4, "the next time step of the same job"


def test_a_request_is_valid_only_during_the_call(asks: Callable[..., int]) -> None:
    kept: list[Ask] = []

    class Keeps:
        def chunk(self, ask: Ask) -> int:
            kept.append(ask)
            assert ask.speed_gflops.shape == (2,)
            return 1

    asks(PythonTechnique(Keeps), np.zeros(2))
    for name in ("now_ns", "speed_gflops", "last_size"):
        with pytest.raises(RuntimeError, match="only until chunk"):
            getattr(kept[0], name)


@pytest.mark.parametrize("answer", [0, -1, 18, 2**70, 2.0, True, None, "3", np.float64(3.0), np.int64(0)])
def test_an_impossible_chunk_is_refused(answer: Any, asks: Callable[..., int]) -> None:
    class Gives:
        def chunk(self, ask: Ask) -> Any:
            return answer

    rule = PythonTechnique(Gives, "mine.py:Gives")
    assert asks(rule, np.zeros(2)) == -1
    error = rule.error()
    assert isinstance(error, PluginError)
    assert str(error) == f"technique mine.py:Gives: chunk() gave {answer!r}; allowed: 1 to 17, the tasks left"
    assert rule.error() is None


@pytest.mark.parametrize("method", ["__init__", "begin", "chunk", "finished"])
def test_its_errors_are_reported(method: str, asks: Callable[..., int]) -> None:
    def fails(*_: Any) -> None:
        raise ValueError("no such thing")

    members: dict[str, Any] = {"chunk": lambda self, ask: 1, "finished": lambda self, ask: None}
    rule = PythonTechnique(type("Fails", (), members | {method: fails}))
    memo = np.zeros(2)
    if method == "finished":
        assert asks(rule, memo) == 1
        assert asks(rule, memo, remaining=0, request=5) == -1
    else:
        assert asks(rule, memo) == -1
    what = "it cannot be made" if method == "__init__" else f"{method}() failed"
    error = rule.error()
    assert isinstance(error, PluginError)
    assert str(error).startswith(f"technique Fails: {what}: ValueError: no such thing (")
    assert str(error).endswith(': raise ValueError("no such thing"))')
    assert isinstance(error.__cause__, ValueError)


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), InputError("mine: a file is missing")])
def test_interrupts_and_one_line_errors_are_left_as_they_are(raised: BaseException, asks: Callable[..., int]) -> None:
    class Raises:
        def chunk(self, ask: Ask) -> int:
            raise raised

    rule = PythonTechnique(Raises)
    assert asks(rule, np.zeros(2)) == -1
    assert rule.error() is raised


FILE = table_text(__file__, "file")


@pytest.fixture
def mine(tmp_path: Path) -> str:
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    return str(path)


@pytest.mark.parametrize(("name", "called", "sizes"), table_rows(__file__, "from_a_file"))
def test_from_a_file(mine: str, name: str, called: str | None, sizes: list[int]) -> None:
    rule = technique(f"{mine}:{name}")
    assert rule.name == (called or f"{mine}:{name.split(':')[0]}")
    assert chunk_sequence(rule, 20, 4) == sizes


@pytest.mark.parametrize(("name", "message"), table_rows(__file__, "what_is_wrong_with_a_file"))
def test_faulty_files_are_described(mine: str, name: str, message: str) -> None:
    with pytest.raises((InputError, PluginError)) as caught:
        technique(f"{mine}:{name}")
    assert re.match(message, str(caught.value))
    assert "\n" not in str(caught.value)
