"""The jobs of the demand response paper's experiments (S. Matsui et al., ISGC 2021, Tables 3 and 4), drawn again for each seed.

The paper states only their number and bounds. Here they are uniformly distributed, in whole seconds and whole hosts of 14
cores, and submitted within 24 h. The functions make workloads of a run or a study: ``FILE.py:NAME``.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from bls import Workload

#: Cores of a host.
CORES: Final = 14
#: The time within which all jobs are submitted, s.
DAY_S: Final = 86_400


class _Jobs(NamedTuple):
    # Experiment, number of jobs, and the ranges of their run times (s) and nodes.
    experiment: int
    n: int
    run_s: tuple[int, int]
    nodes: tuple[int, int]


def experiment_1(seed: int) -> Workload:
    """100 jobs of 2 to 6 h on 1 to 16 hosts."""
    return _drawn(_Jobs(1, 100, (7200, 21_600), (1, 16)), seed)


def experiment_2(seed: int) -> Workload:
    """3,000 jobs of 100 to 3,000 s on 1 to 4 hosts."""
    return _drawn(_Jobs(2, 3000, (100, 3000), (1, 4)), seed)


def _drawn(kind: _Jobs, seed: int) -> Workload:
    chance = np.random.default_rng([seed, kind.experiment])
    submit = np.sort(chance.integers(0, DAY_S, kind.n))
    run = chance.integers(*kind.run_s, kind.n, endpoint=True)
    cores = CORES * chance.integers(*kind.nodes, kind.n, endpoint=True)
    rows = zip(range(1, kind.n + 1), submit.tolist(), run.tolist(), cores.tolist(), run.tolist(), strict=True)
    return Workload.from_jobs(list(rows))
