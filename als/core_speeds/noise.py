"""Noise: a random factor for every core and period, as of a machine that others use too.

Word k of the stream with key (seed, core) and purpose :data:`CORE_SPEEDS` gives the factor of period k, so that any
instant's factor can be computed by itself. In plain Python::

    key = numpy.array([seed, core], numpy.uint64)
    words = numpy.random.Philox(key=key, counter=[0, 0, 0, 4]).random_raw(k + 1)
    z = statistics.NormalDist().inv_cdf(((int(words[k]) >> 12) + 0.5) / 2**52)
    s = math.sqrt(math.log1p(sigma * sigma))
    factor = math.exp(s * z - 0.5 * s * s)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from als.core_speeds.contract import NOISE, Component, chosen_cores, period
from als.streams import fill_round_keys, fill_words, normal_from_word
from traces.base.errors import real
from traces.compiled import Array, compiled

#: The purpose of the streams; that of the n-th noise (n = 0, 1, …) is this plus n·2³².
CORE_SPEEDS = 4

#: Largest standard deviation of the factor.
MAX_SIGMA = 3.0


@dataclass(frozen=True)
class Noise:
    """``noise:period=10s,sigma=0.1,cores=0-3``.

    In [kT, (k+1)T), T the period, a core's factor is exp(s·z − s²/2), z standard normal and s = √ln(1 + σ²): lognormal, with
    mean 1 and standard deviation σ, and never 0. Cores and periods are independent of each other.
    """

    name: ClassVar[str] = "noise"
    period_ns: int = 0  # T, 2 ns to ``MAX_PERIOD_NS``
    sigma: float = 0.1  # σ, 0 to ``MAX_SIGMA``
    cores: str = ""  # which cores; empty: all

    def component(self, n_cores: int, where: str) -> Component | None:
        period_ns = period(self.period_ns, f"{where}:period")
        sigma = real(f"{where}:sigma", self.sigma, 0.0, MAX_SIGMA)
        cores = chosen_cores(self.cores, n_cores, f"{where}:cores")
        if sigma == 0.0:
            return None
        spread = math.sqrt(math.log1p(sigma * sigma))
        greatest_z = float(normal_from_word(np.uint64(2**64 - 1)))
        return Component(NOISE, cores, math.exp(spread * greatest_z - 0.5 * spread * spread), period_ns, level=spread)


@compiled(inner=True)
def noise_factor(
    keys: Array, words: Array, seed: np.uint64, core: int, purpose: int, period_ns: int, spread: float, t_ns: int
) -> float:
    """The factor of a core at an instant; ``keys``, uint64 (20,), and ``words``, uint64 (4,), are work space."""
    k = t_ns // period_ns
    fill_round_keys(keys, seed, np.uint64(core))
    fill_words(words, keys, k // 4, purpose)
    return math.exp(spread * normal_from_word(words[k % 4]) - 0.5 * spread * spread)


@compiled(inner=True)
def noise_next_ns(period_ns: int, t_ns: int) -> int:
    """The beginning of the period after the one of ``t_ns``."""
    return t_ns + period_ns - t_ns % period_ns
