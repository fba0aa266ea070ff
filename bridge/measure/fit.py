"""Distributions fitted to measured task lengths, compared by the likelihood of lengths that were held out.

Lengths drift along the loop if their slope differs from 0 by more than three standard errors. Each distribution of
:data:`FAMILIES` has the measured mean and, of all coefficients of variation, the most likely one. The lengths are divided into
``BLOCKS`` interleaved blocks: each is held out once, and scored by the distribution fitted to the others. The empirical
distribution is chosen only if its score is better by more than two standard errors of the mean difference.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from als.lengths.contract import MAX_DRIFT
from als.lengths.random import weibull_shape
from traces.base.errors import InputError
from traces.compiled import Array

BLOCKS: Final = 5
FEWEST: Final = 4 * BLOCKS  #: fewest lengths that are fitted
_LEAST_COV, _MOST_COV = 1e-6, 10.0
_CENTRES = 512  #: most kernels of the empirical density


def _normal(x: Array, cov: float) -> Array:
    # Lengths that are not above 0 are drawn again: the density is that of the rest.
    above_0 = 0.5 * math.erfc(-1.0 / (cov * math.sqrt(2.0)))
    return np.asarray(-0.5 * ((x - 1.0) / cov) ** 2 - math.log(cov * math.sqrt(2.0 * math.pi) * above_0))


def _gamma(x: Array, cov: float) -> Array:
    shape = 1.0 / (cov * cov)
    return np.asarray((shape - 1.0) * np.log(x) - shape * x + shape * math.log(shape) - math.lgamma(shape))


def _lognormal(x: Array, cov: float) -> Array:
    s2 = math.log1p(cov * cov)
    return np.asarray(-((np.log(x) + 0.5 * s2) ** 2) / (2.0 * s2) - np.log(x) - 0.5 * math.log(2.0 * math.pi * s2))


def _weibull(x: Array, cov: float) -> Array:
    shape = weibull_shape(cov)
    z = np.log(x) + math.lgamma(1.0 + 1.0 / shape)  # logarithm of x over the scale
    return np.asarray(math.log(shape) + shape * z - np.log(x) - np.exp(np.minimum(shape * z, 700.0)))


#: Logarithm of the density of lengths over their mean, by the name of the distribution.
FAMILIES: Final[dict[str, Callable[[Array, float], Array]]] = {
    "normal": _normal,
    "gamma": _gamma,
    "lognormal": _lognormal,
    "weibull": _weibull,
}
EMPIRICAL: Final = "empirical"  #: lengths drawn from the measured ones


@dataclass(frozen=True)
class LengthFit:
    """A distribution fitted to lengths."""

    name: str  # a key of ``FAMILIES``, ``EMPIRICAL`` or ``equal``
    cov: float  # coefficient of variation, without that of the drift
    drift: float  # change of the mean along the loop, over the mean
    score: float  # mean logarithm of the density of held-out lengths over their mean
    gap: float = 0.0  # how much less than the best score, in standard errors of the mean difference; 0: the best

    @property
    def words(self) -> str:
        """The distribution with its parameters, for readers."""
        keys = [] if self.name == "equal" else [f"c.o.v. {self.cov:.3f}"]
        keys += [f"drift {self.drift:+.2f}"] if self.drift else []
        return ", ".join([self.name, *keys])

    def density(self, at: Array) -> Array:
        """Return the density at lengths over the mean, above 0; with a drift, its mean along the loop. Raises KeyError if the
        distribution is not in ``FAMILIES``."""
        place = (np.arange(200) + 0.5) / 200 - 0.5 if self.drift else np.zeros(1)
        found = [np.exp(FAMILIES[self.name](at / f, self.cov)) / f for f in 1.0 + self.drift * place]
        return np.asarray(np.mean(found, axis=0))

    def spec(self, file: str) -> str:
        """Return the distribution for ``als.lengths.lengths``; ``file`` has the measured lengths."""
        keys = [] if self.name in ("equal", EMPIRICAL) else [f"cov={self.cov:.6g}"]
        keys += [f"drift={self.drift:.6g}"] if self.drift else []
        if self.name == EMPIRICAL:
            return ",".join([f"file:{file}", "sample=yes", *keys])
        return f"{self.name}:{','.join(keys)}" if keys else self.name


def fit_lengths(lengths: Array) -> list[LengthFit]:
    """Fit all distributions to the lengths of a loop.

    Parameters
    ----------
    lengths : float64 (n,)
        Lengths in the order of the loop, above 0, in any unit.

    Returns
    -------
    list of LengthFit
        The chosen one, then the others by descending score.

    Raises
    ------
    InputError
        If there are fewer than ``FEWEST``, or one is not above 0.
    """
    lengths = np.asarray(lengths, np.float64)
    if len(lengths) < FEWEST:
        raise InputError(f"{len(lengths)} lengths; allowed: at least {FEWEST} to fit a distribution")
    if not (lengths > 0).all():
        raise InputError("a length that is not above 0; allowed: lengths above 0")
    if lengths.std() <= _LEAST_COV * lengths.mean():
        return [LengthFit("equal", 0.0, 0.0, math.inf)]
    place = (np.arange(len(lengths)) + 0.5) / len(lengths) - 0.5
    drift = _drift(lengths, place) if _increases(lengths, place) else 0.0
    scored = {name: _held_out(lengths, place, name, drift != 0.0) for name in [*FAMILIES, EMPIRICAL]}
    likely = max(FAMILIES, key=lambda name: float(scored[name].mean()))
    chosen = EMPIRICAL if _errors(scored[EMPIRICAL] - scored[likely]) > 2.0 else likely
    even = _even(lengths, place, drift)
    return [
        LengthFit(name, _fitted(even, name), drift, float(scored[name].mean()), _errors(scored[chosen] - scored[name]))
        for name in sorted(scored, key=lambda name: (name != chosen, -scored[name].mean()))
    ]


def _errors(difference: Array) -> float:
    # The mean in standard errors; 0 if there is no difference.
    spread = float(difference.std())
    return float(difference.mean()) / (spread / math.sqrt(len(difference))) if spread else 0.0


def _held_out(lengths: Array, place: Array, name: str, drifts: bool) -> Array:
    """The logarithm of the density of each length over the mean, fitted without its block."""
    scores = np.empty(len(lengths))
    for block in range(BLOCKS):
        held = np.arange(len(lengths)) % BLOCKS == block
        known, where = lengths[~held], place[~held]
        mean, drift = known.mean(), _drift(known, where) if drifts else 0.0
        factor = 1.0 + drift * place[held]
        x = lengths[held] / mean / factor
        even = _even(known, where, drift)
        scores[held] = _log_density(x, name, even, _fitted(even, name)) - np.log(factor)
    return scores


def _log_density(x: Array, name: str, known: Array, cov: float) -> Array:
    return _kernels(x, known) if name == EMPIRICAL else FAMILIES[name](x, cov)


def _even(lengths: Array, place: Array, drift: float) -> Array:
    # Lengths over their mean, without the drift; again of mean 1.
    even = lengths / (1.0 + drift * place)
    return np.asarray(even / even.mean())


def _drift(lengths: Array, place: Array) -> float:
    # Least squares of lengths over their place.
    slope = float(((place - place.mean()) * lengths).sum() / ((place - place.mean()) ** 2).sum())
    return float(np.clip(slope / lengths.mean(), -MAX_DRIFT, MAX_DRIFT))


def _increases(lengths: Array, place: Array) -> bool:
    # Whether the slope, or its opposite, is more than three standard errors above 0.
    slope, rest = float(np.cov(place, lengths, bias=True)[0, 1] / place.var()), lengths - lengths.mean()
    error = float((rest - slope * place).std()) / math.sqrt(len(lengths)) / float(place.std())
    return abs(slope) > 3.0 * error


def _fitted(x: Array, name: str) -> float:
    """The most likely coefficient of variation of lengths of mean 1, by golden-section search of its logarithm."""
    if name == EMPIRICAL:
        return float(x.std())
    density, ratio = FAMILIES[name], 0.5 * (math.sqrt(5.0) - 1.0)
    low, high = math.log(_LEAST_COV * 10.0), math.log(_MOST_COV)
    points = [high - ratio * (high - low), low + ratio * (high - low)]
    values = [float(density(x, math.exp(point)).sum()) for point in points]
    while high - low > 1e-6:
        if values[0] >= values[1]:
            high, points[1], values[1] = points[1], points[0], values[0]
            points[0] = high - ratio * (high - low)
            values[0] = float(density(x, math.exp(points[0])).sum())
        else:
            low, points[0], values[0] = points[0], points[1], values[1]
            points[1] = low + ratio * (high - low)
            values[1] = float(density(x, math.exp(points[1])).sum())
    return math.exp(0.5 * (low + high))


def _kernels(x: Array, known: Array) -> Array:
    """The logarithm of a density of Gaussian kernels on the logarithms, of Silverman's width (1986, equation 3.31)."""
    logs = np.log(known)
    low, high = np.percentile(logs, [25, 75])
    spread = min(float(logs.std()), float(high - low) / 1.34) or float(logs.std())
    width = 0.9 * spread * len(known) ** -0.2
    centres = np.quantile(logs, (np.arange(min(len(logs), _CENTRES)) + 0.5) / min(len(logs), _CENTRES))
    z = (np.log(x)[:, None] - centres[None, :]) / width
    return np.asarray(
        np.logaddexp.reduce(-0.5 * z * z, axis=1)
        - math.log(len(centres) * width * math.sqrt(2.0 * math.pi))
        - np.log(x)
    )
