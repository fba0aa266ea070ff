"""A lower bound on a job's end, known before it is simulated."""

import math

from traces.base.time import MAX_NS
from traces.compiled import Array


def earliest_end_ns(start_ns: int, total_gflop: float, mean_gflop: float, speed_gflops: Array) -> int:
    """Return an instant, ns, before which a job cannot end if its speeds do not rise: all its work at the speed of all its
    cores.

    The time of each task is rounded by up to half a nanosecond, so the bound is a thousandth lower, which covers 2,000 times
    the expected number of tasks if a task takes a millisecond. For shorter tasks the bound is the start.

    Parameters
    ----------
    start_ns : int
    total_gflop : float
        A lower bound on the sum of its task lengths.
    mean_gflop : float
        Mean task length.
    speed_gflops : float64 (P,)
        Speed of each core.
    """
    if mean_gflop / float(speed_gflops.max()) < 1e-3:
        return start_ns
    return min(start_ns + math.floor(0.999e9 * total_gflop / float(speed_gflops.sum())), MAX_NS)
