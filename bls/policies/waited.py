"""WFP3 and UNICEF: by the wait relative to the request.

WFP3: the largest (w/r)³·n first, which favours jobs that have waited long, and wide jobs. UNICEF: the largest w / (log2(n)·r)
first, which favours small jobs. w is the wait so far, now - submit, r the requested run time, both in seconds, n the
requested cores. For n = 1 the logarithm is log2(1 + 1e-15), as in re-implementations: a one-core job that has
waited precedes every wider job.

Source: Tang, Lan, Desai and Buettner, Cluster 2009, https://doi.org/10.1109/CLUSTR.2009.5289206.
"""

import math
from functools import partial

from bls.policies.contract import ScorePolicy, same_memory, score_kernel
from traces.compiled import Array

# Replaces log2(1).
_LOG2_ONE = math.log2(1 + 1e-15)


@score_kernel
def _score(
    now_ns: int, waiting: Array, n_waiting: int, eligible_ns: Array, submit_ns: Array, estimate_ns: Array, cores: Array,
    numbers: Array, memory: Array, key: Array,
) -> int:  # fmt: skip
    """Key: -(w/r)³·n, or -w / (log2(n)·r) if ``memory[0]`` is 1."""
    for k in range(n_waiting):
        row = waiting[k]
        wait_s = (now_ns - submit_ns[row]) / 1e9
        requested_s = estimate_ns[row] / 1e9
        if memory[0] == 0.0:
            key[k] = -((wait_s / requested_s) ** 3.0) * cores[row]
        else:
            width = math.log2(cores[row]) if cores[row] > 1 else _LOG2_ONE
            key[k] = -wait_s / (width * requested_s)
    return 0


WFP3 = ScorePolicy("wfp3", _score, prepare=partial(same_memory, (0.0,)), by_estimates=True)
UNICEF = ScorePolicy("unicef", _score, prepare=partial(same_memory, (1.0,)), by_estimates=True)
