"""Task lengths and the streams that they are drawn from: as by the slow reference, given, and kept to the nanosecond."""

import math
import statistics
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reference import application, drawing
from tables import table_rows

from als import LengthModel, TaskModel, length_kernel
from als.lengths import LENGTHS, check_variation, lengths, normal_lengths, takes_variation
from als.lengths.contract import COUNT, FILL, NEXT_LENGTH, PATTERN, SCALED
from als.lengths.draw import NO_ROOM, draw_loop, drawn, earliest_end_ns, length_cov
from als.lengths.fixed import read_lengths
from als.options import MAX_TASKS_PER_JOB
from als.streams import TASK_LENGTHS, fill_round_keys, fill_words, normal_from_word, start_stream
from traces.base.errors import InputError, PluginError
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
    if draw(st.booleans()):
        known["drift"] = draw(st.sampled_from((-1.9, 0.0, 1.0, 1.9)) | st.floats(-1.9, 1.9))
    text = ",".join(f"{key}={value!r}" for key, value in known.items())
    return f"{name}:{text}" if text else name, name, known


def with_draw(spec: str, draw: str) -> str:
    return f"{spec}{',' if ':' in spec else ':'}draw={draw}"


@settings(max_examples=300)
@given(seed=KEYS, job=st.integers(0, 2**62), one=distributions(), n=st.integers(1, 60), mean=st.floats(1e-3, 1e6))
def test_the_papers_draw_is_the_references(seed: int, job: int, one: Drawn, n: int, mean: float) -> None:
    spec, name, known = one
    expected = drawing.filled(name, drawing.words(seed, job), mean, n * mean, n, **known)
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


@settings(max_examples=30)
@given(width=st.integers(1, 12), height=st.integers(1, 9), iterations=st.integers(1, 200))
def test_the_picture_is_the_references(width: int, height: int, iterations: int) -> None:
    model = lengths(f"mandelbrot:width={width},height={height},iterations={iterations}")
    assert model.pattern.tolist() == [count + 1 for count in drawing.mandelbrot(width, height, iterations)]
    assert model.count == width * height


def test_the_spread_of_drawn_lengths() -> None:
    values = np.array([100.0, 1.0, 2.0, 4.0, 100.0])
    assert length_cov(values, 1, 4) == pytest.approx(statistics.pstdev([1, 2, 4]) / statistics.mean([1, 2, 4]))
    assert length_cov(values, 0, 1) == 0.0
    assert math.isnan(length_cov(values, 2, 2))


@pytest.mark.parametrize("spec", table_rows(__file__, "too_little_room_is_no_shorter_loop"))
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
            *(model.drift, 10, 1.0, 10.0, 1, 0.0, 1.0),
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
    expected = drawn(normal_lengths(0.25), 1, 9, 64, 2.0, 128.0, n_cores=16, core_ns=8e9, speed_gflops=1.0).tolist()
    for spec in ("", "normal", "normal:draw=work", "normal:cov=0.25"):
        assert TaskModel(0.25, 4, 1, spec).lengths(9, 16, 8.0, 1.0).tolist() == expected
    assert lengths("increasing").mode == PATTERN
    assert lengths("increasing:draw=paper").mode == SCALED


def test_a_run_of_more_variation_than_a_distribution_can_have() -> None:
    with pytest.raises(InputError, match=r"^lengths uniform: cov: 1.0 is out of range; allowed: 0 to 0.57735$"):
        lengths("uniform", variation=1.0)
    assert lengths("uniform:cov=0.5", variation=1.0).cov == 0.5
    with pytest.raises(InputError, match=r"^variation=11.0: 11.0 is out of range"):
        lengths("exponential", variation=11.0)


def test_a_file_of_lengths(tmp_path: Path) -> None:
    path = tmp_path / "loop, of a=b.txt"
    path.write_text("\ufeff# FLOP\n2e9\n\n  4000000000 # the second\n\t6e9\r\n", encoding="utf-8")
    assert read_lengths(path).tolist() == [2e9, 4e9, 6e9]
    assert read_lengths(path, "flop").tolist() == [2.0, 4.0, 6.0]
    scaled = lengths(f"file:{path},unit=flop")
    assert (scaled.name, scaled.mode, scaled.count, scaled.source) == ("file", PATTERN, 3, str(path))
    assert scaled.cov == pytest.approx(math.sqrt(8 / 3) / 4)
    assert drawn(scaled, 0, 0, 100, 1.0, 24.0).tolist() == [4.0, 8.0, 12.0]
    as_they_are = lengths(f"file:{path},unit=flop,scale=no")
    assert as_they_are.mode == COUNT
    assert drawn(as_they_are, 0, 0, 100, 1.0, 24.0).tolist() == [2.0, 4.0, 6.0]


def test_lengths_drawn_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "some.txt").write_text("1\n1\n6\n")
    model = lengths(f"file:{tmp_path / 'some.txt'},sample=yes")
    found = drawn(model, 5, 1, 30_000, 2.0, 60_000.0)
    assert found.sum() == pytest.approx(60_000.0)
    small, large = np.unique(found)
    assert large / small == pytest.approx(6.0)
    assert np.mean(found == large) == pytest.approx(1 / 3, abs=0.01)
    assert found.std() / found.mean() == pytest.approx(model.cov, rel=0.02)


@pytest.mark.parametrize("speed", [1.0, 46.875, 3.3])
def test_times_of_a_file_are_those_of_the_slowest_core(speed: float, tmp_path: Path) -> None:
    times = [1, 33_333, 10**9 + 7, 86_400 * 10**9 - 1]
    (tmp_path / "some.txt").write_text("".join(f"{ns}\n" for ns in times))
    found = drawn(lengths(f"file:{tmp_path / 'some.txt'},unit=ns,scale=no"), 0, 0, 9, 1.0, 9.0, speed_gflops=speed)
    assert [duration_ns(length, speed) for length in found.tolist()] == times


@pytest.mark.parametrize("cov", [0.01, 0.25, 1.0, 3.0, 10.0])
def test_weibull_lengths(cov: float) -> None:
    """The shape has the wanted coefficient of variation, and a length is a quantile of a word."""
    model = lengths(f"weibull:cov={cov}")
    power, scale = model.params
    assert math.gamma(1 + 2 * power) / math.gamma(1 + power) ** 2 == pytest.approx(1 + cov * cov, rel=1e-9)
    assert scale * math.gamma(1 + power) == pytest.approx(1.0, rel=1e-12)
    words = islice(drawing.words(3, 4), 50)
    expected = [7.0 * scale * (-math.log(drawing.uniform(word))) ** power for word in words]
    raw = lengths(f"weibull:cov={cov},draw=paper")
    assert drawn(raw, 3, 4, 50, 7.0, sum(expected[:-1]) + 1e-9)[:49] == pytest.approx(expected[:49], rel=1e-12)


@pytest.mark.parametrize("spec", ["equal", "normal:cov=0.2", "gamma:cov=0.5", "correlated:cov=0.3"])
@pytest.mark.parametrize("drift", [-1.9, 0.8])
def test_the_variation_with_a_drift(spec: str, drift: float) -> None:
    model = lengths(f"{spec}{',' if ':' in spec else ':'}drift={drift}")
    found = drawn(model, 1, 1, 200_000, 1.0, 200_000.0)
    assert found.std() / found.mean() == pytest.approx(model.cov, rel=0.03)
    first, last = found[:20_000].mean(), found[-20_000:].mean()
    assert (last - first) / found.mean() == pytest.approx(0.9 * drift, rel=0.03)


def test_missing_files_and_units_are_refused(tmp_path: Path) -> None:
    (tmp_path / "utf-16").write_bytes(b"\xff\xfe1\n")
    for given_ones, words in (
        ((tmp_path / "utf-16",), r"utf-16: not valid text: byte 0 is not UTF-8$"),
        ((tmp_path,), "is a directory, not a file of task lengths"),
        (("a\0b",), "cannot be read: embedded null byte"),
        ((tmp_path, "mflop"), "unknown unit of lengths 'mflop'; known: flop, gflop, ns"),
    ):
        with pytest.raises(InputError, match=words):
            read_lengths(*given_ones)


@length_kernel
def _from_params(k, n, mean, params, pattern, memo, keys, cursor, words):  # type: ignore[no-untyped-def]
    return params[0]


@pytest.mark.parametrize("mode", [0, 1, 2, 4])
@pytest.mark.parametrize("length", [0.0, -1.0, math.nan, math.inf])
def test_lengths_that_cannot_be_end_the_run(mode: int, length: float) -> None:
    model = LengthModel("bad", _from_params, (length,), mode=mode)
    with pytest.raises(PluginError, match=r"^lengths bad: a task length that is not above 0 and finite$"):
        drawn(model, 1, 1, 5, 1.0, 5.0)


def test_a_loop_of_too_many_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("als.lengths.draw.MAX_TASKS_PER_JOB", 100)
    model = LengthModel("tiny", _from_params, (1e-9,), mode=FILL)
    with pytest.raises(InputError, match=r"^lengths tiny: more than 100 tasks in one job$"):
        drawn(model, 1, 1, 5, 1.0, 5.0)


def test_models_that_cannot_be() -> None:
    with pytest.raises(InputError, match=r"^length_kernel: <lambda> takes 2 arguments; allowed: k, n, mean, params, p"):
        length_kernel(lambda k, n: 1.0)
    for given_ones, words in (
        ({"next_length": 3}, "next_length must be a function, not 3$"),
        ({"mode": 8}, "mode: 8 is out of range; allowed: 0 to 7$"),
        ({"mode": COUNT, "drift": 0.5}, "drift 0.5; allowed: 0, for lengths that are not drawn one after another$"),
        ({"mode": FILL, "count": 4}, "count 4; allowed: None, where tasks are drawn until"),
        ({"mode": COUNT, "count": 0}, "count: 0 is out of range"),
        ({"memo_size": -1}, "memo_size: -1 is out of range"),
    ):
        known: dict[str, Any] = {"name": "x", "next_length": _from_params}
        with pytest.raises(InputError, match=f"^lengths x: {words}"):
            LengthModel(**(known | given_ones))
    assert LengthModel("x", _from_params, count=4).tasks(9) == 4
    with pytest.raises(InputError, match=r"^lengths x: count 4; allowed: None, where tasks are drawn until"):
        LengthModel("x", _from_params, count=4).with_draw("paper")


def test_a_loop_of_its_own_number_of_tasks_is_not_too_wide() -> None:
    wide, number = np.array([MAX_TASKS_PER_JOB]), np.array([8])
    TaskModel(0.0, 2, 0, "mandelbrot:width=2,height=2,iterations=2").check(wide, number)
    with pytest.raises(InputError, match=r"gives job 8 of 100000000 cores 200000000 tasks"):
        TaskModel(0.0, 2, 0, "gamma").check(wide, number)
    with pytest.raises(InputError, match=r"^lengths='nothing': unknown distribution of task lengths"):
        TaskModel(0.0, 1, 0, "nothing")


def test_the_example_of_the_page(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "reference/lengths.md").read_text(encoding="utf-8")
    file = tmp_path / "weibull.py"
    file.write_text(page.partition("```python\n")[2].partition("```")[0])
    model = lengths(f"{file}:MINE")
    found = drawn(model, 1, 1, 20_000, 3.0, 60_000.0)
    assert found.mean() == pytest.approx(3.0, rel=0.02)
    assert found.std() / found.mean() == pytest.approx(model.cov, rel=0.02)


def test_which_distributions_a_variation_is_of_use_to() -> None:
    takes = {name for name in LENGTHS if name != "file" and takes_variation(name)}
    assert takes == {"normal", "uniform", "gamma", "lognormal", "weibull", "correlated"}
    assert takes_variation("")
    for spec in ("gamma:cov=0.5", "file:none.txt", "exponential"):
        assert not takes_variation(spec)
        check_variation(spec, 0.0)
    words = r"variation=0\.1: no effect on lengths='exponential', which has its own; allowed: 0"
    with pytest.raises(InputError, match=words):
        check_variation("exponential", 0.1)


@pytest.mark.parametrize(("values", "message"), table_rows(__file__, "a_model_that_cannot_be"))
def test_a_model_that_cannot_be(values: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        TaskModel(**values)  # type: ignore[arg-type]
    assert str(caught.value) == message


@settings(max_examples=500)
@given(
    speeds=st.lists(st.sampled_from((0.3, 1.0, 1.5, 46.875)), min_size=1, max_size=6),
    run_ns=st.sampled_from((1, 10, 10**3, 10**6, 10**6 + 1, 10**9)) | st.integers(1, 10**13),
    variation=st.sampled_from((0.0, 0.25, 3.0)),
    per_core=st.integers(1, 4),
    technique=st.sampled_from(("static", "ss", "gss", "fac")),
    seed=st.integers(0, 1000),
    draw=st.sampled_from(("work", "paper")),
)
def test_no_job_ends_before_its_bound(
    speeds: list[float], run_ns: int, variation: float, per_core: int, technique: str, seed: int, draw: str
) -> None:
    a_core = min(speeds) * (run_ns / 1e9)
    model = TaskModel(variation, per_core, seed, f"normal:draw={draw}")
    lengths = model.lengths(1, len(speeds), a_core, min(speeds))
    ran = application.run(lengths.tolist(), speeds, technique, start=5)
    bound = earliest_end_ns(5, a_core * len(speeds), a_core / per_core, np.array(speeds))
    assert 5 <= bound <= ran.end


keys_64 = st.sampled_from((0, 1, 2**32 - 1, 2**32, 2**63, 2**64 - 1)) | st.integers(0, 2**64 - 1)


def stream(seed: int, job: int, purpose: int, blocks: int) -> list[int]:
    keys, words, found = np.empty(20, np.uint64), np.empty(4, np.uint64), []
    fill_round_keys(keys, np.uint64(seed), np.uint64(job))
    for block in range(blocks):
        fill_words(words, keys, block, purpose)
        found += words.tolist()
    return found


@settings(max_examples=300)
@given(seed=keys_64, job=keys_64, purpose=st.integers(0, 3), blocks=st.integers(1, 4))
def test_the_words_are_those_of_numpys_philox(seed: int, job: int, purpose: int, blocks: int) -> None:
    assert stream(seed, job, purpose, blocks) == list(islice(drawing.words(seed, job, purpose), 4 * blocks))


@settings(max_examples=2000)
@given(word=st.integers(0, 2**64 - 1) | st.integers(0, 2**40) | st.integers(2**64 - 2**40, 2**64 - 1))
@example(word=0)
@example(word=2**64 - 1)
@example(word=2**63)
@example(word=2**63 - 1)
def test_the_normal_number_is_that_of_the_standard_library(word: int) -> None:
    assert normal_from_word(np.uint64(word)) == drawing.normal(word)


@pytest.mark.parametrize("upper", [0.5 - 0.425, 0.5 + 0.425, 1.3887943864964021e-11, 1 - 1.3887943864964021e-11])
def test_the_seams_of_the_approximation(upper: float) -> None:
    # The three formulas of AS 241 meet at |p - 1/2| = 0.425 and at √(-ln p) = 5.
    at = int(upper * 2**52) << 12
    for word in range(at - (5 << 12), at + (5 << 12), 1 << 12):
        assert normal_from_word(np.uint64(word)) == drawing.normal(word)
