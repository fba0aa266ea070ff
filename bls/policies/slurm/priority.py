"""The priority of a job by ``priority/multifactor``, as it is without slurmdbd: by its size, from its submit on.

Without slurmdbd the plug-in knows no age and no fair-share, whatever their weights are, and never computes a priority anew.
"""

from __future__ import annotations

from bls.policies.slurm.parameters import SlurmCycle

_MINUTE_S = 60


def priority(how: SlurmCycle, cores: int, limit_s: int, n_nodes: int, n_cores: int) -> int:
    """What it is, the highest first; with ``priority/basic`` the same for all. ``cores``, ``limit_s``: of the job.
    ``n_nodes``, ``n_cores``: of the machine. Returns int: at least 1."""
    if how.priority == "basic":
        return 1
    return max(1, int(how.weight_job_size * _size(how, cores, limit_s, n_nodes, n_cores)))


def _size(how: SlurmCycle, cores: int, limit_s: int, n_nodes: int, n_cores: int) -> float:
    # A job asks for cores, and so for one node at least. The steps of the arithmetic are Slurm's: what is cut off behind them
    # hangs on the last digit.
    if how.small_relative_to_time:
        found = max(n_cores / n_nodes, float(cores)) / (limit_s / _MINUTE_S) / n_cores
        found = 1.0 - found if how.favor_small else found
    elif how.favor_small:
        found = ((n_nodes - 1) / n_nodes + (n_cores - cores) / n_cores) / 2
    else:
        found = (1 / n_nodes + cores / n_cores) / 2
    return min(1.0, max(0.0, found))
