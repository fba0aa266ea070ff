"""Intervals of calibrated parameters, and predictions of schedules that were held out.

Intervals are by bootstrap over repeats, or over instances if there is one repeat only. Those of the parameters are the estimate
and its bootstrap standard error times a quantile of Student's distribution, such that all of them hold together with 95 %
(Bonferroni). Those of the predictions are percentiles, each of 95 %.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, Final

import numpy as np

from bridge.measure.calibrate.fit import Fitted, Loop, fit_samples
from bridge.measure.calibrate.samples import Sample, Samples
from bridge.measure.fit import FEWEST, LengthFit, fit_lengths
from bridge.measure.program import iteration_ns
from bridge.single.loop_run import LoopOptions, simulate_loop
from traces.compiled import Array
from traces.tables import DataFrame, rows_frame

MOST_DRAWS: Final = 200  #: bootstrap samples for the intervals of parameters; a fifth of this for each prediction
_FEWEST_DRAWS: Final = 20
_MOST_FITTED: Final = 200_000_000  #: chunks in all bootstrap samples of the parameters, about a minute
_ERROR: Final = 0.05
_LEAST_NS: Final = 1.0


@dataclass(frozen=True)
class ParameterEstimate:
    """A parameter with its interval."""

    value: float
    low: float
    high: float


#: Columns of predictions, a row for each loop and schedule, which is predicted by a calibration without it. Measured makespans
#: are medians with 95 % intervals, and the shortest one; errors are predicted over measured, less 1; ranks are among the
#: schedules of the loop, 1 is the fastest.
PREDICTIONS: Final = (
    *("loop", "schedule", "technique", "measured_ns", "measured_low_ns", "measured_high_ns", "shortest_ns"),
    *("predicted_ns", "error", "error_low", "error_high", "measured_rank", "predicted_rank"),
)


@dataclass(frozen=True)
class Calibration:
    """Fitted parameters, lengths and predictions."""

    fitted: Fitted
    estimates: dict[str, ParameterEstimate]  # parameters by name
    lengths_ns: dict[Loop, Array]  # of each iteration at speed 1, without overheads
    fits: dict[Loop, LengthFit]  # distributions of the lengths
    predictions: DataFrame  # columns ``PREDICTIONS``
    threads: int
    quiet: float  # as in ``Samples``
    remarks: list[str]


def calibrate(samples: Samples, seed: int = 0, *, predict: bool = True) -> Calibration:
    """Fit all parameters, with intervals, and predict each schedule from the others.

    Parameters
    ----------
    samples : Samples
    seed : int
        Seed of the bootstrap.
    predict : bool
        Whether to hold out schedules.
    """
    random, every = np.random.default_rng(seed), samples.samples
    fitted = fit_samples(every, _all(every), samples.threads)
    lengths = {loop: _lengths(every, loop, fitted) for loop in fitted.total_ns}
    fits = {loop: fit_lengths(ns)[0] for loop, ns in lengths.items() if len(ns) >= FEWEST}
    chunks = sum(one.ns.size for one in every)
    draws = min(MOST_DRAWS, max(_FEWEST_DRAWS, _MOST_FITTED // chunks))
    drawn = [
        _values(fit_samples(every, columns, samples.threads, fitted.errors)) for columns in _draws(every, random, draws)
    ]
    found = {name: (value, [one.get(name, math.nan) for one in drawn]) for name, value in _values(fitted).items()}
    intervals, freedom = len(found) + 2 * len(fits), _units(every) - 1
    estimates = {name: _estimate(*one, intervals, freedom) for name, one in found.items()}
    for (name, n), fit in fits.items():
        slope, slopes, covs = _drawn_lengths(fit, lengths[name, n], random)
        estimates[f"cov.{name}[{n}]"] = _estimate(fit.cov, covs, intervals, n - 1)
        estimates[f"drift.{name}[{n}]"] = _estimate(slope, slopes, intervals, n - 1)
    remarks = [*samples.remarks, *fitted.inseparable]
    predictions = _predictions(samples, draws // 5 if predict else 0, random)
    return Calibration(fitted, estimates, lengths, fits, predictions, samples.threads, samples.quiet, remarks)


def _values(fitted: Fitted) -> dict[str, float]:
    """The parameters by name; those that are unknown are left out."""
    found = {f"overhead.{kind}": ns for kind, ns in fitted.overhead_ns.items()}
    if any(fitted.request_ns.values()):
        found |= {f"request.{kind}": ns for kind, ns in fitted.request_ns.items()}
    found |= {"start": fitted.start_ns, "barrier": fitted.barrier_ns}
    found |= {f"speed.{core}": speed for core, speed in enumerate(fitted.speeds.tolist()) if len(fitted.speeds) > 1}
    found["change"] = fitted.change
    return {name: value for name, value in found.items() if not math.isnan(value)}


def _all(samples: Sequence[Sample]) -> list[Array]:
    return [np.arange(one.ns.shape[1]) for one in samples]


def _units(samples: Sequence[Sample]) -> int:
    # What is drawn: repeats, the same ones of all samples; or instances.
    repeats = len(np.unique(np.concatenate([one.repeat for one in samples])))
    return repeats if repeats > 1 else min(one.ns.shape[1] for one in samples)


def _draws(samples: Sequence[Sample], random: np.random.Generator, n: int) -> Iterator[list[Array]]:
    repeats = np.unique(np.concatenate([one.repeat for one in samples]))
    for _ in range(n):
        if len(repeats) == 1:
            yield [random.integers(0, one.ns.shape[1], one.ns.shape[1]) for one in samples]
            continue
        chosen = random.choice(repeats, len(repeats))
        columns = [np.concatenate([np.flatnonzero(one.repeat == repeat) for repeat in chosen]) for one in samples]
        # A schedule without any of these repeats keeps its instances.
        yield [which if len(which) else full for which, full in zip(columns, _all(samples), strict=True)]


def _estimate(value: float, drawn: Sequence[float] | Array, intervals: int, freedom: int) -> ParameterEstimate:
    # A bootstrap's standard error is too small by the square root of n / (n - 1).
    error = float(np.std(drawn, ddof=1)) * math.sqrt((freedom + 1) / freedom)
    half = error * _student(1.0 - 0.5 * _ERROR / intervals, freedom)
    return ParameterEstimate(value, value - half, value + half)


def _student(share: float, freedom: int) -> float:
    """A quantile of Student's distribution, by the expansion of Cornish and Fisher (Abramowitz and Stegun 1964, 26.7.5)."""
    z = NormalDist().inv_cdf(share)
    terms = (
        (z**3 + z) / 4.0,
        (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 96.0,
        (3.0 * z**7 + 19.0 * z**5 + 17.0 * z**3 - 15.0 * z) / 384.0,
    )
    return float(z + sum(term / freedom ** (k + 1) for k, term in enumerate(terms)))


def _lengths(samples: Sequence[Sample], loop: Loop, fitted: Fitted) -> Array:
    """The length of each iteration at speed 1, ns: as in the sample with the smallest chunks, without its overhead."""
    finest = max((one for one in samples if (one.loop, one.n) == loop), key=lambda one: len(one.size))
    measured = finest.measured
    chunks = measured.chunks.merge(finest.rows[["run", "loop"]], on=["run", "loop"])
    ns = (chunks["end_ns"] - chunks["begin_ns"]).to_numpy() - max(0.0, fitted.likely_ns[finest.kind])
    ns = np.maximum(ns, _LEAST_NS) * fitted.speeds[chunks["thread"].to_numpy()]
    chunks = chunks.assign(end_ns=chunks["begin_ns"] + np.rint(ns).astype(np.int64))
    found, _ = iteration_ns(replace(measured, chunks=chunks), finest.rows)
    return np.asarray(found * max(fitted.total_ns[loop] / found.sum(), 1e-9))


def _drawn_lengths(fit: LengthFit, lengths: Array, random: np.random.Generator) -> tuple[float, Array, Array]:
    """The drift of lengths; drifts, and variations without the fitted drift, of bootstrap samples of the iterations."""
    place = (np.arange(len(lengths)) + 0.5) / len(lengths) - 0.5
    which = np.vstack([np.arange(len(lengths)), random.integers(0, len(lengths), (MOST_DRAWS, len(lengths)))])
    at, of = place[which] - place[which].mean(axis=1, keepdims=True), lengths[which]
    slopes = (at * of).sum(axis=1) / (at**2).sum(axis=1) / of.mean(axis=1)
    even = (lengths / (1.0 + fit.drift * place))[which]
    covs = even.std(axis=1) / even.mean(axis=1)
    return float(slopes[0]), slopes[1:], covs[1:]


def _predictions(samples: Samples, draws: int, random: np.random.Generator) -> DataFrame:
    rows = [_prediction(samples, one, draws, random) for one in (samples.samples if draws else [])]
    frame = rows_frame({name: [row[k] for row in rows] for k, name in enumerate(PREDICTIONS[:-2])})
    for name in ("measured", "predicted"):
        frame[f"{name}_rank"] = frame.groupby("loop")[f"{name}_ns"].rank(method="min").astype(int)
    return frame


def _prediction(samples: Samples, held: Sample, draws: int, random: np.random.Generator) -> tuple[Any, ...]:
    """Predict a schedule by a calibration without all samples of this schedule; the columns without the ranks."""
    others = [one for one in samples.samples if one.schedule != held.schedule]
    loop = (held.loop, held.n)
    fitted = fit_samples(others, _all(others), samples.threads)
    shape = _lengths(others, loop, fitted)
    predicted, measured = _makespan(held, shape, fitted), float(np.median(held.makespan_ns))
    medians, errors = [], []
    for columns in _draws([*others, held], random, draws):
        drawn = fit_samples(others, columns[:-1], samples.threads, fitted.errors)
        medians.append(float(np.median(held.makespan_ns[columns[-1]])))
        scale = max(drawn.total_ns[loop] / fitted.total_ns[loop], 1e-9)
        errors.append(_makespan(held, shape * scale, drawn) / medians[-1] - 1.0)
    names = held.loop, held.schedule, held.technique
    shortest, error = float(held.makespan_ns.min()), predicted / measured - 1.0
    return *names, measured, *_percentiles(medians), shortest, predicted, error, *_percentiles(errors)


def _percentiles(values: Sequence[float]) -> tuple[float, float]:
    low, high = np.percentile(values, [50.0 * _ERROR, 100.0 - 50.0 * _ERROR])
    return float(low), float(high)


def _makespan(held: Sample, lengths_ns: Array, fitted: Fitted) -> float:
    # 1 ns at speed 1 is 1e-9 GFLOP at 1 GFLOP/s.
    overhead_ns = round(fitted.cost_ns(held.kind) + held.event_ns)
    options = LoopOptions(held.technique, tuple(fitted.speeds.tolist()), overhead_ns)
    start_ns = 0.0 if math.isnan(fitted.start_ns) else max(0.0, fitted.start_ns)
    return start_ns + simulate_loop(lengths_ns * 1e-9, options).makespan_ns
