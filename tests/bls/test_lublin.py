"""The model of Lublin and Feitelson: its distributions, against closed forms and a walk over half-hours."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import astuple, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bls.workloads.calendar import Calendar, header_facts
from bls.workloads.generators import BATCH, INTERACTIVE, TYPELESS, Lublin, LublinJobs, generate_lublin, lublin
from bls.workloads.generators.lublin import _arrivals_s, _run_s, gamma_cdf
from bls.workloads.generators.streams import stream
from traces.base.errors import InputError
from traces.compiled import Array

S = 10**9
TYPES = (BATCH, INTERACTIVE, TYPELESS)


@given(st.integers(1, 12), st.floats(0.0, 60.0))
def test_the_gamma_distribution_of_a_whole_shape(shape: int, x: float) -> None:
    erlang = 1.0 - math.exp(-x) * sum(x**k / math.factorial(k) for k in range(shape))
    assert gamma_cdf(x, float(shape)) == pytest.approx(erlang, abs=1e-12)


class Given:
    def __init__(self, values: list[float]) -> None:
        self.values = values

    def gamma(self, shape: Array, scale: Array) -> Array:
        taken, self.values = self.values[: len(shape)], self.values[len(shape) :]
        return np.array(taken)


@given(st.lists(st.floats(0.0, 13.0), min_size=1, max_size=60), st.sampled_from(TYPES))
def test_arrivals_against_the_walk_over_half_hours(log_s: list[float], jobs: LublinJobs) -> None:
    weights = jobs.day_weights().tolist()
    points, bucket, expected = 0.0, 0, []
    for value in log_s:
        points += math.exp(value) / 1800
        while points > weights[bucket % 48]:
            points -= weights[bucket % 48]
            bucket += 1
        expected.append((bucket + points / weights[bucket % 48]) * 1800)
    found = _arrivals_s(len(log_s), jobs, 13.0, Given(list(log_s)))  # type: ignore[arg-type]
    np.testing.assert_allclose(found, np.floor(expected), atol=1.0)


@pytest.mark.parametrize("jobs", TYPES)
def test_run_times_are_hyper_gamma(jobs: LublinJobs) -> None:
    chance = np.random.default_rng(3)
    for size in (1, 60):
        p = min(1.0, max(0.0, jobs.pa * size + jobs.pb))
        run_s = _run_s(np.full(40_000, size), jobs, 12.0, chance)
        assert run_s.min() >= 1
        assert run_s.max() <= math.exp(12)
        for log_s in (3.0, 6.0, 9.0, 11.0):
            # P(log ≤ x | log ≤ 12), of the two gammas each for itself, as each is drawn again for itself.
            first, second = (
                gamma_cdf(log_s / b, a) / gamma_cdf(12.0 / b, a) for a, b in ((jobs.a1, jobs.b1), (jobs.a2, jobs.b2))
            )
            assert np.mean(run_s <= math.exp(log_s)) == pytest.approx(p * first + (1 - p) * second, abs=0.012)


@pytest.mark.parametrize("jobs", TYPES)
def test_sizes_are_two_stage_uniform(jobs: LublinJobs) -> None:
    sizes = jobs.sizes
    drawn = sizes.drawn(100_000, 128, np.random.default_rng(1))
    assert drawn.max() <= 128

    def below(log2: float) -> float:
        first = min(1.0, max(0.0, (log2 - sizes.low) / (sizes.middle - sizes.low)))
        second = min(1.0, max(0.0, (log2 - sizes.middle) / (sizes.high - sizes.middle)))
        return sizes.first * first + (1 - sizes.first) * second

    rest = 1 - sizes.serial - sizes.power_of_two
    for size in (1, 2, 5, 8, 20, 40, 100, 127):
        rounded = below(math.floor(math.log2(size)) + 0.5)  # to a power of two
        expected = sizes.serial + sizes.power_of_two * rounded + rest * below(math.log2(size + 0.5))
        assert np.mean(drawn <= size) == pytest.approx(expected, abs=0.006)


def test_a_workload() -> None:
    made = generate_lublin(20_000, seed=1, n_cores=128)
    assert len(made) == 20_000
    assert set(made.queue.tolist()) == {0, 1}
    # Batch jobs arrive more seldom, run longer and ask for more.
    batch = made.queue == 1
    assert 0.1 < batch.mean() < 0.2
    assert made.run_ns[batch].mean() > 5 * made.run_ns[~batch].mean()
    assert made.cores[batch].mean() > made.cores[~batch].mean()
    np.testing.assert_array_equal(made.run_ns, made.estimate_ns)
    assert np.all(made.run_ns % S == 0)
    hours = np.bincount(Calendar.of(made).hour(made.submit_ns), minlength=24)
    assert 12 <= int(np.argmax(hours)) <= 16
    assert hours.max() > 8 * hours.min()
    facts = header_facts(made.header)
    assert facts["MaxProcs"] == "128"
    assert facts["Generator"] == "twolevel, model lublin, seed 1"
    assert Calendar.of(made).weekday(np.zeros(1, np.int64)).tolist() == [0]


def test_types_are_independent_and_seeds_repeat() -> None:
    one, same, other = (generate_lublin(500, seed=seed, n_cores=64) for seed in (4, 4, 5))
    for name in ("submit_ns", "run_ns", "cores"):
        np.testing.assert_array_equal(getattr(one, name), getattr(same, name))
        assert np.any(getattr(one, name) != getattr(other, name))
    alone = generate_lublin(500, seed=4, n_cores=64, parameters=Lublin(batch=None))
    assert set(alone.queue.tolist()) == {0}
    active = one.queue == 0
    np.testing.assert_array_equal(one.submit_ns[active], alone.submit_ns[: active.sum()])
    assert len(generate_lublin(50, seed=4, n_cores=64, parameters=Lublin(TYPELESS, None))) == 50


def test_no_two_things_are_drawn_from_one_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []
    monkeypatch.setattr(lublin, "stream", lambda seed, name: (names.append(name), stream(seed, name))[1])
    generate_lublin(50, seed=4, n_cores=64)
    assert len(names) == 6
    assert len(set(names)) == 6


FAR = Lublin(replace(INTERACTIVE, a_arrival=200.0, b_arrival=0.1), None, farthest_log_s=20.0)
SHORT = Lublin(batch=BATCH, interactive=None, longest_log_s=0.1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: generate_lublin(0, seed=1, n_cores=8), r"^n_jobs: 0 is out of range; allowed: 1 to 20000000"),
        (lambda: generate_lublin(9, seed=1, n_cores=0), r"^n_cores: 0 is out of range; allowed: 1 to 16777216"),
        (lambda: generate_lublin(9, seed=2**64, n_cores=8), r"^seed: 18446744073709551616 is out of range"),
        (lambda: replace(BATCH, a1=-1.0), r"^a1: -1\.0 is out of range"),
        (lambda: replace(BATCH, pa=10000), r"^pa: 10000 is out of range"),
        (lambda: replace(BATCH.sizes, serial=1.5), r"^serial: 1\.5 is out of range; allowed: 0 to 1"),
        (lambda: replace(BATCH.sizes, serial=0.5), r"^power_of_two: 0\.6686 and serial 0\.5 are more than 1 together"),
        (lambda: replace(BATCH.sizes, middle=9.0), r"^middle: 9 is not from low 1\.2 to high 7"),
        (lambda: Lublin(None, None), r"^interactive: None and batch None"),
        (lambda: Lublin(longest_log_s=99), r"^longest_log_s: 99 is out of range"),
        (lambda: generate_lublin(5, seed=1, n_cores=8, parameters=SHORT), r"hardly ever is below 0\.1"),
        (
            lambda: generate_lublin(30, seed=1, n_cores=8, parameters=FAR),
            r"^n_jobs: 30 jobs of this model would last for longer than 146 years",
        ),
    ],
)
def test_parameters_that_cannot_be_used(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_the_constants_are_the_published_ones() -> None:
    assert all(jobs.sizes.shifted(0.0) == jobs.sizes for jobs in TYPES), "on 128 cores"
    assert BATCH.sizes.shifted(3.0) == replace(BATCH.sizes, middle=8.0, high=10.0)
    # As the authors' m_lublin99.c has them: sizes, run times, arrivals.
    rows = [(astuple(jobs.sizes), astuple(jobs)[1:7], astuple(jobs)[7:]) for jobs in TYPES]
    assert [sizes for sizes, _, _ in rows] == [
        (0.2927, 0.6686, 1.2, 5.0, 7.0, 0.875),
        (0.1541, 0.625, 1.0, 3.0, 5.5, 0.705),
        (0.244, 0.576, 0.8, 4.5, 7.0, 0.86),
    ]
    assert [run_times for _, run_times, _ in rows] == [
        (6.57, 0.823, 639.1, 0.0156, -0.003, 0.6986),
        (3.8351, 0.6605, 7.073, 0.6856, -0.0118, 0.9156),
        (4.2, 0.94, 312.0, 0.03, -0.0054, 0.78),
    ]
    assert [arrivals for _, _, arrivals in rows] == [
        (6.0415, 0.8531, 6.1271, 5.2740, 1.0519),
        (6.5510, 0.6621, 8.9186, 3.6680, 0.9797),
        (10.2303, 0.4871, 8.1737, 3.9631, 1.0225),
    ]
