"""What parts of the machine that have limits of their own have drawn over time, and when that was more than these allowed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bls.metrics.schedule import Downtime
from bls.power.accounting import HostPassages, PowerSeries, away_hosts, drawn_within, step_series
from bls.power.domains import Domain
from bls.power.job_power import PowerClasses
from bls.power.table import PowerTable
from traces.compiled import Array
from traces.ledger import Ledger


def domain_series(
    ledger: Ledger,
    table: PowerTable,
    downtime: Downtime,
    domain: Domain,
    *,
    of: str,
    begin_ns: int,
    until_ns: int,
    stopped: HostPassages | None = None,
    classes: PowerClasses | None = None,
) -> PowerSeries:
    """What the hosts of a domain have drawn over time; parameters as of :func:`bls.power.accounting.account`."""
    columns = drawn_within(ledger, table, of, domain.clipped, classes)
    down = downtime.within(begin_ns, until_ns)
    down = replace(down, **{name: column[domain.hosts[down.host]] for name, column in vars(down).items()})
    if stopped is not None:
        some = domain.hosts[stopped.host]
        stopped = HostPassages(stopped.instant_ns[some], stopped.host[some], stopped.state[some])
    columns.append(away_hosts(table, down, stopped, until_ns))
    start, end, more = (np.concatenate(column) for column in zip(*columns, strict=True))
    return step_series(domain.idle_mw, start, end, more, begin_ns, until_ns)


def every_instant(series: PowerSeries, limits: Array) -> Array:
    """When what is drawn, or a limit, changes: int64, ascending, from the begin on."""
    found = np.unique(np.concatenate([series.instant_ns, limits]))
    begin = int(series.instant_ns[0])
    within: Array = found[(found >= begin) & ((found < series.until_ns) | (found == begin))]
    return within
