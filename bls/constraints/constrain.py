"""The constraints of the jobs of a run, made of what a user says."""

from __future__ import annotations

import numpy as np

from bls.constraints.advance_reservations import load_windows
from bls.constraints.dependencies import dependencies
from bls.constraints.job_constraints import JobConstraints
from bls.constraints.options import ConstraintOptions, switch_limit
from bls.constraints.outages import outages
from bls.constraints.partition_assignment import assign
from bls.constraints.resource_requests import fit_requests, requests
from bls.constraints.widths import widths
from bls.machine.platform import Platform
from bls.options import SWITCHES
from bls.workloads.selection import check_preset
from bls.workloads.workload import Workload
from traces.base.errors import InputError
from traces.base.options import SEED
from traces.compiled import Array


def constrain(
    workload: Workload,
    platform: Platform,
    said: ConstraintOptions,
    *,
    seed: int = SEED.default,
    known_jobs: Array | None = None,
) -> tuple[Workload, JobConstraints]:
    """The jobs that can run, and what constrains them.

    Parameters
    ----------
    workload : Workload
        Fitted to the platform and selected.
    platform : Platform
        The machine.
    said : ConstraintOptions
        What the user says.
    seed : int
        Of a model of failures, and of a share of the jobs.
    known_jobs : ndarray of int64, optional
        All job numbers that a file of requests may name, as those of the log before a selection.

    Returns
    -------
    Workload, JobConstraints
        The jobs that no partition or host has room for are counted as rejects.

    Raises
    ------
    InputError
        If a file cannot be used, or no job is left.
    """
    check_preset(workload, platform.n_cores)
    workload, partition = assign(workload, platform)
    limit = 0
    if said.switches is not None:
        if not platform.switches:
            raise InputError(f"{SWITCHES}: the platform names no switches; give it [[switches]]")
        limit, _ = switch_limit(said.switches)
    asked = requests(
        *(workload, platform),
        memory=said.memory,
        path=said.requests,
        known=known_jobs,
        switches=limit,
        partition=partition,
    )
    if asked.begin_ns is not None:
        begin_ns = np.where(asked.begin_ns >= 0, asked.begin_ns, workload.begin_ns)
        workload = workload.take(np.arange(len(workload)), begin_ns=begin_ns)
    workload, partition, asked = fit_requests(workload, partition, asked, platform)
    return workload, JobConstraints(
        partition=partition if platform.partitions else None,
        requests=None if asked.plain else asked,
        dependencies=dependencies(workload) if said.dependencies else None,
        windows=None if said.windows is None else load_windows(said.windows, platform),
        outages=None if said.failures is None else outages(said.failures, platform, seed=seed),
        widths=None
        if said.malleable is None
        else widths(said.malleable, workload, platform, partition, _none(known_jobs), seed),
    )


def _none(known_jobs: Array | None) -> Array:
    return np.empty(0, np.int64) if known_jobs is None else known_jobs
