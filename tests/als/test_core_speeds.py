"""Speeds of cores over time: every kind by hand, several at random against the slow reference, and bad input."""

from dataclasses import fields
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pages import ROOT, blocks, section
from reference import speeds as slow
from tables import table_text

from als.core_speeds import NEVER, SPEED_KINDS, CoreSpeeds, core_speeds, fill_next_ns
from traces.base.errors import InputError
from traces.base.time import MAX_NS, NS_PER_S

P = 4


def machine(*specs: str, n_cores: int = P, seed: int = 7) -> CoreSpeeds:
    return core_speeds(specs, n_cores, seed)


def next_ns(speeds: CoreSpeeds, t_ns: int) -> list[int]:
    """When each core's factor may change next."""
    found = np.empty(speeds.n_cores, np.int64)
    fill_next_ns(speeds.state, np.arange(speeds.n_cores), t_ns, found)
    return found.tolist()


def at(speeds: CoreSpeeds, *instants: int) -> list[list[float]]:
    return [speeds.factors(np.arange(speeds.n_cores), t).tolist() for t in instants]


TRACE = table_text(__file__, "trace")


def test_a_recorded_trace(tmp_path: Path) -> None:
    file = tmp_path / "a,b.csv"
    file.write_text(TRACE)
    speeds = machine(f"trace:{file}", n_cores=3)
    s = NS_PER_S
    assert at(speeds, 0, 1, 2 * s, 4 * s) == [[0.5, 1.0, 1.0], [2.0, 1.0, 1.0], [2.0, 0.25, 1.0], [2.0, 0.0, 1.0]]
    assert speeds.highest_factor == 2.0
    # The line at 3 ns repeats what holds already: it may be a change, and turns out to be none.
    assert next_ns(speeds, 1) == [3, 2 * s, NEVER]
    assert speeds.changes(np.arange(3), np.ones(3), 0, MAX_NS, 99).changes == [
        (1, 0, 2.0),
        (2 * s, 1, 0.25),
        (4 * s, 1, 0.0),
    ]


def test_noise_does_not_change_from_version_to_version() -> None:
    # What the plain Python of als/core_speeds/kinds.py gives.
    assert at(machine("noise:period=10s,sigma=0.1", n_cores=2, seed=5), 0, 10 * NS_PER_S) == [
        [0.8651091976800527, 1.0757716173630294],
        [1.0330974078175892, 0.9933185569726682],
    ]


# Components of small numbers, each with its slow definition.

cores_ = st.none() | st.sets(st.integers(0, P - 1), min_size=1)


def cores_text(cores: set[int] | None) -> str:
    return "" if cores is None else f",cores={' '.join(map(str, sorted(cores)))}"


Both = tuple[str, list[tuple[int, int, float]], slow.Component]


@st.composite
def components(draw: st.DrawFn, place: int) -> Both:
    kind = draw(st.sampled_from(sorted(SPEED_KINDS)))
    cores = draw(cores_)
    chosen = set(range(P)) if cores is None else cores
    period = draw(st.integers(4, 40))
    if kind == "square":
        low, quarters = draw(st.sampled_from((0.0, 0.1, 0.5, 1.0, 2.5))), draw(st.integers(1, 3))
        offset = draw(st.integers(0, 60))
        text = f"square:period={period}ns,low={low},duty={quarters / 4},offset={offset}ns{cores_text(cores)}"
        return text, [], slow.square(period, low, Fraction(quarters, 4), offset, chosen)
    if kind == "noise":
        text = f"noise:period={period}ns,sigma=0.4{cores_text(cores)}"
        return text, [], slow.noise(period, 0.4, chosen, 7, place)
    begin, length = draw(st.integers(0, 60)), draw(st.integers(1, 60))
    if kind == "late":
        return f"late:at={begin}ns{cores_text(chosen)}", [], slow.window(0, begin, chosen)
    if kind == "lost":
        until = draw(st.booleans())
        text = f"lost:at={begin}ns{f',until={begin + length}ns' if until else ''}{cores_text(chosen)}"
        return text, [], slow.window(begin, begin + length if until else None, chosen)
    factors = st.sampled_from((0.0, 0.3, 0.3, 1.0, 1.7))
    keys = st.tuples(st.integers(0, 40), st.sampled_from(sorted(chosen)))
    found = draw(st.dictionaries(keys, factors, min_size=1, max_size=8))
    rows = sorted((t, core, value) for (t, core), value in found.items())
    repeated = draw(st.sampled_from((0, 41 + period)))
    return f"trace:{{}}{f',periodic={repeated}ns' if repeated else ''}", rows, slow.lines(rows, repeated)


@st.composite
def several(draw: st.DrawFn) -> list[Both]:
    found: list[Both] = []
    for _ in range(draw(st.integers(1, 4))):
        found.append(draw(components(sum(text.startswith("noise") for text, _, _ in found))))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("speeds")


def built(case: list[Both], folder: Path) -> tuple[CoreSpeeds, list[slow.Component]]:
    specs = []
    for i, (text, rows, _) in enumerate(case):
        file = folder / f"{i}.csv"
        lines = [f"{t}e-9,{core},{value}" for t, core, value in rows]
        file.write_text("\n".join(["time_s,core,factor", *lines]))
        specs.append(text.format(file))
    return core_speeds(specs, P, 7), [component for _, _, component in case]


@settings(max_examples=200)
@given(case=several())
def test_factors_are_the_products_of_the_definitions(case: list[Both], folder: Path) -> None:
    speeds, reference = built(case, folder)
    assert at(speeds, *range(130)) == [[slow.product(reference, core, t) for core in range(P)] for t in range(130)]
    rows = at(speeds, *range(130))
    assert max(map(max, rows)) <= speeds.highest_factor
    for t in range(129):
        for core, following in enumerate(next_ns(speeds, t)):
            assert following > t
            assert all(rows[later][core] == rows[t][core] for later in range(t, min(following, 130)))


@settings(max_examples=200)
@given(
    case=several(),
    cores=st.permutations(range(P)).flatmap(lambda order: st.integers(0, P).map(lambda n: order[:n])),
    begin=st.integers(0, 50),
    length=st.integers(0, 90),
    most=st.integers(1, 12),
)
def test_changes_are_those_of_brute_force(
    case: list[Both], cores: list[int], begin: int, length: int, most: int, folder: Path
) -> None:
    """At once and in portions, each with the instant up to which it is complete."""
    speeds, reference = built(case, folder)
    base, end, numbers = [1.5 + core for core in cores], begin + length, np.array(cores, np.int64)
    expected = slow.changes(reference, cores, base, begin, end)
    assert speeds.changes(numbers, np.array(base), begin, end, 10**6) == (expected, end)
    reached, portions, complete = begin, 0, -1
    while complete != end:
        changes, complete = speeds.changes(numbers, np.array(base), reached, end, most)
        assert len({t for t, _, _ in changes}) <= most
        assert complete > reached or complete == end
        assert changes == [change for change in expected if reached < change[0] <= complete]
        reached, portions = complete, portions + 1
    assert portions <= 2 + 130 * 8 // most


@example(period=MAX_NS // 2, offset=0, t=MAX_NS)
@example(period=MAX_NS // 2, offset=MAX_NS, t=MAX_NS - 1)
@given(period=st.integers(4, MAX_NS // 2), offset=st.integers(0, MAX_NS), t=st.integers(0, MAX_NS))
def test_no_instant_overflows(period: int, offset: int, t: int) -> None:
    specs = f"square:period={period}ns,offset={offset}ns", f"noise:period={period}ns", f"lost:cores=0,at={MAX_NS}ns"
    for spec in specs:
        following = next_ns(machine(spec, n_cores=1), t)[0]
        assert t < following <= MAX_NS or following == NEVER
    wave = slow.square(period, 0.5, Fraction(1, 2), offset, {0})
    assert at(machine(specs[0], n_cores=1), t) == [[wave[0](0, t)]]


def test_impossible_questions() -> None:
    for (cores, begin, end, most), message in {
        (4, 0, 1, 1): "core_numbers: 4 to 4; allowed: 0 to 3",
        (0, -1, 1, 1): "from_ns: -1 is out of range",
        (0, 5, 4, 1): "until_ns: 4 is out of range",
        (0, 0, 1, 0): "most: 0 is out of range",
    }.items():
        with pytest.raises(InputError, match=message):
            machine("square:period=1s").changes(np.array([cores]), np.ones(1), begin, end, most)
    for n_cores, seed in ((0, 0), (1, -1), (1, 2**64)):
        with pytest.raises(InputError, match="allowed: "):
            core_speeds([], n_cores, seed)


PAGE = ROOT / "docs" / "reference/core-speeds.md"


def test_the_examples_of_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    drawing, using = blocks(PAGE, "python")
    names: dict[str, object] = {}
    exec(drawing, names)
    assert machine("noise:period=10s,sigma=0.1", seed=1).factors([0], 75 * NS_PER_S).tolist() == [names["factor"]]
    exec(using, {})
    assert capsys.readouterr().out == blocks(PAGE, "text")[-1]


def test_the_page_has_every_kind_and_parameter() -> None:
    text = section(PAGE, "The kinds")
    for name, kind in SPEED_KINDS.items():
        row = next(line for line in text.splitlines() if line.startswith(f"| `{name}` |"))
        assert all(f"`{field.name.removesuffix('_ns')}`" in row for field in fields(kind) if field.name != "file")
