"""What a user says about power, and what becomes of it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from bls import options as o
from bls.engine import state as b
from bls.engine.hooks import SET_LEVEL
from bls.engine.state import PowerState, StopState
from bls.estimates import groups
from bls.estimates.history import LAST_TWO
from bls.machine.platform import Platform
from bls.power.allowed import allowed_jobs
from bls.power.cooling import parse_pue
from bls.power.job_power import JobPower, PowerClasses, Said, given_columns, job_power, power_classes
from bls.power.limits import NO_LIMITS, Limit, Limits, given_limits, read_limits
from bls.power.signals import Signals, read_signals
from bls.power.table import PowerTable, power_table
from bls.workloads.workload import Workload
from traces.base.errors import InputError, one_of, shown
from traces.base.ranges import real, whole
from traces.base.scale import WHOLE
from traces.base.time import MAX_NS
from traces.compiled import Array

__all__ = ["FALLBACKS", "PowerOptions", "PowerPlan", "power_plan"]

#: What is done under a limit.
FALLBACKS: Final = ("none", "hold", "submit", "dvfs", "stop:idle", "stop:off")

_SUBMIT: Final = re.compile(r"submit:state=([0-9]{1,9})")


@dataclass(frozen=True)
class PowerOptions:
    """What a run is to know of power; the command line's options under the same names.

    Attributes
    ----------
    of : {"held", "working"}
        Which cores are active: those that a job holds, or of these those that are in a task.
    limits : path, or sequence of (from_ns, to_ns, W), optional
        A CSV file (``bls.power.limits``); ``to_ns`` None is for ever.
    reaction_ns, notice_ns : int
        How long after its begin, or before it, a limit is known; one of them is 0.
    fallback : str
        ``none``: limits are ignored. ``hold``: a job starts if it fits at full speed. ``submit``, ``submit:state=2``: likewise,
        but a job that may be slowed and is submitted under a limit runs in that state, by default the next to full speed.
        ``dvfs``: all running jobs that may be slowed are at one level. ``stop:idle``, ``stop:off``: so many hosts are out of
        service that the others fit.
    allowed : str, path, or number
        Which jobs may be slowed (``bls.power.allowed``); a number is a share of them, 0 to 1.
    stretch_walltime : bool
        Whether what is slowed may run for as much longer than its walltime.
    job_power : path, or mapping of str to sequence, optional
        What jobs draw, and how much of their time no speed changes (``bls.power.job_power``): a CSV file, or its columns,
        ``job_id`` and ``power`` or ``memory_bound`` or both; also a DataFrame of them.
    estimates : {"exact", "platform", "last-two"}
        What the scheduler thinks that jobs draw: what they do; as the platform says; or the mean of what the latest two of the
        same user have drawn that have ended, once there are two, else as the platform says.
    signals : path, optional
        A CSV file of what energy costs and emits over time (``bls.power.signals``).
    pue : str, optional
        What the facility draws by what the machine does (``bls.power.cooling``).

    Raises
    ------
    InputError
        If a value is not allowed.
    """

    of: str = o.POWER_OF.default
    limits: str | os.PathLike[str] | Sequence[Sequence[float | None]] | None = None
    reaction_ns: int = 0
    notice_ns: int = 0
    fallback: str = o.FALLBACK.default
    allowed: str | os.PathLike[str] | float = o.ALLOWED.default
    stretch_walltime: bool = o.STRETCH_WALLTIME.default
    job_power: str | os.PathLike[str] | Mapping[str, Sequence[float]] | None = o.JOB_POWER.default
    estimates: str = o.POWER_ESTIMATES.default
    signals: str | os.PathLike[str] | None = o.SIGNALS.default
    pue: str | None = o.PUE.default

    def __post_init__(self) -> None:
        o.POWER_OF.check(self.of)
        o.POWER_ESTIMATES.check(self.estimates)
        if self.pue is not None:
            parse_pue(self.pue)
        whole(o.REACTION.name, self.reaction_ns, 0, MAX_NS)
        whole(o.NOTICE.name, self.notice_ns, 0, MAX_NS)
        if not isinstance(self.allowed, str | os.PathLike):
            object.__setattr__(self, "allowed", repr(real(o.ALLOWED.name, self.allowed, 0, 1)))
        if not isinstance(self.job_power, str | os.PathLike | None):
            object.__setattr__(self, "job_power", given_columns(self.job_power))
        if not isinstance(self.signals, str | os.PathLike | None):
            raise InputError(f"{o.SIGNALS.name}: {shown(self.signals)}; allowed: a CSV file")
        name, _ = self.fallback_of
        if self.reaction_ns and self.notice_ns:
            raise InputError(
                f"{o.NOTICE.name}: not with {o.REACTION.name}; a limit is known before its begin, or after it"
            )
        if self.notice_ns and name.startswith("stop:"):
            raise InputError(
                f"{o.NOTICE.name}: not with {o.FALLBACK.name} {name}, as hosts leave the service when a limit begins; allowed: "
                f"{o.FALLBACK.name} none, hold, submit:state=1 or dvfs"
            )
        if self.limits is not None and not isinstance(self.limits, str | os.PathLike):
            given_limits(self.limits)
        if self.limits is None:
            for option, given in (
                (o.REACTION.name, self.reaction_ns != 0),
                (o.NOTICE.name, self.notice_ns != 0),
                (o.FALLBACK.name, name != "none"),
                (o.ALLOWED.name, self.allowed != o.ALLOWED.default),
                (o.STRETCH_WALLTIME.name, self.stretch_walltime),
                (o.POWER_ESTIMATES.name, self.estimates != o.POWER_ESTIMATES.default),
            ):
                if given:
                    raise InputError(f"{option}: needs --limits, the limits to the machine's power")

    @property
    def jobs_allowed(self) -> str | os.PathLike[str]:
        """Which jobs may be slowed, as the command line says it."""
        assert isinstance(self.allowed, str | os.PathLike)
        return self.allowed

    @property
    def fallback_of(self) -> tuple[str, int]:
        """Its name, and the state that ``submit`` has jobs run in."""
        if not isinstance(self.fallback, str):
            raise InputError(f"{o.FALLBACK.name}: {shown(self.fallback)}; allowed: {', '.join(FALLBACKS)}")
        if self.fallback in FALLBACKS:
            return self.fallback, 1
        if self.fallback.partition(":")[0] != "submit":
            raise one_of("fallback", self.fallback, FALLBACKS, o.FALLBACK.name)
        match = _SUBMIT.fullmatch(self.fallback)
        if match is None:
            raise InputError(
                f"{o.FALLBACK.name}: {shown(self.fallback)}; allowed: {', '.join(FALLBACKS)}, submit:state=1"
            )
        return "submit", int(match[1])

    def names(self) -> dict[str, Any]:
        """The options as plain values, for a record of the run."""
        limits = self.limits
        said: Any = os.fspath(limits) if isinstance(limits, str | os.PathLike) else limits
        if said is not None and not isinstance(said, str):
            said = [list(one) for one in said]
        return {
            "power_of": self.of,
            "limits": said,
            "reaction_ns": self.reaction_ns,
            "notice_ns": self.notice_ns,
            "fallback": self.fallback,
            "allowed": os.fspath(self.jobs_allowed),
            "stretch_walltime": self.stretch_walltime,
            "job_power": os.fspath(self.job_power) if isinstance(self.job_power, os.PathLike) else self.job_power,
            "power_estimates": self.estimates,
            "signals": None if self.signals is None else os.fspath(self.signals),
            "pue": self.pue,
        }


@dataclass(frozen=True, eq=False)
class PowerPlan:
    """What a run knows of power.

    Attributes
    ----------
    options : PowerOptions
    table : PowerTable
        What hosts draw.
    limits : Limits
    fallback : str
        One of :data:`FALLBACKS`.
    allowed : bool (n,)
        Which jobs may be slowed.
    planned : int64 (n,)
        The state that each job is planned with.
    signals : Signals or None
        What energy costs and emits, where that is to be known.
    job_power : JobPower or None
        What is said of jobs, where anything is.
    classes : PowerClasses or None
        What that makes of what the platform says.
    of_user : int64 (n,) or None
        Which jobs are of one user, -1 of whom it is not known; None where nothing is predicted from jobs that have ended.
    """

    options: PowerOptions
    table: PowerTable
    limits: Limits
    fallback: str
    allowed: Array
    planned: Array
    signals: Signals | None = None
    job_power: JobPower | None = None
    classes: PowerClasses | None = None
    of_user: Array | None = None

    @property
    def predicts(self) -> bool:
        """Whether jobs are planned with something else than what they draw."""
        return self.options.estimates != o.POWER_ESTIMATES.default

    @property
    def most_total_mw(self) -> int:
        """What the machine may be planned to draw at the most: if all its cores work for the job that draws most, or as the
        platform says, whichever is more; with hosts that are stopped it is what is known of that."""
        return int((self.table.n_hosts * self._host_most_mw).sum())

    @property
    def _host_most_mw(self) -> Array:
        table = self.table
        if self.classes is None or (self.stops and self.predicts):
            return table.host_full_mw
        return np.asarray(table.base_mw + table.cores * self.classes.most_mw)

    @property
    def limits_jobs(self) -> bool:
        """Whether the limits are looked at."""
        return self.fallback != "none" and bool(self.limits)

    @property
    def stops(self) -> bool:
        """Whether hosts are stopped under a limit."""
        return self.limits_jobs and self.fallback.startswith("stop:")

    @property
    def slows(self) -> bool:
        """Whether any job may come to run slower."""
        return self.limits_jobs and bool(self.planned.any())

    @property
    def least_mw(self) -> int:
        """The least that the machine may come to draw, if nobody works: all hosts idle, or off where they shut down."""
        table = self.table
        if self.fallback != "stop:off":
            return table.idle_total_mw
        return int((table.n_hosts * np.minimum(table.off_mw, table.host_idle_mw)).sum())

    @property
    def alike(self) -> bool:
        """Whether all cores are, as far as power is concerned."""
        table = self.table
        return all(bool((column == column[..., :1]).all()) for column in (table.speed, table.active_mw, table.idle_mw))

    def settings(self) -> dict[int, int]:
        """Those of the engine (``bls.engine.state``)."""
        if not self.limits_jobs:
            return {}
        if self.stops:
            return {b.SHUTS_DOWN: int(self.fallback == "stop:off")}
        table = self.table
        found = {
            b.POWERED: {"hold": b.HOLD, "submit": b.FIXED, "dvfs": b.LEVELS}[self.fallback] if self.slows else b.HOLD,
            b.NOTICED: int(self.limits.notice_ns > 0),
            b.IDLE_MW: table.idle_total_mw,
            b.POWER_ALIKE: int(bool((table.speed == table.speed[:, :1]).all())),
        }
        if self.slows:
            stretches = int(self.options.stretch_walltime)
            found |= {b.AFTER_LEVELS: SET_LEVEL, b.STRETCHES: stretches}
        return found

    def stop_state(self) -> StopState | None:
        """What the engine knows of hosts that are to be stopped; None where none are."""
        if not self.stops:
            return None
        stairs, table, n_hosts = self.limits.stairs, self.table, int(self.table.first_host[-1])
        off = self.fallback == "stop:off"
        group = np.repeat(np.arange(len(table.cores)), table.n_hosts)
        passages = np.stack([table.shutdown_ns[group], table.boot_ns[group]])
        host = np.zeros((3, n_hosts), np.int64)
        host[b.STOP_DUE] = b.NEVER
        return StopState(
            first=stairs.first.copy(),
            stairs=np.stack([_never(stairs.until_ns), stairs.power_mw]),
            saves_mw=(self._host_most_mw - (table.off_mw if off else table.host_idle_mw))[group],
            down_saves_mw=(self._host_most_mw - table.off_mw)[group],
            passages=passages if off else np.zeros_like(passages),
            host=host,
            log=np.zeros((3, 4 * n_hosts), np.int64),
        )

    def state(self) -> PowerState:
        """What the engine knows of power."""
        table, limits, full = self.table, self.limits, self.most_total_mw
        instants, stairs = limits.instants, limits.stairs
        groups = slice(0, 1) if self.alike else slice(None)
        power = np.minimum(stairs.power_mw, full)
        # What each stair leaves less than the next one; behind the last of an instant there is no limit.
        above = np.append(power[1:], full)
        above[stairs.first[1:][np.diff(stairs.first) > 0] - 1] = full
        some = above > power
        first = np.append(0, np.cumsum(some))[stairs.first]
        steps = np.stack([_never(stairs.until_ns), above - power, np.zeros_like(power)])[:, some].copy()
        if limits.notice_ns:
            lower = limits.lowerings(full)
            first, steps = lower.first, np.stack([_never(lower.until_ns), lower.less_mw, lower.since_ns])
        active, speed, kind = table.active_mw[None], table.speed[None], np.zeros(0, np.int64)
        if self.classes is not None and len(self.classes.speed) > 1:
            active, speed, kind = self.classes.active_mw, self.classes.speed, self.classes.kind.copy()
        n_cores = int(table.first_core[-1])
        return PowerState(
            ns=instants.copy(),
            known=limits.steps(instants, b.NEVER, known=True),
            first=first,
            stairs=steps,
            more_mw=_by_class((active - table.idle_mw)[..., groups]),
            speed=_by_class(speed[..., groups]),
            first_core=np.array([0, n_cores], np.int64) if self.alike else table.first_core.copy(),
            planned=self.planned.copy() if self.slows else np.zeros(0, np.int64),
            drawn=np.zeros(table.n_states, np.int64),
            ends=np.zeros((2, min(len(self.planned), n_cores) + 2), np.int64),
            room=np.zeros(3, np.int64),
            states=table.n_states,
            kind=kind,
            **self._predictions(),
        )

    def _predictions(self) -> dict[str, Array]:
        # What the engine thinks that jobs draw, and what it finds that out from.
        n, nothing = len(self.planned), np.zeros(0, np.int64)
        predicted = np.full(n, WHOLE) if self.predicts and not self.stops else nothing
        found = {"predicted": predicted, "factor": nothing, "alike": nothing}
        if self.of_user is None or self.stops:
            return {**found, "seen": np.zeros((0, 3), np.int64)}
        power = np.full(n, WHOLE) if self.job_power is None else self.job_power.power.copy()
        seen = np.zeros((int(self.of_user.max()) + 2, 3), np.int64)  # one is of nobody, or there might be none
        return {**found, "factor": power, "alike": self.of_user.copy(), "seen": seen}


def power_plan(
    options: PowerOptions,
    workload: Workload,
    platform: Platform,
    *,
    known_jobs: Array,
    seed: int,
    said: Callable[[Array], Array] | None = None,
    drawn: Said | None = None,
) -> PowerPlan:
    """What becomes of the options for the jobs of a run.

    Parameters
    ----------
    known_jobs : int64
        Job numbers that a file may name beside the workload's.
    seed : int
        Of the stream that a share of the jobs is drawn from.
    said : callable, optional
        Which jobs may be slowed, bool (n,), from those that may by the options: jobs' applications may say otherwise.
    drawn : callable, optional
        What jobs draw, likewise (``bls.power.job_power.job_power``).

    Raises
    ------
    InputError
        If the platform does not say what its hosts draw, or a limit, a state, the jobs or a signal cannot be used.
    """
    needing = {o.LIMITS.name: options.limits, o.SIGNALS.name: options.signals, o.JOB_POWER.name: options.job_power}
    needed_by = next((option for option, given in needing.items() if given is not None), "--power")
    table = power_table(platform, needed_by)
    name, state = options.fallback_of
    limits = (
        NO_LIMITS
        if options.limits is None
        else Limits(_limits(options.limits, table), options.reaction_ns, options.notice_ns)
    )
    if name == "submit" and not 1 <= state < table.n_states:
        allowed = f"1 to {table.n_states - 1}" if table.n_states > 1 else "none, as the platform's cores have one state"
        raise InputError(f"{o.FALLBACK.name}: {shown(options.fallback)}: state {state}; allowed: {allowed}")
    allowed_rows = allowed_jobs(options.jobs_allowed, workload, known_jobs, seed)
    if said is not None:
        allowed_rows = said(allowed_rows)
    planned = np.zeros(len(workload), np.int64)
    if name == "dvfs":
        planned[allowed_rows] = table.n_states - 1
    elif name == "submit":
        planned[allowed_rows & limits.any_known(workload.submit_ns)] = state
    signals = None if options.signals is None else read_signals(options.signals)
    given: Any = options.job_power  # of columns, lists by their names
    draws = job_power(given, workload, known_jobs, drawn)
    classes = None if draws is None else power_classes(table, draws, workload.job_id)
    of_user = groups(LAST_TWO, workload)[0][0] if options.estimates == "last-two" else None
    return PowerPlan(options, table, limits, name, allowed_rows, planned, signals, draws, classes, of_user)


def _by_class(values: Array) -> Array:
    # The states of all classes, one behind the other.
    return np.ascontiguousarray(values.reshape(-1, values.shape[-1]))


def _limits(given: Any, table: PowerTable) -> tuple[Limit, ...]:
    if isinstance(given, str | os.PathLike):
        return read_limits(given, table.full_total_mw)
    return given_limits(given)


def _never(until_ns: Array) -> Array:
    return np.where(until_ns >= MAX_NS, b.NEVER, until_ns)
