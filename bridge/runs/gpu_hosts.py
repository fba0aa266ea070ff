"""The hosts of a run with GPUs: free cores and GPUs at an instant, and why a job that requests GPUs cannot start then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bls.machine.platform import Platform, accepts_kind
from bls.metrics.schedule import NO_DOWNTIME, Downtime
from traces.compiled import Array
from traces.holdings import cores_by_host, gpu_ends, holdings
from traces.records.events import counted
from traces.records.gpus import WHOLE_GPU

if TYPE_CHECKING:
    from bls.constraints.resource_requests import Requests
    from bridge.scenarios.ready import ReadyScenario
    from traces.ledger import Ledger


def gpus_text(milli: int) -> str:
    """``1 GPU`` or ``2.5 GPUs``."""
    return f"{milli / WHOLE_GPU:g} {'GPU' if milli <= WHOLE_GPU else 'GPUs'}"


def jobs_with_undriven_gpus(ready: ReadyScenario, ledger: Ledger) -> int:
    """The number of jobs that held GPUs of a kind that their program uses, but too few cores on the same host to drive all."""
    gpus, machine, requests = ledger.gpus, ledger.machine, ready.constraints.requests
    if gpus is None or requests is None or requests.gpus is None or ready.gpu_rows.max(initial=0) == 0:
        return 0
    found, jobs, origin = 0, ledger.jobs, ready.workload.rows_of(ledger.jobs.job_id)
    place = ready.application[origin]
    for row in np.flatnonzero((ready.gpu_rows[place, 0] >= 0) & (np.diff(gpus.first) > 0)).tolist():
        held, ends = slice(*gpus.first[row : row + 2]), slice(*jobs.allocation_first[row : row + 2])
        spans = zip(jobs.allocation_lo[ends].tolist(), jobs.allocation_hi[ends].tolist(), strict=True)
        core = np.concatenate([np.arange(lo, hi) for lo, hi in spans])[: jobs.cores[row]]
        drivers = np.bincount(machine.host_of(core[1:]), minlength=machine.n_hosts)  # the first core drives none
        parts = gpus.milli[held] // requests.gpus.milli[origin[row]]
        parts = np.bincount(machine.host_of_gpu(gpus.gpu[held]), parts, machine.n_hosts)
        streams = np.array([0, *(kind.streams for kind in ready.applications[place[row]].workers)])
        found += bool((parts * streams[ready.gpu_rows[place[row]][ready.platform.gpu_kind_of_host]] > drivers).any())
    return found


@dataclass(frozen=True, eq=False)
class GpuHosts:
    """The hosts of a finished run, and the requests of its jobs."""

    ledger: Ledger
    platform: Platform
    requests: Requests | None  # of the jobs of the workload; None: unknown
    job: Array  # int64 (rows of the ledger's jobs,): the row of ``requests`` of each
    away: Downtime = NO_DOWNTIME  # when hosts were down, in maintenance or drained

    @classmethod
    def of(cls, ready: ReadyScenario, ledger: Ledger, downtime: Downtime) -> GpuHosts:
        """Return those of a finished run of a scenario; ``downtime`` does not include drains."""
        job, outages = ready.workload.rows_of(ledger.jobs.job_id), ready.constraints.outages
        if outages is not None and (drained := outages.drained) is not None:
            host = np.repeat(np.arange(drained.n_hosts), np.diff(drained.first))
            columns = zip(vars(downtime).values(), (host, 0 * host, drained.down_ns, drained.up_ns), strict=True)
            downtime = Downtime(*map(np.concatenate, columns))
        return cls(ledger, ready.platform, ready.constraints.requests, job, downtime)

    def free(self, ns: int, row: int, had_ns: Array) -> tuple[Array, Array]:
        """The free cores of each host, and the thousandths left of each GPU: after the ends of an instant, before its starts,
        and without the job of a row; nothing of hosts where no job may start. ``had_ns``: the instant at which each job had its
        cores."""
        ledger, gpus, machine = self.ledger, self.ledger.gpus, self.ledger.machine
        assert gpus is not None
        held = holdings(ledger)
        of, host, cores = cores_by_host(machine, held)
        since = np.where(held.start_ns == ledger.jobs.start_ns[held.job], had_ns[held.job], held.start_ns)
        running = ((since < ns) & (held.end_ns > ns) & (held.job != row))[of]
        free = np.diff(machine.first_core) - np.bincount(host[running], cores[running], machine.n_hosts)
        running = (had_ns[gpus.job] < ns) & (gpu_ends(ledger) > ns) & (gpus.job != row)
        left = WHOLE_GPU - np.bincount(gpus.gpu[running], gpus.milli[running], machine.n_gpus)
        away = self.away.host[(self.away.down_ns <= ns) & ((self.away.up_ns > ns) | (self.away.up_ns < 0))]
        free[away], left[np.isin(machine.host_of_gpu(np.arange(machine.n_gpus)), away)] = 0, 0
        return free.astype(np.int64), left.astype(np.int64)

    def able(self, row: int) -> tuple[Array, str]:
        """The hosts whose GPUs a job accepts, bool (n_hosts,), and their kinds in words: empty if it accepts all of several."""
        kinds, groups, mask = self.platform.gpu_kinds, self.platform.hosts, -1
        if self.requests is not None and self.requests.gpus is not None:
            mask = int(self.requests.gpus.kinds[self.job[row]])
        accepted = [kind for place, kind in enumerate(kinds) if accepts_kind(mask, place)]
        able = [group.gpus > 0 and group.gpu in accepted for group in groups]
        words = "" if len(accepted) == len(kinds) > 1 else ", ".join(accepted)
        return np.repeat(able, [group.count for group in groups]), words

    def free_text(self, row: int, left: Array) -> str:
        """``0 of 8 GPUs (a100)``: the free GPUs of the kinds that a job accepts."""
        able, kinds = self.able(row)
        of = able[self.ledger.machine.host_of_gpu(np.arange(len(left)))]
        return f"{int(left[of].sum()) / WHOLE_GPU:g} of {counted(int(of.sum()), 'GPU')}" + f" ({kinds})" * bool(kinds)

    def reason(self, row: int, held: int, free: Array, left: Array) -> str:
        """Why a job, which later held some thousandths of GPUs, does not fit on the hosts, as far as their cores and GPUs are
        the reason; else empty."""
        if self.requests is None or self.requests.gpus is None:
            return f"waits for a GPU: {counted(int(free.sum()), 'core')} are free" * (int(left.sum()) < held)
        asked, job = self.requests.gpus, self.job[row]
        per_unit, per_host, milli = (int(column[job]) for column in (asked.per_unit, asked.per_host, asked.milli))
        unit = int(self.requests.unit_cores[job])
        (able, kinds), n_hosts = self.able(row), len(free)
        host = self.ledger.machine.host_of_gpu(np.arange(len(left)))
        left = np.where(able[host], left, 0)
        by_cores, of_host = free // unit, np.bincount(host, left >= milli, n_hosts).astype(np.int64)
        # The units that the GPUs of each host suffice for: with GPUs per host as many as its cores, or none.
        if per_host:
            by_gpus = np.where(of_host >= per_host, self.platform.n_cores, 0)
        elif milli < WHOLE_GPU:
            by_gpus = np.bincount(host, left // milli, n_hosts).astype(np.int64)
        else:
            by_gpus = of_host // per_unit
        units, fit = int(self.ledger.jobs.cores[row]) // unit, int(np.minimum(by_cores, by_gpus).sum())
        if fit >= units:
            return ""
        idle = int(left[(by_cores == 0)[host]].sum())
        if idle and (per_host or by_gpus.sum() >= units):
            full = "full hosts" if unit == 1 else f"hosts with fewer than {unit} free cores"
            return f"waits for cores: {gpus_text(idle)} {'is' if idle <= WHOLE_GPU else 'are'} idle on {full}"
        where = f"{counted(int(free[able].sum()), 'core')} are free on hosts with {'its kinds' if kinds else 'GPUs'}"
        if (most := int(left.max())) < milli:
            rest = f"the most left of one GPU is {most} milli"
        elif (needed := max(per_unit, per_host)) > of_host.max():
            rest = f"no host has {needed} free GPUs"
        else:
            rest = f"they and the free GPUs suffice for {fit} of {units} units"
        return f"waits for a GPU: {where}, {rest}"
