"""Parts of the machine with their own power limits: their names, their power over time, and their tables, records and texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bls.engine.feature import PowerFacts, RunColumns
from bls.engine.features.domains.records import COLUMNS, NAME
from bls.engine.features.domains.state import PartState
from bls.machine.partitions import PartitionTable, existing
from bls.machine.platform import Platform
from bls.power.accounting import PowerRun, PowerSeries, ascending, away_hosts, job_pieces, step_series
from bls.power.domains import Domain
from bls.power.limits import NO_LIMIT, Limits
from bls.power.table import PowerTable
from traces.base.errors import InputError, one_of, shown
from traces.compiled import Array
from traces.intervals import intervals_text

if TYPE_CHECKING:
    from bls.power.plan import PowerPlan
    from bls.power.report import PowerReport

_FORMS = "partition:NAME, switch:NAME or hosts:4-7"
_ALLOWED = "allowed: nothing, for the machine, partition:NAME, switch:NAME, or hosts:4-7"


@dataclass(frozen=True, eq=False)
class MachinePart(Domain):
    """Some hosts of the machine that have their own limits; its name is ``partition:a``, ``switch:s0`` or ``hosts:4-7``."""

    hosts: Array  # bool (H,): its hosts
    # int64 (k,): its cores as half-open intervals, ascending
    core_lo: Array
    core_hi: Array

    def has(self, host: Array) -> Array:
        return np.asarray(self.hosts[host])

    def in_partitions(self, partitions: PartitionTable) -> tuple[Array, Array]:
        mine = [self.hosts[partitions.hosts(row, len(self.hosts))] for row in range(len(partitions))]
        return np.array([some.any() for some in mine]), np.array([some.all() for some in mine])

    def in_groups(self, first_core: Array) -> Array:
        begin, end = np.maximum(self.core_lo, first_core[:-1, None]), np.minimum(self.core_hi, first_core[1:, None])
        group, at = np.nonzero(begin < end)
        return np.stack([begin[group, at], end[group, at], group])

    def series(self, run: PowerRun) -> PowerSeries:
        first = ascending(run.table.first_core, self.core_lo, self.core_hi)
        begun, over = (np.searchsorted(bounds, first, side="right") for bounds in (self.core_lo, self.core_hi))
        inside, columns = begun > over, list[tuple[Array, ...]]()
        columns += [(inside[one.part], one.start_ns, one.end_ns, one.more_mw) for one in job_pieces(run, first)]
        columns += [(self.hosts[host], *away) for host, *away in away_hosts(run)]
        mine, start, end, more = (np.concatenate(column) for column in zip(*columns, strict=True))
        return step_series(self.idle_mw, start[mine], end[mine], more[mine], run.begin_ns, run.until_ns)


def _part(text: str, platform: Platform, table: PowerTable, where: str) -> MachinePart:
    # The part that a limit names, without limits.
    kind, _, name = text.partition(":")
    kind, name = kind.strip(), name.strip()
    partitions, switches, hosts = platform.partition_table, platform.topology, np.zeros(platform.n_hosts, np.bool_)
    names = {"partition": partitions.names, "switch": switches.names}.get(kind, ())
    if kind == "hosts":
        found = existing("host", name, platform.n_hosts, where)
        if not found:
            raise InputError(f"{where}: {shown(text)}: no hosts; {_ALLOWED}")
        name = intervals_text(found)
        for first, stop in found:
            hosts[first:stop] = True
    elif not names:
        why = ": the platform has no switches" * (kind == "switch")
        raise InputError(f"{where}: {shown(text)}{why}; {_ALLOWED}")
    elif name not in names:
        raise one_of(kind, name, names, where)
    elif kind == "partition":
        hosts = partitions.hosts(names.index(name), platform.n_hosts)
    else:
        hosts[switches.below(names.index(name))] = True
    n_hosts = np.bincount(table.group_of_host(np.flatnonzero(hosts)), minlength=len(table.cores))
    bounds = platform.first_core[np.flatnonzero(np.diff(hosts, prepend=False, append=False))]
    return MachinePart(f"{kind}:{name}", table, n_hosts, Limits(), hosts, bounds[::2], bounds[1::2])


def _give(plan: PowerPlan, given: RunColumns) -> None:
    if plan.parts and plan.limits_jobs:
        hosts = np.arange(int(plan.table.first_host[-1]))
        within = np.stack([one.has(hosts) for one in plan.parts], axis=1)
        first, of_host = np.append(0, np.cumsum(within.sum(axis=1))), 1 + np.nonzero(within)[1]
        given.state["parts"] = PartState.new({"domains": len(plan.domains)}, of_first=first, of_host=of_host)


def _words(plan: PowerPlan) -> str:
    n = len(plan.parts)
    return f" of the machine and {n} part{'s' if n > 1 else ''} of it" if n else ""


def _stuck(limits_mw: Mapping[str, int]) -> str:
    texts = ", ".join(f"{mw / 1000:g} W of {name or 'the machine'}" for name, mw in limits_mw.items())
    left = "leave too few cores for it even on the idle machine (it is offered the cores that fit, host by host)"
    return f"the permanent power limits, {texts}, {left}"


def _tables(report: PowerReport) -> dict[str, dict[str, Any]]:
    # Part by part; each row is valid from its instant on.
    names, rows = list[str](), []
    for domain, series in zip(report.plan.parts, report.domain_series[1:], strict=True):
        at = ascending(series.instant_ns, domain.limits.instants)
        at = at[(at >= report.begin_ns) & ((at < report.until_ns) | (at == report.begin_ns))]
        drawn, limit = series.at(at), domain.limits.steps(at, NO_LIMIT, known=False)
        another = np.append(True, (drawn[1:] != drawn[:-1]) | (limit[1:] != limit[:-1]))
        names += [domain.name] * int(another.sum())
        rows.append((at[another], drawn[another], limit[another]))
    if not rows:
        return {}
    instant, drawn, limit = (np.concatenate(column) for column in zip(*rows, strict=True))
    return {NAME: dict(zip(COLUMNS, (instant, names, drawn, limit), strict=True))}


def _limit_record(plan: PowerPlan) -> dict[str, Any]:
    domains = {
        one.name: {"idle_w": one.idle_mw / 1000, "full_w": one.full_mw / 1000, "limits": one.limits.listed()}
        for one in plan.parts
    }
    return {"domains": domains} if domains else {}


def _recorded_limits(record: Mapping[str, Any], where: str) -> Iterator[tuple[Any, str]]:
    domains = record.get("domains", {})
    if not isinstance(domains, Mapping):
        raise InputError(f"{where}: domains: {shown(domains)}; allowed: parts of the machine by name, with limits")
    for name, domain in domains.items():
        if not isinstance(domain, Mapping) or "limits" not in domain:
            raise InputError(f"{where}: domains.{name}: {shown(domain)}; allowed: a part of the machine with limits")
        yield domain["limits"], f"{where}: domains.{name}"


FACTS = PowerFacts(
    _give,
    by_cores=lambda plan: bool(plan.parts),
    tables=_tables,
    domain_forms=_FORMS,
    domain=_part,
    domain_words=_words,
    stuck=_stuck,
    limit_record=_limit_record,
    recorded_limits=_recorded_limits,
)
