"""A scenario as declared by a user, on the command line, in a study or in Python, and its machine. Nothing heavy
is imported at the top, because the help of the command line is made from these fields."""

from __future__ import annotations

import os
import shlex
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from als import options as a
from bls import options as b
from bls.batch import Batch
from bls.engine.features.presets.options import PRESET
from bls.power.options import Power
from bls.scheduler_options import ConstraintOptions, Rules
from bridge.options import declared as d
from traces.base.errors import InputError, Mention, TwolevelError, at, in_python, one_of, shown, spelled
from traces.base.options import (
    SEED,
    by_keyword,
    check_fields,
    holds,
    knows_its_keywords,
    part,
    places,
    recorded,
    with_values,
)
from traces.base.retired import unknown

if TYPE_CHECKING:
    from als.lengths import LengthModel
    from als.schedulers import AnyScheduler
    from bls.machine.platform import Platform
    from bls.workloads.workload import Workload
    from bridge.scenarios.application_map import ApplicationMap

_SOCKETS = ("unix", "tcp")  #: kinds of sockets between the bridge and other programs
RECORDED = "recorded"  #: the name that skips the application level

#: The machine of the two-level paper, and that of the log. A file of the same name, or of another paper's, is
#: ``./paper``, ``./log``.
_PAPER, _LOG = "paper", "log"


@knows_its_keywords
@dataclass(frozen=True)
class Application:
    """How jobs are computed. An object may be given in place of a technique's name, or of the map ``applications``
    (``bridge.scenarios.application_map``). Raises InputError if a value is not allowed."""

    technique: str | AnyScheduler = holds(
        replace(a.ALS, help=f"{a.ALS.help}; or recorded: replay the logged run times without an application level")
    )
    variation: float = holds(a.VARIATION)
    tasks_per_core: int = holds(a.TASKS_PER_CORE)
    applications: str | Path | ApplicationMap | None = holds(a.APPLICATIONS)
    speeds: tuple[str, ...] = holds(a.SPEEDS)
    lengths: str = holds(a.LENGTHS)
    overhead_ns: int = holds(a.OVERHEAD)
    latency_ns: int = holds(a.LATENCY)
    assignment: str = holds(a.ASSIGNMENT)
    network: str = holds(a.NETWORK)
    resize_ns: int = holds(a.RESIZE_COST)

    def __post_init__(self) -> None:
        from als.network import network_model

        check_fields(self)
        speeds: object = self.speeds
        object.__setattr__(self, "speeds", (speeds,) if isinstance(speeds, str) else tuple(self.speeds))
        network_model(self.network)
        if isinstance(self.applications, str | Path):
            from bridge.scenarios.application_map import load_application_map

            object.__setattr__(self, "applications", load_application_map(self.applications))
        elif self.applications is not None and not hasattr(self.applications, "assign"):
            raise InputError(f"{a.APPLICATIONS}: {shown(self.applications)}; allowed: an ApplicationMap, or a file")

    @property
    def simulated(self) -> bool:
        """Whether applications are simulated, instead of recorded run times."""
        return self.technique != RECORDED

    @property
    def map(self) -> ApplicationMap | None:
        """The application map, read from its file."""
        assert not isinstance(self.applications, str | Path)
        return self.applications

    @property
    def task_lengths(self) -> LengthModel:
        """The model of the lengths of tasks. Raises InputError if there is none as described."""
        from als.lengths import lengths

        return lengths(self.lengths, variation=self.variation)

    @property
    def master(self) -> bool:
        """Whether a master calculates chunks."""
        return self.assignment == "master"

    def names(self) -> dict[str, object]:
        """The options as plain values, for a record of the run."""
        return recorded(self)


@knows_its_keywords
@dataclass(frozen=True)
class Execution:
    """How applications are run, and other programs that take part. ``socket``, ``unix`` or ``tcp`` (on the loopback interface),
    is how these are connected. Raises InputError if a value is not allowed."""

    coupling: str = holds(d.COUPLING)
    workers: int | None = holds(d.WORKERS)
    als_command: str | None = holds(d.ALS_COMMAND)
    timeout_s: float = holds(d.TIMEOUT)
    bls_command: str | None = holds(b.BLS_COMMAND)
    listen: str | None = holds(d.LISTEN)
    token_file: str | None = holds(d.TOKEN_FILE)
    certificate: str | None = holds(d.CERTIFICATE)
    socket: str = "unix"

    def __post_init__(self) -> None:
        check_fields(self)
        if self.als_command is not None:
            try:
                words = shlex.split(self.als_command)
            except ValueError as error:
                raise InputError(f"{d.ALS_COMMAND}: {shown(self.als_command)}: {error}") from None
            if not words:
                raise InputError(f"{d.ALS_COMMAND}: empty; allowed: a command line")
        if self.listen is not None:
            from bridge.workers.address import tls_address  # not needed by most runs

            tls_address(self.listen, at(str(d.LISTEN), self.listen))
        if self.socket not in _SOCKETS:
            raise one_of("socket", self.socket, _SOCKETS, "socket")

    def how_many(self) -> int:
        """The number of workers on this host."""
        return self.workers or (len(os.sched_getaffinity(0)) if self.listen is None else 0)

    def names(self) -> dict[str, object]:
        """As plain values, for a record of the run; a scheduler and hosts that may join only if there are any."""
        scheduler = (b.BLS_COMMAND,) if self.bls_command is None else ()
        hosts = (d.LISTEN, d.TOKEN_FILE, d.CERTIFICATE) if self.listen is None else ()
        without = [option.keyword for option in (*scheduler, *hosts)]
        return {name: value for name, value in recorded(self).items() if name not in without}


@knows_its_keywords
@dataclass(frozen=True)
class JobSelection:
    """The jobs: ``source`` may also be a workload; None: it is given elsewhere, e.g. in a study.
    ``result.scenario.workload.window_text`` describes the jobs with which a window began."""

    source: Workload | str | Path | None = holds(d.WORKLOAD)
    select: str = holds(b.SELECT)
    oversize: str = holds(b.OVERSIZE)
    preset: bool | None = holds(PRESET)
    cancelled: bool = holds(b.CANCELLED)


@knows_its_keywords
@dataclass(frozen=True)
class Machine:
    """The machine: ``platform`` may also be a :class:`bls.Platform`."""

    platform: Platform | str | Path | None = holds(b.PLATFORM)


@knows_its_keywords
@dataclass(frozen=True)
class Scenario:
    """Workload, machine and options of a simulation.

    Attributes
    ----------
    workload : JobSelection
        A workload, or its name, stands for all of its jobs.
    machine, batch, application, power, execution : Machine, Batch, Application, Power, Execution
        The execution does not change the result.
    seed : int
        0 to 2**64 - 1.

    Raises
    ------
    InputError
        If a part has another type.
    """

    workload: JobSelection = part(JobSelection)
    machine: Machine = part(Machine)
    batch: Batch = part(Batch)
    application: Application = part(Application)
    power: Power = part(Power)
    execution: Execution = part(Execution)
    seed: int = holds(SEED)

    def __post_init__(self) -> None:
        given: object = self.workload
        if not isinstance(given, JobSelection):
            object.__setattr__(self, "workload", JobSelection(given))  # type: ignore[arg-type]
        for name, kind in _PARTS.items():
            if not isinstance(given := getattr(self, name), kind):
                raise InputError(f"{name}: {shown(given)}; allowed: a {_public(kind)}")
        check_fields(self)
        check_fields(self.workload)
        check_fields(self.machine)

    @classmethod
    def flat(cls, **options: Any) -> Scenario:
        """A scenario of options by their keywords, as ``bls="sjf", backfill="easy", overhead_ns=5``.

        None stands for an option's default. Whole parts may be given, too, by their names, as ``batch=Batch(policy="sjf")``;
        ``rules`` (:class:`bls.Rules`) and ``constraints`` (:class:`bls.ConstraintOptions`) set options of the batch level.

        Raises
        ------
        InputError
            If a value is not allowed, or there is no such option.
        """
        return with_values(cls(**_whole_parts(options)), _values(options))

    def with_options(self, **options: Any) -> Scenario:
        """The same with other values of some options, by keyword, or with other parts; None changes nothing.

        Raises
        ------
        InputError
            If a value is not allowed, or there is no such option.
        """
        return with_values(replace(self, **_whole_parts(options)), _values(options))

    def without_applications(self) -> Scenario:
        """The same for recorded run times: without options of applications."""
        return replace(self, application=Application(technique=RECORDED))

    def names(self) -> dict[str, object]:
        """Options that affect the result, as plain values for a record; :meth:`source` has the source of the jobs."""
        return {"seed": self.seed} | self.batch.names() | self.application.names() | self.power.names()

    def log(self) -> Workload:
        """The workload before any job is selected; a log is read, or a function called.

        Raises
        ------
        InputError
            If there is none, or it cannot be read.
        """
        source = self.workload.source
        if isinstance(source, str | Path):
            from bls.workloads import given_workload

            return given_workload(source, self.seed, cancelled=self.workload.cancelled)
        if source is None:
            raise InputError("workload: None; allowed: a workload, or what names one")
        return source

    def jobs(self, log: Workload, *, replayed: bool, machine: Platform | None = None) -> tuple[Workload, Platform]:
        """The machine, given or for the log, and the selected jobs, fitted to it; ``replayed``: all take their recorded run
        times."""
        from bridge.scenarios.ready import load_workload

        if machine is None:
            machine = platform_for(self.machine.platform, log, replayed=replayed)
        chosen = self.workload
        jobs = load_workload(log, machine, selection=chosen.select, oversize=chosen.oversize, preset=chosen.preset)
        return jobs, machine

    def source(self, jobs: Workload | None = None) -> dict[str, Any]:
        """The source of the jobs, for a record of the run; the selected ``jobs`` state whether a window has preset jobs."""
        window = None if jobs is None else jobs.window
        preset = window is not None and not window.empty
        return recorded(self.workload) | recorded(self.machine) | {"preset": preset}


def is_word(platform: object) -> bool:
    """Whether a platform is a name of a machine instead of a file."""
    from bls.machine.platform import PUBLISHED

    return platform in (*PUBLISHED, _LOG)


def given_platform(platform: Platform | str | Path | None) -> Platform | None:
    """A given platform, published one (``paper``), or file; None if it depends on the log. Raises InputError."""
    from bls.machine.platform import PUBLISHED, Platform, load_platform

    if platform is None or platform == _LOG:
        return None
    if isinstance(platform, Platform):
        return platform
    if not isinstance(platform, str | os.PathLike):
        raise InputError(
            f"{b.PLATFORM}: {shown(platform)}; allowed: a Platform, a file, {_LOG}, {', '.join(PUBLISHED)}"
        )
    published = PUBLISHED.get(str(platform)) if is_word(platform) else None
    return load_platform(platform) if published is None else published()


def platform_for(
    platform: Platform | str | Path | None, log: Workload, *, replayed: bool, option: str = f"{b.PLATFORM:{_LOG}}"
) -> Platform:
    """The machine for a log: the given one; with ``log``, or None and replayed jobs, the machine that the log describes; else
    the paper's. ``option`` asked for it. Raises InputError if a file cannot be used, or with ``log`` the log describes none."""
    from bls.machine.platform import Platform
    from bls.workloads.header import named_machine

    given = given_platform(platform)
    if given is not None:
        return given
    named = named_machine(log) if replayed or platform == _LOG else None
    if named is None and platform == _LOG:
        raise InputError(
            f"{option}: {log.source} names no machine (MaxProcs in its header, cores in the [machine] of its map); "
            f"allowed: {_PAPER}, or a file, as twolevel platform > FILE begins one"
        )
    return named or Platform()


def warn_of_paper_machine(jobs: Workload, machine: Platform) -> None:
    """Warn a Python caller if the two-level paper's machine is used by default for a log that describes another one."""
    from bls.machine.platform import Platform
    from bls.workloads.header import named_machine

    named = named_machine(jobs)
    if machine == Platform() and named is not None and named != machine:
        warnings.warn(
            f"{machine.n_cores} cores, the two-level paper's machine; {jobs.source} names {named.n_cores:,}: "
            f'platform="{_LOG}" takes them, platform="{_PAPER}" takes {machine.n_cores} without this warning',
            stacklevel=4,
        )


def in_parts(mention: Mention) -> str:
    """A mention of an option as the field of a scenario's part, ``batch.policy='sjf'``."""
    path = _paths().get(mention.name)
    return in_python(mention if path is None else mention._replace(keyword=".".join(path)))


@cache
def _paths() -> dict[str, tuple[str, ...]]:
    of_names = {place.option.name: place.path for place in places(Scenario)}
    return of_names | {place.option.off: place.path for place in places(Scenario) if place.option.off}


@contextmanager
def spelled_as_parts() -> Iterator[None]:
    """Have errors mention options as fields of the scenario that was given."""
    try:
        yield
    except TwolevelError as error:
        error.args = (spelled(error.text, in_parts), *error.args[1:])
        raise


_PARTS = {
    "workload": JobSelection,
    "machine": Machine,
    "batch": Batch,
    "application": Application,
    "power": Power,
    "execution": Execution,
}
_GROUPS = {"rules": Rules, "constraints": ConstraintOptions}


def _public(kind: type) -> str:
    # The name of a class in its package.
    return f"{kind.__module__.partition('.')[0]}.{kind.__name__}"


def _whole_parts(options: dict[str, Any]) -> dict[str, Any]:
    # The parts given as a whole; they are removed from the options.
    return {name: options.pop(name) for name, kind in _PARTS.items() if isinstance(options.get(name), kind)}


def _values(options: dict[str, Any]) -> dict[tuple[str, ...], Any]:
    known = by_keyword(Scenario)
    found: dict[tuple[str, ...], Any] = {}
    for name, value in options.items():
        if name in _GROUPS and value is not None:
            if not isinstance(value, _GROUPS[name]):
                raise InputError(f"{name}: {shown(value)}; allowed: a {_public(_GROUPS[name])}")
            found |= {("batch", one.name): getattr(value, one.name) for one in fields(_GROUPS[name])}
        elif name in _PARTS and name not in known:
            raise InputError(f"{name}: {shown(value)}; allowed: a {_public(_PARTS[name])}")
        elif name not in known and name not in _GROUPS:
            raise unknown("option", name, {**known, **_PARTS, **_GROUPS}, "")
    # None stands for the default.
    return found | {known[name].path: value for name, value in options.items() if name in known and value is not None}
