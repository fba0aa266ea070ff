"""The distributions of task lengths: those of the slow reference, bit for bit, and of the shape that their names say."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import drawing

from als.lengths import COUNT, NEXT_LENGTH, PATTERN, SCALED, lengths
from als.lengths.draw import NO_ROOM, draw_loop, drawn, length_cov, room
from als.programs.tasks import TaskModel, drawn_lengths
from als.streams import TASK_LENGTHS, fill_round_keys, start_stream
from traces.base.time import duration_ns
from traces.compiled import as_value, function_table

KEYS = st.sampled_from((0, 1, 2**64 - 1)) | st.integers(0, 2**64 - 1)
COVS = st.sampled_from((0.01, 0.25, 1.0, 3.0, 10.0)) | st.floats(1e-6, 10)

#: A distribution as it is written, its name, and its parameters for the reference.
Drawn = tuple[str, str, dict[str, float]]


@st.composite
def distributions(draw: st.DrawFn) -> Drawn:
    name = draw(st.sampled_from(("normal", "uniform", "exponential", "gamma", "lognormal", "bimodal", "correlated")))
    known: dict[str, float] = {}
    if name in ("normal", "gamma", "lognormal", "correlated"):
        known["cov"] = draw(COVS)
    if name == "uniform":
        known["cov"] = draw(st.sampled_from((0.25, 1 / math.sqrt(3))) | st.floats(1e-6, 0.577))
    if name == "correlated":
        known["rho"] = draw(st.sampled_from((0.0, 0.5, 0.999999)) | st.floats(0, 0.9))
    if name == "bimodal":
        known |= {"share": draw(st.floats(0, 1)), "ratio": draw(st.floats(1, 100))}
    text = ",".join(f"{key}={value!r}" for key, value in known.items())
    return f"{name}:{text}" if text else name, name, known


def with_draw(spec: str, draw: str) -> str:
    return f"{spec}{',' if ':' in spec else ':'}draw={draw}"


def loops(specs: list[str], seed: int, job: int, wanted: list[tuple[int, float]]) -> list[list[float]]:
    """The loops of one job on one core of 1 GFLOP/s, in turn in one array; ``wanted`` has n and the mean of each."""
    keys, cursor, words, memo = np.empty(20, np.uint64), np.empty(3, np.int64), np.empty(4, np.uint64), np.full(3, 7.0)
    models = [lengths(spec) for spec in specs]
    kernels = [as_value(model.next_length, NEXT_LENGTH) for model in models]
    table = function_table(kernels)
    found = np.full(sum(room(model, n) + 1000 for model, (n, _) in zip(models, wanted, strict=True)), -1.0)
    fill_round_keys(keys, np.uint64(seed), np.uint64(job))
    start_stream(cursor, TASK_LENGTHS)
    first, result = 2, []
    for model, entry, (n, mean) in zip(models, table, wanted, strict=True):
        params = np.array(model.params)
        stop = draw_loop(
            found[first:],
            keys,
            cursor,
            words,
            memo,
            entry,
            params,
            model.pattern,
            model.mode,
            model.tasks(n),
            mean,
            n * mean,
            1,
            n * mean * 1e9,
            1.0,
        )
        result.append(found[first : first + stop].tolist())
        first += stop
    assert found[:2].tolist() == [-1.0, -1.0]
    assert (found[first:] == -1).all()
    return result


@settings(max_examples=300)
@given(seed=KEYS, job=st.integers(0, 2**62), one=distributions(), n=st.integers(1, 60), mean=st.floats(1e-3, 1e6))
def test_the_papers_draw_is_the_references(seed: int, job: int, one: Drawn, n: int, mean: float) -> None:
    spec, name, known = one
    expected = drawing.filled(name, drawing.words(seed, job), mean, n * mean, **known)
    assert drawn(lengths(with_draw(spec, "paper")), seed, job, n, mean, n * mean).tolist() == expected


@settings(max_examples=500)
@given(
    seed=KEYS,
    job=st.integers(0, 2**62),
    one=distributions(),
    cores=st.integers(1, 20),
    n=st.integers(1, 60),
    core_ns=st.sampled_from((0.0, 1.0, 2.5, 3.0, 1e9)) | st.floats(0, 50) | st.integers(1, 10**15).map(float),
    speed=st.sampled_from((1.0, 46.875, 3.3)),
)
def test_lengths_that_keep_the_work_are_the_references(
    seed: int, job: int, one: Drawn, cores: int, n: int, core_ns: float, speed: float
) -> None:
    spec, name, known = one
    total = max(core_ns, 0.1) / 1e9 * speed * cores
    found = drawn(
        lengths(spec), seed, job, n, total / n, total, n_cores=cores, core_ns=core_ns, speed_gflops=speed
    ).tolist()
    expected = drawing.kept(name, drawing.words(seed, job), total / n, n, total, cores, core_ns, speed, **known)
    assert found == expected
    assert len(found) == n
    assert min(found) > 0
    durations = [duration_ns(length, speed) for length in found]
    if cores * core_ns >= n + 1 and max(durations) < 2**50:
        assert abs(sum(durations) - cores * Fraction(core_ns)) <= Fraction(1, 2)


@settings(max_examples=100)
@given(
    seed=KEYS,
    several=st.lists(distributions(), min_size=2, max_size=4),
    n=st.integers(1, 20),
    draws=st.lists(st.sampled_from(("work", "paper")), min_size=4, max_size=4),
)
def test_the_loops_of_a_job_follow_each_other_in_its_stream(
    seed: int, several: list[Drawn], n: int, draws: list[str]
) -> None:
    stream = drawing.words(seed, 3)
    expected = [
        drawing.filled(name, stream, 2.0, 2.0 * n, **known)
        if draw == "paper"
        else drawing.kept(name, stream, 2.0, n, 2.0 * n, 1, 2e9 * n, 1.0, **known)
        for draw, (_, name, known) in zip(draws, several, strict=False)
    ]
    specs = [with_draw(spec, draw) for draw, (spec, _, _) in zip(draws, several, strict=False)]
    assert loops(specs, seed, 3, [(n, 2.0)] * len(several)) == expected


@pytest.mark.parametrize("spec", ["increasing", "decreasing:first=9", "mandelbrot:width=8,height=7", "file"])
@pytest.mark.parametrize("run_ns", [10**9 + 7, 3 * 10**12 + 1, 86_400 * 10**9 - 1])
def test_patterns_keep_the_work_to_the_nanosecond(spec: str, run_ns: int, tmp_path: Path) -> None:
    if spec == "file":
        spec = f"file:{tmp_path / 'lengths'}"
        (tmp_path / "lengths").write_text("3\n1\n4.1\n5.9\n2.6\n")
    cores, speed = 5, 46.875
    total = run_ns / 1e9 * speed * cores

    def durations(draw: str) -> list[int]:
        found = drawn(
            lengths(with_draw(spec, draw)),
            1,
            2,
            35,
            total / 35,
            total,
            n_cores=cores,
            core_ns=run_ns,
            speed_gflops=speed,
        )
        return [duration_ns(length, speed) for length in found.tolist()]

    kept, scaled = durations("work"), durations("paper")
    assert sum(kept) == cores * run_ns
    assert abs(sum(scaled) - cores * run_ns) <= len(scaled)
    assert all(abs(one - other) <= 2 for one, other in zip(kept, scaled, strict=True))


@pytest.mark.parametrize("name", ["normal", "uniform", "gamma", "lognormal", "correlated"])
def test_without_variation_lengths_are_equal(name: str) -> None:
    for model in (lengths(name), lengths(f"{name}:cov=0", variation=0.5)):
        assert (model.name, model.mode, model.cov) == (name, COUNT, 0.0)
        assert drawn(model, 1, 2, 7, 0.1, 0.7).tolist() == [0.1] * 7


@pytest.mark.parametrize("name", ["normal", "uniform", "gamma", "lognormal", "correlated"])
def test_the_variation_of_the_run_is_for_those_that_are_given_none(name: str) -> None:
    runs, own = lengths(name, variation=0.3), lengths(f"{name}:cov=0.3", variation=0.1)
    assert runs.cov == own.cov == 0.3
    assert drawn(runs, 1, 2, 50, 1.0, 50.0).tolist() == drawn(own, 1, 2, 50, 1.0, 50.0).tolist()


@pytest.mark.parametrize(
    ("spec", "cov"),
    [
        ("normal:cov=0.25", 0.25),
        ("uniform:cov=0.5", 0.5),
        ("exponential", 1.0),
        ("gamma:cov=0.3", 0.3),
        ("gamma:cov=2", 2.0),
        ("lognormal:cov=0.7", 0.7),
        ("bimodal:share=0.2,ratio=5", 0.4 * 4 / 1.8),
        ("correlated:cov=0.25,rho=0.5", 0.25),
    ],
)
def test_mean_and_spread_are_those_asked_for(spec: str, cov: float) -> None:
    model = lengths(spec)
    found = drawn(model.with_draw("paper"), 1, 9, 20_000, 2.0, 40_000.0)
    assert model.cov == pytest.approx(cov)
    assert found.mean() == pytest.approx(2.0, rel=6 * cov / math.sqrt(20_000))
    assert length_cov(found, 0, len(found)) == pytest.approx(cov, rel=0.08)


def test_bimodal_lengths_are_two() -> None:
    found = drawn(lengths("bimodal:share=0.25,ratio=9,draw=paper"), 2, 2, 4000, 3.0, 12_000.0)
    assert sorted(set(found.tolist())) == [1.0, 9.0]
    assert (found == 9.0).mean() == pytest.approx(0.25, abs=0.03)
    short, long = sorted(set(drawn(lengths("bimodal:share=0.25,ratio=9"), 2, 2, 4000, 3.0, 12_000.0).tolist()))
    assert long / short == pytest.approx(9.0)


@settings(max_examples=30)
@given(width=st.integers(1, 12), height=st.integers(1, 9), iterations=st.integers(1, 200))
def test_the_picture_is_the_references(width: int, height: int, iterations: int) -> None:
    model = lengths(f"mandelbrot:width={width},height={height},iterations={iterations}")
    assert model.pattern.tolist() == [count + 1 for count in drawing.mandelbrot(width, height, iterations)]
    assert model.count == width * height


def test_the_spread_of_what_was_drawn() -> None:
    values = np.array([100.0, 1.0, 2.0, 4.0, 100.0])
    assert length_cov(values, 1, 4) == pytest.approx(statistics.pstdev([1, 2, 4]) / statistics.mean([1, 2, 4]))
    assert length_cov(values, 0, 1) == 0.0
    assert math.isnan(length_cov(values, 2, 2))


@pytest.mark.parametrize(
    "spec",
    ["equal", "increasing", "gamma:cov=1,draw=paper", "normal:cov=0.3,draw=paper", "gamma:cov=1", "normal:cov=0.3"],
)
def test_too_little_room_is_no_shorter_loop(spec: str) -> None:
    model = lengths(spec)
    entry = function_table([kernel := as_value(model.next_length, NEXT_LENGTH)])[0]
    whole = drawn(model, 1, 2, 10, 1.0, 10.0).tolist()
    keys, cursor, words = np.empty(20, np.uint64), np.empty(3, np.int64), np.empty(4, np.uint64)
    fill_round_keys(keys, np.uint64(1), np.uint64(2))
    for size in range(len(whole) + 2):
        found = np.empty(1 + size)
        start_stream(cursor, TASK_LENGTHS)
        stop = draw_loop(
            *(found[1:], keys, cursor, words, np.empty(0), entry, np.array(model.params), model.pattern, model.mode),
            *(10, 1.0, 10.0, 1, 0.0, 1.0),
        )
        assert stop == (NO_ROOM if size < len(whole) else len(whole))
        assert size < len(whole) or found[1 : 1 + stop].tolist() == whole
    assert kernel is not None


def test_tasks_of_a_job_by_its_model() -> None:
    found = TaskModel(0.5, 4, 7, "gamma:draw=paper").lengths(3, 10, 8.0, 1.0)
    assert found.tolist() == drawing.filled("gamma", drawing.words(7, 3), 2.0, 80.0, cov=0.5)
    found = TaskModel(0.5, 4, 7, "gamma").lengths(3, 10, 8.0, 1.0)
    assert found.tolist() == drawing.kept("gamma", drawing.words(7, 3), 2.0, 40, 80.0, 10, 8e9, 1.0, cov=0.5)
    assert TaskModel(0.5, 4, 7, "increasing").lengths(3, 1, 8.0, 1.0).tolist() == [0.5, 1.5, 2.5, 3.5]
    expected = drawn_lengths(1, 9, 64, 2.0, 0.25, 128.0, n_cores=16, core_ns=8e9, speed_gflops=1.0).tolist()
    for spec in ("", "normal", "normal:draw=work", "normal:cov=0.25"):
        assert TaskModel(0.25, 4, 1, spec).lengths(9, 16, 8.0, 1.0).tolist() == expected
    assert lengths("increasing").mode == PATTERN
    assert lengths("increasing:draw=paper").mode == SCALED
