"""Gamma lengths: shape a = 1/cov², scale µ/a; cov = 1 is the exponential distribution.

A gamma number of shape a >= 1 is d·v with d = a - 1/3 and v = (1 + z/√(9d))³ for a normal z, accepted by a uniform number; for
a < 1 it is one of shape a + 1 times u^(1/a). Words of the stream are taken in the order z, u of each try, the last u at
the end.

Source: Marsaglia and Tsang, "A simple method for generating gamma variables", ACM TOMS 26(3), 2000,
doi:10.1145/358407.358414.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from als.lengths.contract import LengthModel, length_kernel
from als.lengths.equal import equal_lengths
from als.lengths.spread import Spread
from als.streams import next_word, normal_from_word, uniform_from_word
from traces.compiled import Array


@length_kernel
def _next_length(
    k: int, n: int, mean: float, params: Array, pattern: Array, memo: Array, keys: Array, cursor: Array, words: Array
) -> float:
    shape, d, c = params[0], params[1], params[2]
    while True:
        z = normal_from_word(next_word(keys, cursor, words))
        v = 1.0 + c * z
        u = uniform_from_word(next_word(keys, cursor, words))
        if v <= 0.0:
            continue
        v = v * v * v
        # The paper's quick test that avoids the logarithms, and its exact one.
        if u < 1.0 - 0.0331 * (z * z) * (z * z) or math.log(u) < 0.5 * z * z + d * (1.0 - v + math.log(v)):
            break
    length = mean * (d * v / shape)
    if shape < 1.0:
        length *= math.exp(math.log(uniform_from_word(next_word(keys, cursor, words))) / shape)
    return float(length)


@dataclass(frozen=True)
class Gamma(Spread):
    """Parameters of the gamma distribution."""

    name: ClassVar[str] = "gamma"

    def model(self, cov: float) -> LengthModel:
        # Below this the shape is beyond every float, and lengths do not differ.
        if cov < 1e-9:
            return equal_lengths(self.name)
        shape = 1.0 / (cov * cov)
        d = (shape if shape >= 1.0 else shape + 1.0) - 1.0 / 3.0
        params = (shape, d, 1.0 / math.sqrt(9.0 * d))
        return LengthModel(self.name, _next_length, params, cov=cov, source="Marsaglia and Tsang 2000")
