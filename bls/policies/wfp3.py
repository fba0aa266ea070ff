"""WFP3: the largest (w/r)³·n first, which favours jobs that have waited long for what they ask, and wide ones.

w is the wait so far, now - submit, r the requested run time, both in seconds, n the requested cores.

Source: Tang, Lan, Desai and Buettner, Cluster 2009, https://doi.org/10.1109/CLUSTR.2009.5289206.
"""

from __future__ import annotations

from bls.policies.contract import ScorePolicy, score_kernel
from traces.compiled import Array

__all__ = ["WFP3"]


@score_kernel
def score_wfp3(
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
    """Key: -(w/r)³·n."""
    for k in range(n_waiting):
        row = waiting[k]
        wait_s = (now_ns - submit_ns[row]) / 1e9
        requested_s = estimate_ns[row] / 1e9
        key[k] = -((wait_s / requested_s) ** 3.0) * cores[row]
    return 0


#: Key: -(w/r)³·n.
WFP3 = ScorePolicy("wfp3", score_wfp3)
