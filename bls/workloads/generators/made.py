"""Random streams, sizes of jobs by the model of Lublin and Feitelson, and workloads of generated columns.

A share of the jobs is serial. The log2 of a parallel job's size is uniform in two stages: below a middle with one
probability, above it with the rest. A share of the sizes is rounded to a power of two.

Source: U. Lublin, D. Feitelson, "The workload on parallel supercomputers: modeling the characteristics of rigid jobs",
J. Parallel Distrib. Comput. 63(11), 2003, doi:10.1016/S0743-7315(03)00108-4.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from bls.workloads.workload import Workload
from traces.base.errors import InputError, real
from traces.base.options import SEED
from traces.compiled import Array


def stream(seed: int, purpose: str) -> np.random.Generator:
    """The generator of this seed and purpose. Raises InputError if the seed is not an integer from 0 to 2**64 - 1."""
    name = hashlib.sha256(f"{SEED.check(seed, 'seed')} generated {purpose}".encode()).digest()
    return np.random.Generator(np.random.Philox(key=np.frombuffer(name[:16], dtype="<u8")))


def made_workload(
    submit_ns: Array,
    *,
    run_ns: Array,
    cores: Array,
    estimate_ns: Array,
    extra: Mapping[str, Array],
    source: str,
    header: Iterable[str],
    extras: Mapping[str, Array] | None = None,
    names: Mapping[int, str] | None = None,
) -> Workload:
    """The workload of these columns, submits ascending; ``extra``, ``extras`` and ``names`` as in ``Workload.from_lines``."""
    n = len(submit_ns)
    number = np.arange(1, n + 1)
    counts = (f"; MaxJobs: {n}", f"; MaxRecords: {n}")
    return Workload.from_lines(
        (number, submit_ns, run_ns, cores, estimate_ns, number),
        header=("; Version: 2.2", *header, *counts),
        rejects={},
        source=source,
        n_lines=n,
        extra=extra,
        extras=extras,
        names=names,
    )


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
        """Sizes of ``n`` jobs: int64, shape (n,), 1 to ``most``. Sizes that are rounded beyond ``most`` become ``most``, or the
        largest power of two up to it."""
        kind, stage, within = stream.random(n), stream.random(n), stream.random(n)
        below = stage <= self.first
        start = np.where(below, self.low, self.middle)
        stop = np.where(below, self.middle, self.high)
        log2 = start + within * (stop - start)
        rounded = kind <= self.serial + self.power_of_two
        size = np.rint(np.exp2(np.where(rounded, np.floor(log2 + 0.5), log2)))
        limit = np.where(rounded, 2 ** (most.bit_length() - 1), most)
        return np.where(kind <= self.serial, 1, np.minimum(size, limit)).astype(np.int64)
