"""A job's task lengths, drawn with numpy's own Philox and the standard library's normal distribution."""

from __future__ import annotations

from collections.abc import Iterator
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
    seed: int, job: int, cores: int, run_ns: int, slowest_gflops: float, variation: float, tasks_per_core: int
) -> list[float]:
    """GFLOP of each task of a job whose length is cores × slowest core speed × recorded run time."""
    a_core = slowest_gflops * (run_ns / 1e9)
    mean = a_core / tasks_per_core
    if variation == 0:
        return [mean] * (cores * tasks_per_core)
    lengths: list[float] = []
    reached = 0.0
    for word in words(seed, job):
        length = mean + variation * mean * normal(word)
        if length > 0:
            lengths.append(length)
            reached += length
            if reached >= a_core * cores:
                return lengths
    raise AssertionError("the stream has no end")
