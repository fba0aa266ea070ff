"""The power options applied to the jobs and the platform of a run."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from bls import options as o
from bls.conflicts import PLAN
from bls.constraints.job_constraints import partitions_of
from bls.engine import state as b
from bls.engine.feature import RunColumns
from bls.engine.features.draws.state import DomainState, PowerState
from bls.engine.features.limits.options import FALLBACK, LIMITS, POWER_ESTIMATES
from bls.engine.features.stops.state import StopState
from bls.estimates import LAST_TWO, check_predicts, groups
from bls.machine.partitions import PartitionTable
from bls.machine.platform import Platform
from bls.power.domains import Domain, domains_of
from bls.power.facts import FACTS
from bls.power.job_power import JobPower, PowerClasses, Said, allowed_jobs, job_power, power_classes
from bls.power.limits import Limit, Limits, given_limits, read_limits
from bls.power.options import Power
from bls.power.signals import Signals, read_signals
from bls.power.table import PowerTable, power_table
from bls.workloads.workload import Workload
from traces.base.errors import InputError, shown
from traces.base.options import check
from traces.base.scale import WHOLE
from traces.base.time import MAX_NS
from traces.compiled import Array


@dataclass(frozen=True, eq=False)
class PowerPlan:
    """The power model and the limits of a run."""

    options: Power
    table: PowerTable
    partitions: PartitionTable
    domains: tuple[Domain, ...]  # what has limits; the first is the machine
    fallback: str  # one of :data:`bls.power.options.FALLBACKS`
    allowed: Array  # bool (n,): jobs that may be slowed
    planned: Array  # int64 (n,): the planned state of each job
    signals: Signals | None = None  # prices and emissions of energy
    job_power: JobPower | None = None  # the given power of jobs, if any
    classes: PowerClasses | None = None  # the classes that follow from ``job_power`` and the platform
    # int64 (n,): equal for jobs of one user, -1 for unknown users; None if nothing is predicted from ended jobs
    of_user: Array | None = None
    has_gpus: bool = False  # whether any job requests GPUs whose power is known

    @property
    def limits(self) -> Limits:
        """The limits of the machine."""
        return self.domains[0].limits

    @property
    def parts(self) -> tuple[Domain, ...]:
        """The domains besides the machine."""
        return self.domains[1:]

    @property
    def limited(self) -> bool:
        """Whether there are any limits."""
        return any(one.limits for one in self.domains)

    @property
    def predicts(self) -> bool:
        """Whether jobs are planned with a predicted instead of their actual power."""
        return self.options.estimates != POWER_ESTIMATES.default

    @property
    def _host_most_mw(self) -> Array:
        # The highest planned power of a host of each group: with all cores and GPUs working for the job that draws most, or
        # with the platform's power if it is higher; if hosts are stopped, with the power that the scheduler knows.
        table = self.table
        if self.classes is None or (self.stops and self.predicts):
            return table.host_full_mw
        return table.host_most_mw(*(of[:, 0].max(axis=0) for of in (self.classes.active_mw, self.classes.gpu_w)))

    @property
    def limits_jobs(self) -> bool:
        """Whether the limits have an effect."""
        return self.fallback != "none" and self.limited

    @property
    def stops(self) -> bool:
        """Whether hosts are stopped under a limit."""
        return self.limits_jobs and self.fallback.startswith("stop:")

    @property
    def slows(self) -> bool:
        """Whether any job may be slowed."""
        return self.limits_jobs and bool(self.planned.any())

    @property
    def one_by_one(self) -> bool:
        """Whether each running job that may be slowed has its own state."""
        return self.fallback == "dvfs" and (self.options.slow_order != b.TOGETHER or bool(self.parts))

    @property
    def least_mw(self) -> list[int]:
        """The lowest power of each domain without jobs: all hosts idle, or off if they shut down."""
        off, idle = self.table.off_mw, self.table.host_idle_mw
        return [one.total_mw(np.minimum(off, idle) if self.fallback == "stop:off" else idle) for one in self.domains]

    @property
    def alike(self) -> bool:
        """Whether all cores have the same power, and all GPUs."""
        table = self.table
        columns = (table.speed, table.active_mw, table.idle_mw, table.gpu_speed, table.gpu_w, table.gpu_idle_w)
        return all(bool((column == column[..., :1]).all()) for column in columns)

    def by_cores(self) -> bool:
        """Whether counts of cores do not suffice for the limits, as it matters which cores a job has."""
        return any(one.by_cores(self) for one in FACTS)

    def give(self, given: RunColumns) -> None:
        """Add the limits, and the input of features that need the power of hosts, to the input of the engine."""
        for one in FACTS:
            one.give(self, given)
        if not self.limits_jobs:
            return
        given.state["power"] = self.state()
        if self.stops:
            given.state["stops"] = self.stop_state()
            return
        slowing = {"submit": b.FIXED, "dvfs": b.LEVELS} if self.slows else {}
        given.settings["powered"] = slowing.get(self.fallback, b.HOLD)
        given.settings["directs"] |= b.SLOWS * self.slows
        given.state["domains"] = self.domain_state()
        place = given.state["power"].amount = int(self.table.first_host[-1]) * given.settings["n_resources"]
        most = [one.total_mw(self._host_most_mw - self.table.host_idle_mw) for one in self.domains]
        given.state["totals"] = np.insert(given.state.get("totals", np.zeros(0, np.int64)), place, most)

    def why_stuck(self, limits_mw: Sequence[int]) -> str:
        """The reason why no job fits limits in force for ever, of each domain, mW (``NEVER``: none); empty without any."""
        found = {one.name: mw for one, mw in zip(self.domains, limits_mw, strict=False) if mw < b.NEVER}
        if found.keys() == {""}:
            return f"it does not fit the permanent power limit, {found[''] / 1000:g} W, even on the idle machine"
        return "".join(one.stuck(found) for one in FACTS if found)

    def stop_state(self) -> StopState:
        """The engine's state of hosts that are to be stopped."""
        stairs, table, off = self.limits.stairs, self.table, self.fallback == "stop:off"
        group = np.repeat(np.arange(len(table.cores)), table.n_hosts)
        return StopState.new(
            {"hosts": len(group)},
            first=stairs.first.copy(),
            stairs=np.stack([_never(stairs.until_ns), stairs.power_mw]),
            saves_mw=(self._host_most_mw - (table.off_mw if off else table.host_idle_mw))[group],
            down_saves_mw=(self._host_most_mw - table.off_mw)[group],
            passages=off * np.stack([table.shutdown_ns[group], table.boot_ns[group]]),
            shuts_down=int(off),
            max_mw=self.domains[0].total_mw(self._host_most_mw),
        )

    def domain_state(self) -> DomainState:
        """The engine's state of the domains."""
        ends = self.table.first_core[[0, -1]] if self.alike else self.table.first_core
        intervals = [one.in_groups(ends) for one in self.domains]
        return DomainState.new(
            {"domains": len(self.domains)},
            first=np.cumsum([0] + [part.shape[1] for part in intervals]),
            **dict(zip(("lo", "hi", "group"), np.concatenate(intervals, axis=1), strict=True)),
            idle_mw=np.array([one.idle_mw for one in self.domains], np.int64),
            covers=np.stack([one.in_partitions(self.partitions)[1] for one in self.domains], axis=1).astype(np.int64),
        )

    def state(self) -> PowerState:
        """The engine's state of power."""
        table = self.table
        limits = [(one.limits, one.total_mw(self._host_most_mw)) for one in self.domains]
        stairs = [_steps(*one) for one in limits]
        offset = np.cumsum([0] + [int(first[-1]) for first, _ in stairs])
        groups = slice(0, 1) if self.alike else slice(None)
        active, speed, kind = table.active_mw[None], table.speed[None], np.zeros(0, np.int64)
        gpu, gpu_core = np.zeros((0, 0), np.int64), np.zeros(0, np.int64)
        if self.classes is not None and len(self.classes.speed) > 1:
            active, speed, kind = self.classes.active_mw, self.classes.speed, self.classes.kind.copy()
        if self.classes is not None and self.has_gpus:
            gpu = _by_class((self.classes.gpu_w - table.gpu_idle_w)[..., groups])
            first_core = np.cumsum(np.repeat(table.cores, table.n_hosts)) - np.repeat(table.cores, table.n_hosts)
            gpu_core = np.repeat(first_core, np.repeat(table.gpus, table.n_hosts))
        n_cores = int(table.first_core[-1])
        most_running = min(len(self.planned), n_cores) + 2
        n, nothing = len(self.planned), np.zeros(0, np.int64)
        learns = self.of_user is not None and not self.stops
        power = nothing if not learns else np.full(n, WHOLE) if self.job_power is None else self.job_power.power.copy()
        return PowerState.new(
            {
                "drawn": table.n_states,
                "ends": most_running,
                "slowing": most_running if self.slows else 0,
                "room": 3,
                "predicted": n if self.predicts and not self.stops else 0,
                # One group more than users, so there is at least one.
                "alike": int(self.of_user.max()) + 2 if learns and self.of_user is not None else 0,
            },
            ns=self.limits.instants.copy(),
            known=np.stack([one.steps(one.instants, b.NEVER, known=True) for one, _ in limits]),
            first=np.stack([first + at for (first, _), at in zip(stairs, offset[:-1].tolist(), strict=True)]),
            stairs=np.concatenate([steps for _, steps in stairs], axis=1),
            more_mw=_by_class((active - table.idle_mw)[..., groups]),
            speed=_by_class(speed[..., groups]),
            gpu_mw=gpu,
            gpu_core=gpu_core,
            first_core=np.array([0, n_cores], np.int64) if self.alike else table.first_core.copy(),
            planned=self.planned.copy() if self.slows else np.zeros(0, np.int64),
            states=table.n_states,
            one_speed=int((table.speed == table.speed[:, :1]).all()),
            noticed=int(self.limits.noticed),
            slow_order=self.options.slow_order if self.slows else b.TOGETHER,
            kind=kind,
            factor=power,
            alike=self.of_user.copy() if learns and self.of_user is not None else nothing,
        )


class PlannedLimits(NamedTuple):
    """Power limits and their fallback, for the table of conflicts ``bls.conflicts.PLAN``."""

    fallback_of: tuple[str, int]
    parts: tuple[Domain, ...]  # with limits, besides the machine
    noticed: bool


def power_plan(
    options: Power, workload: Workload, platform: Platform, *, known_jobs: Array, seed: int,
    said: Callable[[Array], Array] | None = None, drawn: Said | None = None, gpus: Array | None = None,
) -> PowerPlan:  # fmt: skip
    """Apply the options to the jobs of a run.

    - ``known_jobs``, int64: job numbers that a file may name besides the workload's
    - ``seed``: the seed with which a share of the jobs is drawn
    - ``said``, ``drawn``: functions from the values by the options to those with the values of applications: the jobs that may
      be slowed, bool (n,); and their power (:func:`bls.power.job_power.job_power`)
    - ``gpus``, bool (n,): whether each job requests GPUs; None: none does

    Raises InputError if the platform has no power data, or a limit, a state, the jobs or a signal cannot be used.
    """
    given = ((LIMITS, options.limits), (o.SIGNALS, options.signals), (o.JOB_POWER, options.job_power))
    needing = (*(option for option, value in given if value is not None), *options.others, o.POWER)
    partitions = platform.partition_table
    table = power_table(platform, str(needing[0]))
    name, state = options.fallback_of

    def domain(text: str, where: str) -> Domain:
        find = next((one.domain for one in FACTS if one.domain is not None), None)
        if find is None:
            raise InputError(f"{where}: {shown(text)}; allowed: nothing, as no part of the machine is known")
        return find(text, platform, table, where)

    limits: tuple[Limit, ...] = ()
    if isinstance(options.limits, str | os.PathLike):
        limits = read_limits(options.limits, table.full_total_mw, lambda text, where: domain(text, where).full_mw)
    elif options.limits is not None:
        limits = given_limits(options.limits)
    domains = domains_of(limits, table, domain)
    check(PLAN, PlannedLimits(options.fallback_of, domains[1:], domains[0].limits.noticed))
    if name == "submit" and not 1 <= state < table.n_states:
        allowed = f"1 to {table.n_states - 1}" if table.n_states > 1 else "none, as the platform's cores have one state"
        raise InputError(f"{FALLBACK}: {shown(options.fallback)}: state {state}; allowed: {allowed}")
    allowed_rows = allowed_jobs(options.jobs_allowed, workload, known_jobs, seed)
    allowed_rows = allowed_rows if said is None else said(allowed_rows)
    planned = np.zeros(len(workload), np.int64)
    if name == "dvfs":
        planned[allowed_rows] = table.n_states - 1
    elif name == "submit":
        known, partition = np.zeros(len(workload), np.bool_), partitions_of(workload, platform)[0]
        for one in domains:
            known |= one.limits.any_known(workload.submit_ns) & one.in_partitions(partitions)[0][partition]
        planned[allowed_rows & known] = state
    signals = None if options.signals is None else read_signals(options.signals)
    gpus = gpus if table.gpu_w.any() else None
    draws = job_power(cast(Any, options.job_power), workload, known_jobs, drawn, gpus)  # its columns are lists
    classes = None if draws is None else power_classes(table, draws, workload.job_id)
    of_user = None
    if options.estimates == "last-two":
        check_predicts(LAST_TWO, workload, where=str(POWER_ESTIMATES), allowed=("exact", "platform"))
        of_user = groups(LAST_TWO, workload)[0][0]
    has_gpus = gpus is not None and bool(gpus.any())
    return PowerPlan(
        *(options, table, partitions, domains, name, allowed_rows, planned, signals, draws, classes, of_user, has_gpus)
    )


def _by_class(values: Array) -> Array:
    # The states of all classes in sequence.
    return np.ascontiguousarray(values.reshape(-1, values.shape[-1]))


def _steps(limits: Limits, full: int) -> tuple[Array, Array]:
    # The reductions of full power by the limits, in the form of the engine's state (``first`` and ``stairs``).
    stairs = limits.stairs
    power = np.minimum(stairs.power_mw, full)
    # The difference of each stair to the next; after the last stair of an instant there is no limit.
    above = np.append(power[1:], full)[: len(power)]
    above[stairs.first[1:][np.diff(stairs.first) > 0] - 1] = full
    some = above > power
    first = np.append(0, np.cumsum(some))[stairs.first]
    steps = np.stack([_never(stairs.until_ns), above - power, np.zeros_like(power)])[:, some].copy()
    if limits.noticed:
        first, since, until, less = limits.lowerings(full)
        steps = np.stack([_never(until), less, since])
    return first, steps


def _never(until_ns: Array) -> Array:
    return np.where(until_ns >= MAX_NS, b.NEVER, until_ns)
