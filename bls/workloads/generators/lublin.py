"""The workload model of Lublin and Feitelson: rigid batch and interactive jobs on a parallel machine.

A share of the jobs is serial. The log2 of a parallel job's size is uniform in two stages: below a middle with one probability,
above it with the rest. A share of the sizes is rounded to a power of two. The logarithm of a run time in seconds is
hyper-gamma: of gamma(a1, b1) with the probability p, else of gamma(a2, b2), where p = pa × size + pb, so that large jobs run
longer. The logarithm of the seconds between two arrivals in the rush hours is gamma(a_arrival × rush, b_arrival). These times
pay the weights of the half-hours of a day, which follow a gamma distribution over a day that begins at its eleventh half-hour.
Batch and interactive jobs arrive independently.

The constants are those of the authors' program, m_lublin99.c, with these differences: sums of times are not truncated to a
second at every job, only submits are; sizes are fitted to the machine by shifting the bend and the largest (on 128 cores they
are the program's), and never exceed it. As in the program, interactive jobs are in queue 0 and batch jobs in queue 1. The model
has no users and no estimates, so a job's estimate is its run time.

Source: U. Lublin, D. Feitelson, "The workload on parallel supercomputers: modeling the characteristics of rigid jobs", J.
Parallel Distrib. Comput. 63(11), 2003, doi:10.1016/S0743-7315(03)00108-4, and the program in the Parallel Workloads Archive.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bls.machine.platform import MAX_CORES
from bls.options import JOBS
from bls.workloads.workload import Workload
from traces.base.errors import InputError, real, whole
from traces.base.options import SEED
from traces.base.time import MAX_NS, NS_PER_S
from traces.compiled import Array

_SLOTS = 48
_SLOT_S = 1800.0

# The half-hour (from 1) at which the day of the arrivals begins.
_DAY_START = 11

# The log2 of the size of the machine for which sizes were published.
_PUBLISHED_LOG2 = 7.0

# Time 0 of workloads without a calendar: 00:00 UTC of Monday, 1 January 2001.
_START_S = 978_307_200


def stream(seed: int, purpose: str) -> np.random.Generator:
    """The generator of this seed and purpose. Raises InputError if the seed is not an integer from 0 to 2**64 - 1."""
    name = hashlib.sha256(f"{SEED.check(seed, 'seed')} generated {purpose}".encode()).digest()
    return np.random.Generator(np.random.Philox(key=np.frombuffer(name[:16], dtype="<u8")))


def made_workload(columns: Sequence[Array], *, header: Iterable[str], **others: Any) -> Workload:
    """The workload of generated submits (ascending), run times, cores and estimates; ``others`` as in ``from_lines``."""
    n = len(columns[0])
    number = np.arange(1, n + 1)
    header = ("; Version: 2.2", *header, f"; MaxJobs: {n}", f"; MaxRecords: {n}")
    return Workload.from_lines((number, *columns, number), header=header, rejects={}, n_lines=n, **others)


_MOST_LOG2 = 40.0


@dataclass(frozen=True)
class JobSizes:
    """The distribution of sizes. Raises InputError if a value is out of range; the message begins with its name."""

    serial: float  # share of the jobs that are serial, 0 to 1
    # share of all jobs that are parallel and a power of two in size, 0 to 1; with ``serial`` at most 1
    power_of_two: float
    # the log2 of sizes: of the smallest parallel job, of the bend of the distribution, and of the largest job; 0 to 40
    low: float
    middle: float
    high: float
    first: float  # probability that a parallel job is between ``low`` and ``middle``, 0 to 1

    def __post_init__(self) -> None:
        for name in ("serial", "power_of_two", "first"):
            object.__setattr__(self, name, real(name, getattr(self, name), 0.0, 1.0))
        for name in ("low", "middle", "high"):
            object.__setattr__(self, name, real(name, getattr(self, name), 0.0, _MOST_LOG2))
        if self.serial + self.power_of_two > 1.0 + 1e-9:
            raise InputError(f"power_of_two: {self.power_of_two:g} and serial {self.serial:g} are more than 1 together")
        if not self.low <= self.middle <= self.high:
            raise InputError(f"middle: {self.middle:g} is not from low {self.low:g} to high {self.high:g}")

    def shifted(self, by: float) -> JobSizes:
        """The same distribution for a machine 2**``by`` times as large: the bend and the largest size move with it. On a small
        machine a bend below the smallest parallel job is put in the middle."""
        high = min(max(0.0, self.high + by), _MOST_LOG2)
        low = min(self.low, high)
        middle = min(self.middle + by, high)
        return replace(self, low=low, middle=middle if middle > low else (low + high) / 2, high=high)

    def drawn(self, n: int, most: int, stream: np.random.Generator) -> Array:
        """Sizes of ``n`` jobs: int64 (n,), 1 to ``most``; rounded ones up to the largest power of two within ``most``."""
        kind, stage, within = stream.random(n), stream.random(n), stream.random(n)
        below = stage <= self.first
        start = np.where(below, self.low, self.middle)
        stop = np.where(below, self.middle, self.high)
        log2 = start + within * (stop - start)
        rounded = kind <= self.serial + self.power_of_two
        size = np.rint(np.exp2(np.where(rounded, np.floor(log2 + 0.5), log2)))
        limit = np.where(rounded, 2 ** (most.bit_length() - 1), most)
        return np.where(kind <= self.serial, 1, np.minimum(size, limit)).astype(np.int64)


@dataclass(frozen=True)
class LublinJobs:
    """The parameters of one type of jobs, with the names of the authors' program. Raises InputError if a value is out of range;
    the message begins with its name."""

    sizes: JobSizes  # on a machine of 128 cores
    # shapes and scales of the two gammas of the hyper-gamma, above 0
    a1: float
    b1: float
    a2: float
    b2: float
    # p = pa × size + pb, kept within 0 to 1; each -1000 to 1000
    pa: float
    pb: float
    # shape and scale of the gamma of inter-arrival times
    a_arrival: float
    b_arrival: float
    # shape and scale of the gamma of arrivals over the day, in half-hours
    a_number: float
    b_number: float
    rush: float  # factor of the shape of inter-arrival times for all hours

    def __post_init__(self) -> None:
        for name in ("a1", "b1", "a2", "b2", "a_arrival", "b_arrival", "a_number", "b_number", "rush"):
            object.__setattr__(self, name, real(name, getattr(self, name), 1e-6, 1e6))
        for name in ("pa", "pb"):
            object.__setattr__(self, name, real(name, getattr(self, name), -1e3, 1e3))

    def day_weights(self) -> Array:
        """Weight of each half-hour of the day, from 00:00 on: float64, shape (48,), of mean 1."""
        weights = np.zeros(_SLOTS)
        for i in range(_DAY_START, _DAY_START + _SLOTS):
            above, below = (gamma_cdf((i + half) / self.b_number, self.a_number) for half in (0.5, -0.5))
            weights[(i - 1) % _SLOTS] = above - below
        return np.asarray(weights / weights.mean())


#: Parameters of batch jobs, of interactive jobs, and of all jobs of a log that does not distinguish them.
BATCH = LublinJobs(
    sizes=JobSizes(serial=0.2927, power_of_two=0.6686, low=1.2, middle=5.0, high=7.0, first=0.875),
    a1=6.57, b1=0.823, a2=639.1, b2=0.0156, pa=-0.003, pb=0.6986,
    a_arrival=6.0415, b_arrival=0.8531, a_number=6.1271, b_number=5.2740, rush=1.0519,
)  # fmt: skip
INTERACTIVE = LublinJobs(
    sizes=JobSizes(serial=0.1541, power_of_two=0.625, low=1.0, middle=3.0, high=5.5, first=0.705),
    a1=3.8351, b1=0.6605, a2=7.073, b2=0.6856, pa=-0.0118, pb=0.9156,
    a_arrival=6.5510, b_arrival=0.6621, a_number=8.9186, b_number=3.6680, rush=0.9797,
)  # fmt: skip
TYPELESS = LublinJobs(
    sizes=JobSizes(serial=0.244, power_of_two=0.576, low=0.8, middle=4.5, high=7.0, first=0.86),
    a1=4.2, b1=0.94, a2=312.0, b2=0.03, pa=-0.0054, pb=0.78,
    a_arrival=10.2303, b_arrival=0.4871, a_number=8.1737, b_number=3.9631, rush=1.0225,
)  # fmt: skip


@dataclass(frozen=True)
class Lublin:
    """The model's parameters; by default the published ones. Raises InputError if there are no jobs, or a value is wrong."""

    # jobs of queue 0 and of queue 1; None for no jobs. ``Lublin(TYPELESS, None)`` is the model without types.
    interactive: LublinJobs | None = INTERACTIVE
    batch: LublinJobs | None = BATCH
    # run times are drawn again until their logarithm is not above this; 0.1 to 20 (12 is two days)
    longest_log_s: float = 12.0
    farthest_log_s: float = 13.0  # the same limit for the time between two arrivals (13 is five days)

    def __post_init__(self) -> None:
        if self.interactive is None and self.batch is None:
            raise InputError("interactive: None and batch None: a model needs jobs of one type at least")
        for name in ("longest_log_s", "farthest_log_s"):
            object.__setattr__(self, name, real(name, getattr(self, name), 0.1, 20.0))


def generate_lublin(n_jobs: int, *, seed: int, n_cores: int, parameters: Lublin | None = None) -> Workload:
    """Generate a workload by the model: ``n_jobs``, 1 to 20 million, for a machine of ``n_cores`` cores, 1 to 2**24. ``seed``:
    0 to 2**64 - 1; equal seeds give equal jobs. ``parameters``: by default the published ones. Raises InputError if a value is
    out of range, or the jobs would last longer than 146 years."""
    JOBS.check(n_jobs, "n_jobs")
    whole("n_cores", n_cores, 1, MAX_CORES)
    chosen = Lublin() if parameters is None else parameters
    types = [(queue, jobs) for queue, jobs in enumerate((chosen.interactive, chosen.batch)) if jobs is not None]
    farthest = chosen.farthest_log_s
    arrivals = [_arrivals_s(n_jobs, jobs, farthest, stream(seed, f"lublin arrivals {queue}")) for queue, jobs in types]
    # ``n_jobs`` of each type, then the first of them; of equal submits the interactive job is first, as in the program.
    order = np.argsort(np.concatenate(arrivals), kind="stable")[:n_jobs]
    submit_s = np.concatenate(arrivals)[order]
    if submit_s[-1] >= MAX_NS / NS_PER_S:
        raise InputError(f"n_jobs: {n_jobs} jobs of this model would last for longer than 146 years")
    queues = np.repeat([queue for queue, _ in types], n_jobs)[order]
    cores, run_s = np.ones(n_jobs, np.int64), np.ones(n_jobs, np.int64)
    for queue, jobs in types:
        mine = np.flatnonzero(queues == queue)
        sizes = jobs.sizes.shifted(math.log2(n_cores) - _PUBLISHED_LOG2)
        cores[mine] = sizes.drawn(len(mine), n_cores, stream(seed, f"lublin sizes {queue}"))
        run_s[mine] = _run_s(cores[mine], jobs, chosen.longest_log_s, stream(seed, f"lublin run times {queue}"))
    return made_workload(
        (submit_s.astype(np.int64) * NS_PER_S, run_s * NS_PER_S, cores, run_s * NS_PER_S),
        extra={"queue": queues, "status": np.array(1)},
        source="lublin",
        header=(
            f"; Generator: twolevel, model lublin, seed {seed}",
            "; Note: the model of Lublin and Feitelson, doi:10.1016/S0743-7315(03)00108-4",
            f"; UnixStartTime: {_START_S}",
            "; TimeZoneString: UTC",
            f"; MaxProcs: {n_cores}",
            "; Queue: 0 interactive",
            "; Queue: 1 batch",
        ),
    )


def _arrivals_s(n: int, jobs: LublinJobs, farthest: float, chance: np.random.Generator) -> Array:
    """Seconds from 00:00 of the first day to each arrival: float64, shape (n,), whole."""
    shape = jobs.a_arrival * jobs.rush
    log_s = _gamma_up_to(np.full(n, shape), np.full(n, jobs.b_arrival), farthest, chance)
    paid = np.cumsum(np.exp(log_s) / _SLOT_S)
    ends = np.concatenate(([0.0], np.cumsum(jobs.day_weights())))
    day, within = np.divmod(paid, ends[-1])
    slot = day * _SLOTS + np.asarray(np.interp(within, ends, np.arange(_SLOTS + 1.0)))
    return np.asarray(np.floor(slot * _SLOT_S))


def _run_s(size: Array, jobs: LublinJobs, longest: float, chance: np.random.Generator) -> Array:
    first = chance.random(len(size)) <= np.clip(jobs.pa * size + jobs.pb, 0.0, 1.0)
    log_s = _gamma_up_to(np.where(first, jobs.a1, jobs.a2), np.where(first, jobs.b1, jobs.b2), longest, chance)
    whole_s: Array = np.exp(log_s).astype(np.int64)  # rounded down
    return whole_s


def _gamma_up_to(shape: Array, scale: Array, highest: float, chance: np.random.Generator) -> Array:
    """Gamma variates, each drawn again until it is not above ``highest``."""
    found: Array = chance.gamma(shape, scale)
    for _ in range(1000):
        over = np.flatnonzero(found > highest)
        if len(over) == 0:
            return found
        found[over] = chance.gamma(shape[over], scale[over])
    first = over[0]
    raise InputError(f"a gamma of shape {shape[first]:g} and scale {scale[first]:g} hardly ever is below {highest:g}")


def gamma_cdf(x: float, shape: float) -> float:
    """The regularised lower incomplete gamma function P(shape, x), by its series below shape + 1 and by its continued fraction
    (Lentz's method) above. Source: Abramowitz and Stegun, 6.5.29 and 6.5.31."""
    if x <= 0.0:
        return 0.0
    scale = math.exp(shape * math.log(x) - x - math.lgamma(shape))
    if x < shape + 1.0:
        term = total = 1.0 / shape
        n = 0
        while term > 1e-16 * total:
            n += 1
            term *= x / (shape + n)
            total += term
        return min(1.0, scale * total)
    b = x + 1.0 - shape
    c, d = math.inf, 1.0 / b
    fraction = d
    for n in range(1, 10_000):
        a = -n * (n - shape)
        b += 2.0
        d = 1.0 / (a * d + b)
        c = b + a / c
        fraction *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return max(0.0, 1.0 - scale * fraction)
