"""UNICEF: the largest w / (log2(n)·r) first, which lets small jobs pass quickly.

w is the wait so far, now - submit, r the requested run time, both in seconds, n the requested cores.
For n = 1 the logarithm is 0. It is taken to be log2(1 + 1e-15), as in re-implementations: a one-core job that has waited
goes before every wider job, and one-core jobs go by w/r. A job that has not waited has the score 0.

Source: Tang, Lan, Desai and Buettner, Cluster 2009, https://doi.org/10.1109/CLUSTR.2009.5289206.
"""

from __future__ import annotations

import math

from bls.policies.contract import ScorePolicy, score_kernel
from traces.compiled import Array

__all__ = ["UNICEF"]

# What stands for log2(1).
_LOG2_ONE = math.log2(1 + 1e-15)


@score_kernel
def score_unicef(
    now_ns: int,
    waiting: Array,
    n_waiting: int,
    eligible_ns: Array,
    submit_ns: Array,
    estimate_ns: Array,
    cores: Array,
    numbers: Array,
    memory: Array,
    key: Array,
) -> int:
    """Key: -w / (log2(n)·r)."""
    for k in range(n_waiting):
        row = waiting[k]
        wait_s = (now_ns - submit_ns[row]) / 1e9
        requested_s = estimate_ns[row] / 1e9
        width = math.log2(cores[row]) if cores[row] > 1 else _LOG2_ONE
        key[k] = -wait_s / (width * requested_s)
    return 0


#: Key: -w / (log2(n)·r).
UNICEF = ScorePolicy("unicef", score_unicef)
