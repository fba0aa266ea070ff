"""HCP'19, second stage: who starts now is put on nodes by best fit; who does not fit waits.

Jobs come by priority, and each takes the nodes that have least left, summed over their resources, lowest numbers first.
The paper's source says neither how nodes are compared nor in which order jobs come; both were inferred.
"""

from __future__ import annotations

import numpy as np

from bls.cp.problem import Problem
from traces.compiled import Array


def best_fit(problem: Problem, free: Array, starting: Array) -> tuple[dict[int, Array], list[int]]:
    """Put jobs on nodes. ``free``, int64 (nodes, resources): what is free now. ``starting``, int64: the jobs, in the order in
    which they choose. Returns dict of int to int64 (units,): the node of every unit, by job; list of int: jobs that do not
    fit."""
    free = free.copy()
    placed: dict[int, Array] = {}
    without = []
    for job in starting.tolist():
        room = problem.units_on(job, free)
        hosts = np.flatnonzero(room)
        hosts = hosts[np.argsort(free[hosts].sum(axis=1), kind="stable")]
        up_to = np.cumsum(room[hosts])
        wanted = int(problem.units[job])
        if not len(hosts) or up_to[-1] < wanted:
            without.append(job)
            continue
        nodes = np.repeat(hosts, room[hosts])[:wanted]
        np.subtract.at(free, nodes, problem.per_unit[job])
        placed[job] = nodes
    return placed, without
