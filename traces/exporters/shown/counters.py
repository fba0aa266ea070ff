"""What is counted over time, in a trace: of the whole machine, and of each host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from traces.compiled import Array
from traces.exporters.shown.batch_level import COMPUTING, ShownBatchLevel, power_counters
from traces.ledger import MachineShape


class Series(NamedTuple):
    """A step function of time: ``values`` (int64) times ten to the power of ``exponent``, in ``unit``, each holds until the
    next."""

    name: str
    unit: str
    exponent: int
    instant_ns: Array
    values: Array


def machine_series(batch: ShownBatchLevel) -> list[Series]:
    """``queue length``, ``busy cores``, ``computing cores`` where tasks are known, and what is known of power."""
    load = batch.load
    found = [
        Series("queue length", "jobs", 0, load.instant_ns, load.queue_length.astype(np.int64)),
        Series("busy cores", "cores", 0, load.instant_ns, load.busy_cores.astype(np.int64)),
    ]
    if batch.computing is not None:
        name, _, unit, exponent = COMPUTING
        found.append(Series(name, unit, exponent, load.instant_ns, batch.computing))
    if (power := batch.power) is not None:
        found += [
            Series(one.name, one.unit, one.exponent, power.instant_ns, one.values.astype(np.int64))
            for one in power_counters(power)
        ]
    return found


def series_of_hosts(batch: ShownBatchLevel, machine: MachineShape) -> Iterator[tuple[int, Series]]:
    """``busy cores`` of each host that ever has any."""
    hosts = batch.hosts
    for host in range(machine.n_hosts):
        rows = slice(int(hosts.first[host]), int(hosts.stop[host]))
        if rows.start < rows.stop:
            yield host, Series("busy cores", "cores", 0, hosts.instant_ns[rows], hosts.busy_cores[rows])
