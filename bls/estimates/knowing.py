"""Estimates that are known before the simulation: the users' own, the truth, and anything near it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bls.workloads.workload import Workload
from traces.base.errors import InputError, parse_real, shown
from traces.base.time import MAX_NS
from traces.compiled import Array

#: Names the stream that errors are drawn from.
_STREAM = 0x77697468696E


@dataclass(frozen=True)
class Requested:
    """What the user asked for."""

    name: str = "requested"

    def planned_ns(self, workload: Workload, seed: int) -> Array:
        """The requests."""
        return workload.estimate_ns


@dataclass(frozen=True)
class Promised(Requested):
    """What the user asked for, until the job runs; then the end that its application promises."""

    name: str = "application"


@dataclass(frozen=True)
class Exact:
    """The recorded run time; the request where no run time is known."""

    name: str = "exact"

    def planned_ns(self, workload: Workload, seed: int) -> Array:
        """The recorded run times."""
        return np.where(workload.run_unknown, workload.estimate_ns, workload.run_ns)


@dataclass(frozen=True)
class Within:
    """The recorded run time, wrong by up to a share of itself: run × (1 + share × u), u uniform in [-1, 1).

    The errors are drawn from a stream named by the seed, in workload order, and are cut to whole ns, so that they stay within.
    """

    share: float  # from 0 to below 1

    @property
    def name(self) -> str:
        """``within:`` and the share in percent."""
        return f"within:{self.share * 100:.15g}%"

    def planned_ns(self, workload: Workload, seed: int) -> Array:
        """Run times with errors, at least 1 ns."""
        true_ns = EXACT.planned_ns(workload, seed)
        error = np.random.default_rng([seed, _STREAM]).uniform(-1.0, 1.0, len(workload)) * self.share
        estimates: Array = np.clip(true_ns + np.trunc(true_ns * error).astype(np.int64), 1, MAX_NS)
        return estimates


def within(text: str, where: str) -> Within:
    """``within:X%``: the estimator of what stands behind the colon. Raises InputError if it is no share from 0 to below
    100 %."""
    try:
        share = parse_real(text.strip().removesuffix("%").strip()) / 100
    except ValueError:
        share = -1.0
    if not text.strip().endswith("%") or not 0 <= share < 1:
        raise InputError(f"{where}: within:{shown(text)[1:-1]}; allowed: a share from 0% to below 100%, as within:10%")
    return Within(share)


REQUESTED = Requested()
PROMISED = Promised()
EXACT = Exact()
