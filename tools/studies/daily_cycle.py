"""Days of a small cluster for the study of sleep, ``sleep.toml``: a function that makes a workload, ``FILE.py:day``."""

from __future__ import annotations

import numpy as np

from bls import Workload

_HOUR_S = 3600


def day(seed: int) -> Workload:
    """The jobs of one day from midnight on: 70 in an hour at noon, a fifth of that at midnight.

    Cores are powers of two up to 256, run times lognormal with a median of 10 min, and estimates up to four times that. All
    numbers are assumptions, close to those of logs.
    """
    chance = np.random.default_rng(seed)
    n = chance.poisson(70 * 24)
    submit = np.sort(chance.uniform(0, 24 * _HOUR_S, n))
    rate = 0.6 - 0.4 * np.cos(2 * np.pi * submit / (24 * _HOUR_S))  # a fifth at midnight, all at noon
    submit = submit[chance.uniform(size=n) < rate].astype(np.int64)
    n = len(submit)
    run = np.clip(chance.lognormal(np.log(600), 1.3, n), 10, 12 * _HOUR_S).astype(np.int64)
    estimate = np.ceil(run * chance.uniform(1, 4, n)).astype(np.int64)
    cores = 2 ** chance.choice(9, n, p=[0.2, 0.05, 0.05, 0.1, 0.2, 0.15, 0.15, 0.07, 0.03])
    columns = (range(1, n + 1), submit.tolist(), run.tolist(), cores.tolist(), estimate.tolist())
    return Workload.from_jobs(list(zip(*columns, strict=True)))
