"""What a user says about the jobs of a run beside the workload, and how it becomes constraints."""

from __future__ import annotations

import os
import re
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bls.constraints.advance_reservations import load_windows
from bls.constraints.dependencies import dependencies
from bls.constraints.job_constraints import JobConstraints
from bls.constraints.outages import outages
from bls.constraints.partition_assignment import assign
from bls.constraints.resource_requests import fit_requests, requests
from bls.constraints.widths import share_of, widths
from bls.machine.platform import Platform
from bls.options import DEPENDENCIES, MEMORY, SWITCHES
from bls.workloads.selection import check_preset
from bls.workloads.workload import Workload
from traces.base.errors import InputError, shown
from traces.base.shared_options import SEED
from traces.base.time import parse_duration_ns
from traces.compiled import Array


@dataclass(frozen=True)
class Surroundings:
    """Options about what surrounds the jobs; the command line's under the same names.

    Attributes
    ----------
    memory : {"none", "swf"}
        Where the memory comes from that a core of a job asks for.
    requests : path or None
        A CSV file of what the units of jobs ask for.
    windows : path or None
        A TOML file of reservations and maintenance.
    failures : str or None
        A CSV file of outages, or a model such as ``mtbf:30d,mttr:4h``.
    dependencies : bool
        Whether a job arrives only when its preceding job has ended and the think time has passed.
    switches : str or None
        How many leaf switches every job accepts, as ``1``, and for how long it waits for that, as ``1@2h``.
    malleable : str, path or None
        Which jobs' widths may change while they run: a share of the jobs, as ``0.5``, or with the least and the most times as
        many cores as they ask for, as ``0.5:0.25:2``; or a CSV file (``bls.constraints.widths``).
    """

    memory: str = MEMORY.default
    requests: str | os.PathLike[str] | None = None
    windows: str | os.PathLike[str] | None = None
    failures: str | None = None
    dependencies: bool = DEPENDENCIES.default
    switches: str | None = None
    malleable: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        if self.switches is not None:
            switch_limit(self.switches)
        if isinstance(self.malleable, str):
            share_of(self.malleable)

    def names(self) -> dict[str, Any]:
        """The options as plain values, for a record of the run."""
        values = asdict(self)
        return {key: os.fspath(value) if isinstance(value, os.PathLike) else value for key, value in values.items()}


def switch_limit(text: str) -> tuple[int, int | None]:
    """``1@2h`` as the number of leaf switches and the time in ns for which a job waits for them; None is for ever.

    Raises
    ------
    InputError
        If it is no such thing.
    """
    number, at, wait = str(text).partition("@")
    if not re.fullmatch("[0-9]{1,18}", number) or not 0 < int(number) < 2**24 or bool(at) != bool(wait):
        raise InputError(
            f"{SWITCHES}: {shown(text)}; allowed: a number of switches from 1, as 1, or with a time, as 1@2h"
        )
    return int(number), parse_duration_ns(wait, str(SWITCHES)) if at else None


def surround(
    workload: Workload,
    platform: Platform,
    said: Surroundings,
    *,
    seed: int = SEED.default,
    known_jobs: Array | None = None,
) -> tuple[Workload, JobConstraints]:
    """The jobs that can run, and what surrounds them.

    Parameters
    ----------
    workload : Workload
        Fitted to the platform and selected.
    platform : Platform
        The machine.
    said : Surroundings
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
