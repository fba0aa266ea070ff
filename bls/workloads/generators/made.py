"""What generators share: random streams by name, and workloads of generated columns."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

import numpy as np

from bls.workloads.workload import Workload
from traces.base.options import SEED
from traces.compiled import Array


def stream(seed: int, purpose: str) -> np.random.Generator:
    """The generator of this seed and purpose. Raises InputError if the seed is no whole number from 0 to 2**64 - 1."""
    name = hashlib.sha256(f"{SEED.check(seed, 'seed')} generated {purpose}".encode()).digest()
    return np.random.Generator(np.random.Philox(key=np.frombuffer(name[:16], dtype="<u8")))


def made_workload(
    submit_ns: Array,
    *,
    run_ns: Array,
    cores: Array,
    estimate_ns: Array,
    extra: Mapping[str, Array],
    source: str,
    header: Iterable[str],
    extras: Mapping[str, Array] | None = None,
    names: Mapping[int, str] | None = None,
) -> Workload:
    """The workload of these columns, submits ascending; ``extra``, ``extras`` and ``names`` as in ``Workload.from_lines``."""
    n = len(submit_ns)
    number = np.arange(1, n + 1)
    counts = (f"; MaxJobs: {n}", f"; MaxRecords: {n}")
    return Workload.from_lines(
        (number, submit_ns, run_ns, cores, estimate_ns, number),
        header=("; Version: 2.2", *header, *counts),
        rejects={},
        source=source,
        n_lines=n,
        extra=extra,
        extras=extras,
        names=names,
    )
