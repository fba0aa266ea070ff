"""Malleable jobs, whose width may change while they run, and the limits of their widths (docs/reference/malleable.md).

They are named in a CSV file, or are a random share of the jobs. The stream depends on the seed, and the jobs of a smaller share
are among those of a larger one.
"""

import os
from dataclasses import dataclass

import numpy as np

from bls.constraints.resource_requests import read_request_file
from bls.engine.features.widths.options import MALLEABLE, share_of
from bls.machine.platform import Platform
from bls.workloads.workload import Workload
from traces.base.columns import Columns
from traces.base.errors import InputError, shown
from traces.compiled import Array

_STREAM = 0x6D616C6C6561626C65  #: name of the stream from which malleable jobs are drawn


@dataclass(frozen=True)
class Widths(Columns):
    """Smallest and largest width of each job; both equal the request if the width may not change."""

    min_cores: Array  # (n,)
    max_cores: Array  # (n,)

    @property
    def malleable(self) -> Array:
        """Jobs whose width may change: bool (n,)."""
        return np.asarray(self.min_cores < self.max_cores)


def widths(
    said: str | os.PathLike[str], workload: Workload, platform: Platform, partition: Array, known: Array, seed: int
) -> Widths:
    """The widths of the jobs of a run, by the option ``malleable``. ``partition``: row of each job's partition in
    ``Platform.partition_table``. ``known``: job numbers that a file may name besides the workload's. Raises
    InputError if the file or the share cannot be used, or no job is malleable."""
    cores, room = workload.cores, platform.partition_table.n_cores[partition]
    if (chosen := share_of(said)) is not None:
        drawn = np.random.default_rng([seed, _STREAM]).uniform(size=len(workload)) < chosen[0]
        least = np.maximum(1, np.ceil(cores * chosen[1]).astype(np.int64))
        most = np.minimum(np.floor(cores * chosen[2]).astype(np.int64), room)
        found = Widths(np.where(drawn, least, cores), np.where(drawn, most, cores))
        if not found.malleable.any():
            raise InputError(f"{MALLEABLE:{said}}: of {len(workload)} jobs none is drawn; allowed: a greater share")
        return found
    if isinstance(said, str) and not os.path.exists(said):
        allowed = "SHARE, SHARE:MIN or SHARE:MIN:MAX, as 0.5:0.25:2, or a CSV file"
        raise InputError(f"{MALLEABLE}: {shown(said)}: no such file; allowed: {allowed}")
    columns = read_request_file(said, workload, ("min_cores", "max_cores"), known)
    nothing = np.full(len(workload), -1, np.int64)
    least, most = (columns.get(name, nothing) for name in ("min_cores", "max_cores"))
    found = Widths(np.where(least < 0, cores, least), np.where(most < 0, cores, most))
    wrong = (found.min_cores < 1) | (found.min_cores > cores) | (found.max_cores < cores) | (found.max_cores > room)
    if wrong.any():
        row = int(np.argmax(wrong))
        given = f"job {workload.job_id[row]}: min_cores {found.min_cores[row]}, max_cores {found.max_cores[row]}"
        allowed = f"1 to {cores[row]}, what it requests, and {cores[row]} to {room[row]}, what its partition has"
        raise InputError(f"{os.fspath(said)}: {given}; allowed: {allowed}")
    if not found.malleable.any():
        raise InputError(f"{os.fspath(said)}: the width of no job can change; allowed: min_cores below max_cores")
    return found
