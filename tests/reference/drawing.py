"""A job's task lengths, drawn with numpy's own Philox and the standard library's normal distribution."""

import math
from collections.abc import Callable, Iterator
from itertools import islice
from statistics import NormalDist

import numpy as np

#: The purpose of the stream of task lengths.
TASK_LENGTHS = 1


def words(seed: int, job: int, purpose: int = TASK_LENGTHS) -> Iterator[int]:
    """The 64-bit words of a stream, without end."""
    source = np.random.Philox(key=np.array([seed, job], np.uint64), counter=[0, 0, 0, purpose])
    while True:
        yield int(source.random_raw())


def normal(word: int) -> float:
    """The standard normal number of a word: its upper 52 bits, centred, through the inverse distribution function."""
    return NormalDist().inv_cdf(((word >> 12) + 0.5) / 2**52)


def task_lengths(
    seed: int,
    job: int,
    cores: int,
    run_ns: int,
    slowest_gflops: float,
    variation: float,
    tasks_per_core: int,
    draw: str = "work",
) -> list[float]:
    """GFLOP of each task of a job whose length is cores × slowest core speed × recorded run time."""
    a_core = slowest_gflops * (run_ns / 1e9)
    mean = a_core / tasks_per_core
    if variation == 0:
        return [mean] * (cores * tasks_per_core)
    stream = words(seed, job)
    if draw == "paper":
        return filled("normal", stream, mean, a_core * cores, cov=variation)
    core_ns, n = at_speed_ns(a_core, slowest_gflops), cores * tasks_per_core
    return kept("normal", stream, mean, n, a_core * cores, cores, core_ns, slowest_gflops, cov=variation)


def uniform(word: int) -> float:
    """The uniform number of a word: its upper 52 bits, centred."""
    return ((word >> 12) + 0.5) / 2**52


def draws(name: str, stream: Iterator[int], mean: Callable[[], float], **given: float) -> Iterator[float]:
    """Lengths of a distribution, one after another, also those that are not above 0; each has the mean that there is then."""
    if name == "normal":
        for word in stream:
            yield mean() + given["cov"] * mean() * normal(word)
    elif name == "uniform":
        half = min(1.0, math.sqrt(3) * given["cov"])
        for word in stream:
            yield mean() * (1 + half * (2 * uniform(word) - 1))
    elif name == "exponential":
        for word in stream:
            yield -mean() * math.log(uniform(word))
    elif name == "lognormal":
        s = math.sqrt(math.log1p(given["cov"] ** 2))
        for word in stream:
            yield mean() * math.exp(s * normal(word) - 0.5 * s * s)
    elif name == "bimodal":
        over = 1 - given["share"] + given["share"] * given["ratio"]
        for word in stream:
            yield mean() * ((given["ratio"] if uniform(word) < given["share"] else 1.0) / over)
    elif name == "gamma":
        shape = 1 / (given["cov"] * given["cov"])
        while True:
            number = gamma(shape if shape >= 1 else shape + 1, stream)
            length = mean() * (number / shape)
            if shape < 1:
                length *= math.exp(math.log(uniform(next(stream))) / shape)
            yield length
    elif name == "correlated":
        x = normal(next(stream))
        while 1 + given["cov"] * x <= 0:
            x = normal(next(stream))
        while True:
            yield mean() * (1 + given["cov"] * x)
            following = -math.inf
            while 1 + given["cov"] * following <= 0:
                following = given["rho"] * x + math.sqrt(1 - given["rho"] ** 2) * normal(next(stream))
            x = following


def gamma(shape: float, stream: Iterator[int]) -> float:
    """A gamma number of shape >= 1 and scale 1 (Marsaglia and Tsang 2000)."""
    d = shape - 1 / 3
    while True:
        z, u = normal(next(stream)), uniform(next(stream))
        root = 1 + 1 / math.sqrt(9 * d) * z
        if root > 0:
            v = root * root * root
            quick = u < 1 - 0.0331 * (z * z) * (z * z)
            if quick or math.log(u) < 0.5 * z * z + d * (1 - v + math.log(v)):
                return d * v


def positive(
    name: str, stream: Iterator[int], mean: float, n: int, drift: float = 0.0, **given: float
) -> Iterator[float]:
    """Lengths above 0, whose mean changes along n tasks by ``drift`` means."""
    k = 0

    def at_task() -> float:
        return mean * (1 + drift * (min((k + 0.5) / n, 1) - 0.5)) if drift else mean

    for length in draws(name, stream, at_task, **given):
        if length > 0:
            k += 1
            yield length


def filled(name: str, stream: Iterator[int], mean: float, total: float, n: int = 0, **given: float) -> list[float]:
    """The tasks of a loop: lengths above 0, up to and with the one that brings their sum to the work; about n."""
    lengths: list[float] = []
    reached = 0.0
    for length in positive(name, stream, mean, n, **given):
        lengths.append(length)
        reached += length
        if reached >= total:
            return lengths
    raise AssertionError("the stream has no end")


def kept(
    name: str,
    stream: Iterator[int],
    mean: float,
    n: int,
    total: float,
    cores: int,
    core_ns: float,
    speed: float,
    **given: float,
) -> list[float]:
    """The ``n`` tasks of a loop of ``total`` GFLOP, which ``cores`` cores of this speed compute in ``core_ns``, to the ns."""
    drawn = list(islice(positive(name, stream, mean, n, **given), n))
    work_ns = cores * math.floor(core_ns) + round((core_ns - math.floor(core_ns)) * cores)
    reached = 0.0
    for length in drawn:  # sum() itself compensates for rounding in newer versions of Python
        reached += length
    if work_ns < n:
        return [length * (total / reached) for length in drawn]
    durations = exact([max(1, round(length * (work_ns / reached))) for length in drawn], work_ns)
    return [speed * (ns / 1e9) for ns in durations]


def at_speed_ns(gflop: float, speed: float) -> int:
    """How long this work takes at this speed, ns."""
    return max(1, round(gflop / speed * 1e9))


def exact(durations: list[int], work_ns: int) -> list[int]:
    """Durations of at least 1 ns whose sum is the work: the first ones change, all by the same, and some by 1 ns more."""
    durations = list(durations)
    while missing := work_ns - sum(durations):
        able = [k for k, ns in enumerate(durations) if missing > 0 or ns > 1]
        each, more = divmod(abs(missing), len(able))
        for place, k in enumerate(able):
            change = each + (place < more)
            durations[k] += change if missing > 0 else -min(change, durations[k] - 1)
    return durations


def mandelbrot(width: int, height: int, iterations: int) -> list[int]:
    steps = []
    for row in range(height):
        for column in range(width):
            c = complex(-2 + 2.5 * ((column + 0.5) / width), -1.25 + 2.5 * ((row + 0.5) / height))
            z, count = 0j, 0
            while count < iterations and z.real**2 + z.imag**2 <= 4:
                z, count = z * z + c, count + 1
            steps.append(count)
    return steps
