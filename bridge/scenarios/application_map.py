"""Application maps: TOML files that state which program each job runs, by the log's data about the job.

The format is described in docs/reference/applications.md. The first application that matches a job is the job's. A loop
without ``als``, ``lengths`` or a number of tasks has those of the run; an application without ``allowed``, ``power``,
``memory_bound`` or ``gpu_share`` follows the run's options.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from typing import Any

import numpy as np

from als.programs.program import Loop, Program
from als.programs.text import program_of
from als.streams import APPLICATIONS, fill_round_keys, fill_words, uniform_from_word
from bls.machine.partitions import printable_name
from bls.workloads.workload import Workload
from traces.base.errors import InputError, real, shown
from traces.base.given_file import check_keys, parse_toml, read_text
from traces.base.scale import WHOLE
from traces.compiled import Array, compiled, own
from traces.intervals import intervals_text, parse_intervals
from traces.kernels.signatures import Floats, Ints

DEFAULT = "default"  #: the name under which the jobs that no application matches are counted
ALLOWED = "allowed"  #: the key that states whether jobs may be slowed to save power

#: The keys of the power of jobs, of the part of their time that does not depend on speed, and of the part of the rest that they
#: spend on GPUs; and their largest values.
DRAWS = {"power": 10, "memory_bound": 1, "gpu_share": 1}

#: The properties by which jobs are matched, each a column of the workload.
COLUMNS = ("application", "user", "group", "queue", "partition", "cores")


@dataclass(frozen=True)
class Match:
    """Conditions that a job must all meet. Raises InputError, which begins with ``where`` and the key."""

    # the log's numbers, as ``"1 7 20-25"``; empty: any, or unknown
    application: str = ""
    user: str = ""
    group: str = ""
    queue: str = ""
    partition: str = ""
    cores: str = ""  # number of requested cores, as ``"64-128"`` or ``"64-"``; empty: any
    # 0 to 1: this share of the jobs that meet the other conditions. Each job has one uniform number, keyed (seed, job
    # number), so its choice does not depend on other jobs. The shares of the applications that fit a job are
    # consecutive intervals of that number: 0.5, 0.3 and 0.2 divide all jobs that fit all three.
    share: float = 1.0
    where: InitVar[str] = "match"

    def __post_init__(self, where: str) -> None:
        for key in COLUMNS:
            text = getattr(self, key)
            if not isinstance(text, str):
                raise InputError(f"{where}.{key}: {shown(text)} is not a text; allowed: e.g. '0-63 128 256-'")
            object.__setattr__(self, key, intervals_text(parse_intervals(text, f"{where}.{key}")))
        object.__setattr__(self, "share", real(f"{where}.share", self.share, 0.0, 1.0))

    @property
    def everything(self) -> bool:
        """Whether every job matches."""
        return self.share == 1.0 and not any(getattr(self, key) for key in COLUMNS)

    def fits(self, workload: Workload) -> Array:
        """Which jobs fit, regardless of the share: bool, shape (n,)."""
        found = np.ones(len(workload), np.bool_)
        for key in COLUMNS:
            if text := getattr(self, key):
                lo, hi = np.array(parse_intervals(text, key), np.int64).T
                column = getattr(workload, key)
                place = np.searchsorted(lo, column, side="right") - 1
                found &= (place >= 0) & (column < hi[place])
        return found


@dataclass(frozen=True)
class MappedJobs:
    """Jobs with their program."""

    name: str  # 1 to 100 printable characters; not ``default``
    match: Match
    program: Program
    allowed: bool | None = None  # whether these jobs may be slowed to save power; None: by the run's options
    # given values of ``DRAWS`` (``bls.power.job_power``), parts per billion
    draws: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ApplicationMap:
    """The program of every job of a workload.

    Raises
    ------
    InputError
        If it is empty, a name is there twice, or an application can never match.
    """

    source: str  # the file, for messages
    applications: tuple[MappedJobs, ...]  # tried in order
    default: Program | None = None  # of jobs without a matching application; None: the run's
    # ``allowed`` and ``draws`` of jobs without a matching application
    default_allowed: bool | None = None
    default_draws: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.applications and self.default is None:
            raise InputError(f"{self.source}: neither [[application]] nor [default]; allowed: at least one of them")
        names: dict[str, int] = {}
        for place, application in enumerate(self.applications):
            where = f"{self.source}: application[{place}]"
            printable_name(f"{where}.name", application.name)
            if application.name == DEFAULT:
                raise InputError(f"{where}.name: {shown(DEFAULT)} is the name of jobs that no application matches")
            if application.name in names:
                other = names[application.name]
                raise InputError(f"{where}.name: {shown(application.name)} is the name of application[{other}] too")
            names[application.name] = place
            if application.match.everything and place + 1 < len(self.applications):
                raise InputError(f"{where}.match: every job matches, so that application[{place + 1}] never does")

    def assign(self, workload: Workload, seed: int, default: Program) -> tuple[tuple[Program, ...], Array]:
        """Find the program of each job.

        Parameters
        ----------
        workload : Workload
        seed : int
            Of the shares of applications.
        default : Program
            The run's: its first loop fills in missing parameters.

        Returns
        -------
        programs : tuple of Program
            Those of the applications in order, then the default one.
        place : ndarray of int64, shape (n,)
            The index of each job's program.

        Raises
        ------
        InputError
            If a job cannot run its program.
        """
        run = default.loops[0] if default.loops else Loop()
        given = {f"{self.source}: application[{k}]": one.program for k, one in enumerate(self.applications)}
        given["" if self.default is None else f"{self.source}: {DEFAULT}"] = self.default or default
        names = [*(one.name for one in self.applications), DEFAULT]
        place = _places([one.match for one in self.applications], workload, seed)
        programs = []
        for k, (path, program) in enumerate(given.items()):
            complete = replace(program.filled(run, path) if path else program, name=names[k])
            complete.check(workload.cores[place == k], workload.job_id[place == k], path)
            programs.append(complete)
        return tuple(programs), place

    def allowed(self, place: Array, otherwise: Array) -> Array:
        """Return which jobs may be slowed to save power.

        Parameters
        ----------
        place : ndarray of int64, shape (n,)
            As :meth:`assign` returns it.
        otherwise : ndarray of bool, shape (n,)
            For jobs whose application does not state it.

        Returns
        -------
        ndarray of bool, shape (n,)
        """
        said = [*(one.allowed for one in self.applications), self.default_allowed]
        known = np.array([one is not None for one in said])[place]
        found: Array = np.where(known, np.array([bool(one) for one in said])[place], otherwise)
        return found

    def draws(self, place: Array, key: str, otherwise: Array) -> Array | None:
        """Return a property of jobs that affects their power.

        Parameters
        ----------
        place : ndarray of int64, shape (n,)
            As :meth:`assign` returns it.
        key : str
            A key of ``DRAWS``.
        otherwise : ndarray of int64, shape (n,)
            For jobs whose application does not have it, parts per billion.

        Returns
        -------
        ndarray of int64, shape (n,), or None
            Parts per billion; None if no application has it.
        """
        said = [*(one.draws.get(key, -1) for one in self.applications), self.default_draws.get(key, -1)]
        if max(said) < 0:
            return None
        of_jobs = np.array(said)[place]
        found: Array = np.where(of_jobs < 0, otherwise, of_jobs)
        return found

    def counts(self, place: Array) -> dict[str, int]:
        """Count the jobs of each application, by its name; jobs without one are under ``default``. ``place`` is as
        :meth:`assign` returns it."""
        found = np.bincount(place, minlength=len(self.applications) + 1)
        names = [*(one.name for one in self.applications), DEFAULT]
        return dict(zip(names, found.tolist(), strict=True))


def _places(matches: Sequence[Match], workload: Workload, seed: int) -> Array:
    # The first match of each job, or their number.
    n = len(workload)
    place = np.full(n, len(matches), np.int64)
    free = np.ones(n, np.bool_)
    uniform, laid = np.empty(n), np.zeros(n)  # laid: the sum of the shares of the applications so far
    if any(match.share < 1.0 for match in matches):
        _fill_uniform(uniform, np.uint64(seed), own(workload.job_id, np.int64))
    for k, match in enumerate(matches):
        fits = match.fits(workload)
        if match.share < 1.0:
            reached = laid + match.share
            taken = fits & (laid <= uniform) & (uniform < reached)
            laid = np.where(fits, reached, laid)
        else:
            taken = fits
        place[free & taken] = k
        free &= ~taken
    return place


@compiled(makes_arrays=True)
def _fill_uniform(uniform: Floats, seed: np.uint64, job_id: Ints) -> None:
    """Store a number between 0 and 1 for each job: the first word of its stream."""
    keys, words = np.empty(20, np.uint64), np.empty(4, np.uint64)
    for row in range(job_id.size):
        fill_round_keys(keys, seed, np.uint64(job_id[row]))
        fill_words(words, keys, 0, APPLICATIONS)
        uniform[row] = uniform_from_word(words[0])


def load_application_map(path: str | os.PathLike[str]) -> ApplicationMap:
    """Read an application map from a TOML file (docs/reference/applications.md).

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    ApplicationMap

    Raises
    ------
    InputError
        In one line that names the file and the key: the file is missing or is not TOML, a key is unknown, or a value is
        invalid.
    PluginError
        If a technique's file cannot be loaded.
    """
    return parse_application_map(read_text(path, "application map", "TOML"), os.fspath(path))


def parse_application_map(text: str, source: str) -> ApplicationMap:
    """Read a TOML text; ``source`` is its name for messages. The rest as :func:`load_application_map`."""
    content = parse_toml(text, source)
    check_keys(content, ("application", DEFAULT), f"{source}: ")
    tables = content.get("application", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise InputError(f"{source}: application: {shown(tables)}; allowed: [[application]] tables")
    applications = tuple(_application(table, f"{source}: application[{k}]") for k, table in enumerate(tables))
    if (default := content.get(DEFAULT)) is None:
        return ApplicationMap(source, applications)
    if not isinstance(default, dict):
        raise InputError(f"{source}: {DEFAULT}: {shown(default)}; allowed: a [{DEFAULT}] table")
    where = f"{source}: {DEFAULT}"
    if "name" in default:
        raise InputError(f"{where}.name: {shown(default['name'])}; allowed: none, as it is called {DEFAULT}")
    program = program_of(default, where, (ALLOWED, *DRAWS))
    return ApplicationMap(source, applications, program, _allowed(default, where), _draws(default, where))


def _application(table: Mapping[str, Any], path: str) -> MappedJobs:
    if "name" not in table:
        raise InputError(f"{path}.name: missing; allowed: 1 to 100 printable characters")
    match = _match(table.get("match", {}), f"{path}.match")
    program = program_of(table, path, ("match", ALLOWED, *DRAWS))
    return MappedJobs(program.name, match, program, _allowed(table, path), _draws(table, path))


def _allowed(table: Mapping[str, Any], path: str) -> bool | None:
    if (found := table.get(ALLOWED)) is None or isinstance(found, bool):
        return found
    raise InputError(f"{path}.{ALLOWED}: {shown(found)}; allowed: true or false, whether these jobs may be slowed")


def _draws(table: Mapping[str, Any], path: str) -> dict[str, int]:
    given = {key: real(f"{path}.{key}", table[key], 0, most) for key, most in DRAWS.items() if key in table}
    return {key: round(value * WHOLE) for key, value in given.items()}


def _match(given: object, path: str) -> Match:
    if not isinstance(given, dict):
        raise InputError(f"{path}: {shown(given)}; allowed: a table, as {{ user = 12 }}")
    check_keys(given, (*COLUMNS, "share"), f"{path}.")
    values = {key: _numbers(value, f"{path}.{key}") for key, value in given.items() if key != "share"}
    return Match(**values, share=given.get("share", 1.0), where=path)


def _numbers(given: object, where: str) -> str:
    parts = given if isinstance(given, list) else [given]
    texts = [str(part) for part in parts if isinstance(part, str) or (type(part) is int and part >= 0)]
    if len(texts) < len(parts) or not " ".join(texts).strip():
        allowed = "a number from 0, a list of them, or a text as '0-63 128 256-'"
        raise InputError(f"{where}: {shown(given)}; allowed: {allowed}")
    return " ".join(texts)
