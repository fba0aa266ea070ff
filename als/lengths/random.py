"""Random task lengths by the distributions of the literature; µ is the mean, z a standard normal and u a uniform number."""

import math
from abc import abstractmethod
from typing import Annotated, ClassVar

from als.lengths.contract import MAX_COV, WORK_NORMAL, LengthModel, equal_lengths, length_kernel
from als.parameters import Checked, RealNumber
from als.streams import next_word, normal_from_word, uniform_from_word
from traces.base.errors import real
from traces.compiled import Array


class Spread(Checked):
    """A distribution whose standard deviation over the mean is a parameter, or the run's variation."""

    noun = "lengths"
    name: ClassVar[str]
    max_cov: ClassVar[float] = MAX_COV
    # standard deviation over mean, 0 to ``max_cov``; None: the run's variation. 0: equal lengths.
    cov: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cov is not None:
            object.__setattr__(self, "cov", self._checked(self.cov))

    def _checked(self, cov: float) -> float:
        return real(f"lengths {self.name}: cov", cov, 0.0, self.max_cov)

    def lengths(self, variation: float) -> LengthModel:
        """Return the model with this cov or the run's."""
        cov = self._checked(variation) if self.cov is None else self.cov
        return self.model(cov) if cov else equal_lengths(self.name)

    @abstractmethod
    def model(self, cov: float) -> LengthModel:
        """Return the model with this cov, above 0."""


@length_kernel
def _normal_length(
    k: int, n: int, mean: float, params: Array, pattern: Array, memo: Array, keys: Array, cursor: Array, words: Array
) -> float:
    return float(mean + (params[0] * mean) * normal_from_word(next_word(keys, cursor, words)))


class Normal(Spread):
    """Normal: mean µ, standard deviation cov·µ; lengths that are not above 0 are drawn again (two-level paper, section 5.1).
    This cuts off the distribution at 0: at cov 0.25, the paper's largest, one draw in 31,574. With a large cov the mean of the
    draws becomes µ·(1 + cov·φ(1/cov)/Φ(1/cov))."""

    name: ClassVar[str] = "normal"

    def model(self, cov: float) -> LengthModel:
        source = "two-level paper, section 5.1"
        return LengthModel(self.name, _normal_length, (cov,), mode=WORK_NORMAL, cov=cov, source=source)


@length_kernel
def _uniform_length(
    k: int, n: int, mean: float, params: Array, pattern: Array, memo: Array, keys: Array, cursor: Array, words: Array
) -> float:
    return float(mean * (1.0 + params[0] * (2.0 * uniform_from_word(next_word(keys, cursor, words)) - 1.0)))


class Uniform(Spread):
    """Uniform: between µ·(1 - √3·cov) and µ·(1 + √3·cov). At cov = 1/√3 the interval begins at 0: its maximum width."""

    name: ClassVar[str] = "uniform"
    max_cov: ClassVar[float] = 1.0 / math.sqrt(3.0)  # lengths must not be below 0

    def model(self, cov: float) -> LengthModel:
        # At the largest cov, rounding may make the product exceed 1.
        half = min(1.0, math.sqrt(3.0) * cov)
        return LengthModel(self.name, _uniform_length, (half,), cov=cov, source="its definition")


@length_kernel
def _exponential_length(
    k: int, n: int, mean: float, params: Array, pattern: Array, memo: Array, keys: Array, cursor: Array, words: Array
) -> float:
    return -mean * math.log(uniform_from_word(next_word(keys, cursor, words)))


#: Exponential: -µ·ln u; the coefficient of variation is always 1.
EXPONENTIAL = LengthModel("exponential", _exponential_length, cov=1.0, source="its definition")


@length_kernel
def _gamma_length(
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
        # The paper's quick test, which avoids the logarithms, and its exact test.
        if u < 1.0 - 0.0331 * (z * z) * (z * z) or math.log(u) < 0.5 * z * z + d * (1.0 - v + math.log(v)):
            break
    length = mean * (d * v / shape)
    if shape < 1.0:
        length *= math.exp(math.log(uniform_from_word(next_word(keys, cursor, words))) / shape)
    return float(length)


class Gamma(Spread):
    """Gamma: shape a = 1/cov², scale µ/a; cov = 1 is the exponential distribution.

    A gamma number of shape a >= 1 is d·v with d = a - 1/3 and v = (1 + z/√(9d))³, accepted with the help of a uniform number;
    for a < 1 it is a number of shape a + 1 times u^(1/a). Words of the stream are used in the order z, u of each try, and
    the last u at the end.

    Source: Marsaglia and Tsang, "A simple method for generating gamma variables", ACM TOMS 26(3), 2000,
    doi:10.1145/358407.358414."""

    name: ClassVar[str] = "gamma"

    def model(self, cov: float) -> LengthModel:
        # Below this the shape overflows, and lengths are equal.
        if cov < 1e-9:
            return equal_lengths(self.name)
        shape = 1.0 / (cov * cov)
        d = (shape if shape >= 1.0 else shape + 1.0) - 1.0 / 3.0
        params = (shape, d, 1.0 / math.sqrt(9.0 * d))
        return LengthModel(self.name, _gamma_length, params, cov=cov, source="Marsaglia and Tsang 2000")


@length_kernel
def _lognormal_length(
    k: int, n: int, mean: float, params: Array, pattern: Array, memo: Array, keys: Array, cursor: Array, words: Array
) -> float:
    s = params[0]
    return float(mean * math.exp(s * normal_from_word(next_word(keys, cursor, words)) - 0.5 * s * s))


class Lognormal(Spread):
    """Lognormal: µ·exp(s·z - s²/2) with s² = ln(1 + cov²): mean µ, standard deviation cov·µ."""

    name: ClassVar[str] = "lognormal"

    def model(self, cov: float) -> LengthModel:
        s = math.sqrt(math.log1p(cov * cov))
        return LengthModel(self.name, _lognormal_length, (s,), cov=cov, source="its definition")


def weibull_shape(cov: float) -> float:
    """The shape k with this coefficient of variation: Γ(1 + 2/k) / Γ(1 + 1/k)² = 1 + cov², by bisection of ln k."""
    wanted, low, high = math.log1p(cov * cov), math.log(0.05), math.log(1e9)
    while True:
        middle = 0.5 * (low + high)
        if middle in (low, high):
            return math.exp(middle)
        over = math.exp(-middle)
        if math.lgamma(1.0 + 2.0 * over) - 2.0 * math.lgamma(1.0 + over) > wanted:
            low = middle
        else:
            high = middle


@length_kernel
def _weibull_length(
    k: int, n: int, mean: float, params: Array, pattern: Array, memo: Array, keys: Array, cursor: Array, words: Array
) -> float:
    return float(mean * params[1] * (-math.log(uniform_from_word(next_word(keys, cursor, words)))) ** params[0])


class Weibull(Spread):
    """Weibull: λ·(-ln u)^(1/k), where the shape k gives the coefficient of variation, and λ = µ/Γ(1 + 1/k); cov = 1 is the
    exponential distribution.

    Source: W. Weibull, "A statistical distribution function of wide applicability", Journal of Applied Mechanics 18, 1951."""

    name: ClassVar[str] = "weibull"

    def model(self, cov: float) -> LengthModel:
        if cov < 1e-6:  # the difference of the logarithms of Γ is lost in rounding
            return equal_lengths(self.name)
        power = 1.0 / weibull_shape(cov)
        params = (power, math.exp(-math.lgamma(1.0 + power)))
        return LengthModel(self.name, _weibull_length, params, cov=cov, source="Weibull 1951")


@length_kernel
def _bimodal_length(
    k: int, n: int, mean: float, params: Array, pattern: Array, memo: Array, keys: Array, cursor: Array, words: Array
) -> float:
    if uniform_from_word(next_word(keys, cursor, words)) < params[0]:
        return float(mean * params[2])
    return float(mean * params[1])


class Bimodal(Checked):
    """Bimodal: a task is long with probability s, independently of the others; long tasks are r times as long as short ones.

    The mean stays µ: short = µ / (1 - s + s·r). The coefficient of variation is always √(s·(1 - s))·(r - 1) / (1 - s + s·r)."""

    noun = "lengths"
    name: ClassVar[str] = "bimodal"
    share: Annotated[float, RealNumber(0.0, 1.0)] = 0.1  # s, share of long tasks
    ratio: Annotated[float, RealNumber(1.0, 1e6)] = 10.0  # r, length of a long task over a short one

    def lengths(self, variation: float) -> LengthModel:
        s, r = self.share, self.ratio
        over = 1.0 - s + s * r
        cov = math.sqrt(s * (1.0 - s)) * (r - 1.0) / over
        return LengthModel(self.name, _bimodal_length, (s, 1.0 / over, r / over), cov=cov, source="its definition")


@length_kernel
def _correlated_length(
    k: int, n: int, mean: float, params: Array, pattern: Array, memo: Array, keys: Array, cursor: Array, words: Array
) -> float:
    cov, kept, moved = params[0], params[1], params[2]
    if k == 0:
        kept, moved = 0.0, 1.0
    while True:
        x = kept * memo[0] + moved * normal_from_word(next_word(keys, cursor, words))
        length = mean * (1.0 + cov * x)
        if length > 0.0:
            memo[0] = x
            return float(length)


class Correlated(Spread):
    """Correlated: a normal number that changes gradually along the loop, so that neighbours are alike (AR(1)).

    x₀ = z, x_k = ρ·x_(k-1) + √(1 - ρ²)·z_k, and a length is µ·(1 + cov·x_k); the correlation of two lengths j tasks apart is
    ρ^j. A number whose length would not be above 0 is drawn again from the same x_(k-1).

    Source: Box and Jenkins, "Time Series Analysis", section 3.2 (first-order autoregressive process).
    """

    name: ClassVar[str] = "correlated"
    rho: Annotated[float, RealNumber(0.0, 0.999999)] = 0.9  # correlation between neighbouring task lengths

    def model(self, cov: float) -> LengthModel:
        params, source = (cov, self.rho, math.sqrt(1.0 - self.rho * self.rho)), "Box and Jenkins, section 3.2"
        sum_cov = cov * math.sqrt((1.0 + self.rho) / (1.0 - self.rho))
        return LengthModel(self.name, _correlated_length, params, memo_size=1, cov=cov, sum_cov=sum_cov, source=source)
