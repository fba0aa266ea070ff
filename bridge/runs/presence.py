"""Efficiency of jobs whose width has changed, relative to the work that their cores could have done while they held them."""

import numpy as np

from als.metrics.loops import LOOP_METRICS
from traces.compiled import Array
from traces.holdings import core_spans
from traces.ledger import Ledger
from traces.lifecycle import Ending

_EFFICIENCY = [name for name, _ in LOOP_METRICS].index("efficiency")


def efficient(ledger: Ledger, loops: Array, core_speed_gflops: Array) -> Array:
    """The measured values of the jobs, with the efficiency of jobs whose width has changed computed from the cores they held.

    - ``loops``: float64 (n, len(LOOP_METRICS)), as ``als.metrics.loops.measure`` gives them.
    - ``core_speed_gflops``: float64 (M,), at factor 1.

    Returns float64 (n, len(LOOP_METRICS)): the same array if no width has changed.
    """
    jobs, widths = ledger.jobs, ledger.widths
    if widths is None or not len(widths):
        return loops
    changed = np.zeros(len(jobs), np.bool_)
    changed[widths.job[widths.change != 0]] = True
    held = core_spans(ledger, changed)
    could = np.bincount(held.job, (held.end_ns - held.start_ns) * core_speed_gflops[held.core] * 1e-9, len(jobs))
    done = changed & (jobs.state == Ending.COMPLETED) & (could > 0)
    found = loops.copy()
    found[done, _EFFICIENCY] = jobs.length_gflop[done] / could[done]
    return found
