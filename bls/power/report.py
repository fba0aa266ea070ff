"""Power and energy of a finished run: over time, in total, and the times above a limit with their reasons."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np

from bls.engine import state as b
from bls.metrics.exact import exact_mean
from bls.metrics.schedule import Downtime
from bls.power import accounting as a
from bls.power.costs import FinishedPower
from bls.power.domains import Domain
from bls.power.facts import FACTS
from bls.power.job_power import JobPower, PowerClasses, power_classes
from bls.power.limits import NO_LIMIT, joined
from bls.power.over_time import REASONS, Excess, slowed_over_time
from bls.power.plan import PowerPlan
from bls.power.words import LIMIT_METRICS, PREDICTION_METRICS, summary_of
from traces.base.scale import WHOLE
from traces.base.time import MAX_NS
from traces.compiled import Array
from traces.holdings import holdings
from traces.ledger import STATES, WHY, Ledger, PowerRecords
from traces.tables import ALLOWED, ENERGY, PREDICTED_POWER

_LISTED: Final = 1000  #: largest number of times above a limit that the record of a run lists


@dataclass(frozen=True, eq=False)
class PowerReport:
    """The power of a run, and the energy of its jobs."""

    ledger: Ledger
    plan: PowerPlan
    downtime: Downtime  # when hosts were down
    stopped: a.HostPassages | None  # when hosts did not stay up, except for outages
    begin_ns: int  # the first submit
    until_ns: int  # the last end
    # int64 (rows,), by rows of the table of jobs: the predicted power, relative to the platform's, parts per billion
    predicted: Array | None = None
    observed: Mapping[str, Array] = field(default_factory=dict)  # columns of that table that features have filled

    @cached_property
    def accounts(self) -> a.PowerAccounts:
        """Power over time, and the energy of jobs."""
        return a.account(self.run)

    @cached_property
    def run(self) -> a.PowerRun:
        """The run with the actual power of its jobs."""
        parts = self.ledger, self.plan.table, self.downtime, self.stopped
        classes = self.plan.classes
        of_rows = None if classes is None else replace(classes, kind=classes.kind[self._origin])
        return a.PowerRun(*parts, self.plan.options.of, self.begin_ns, self.until_ns, of_rows)

    @cached_property
    def _thought(self) -> PowerClasses | None:
        # The predicted power of the rows of the table of jobs in their actual states; None if it equals the actual power.
        plan, jobs = self.plan, self.ledger.jobs
        if not plan.predicts or not plan.limits_jobs:
            return None
        power = np.full(len(jobs), WHOLE) if self.predicted is None else self.predicted
        said = plan.job_power
        columns = np.zeros((2, len(plan.planned)), np.int64) if said is None else (said.memory_bound, said.gpu_share)
        memory, on_gpus = (column[self._origin] for column in columns)
        return power_classes(plan.table, JobPower(power, memory, on_gpus, ()), jobs.job_id)

    @property
    def series(self) -> a.PowerSeries:
        """The power over time."""
        return self.accounts.series

    @cached_property
    def energy_j(self) -> Array:
        """The energy of each row of the table of jobs, J: float64 (n,)."""
        return self.accounts.jobs.joules()

    @property
    def finished(self) -> FinishedPower:
        """The power of the machine and of its jobs, from which costs are computed."""
        return FinishedPower(self.series, self.plan.table.full_total_mw, lambda: self.run)

    @property
    def job_columns(self) -> dict[str, Array]:
        """The columns of power of the table of jobs that are known."""
        found, said = {ENERGY: self.energy_j}, self.plan.job_power
        if said is not None:
            found |= {name: getattr(said, name)[self._origin] / WHOLE for name in said.given}
        if self.predicted is not None:
            found[PREDICTED_POWER] = self.predicted / WHOLE
        if self.plan.limited:
            found[ALLOWED] = self.allowed
        return {**found, **self.observed}

    @cached_property
    def _instants(self) -> Array:
        # The instants at which any column changes.
        found = [self.series.instant_ns, self.plan.limits.instants, self._levels.instant_ns, self._host_spans[2]]
        if self._slowed is not None:
            found.append(self._slowed[1].instant_ns)
        down = self.downtime.within(self.begin_ns, self.until_ns)
        every = a.ascending(*found, down.down_ns, down.up_ns)
        return np.asarray(every[(every >= self.begin_ns) & ((every < self.until_ns) | (every == self.begin_ns))])

    @cached_property
    def _host_spans(self) -> tuple[Array, Array, Array, Array]:
        nothing = np.zeros(0, np.int64)
        return (nothing,) * 4 if self.stopped is None else self.stopped.spans(self.until_ns)

    @cached_property
    def _levels(self) -> a.PowerSeries:
        # The level of running jobs that may be slowed: the fastest at which the power fits the known limits; 0 if none runs.
        none = a.PowerSeries(np.array([self.begin_ns]), np.array([0]), self.until_ns)
        plan = self.plan
        if plan.fallback != "dvfs" or not plan.slows:
            return none
        if self._slowed is not None:
            return self._slowed[0]
        table, pieces = plan.table, _of_states(self.run)
        slowed = plan.planned[self._origin[pieces.job]] > 0
        draws = [np.where(slowed, more, pieces.more_mw[0]) for more in pieces.more_mw]
        start_ns, end_ns = pieces.start_ns, pieces.end_ns
        for one in FACTS:
            if (waits := one.waits(self)) is not None:
                start_ns = start_ns - waits[pieces.job]  # a job that holds its cores counts as if it ran
        every = a.ascending(start_ns, end_ns, plan.limits.instants, np.array([self.begin_ns]))
        every = every[(every >= self.begin_ns) & (every < max(self.until_ns, self.begin_ns + 1))]
        known = plan.limits.steps(every, b.NEVER, known=True)
        level = np.zeros(len(every), np.int64)
        done = known == b.NEVER

        def during(least: int, more: Array) -> Array:
            return a.step_series(least, start_ns, end_ns, more, self.begin_ns, self.until_ns).at(every)

        for place, more in enumerate(draws):
            level[~done] = place
            done |= during(table.idle_total_mw, more) <= known
        level[during(0, slowed.astype(np.int64)) == 0] = 0
        return a.PowerSeries.of_steps(every, level, self.until_ns)

    @cached_property
    def _slowed(self) -> tuple[a.PowerSeries, a.PowerSeries] | None:
        # If each job has its own state: the slowest state, and the number of slowed jobs.
        if not (self.plan.one_by_one and self.plan.slows):
            return None
        return slowed_over_time(self.run)

    @cached_property
    def _origin(self) -> Array:
        # The row in the workload of each row of the table of jobs, which begins with the first attempts in workload order.
        numbers = self.ledger.jobs.job_id.tolist()
        first = {number: place for place, number in reversed(list(enumerate(numbers)))}
        return np.array([first[number] for number in numbers], np.int64)

    @property
    def allowed(self) -> Array:
        """Whether each row of the table of jobs may be slowed (1 or 0): int64 (n,)."""
        return np.asarray(self.plan.allowed[self._origin].astype(np.int64))

    @cached_property
    def columns(self) -> dict[str, Array]:
        """The table of power over time; each row is valid from its instant on."""
        at = self._instants
        limit = self.plan.limits.steps(at, NO_LIMIT, known=False)
        rows = {"instant_ns": at, "power_mw": self.series.at(at), "limit_mw": limit}
        rows |= {"level": self._levels.at(at), **self._host_counts(at)}
        if self.plan.one_by_one:
            rows["jobs_slowed"] = np.zeros(len(at), np.int64) if self._slowed is None else self._slowed[1].at(at)
        if len(at) > 1:
            changes = [column[1:] != column[:-1] for name, column in rows.items() if name != "instant_ns"]
            another = np.append(True, np.any(changes, axis=0))
            rows = {name: column[another] for name, column in rows.items()}
        return rows

    def records(self) -> PowerRecords:
        """The records for traces."""
        plan, columns = self.plan, self.columns
        return PowerRecords(
            *(columns["instant_ns"], columns["power_mw"], plan.table.full_total_mw),
            limit_mw=columns["limit_mw"] if plan.limited else None,
            level=columns["level"] if plan.limits_jobs and plan.fallback == "dvfs" else None,
        )

    def _moving(self, at: Array, domain: Domain) -> Array:
        # Whether any host of a domain is shutting down or booting: bool.
        host, state, start, end = self._host_spans
        some = ((state == b.SHUTTING) | (state == b.BOOTING)) & domain.has(host)
        return np.asarray(a.covered(at, start[some], end[some]) > 0)

    def _host_counts(self, at: Array) -> dict[str, Array]:
        n_hosts = int(self.plan.table.first_host[-1])
        down = self.downtime.within(self.begin_ns, self.until_ns)
        away = a.covered(at, down.down_ns, down.up_ns)
        found, (_, state, start, end) = {}, self._host_spans
        for name, what in (("out", b.OUT), ("stopping", b.SHUTTING), ("off", b.OFF), ("booting", b.BOOTING)):
            found[f"hosts_{name}"] = a.covered(at, start[state == what], end[state == what])
        return {"hosts_up": n_hosts - away - sum(found.values()), **found, "hosts_down": away}

    @cached_property
    def domain_series(self) -> tuple[a.PowerSeries, ...]:
        """The power over time of each domain, the machine first."""
        return (self.series, *(one.series(self.run) for one in self.plan.parts))

    @cached_property
    def tables(self) -> dict[str, dict[str, Any]]:
        """The tables of power over time, by name."""
        return {"power": self.columns, **{name: dict(one) for some in FACTS for name, one in some.tables(self).items()}}

    @cached_property
    def excesses(self) -> list[Excess]:
        """The times above a limit and their reasons, domain by domain."""
        domains = zip(self.plan.domains, self.domain_series, self.plan.least_mw, strict=True)
        return [
            one
            for domain, series, least_mw in domains
            if domain.limits
            for one in self._above(domain, series, least_mw)
        ]

    def _above(self, domain: Domain, series: a.PowerSeries, least_mw: int) -> list[Excess]:
        # When a domain, which draws this without jobs, was above its limits.
        at = a.ascending(self._instants, series.instant_ns, domain.limits.instants)
        at = at[(at >= self.begin_ns) & (at < self.until_ns)]
        ends, drawn, moving = np.append(at[1:], self.until_ns), series.at(at), self._moving(at, domain)
        known, limit = (domain.limits.steps(at, b.NEVER, known=known) for known in (True, False))
        planned = drawn if self._thought is None else domain.series(self.run._replace(classes=self._thought)).at(at)
        found: list[Excess] = []
        for k in np.flatnonzero(drawn > limit).tolist():
            holds = {
                "ignored": self.plan.fallback == "none",
                "reaction": known[k] > limit[k],
                "infeasible": limit[k] < least_mw,
                "stopping": moving[k],
                "prediction": planned[k] <= limit[k],
                "running": True,
            }
            reason = next(name for name in REASONS if holds[name])
            one = Excess(int(at[k]), int(ends[k]), int(drawn[k] - limit[k]), reason, domain.name)
            if found and found[-1].end_ns == one.begin_ns and found[-1][2:] == one[2:]:
                found[-1] = found[-1]._replace(end_ns=one.end_ns)
            else:
                found.append(one)
        return found

    @cached_property
    def metrics(self) -> Mapping[str, Any]:
        """The metrics of ``bls.power.words`` that apply: energy in J, power in W. A mean is None if its time is 0, or if
        there are no jobs or no limits for it."""
        lasts = self.until_ns - self.begin_ns
        total = self.series.energy_pj()
        jobs = self.accounts.jobs.total_pj()
        above = self.excesses
        over = sum((one.end_ns - one.begin_ns) * one.above_mw for one in above)
        return {
            "energy_j": total / a.PJ_PER_J,
            "energy_jobs_j": jobs / a.PJ_PER_J,
            "energy_idle_j": (total - jobs) / a.PJ_PER_J,
            "mean_power_w": total / (lasts * 1000) if lasts else None,
            "peak_power_w": self.series.peak_mw / 1000,
            "peak_limited_w": self._peak_limited_w,
            "above_limit_ns": sum(end - begin for begin, end in joined((one.begin_ns, one.end_ns) for one in above)),
            "above_limit_j": over / a.PJ_PER_J,
            **(self._indexes() if self.plan.limited else {}),
            **self._errors(),
            **{name: value for one in FACTS for name, value in one.measured(self).items()},
        }

    def mean_of_started(self, times_ns: Array) -> float | None:
        """Return the mean over started jobs (entries of -1 are left out), rounded once; None without any."""
        return exact_mean(times_ns[times_ns >= 0])

    def _errors(self) -> dict[str, float | None]:
        # The errors of predictions for the measured jobs.
        if self.predicted is None:
            return {}
        said = self.plan.job_power
        power = WHOLE if said is None else said.power[self._origin]
        mean = exact_mean(np.abs(self.predicted - power)[self._measured])
        return {PREDICTION_METRICS[0]: None if mean is None else mean / WHOLE}

    @property
    def _measured(self) -> Array:
        jobs = self.ledger.jobs
        return np.asarray(jobs.started & (jobs.state != STATES.index("requeued")) & (jobs.why != WHY.index("preset")))

    def _indexes(self) -> dict[str, Any]:
        # The power while limits are in force, from the first submit on, with an idle machine after the last end; and the
        # waits and run times of the measured jobs that may be slowed, and of the others.
        limited = joined((one.begin_ns, one.end_ns) for part in self.plan.domains for one in part.limits.limits)
        windows = joined((max(begin, self.begin_ns), self.until_ns if end >= MAX_NS else end) for begin, end in limited)
        lasts = sum(end - begin for begin, end in windows)
        used = 0
        for begin, end in windows:
            within = max(0, min(end, self.until_ns) - begin)
            used += self.series.energy_pj(begin, end) + (end - begin - within) * self.plan.table.idle_total_mw
        jobs, allowed, measured = self.ledger.jobs, self.allowed == 1, self._measured
        wait, run = jobs.start_ns - jobs.begin_ns, jobs.end_ns - jobs.start_ns
        may, may_not = measured & allowed, measured & ~allowed
        means = [exact_mean(times) for times in (run[measured], run[may], run[may_not], wait[may], wait[may_not])]
        return dict(zip(LIMIT_METRICS, (used / (lasts * 1000) if lasts else None, *means), strict=True))

    @property
    def _peak_limited_w(self) -> float | None:
        drawn = self.columns["power_mw"][self.columns["limit_mw"] != NO_LIMIT]
        return int(drawn.max()) / 1000 if len(drawn) and self.until_ns > self.begin_ns else None

    def summary(self) -> list[tuple[str, str]]:
        """The most important results, as (name, text)."""
        return summary_of(self)

    def __repr__(self) -> str:
        return "<power: " + ", ".join(f"{name} {text}" for name, text in self.summary()) + ">"

    def record(self) -> dict[str, Any]:
        """The entry in the record of a run: the metrics, the power of the machine, and the first times above a limit."""
        table, above = self.plan.table, self.excesses
        return {
            **self.metrics,
            "idle_w": table.idle_total_mw / 1000,
            "full_w": table.full_total_mw / 1000,
            **{name: value for one in FACTS for name, value in one.record(self).items()},
            "allowed_jobs": int(self.plan.allowed.sum()),
            "limits": self.plan.limits.listed(),
            **{name: value for one in FACTS for name, value in one.limit_record(self.plan).items()},
            "above_limit": [
                {"begin_ns": one.begin_ns, "end_ns": one.end_ns, "above_w": one.above_mw / 1000, "reason": one.reason}
                | ({"where": one.where} if one.where else {})
                for one in above[:_LISTED]
            ],
            "above_limit_times": len(above),
        }


class _Pieces(NamedTuple):
    """Cores and GPUs of one group that a job holds: int64 (k,) each."""

    job: Array  # row of the table of jobs
    start_ns: Array
    end_ns: Array
    more_mw: Array  # int64 (S, k): power beyond idle, in each state


def _of_states(run: a.PowerRun) -> _Pieces:
    # What jobs hold, without their states.
    table, classes, held = run.table, run.classes, holdings(run.ledger)
    row, group, n = a.cut_at(table.first_core, held.lo, held.hi)
    of = np.repeat(np.arange(len(held)), np.diff(held.first))[row]
    active = table.active_mw[:, group] if classes is None else classes.active_mw[classes.kind[held.job[of]], :, group].T
    cores = _Pieces(held.job[of], held.start_ns[of], held.end_ns[of], n * (active - table.idle_mw[group]))
    if run.ledger.gpus is None or classes is None:
        return cores
    job, core, milli, start, end = a.gpu_spans(run.ledger)
    group = table.group_of_core(core)
    more = milli * (classes.gpu_w[classes.kind[job], :, group].T - table.gpu_idle_w[group])
    return _Pieces(*(np.concatenate(pair, axis=-1) for pair in zip(cores, (job, start, end, more), strict=True)))
