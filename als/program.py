"""What a job computes: phases in order, each a serial part or a loop, a barrier after each, all of it repeated.

A job that the batch level runs has a recorded run time T and P cores; its work is L = speed·T·P GFLOP, where speed is that
of the slowest of its cores (two-level paper, section 5.1). A program divides T among its phases by their shares: a serial
part of share s is s·T on one core, during which the others wait; a loop of share s has s·L, in tasks. Each of S time steps
has 1/S of everything. A job of one loop is the plain case, that of the paper.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from als.tasks import MAX_TASKS_PER_JOB
from als.techniques import TECHNIQUES, AnyTechnique, Selection, Technique, technique
from als.techniques.selection import PREFIX
from traces.compiled import Array
from traces.errors import InputError, one_of, shown
from traces.naming import split_names, split_parameters
from traces.ranges import real, whole

if TYPE_CHECKING:
    from als.lengths import LengthModel

__all__ = ["KINDS", "MAX_PHASES", "MAX_STEPS", "Loop", "Program", "Serial", "absolute_name", "program_of"]

#: The kinds of phases, as a table names them.
KINDS = ("serial", "loop")

#: The most phases a program may have, and the most time steps.
MAX_PHASES, MAX_STEPS = 100, 1_000_000

_LOOP_KEYS = ("als", "lengths", "tasks_per_core", "tasks", "share")
_PHASE_KEYS = {"serial": ("kind", "share"), "loop": ("kind", *_LOOP_KEYS)}
_PROGRAM_KEYS = ("name", "phases", "steps", "redraw")

_FILE_OF_LENGTHS = re.compile(r"file:(.*?)(,\s*[A-Za-z_]\w*\s*=.*)?", re.DOTALL)


def _key(where: str, key: str) -> str:
    # How an error names what was given: by its path in a table, or as an option of the command line.
    return f"{where}.{key}" if where else f"--{key.replace('_', '-')}"


def _share(where: str, value: object) -> float:
    share = real(where, value, 0.0, 1e9)
    if share == 0.0:
        raise InputError(f"{where}: {shown(value)} is no part of the work; allowed: above 0")
    return share


@dataclass(frozen=True)
class Serial:
    """A serial part: one task, on one core of the job.

    Attributes
    ----------
    share : float
        Its share of the recorded run time, above 0. The shares of a program are divided by their sum.

    Raises
    ------
    InputError
        If it is no such number; the message begins with ``where``.
    """

    share: float
    where: InitVar[str] = "serial"

    def __post_init__(self, where: str) -> None:
        object.__setattr__(self, "share", _share(_key(where, "share"), self.share))


@dataclass(frozen=True)
class Loop:
    """A loop: independent tasks, given to the job's cores by a technique.

    Attributes
    ----------
    technique : str or Technique
        As in ``--als``; empty: that of the run (:meth:`Program.filled`).
    lengths : str
        As in ``--lengths``; empty: those of the run.
    tasks_per_core : int or None
        K, the number of tasks a core, >= 1; None: that of the run, or 1 where nobody says.
    tasks : int or None
        Their number N, whatever the number of cores, >= 1; None: P·K. Where tasks are drawn until the work is reached, it
        is the number they would have if all were of the mean length. Lengths that come in a number of their own, as from
        a file, decide it themselves.
    share : float
        Its share of the job's work, above 0. The shares of a program are divided by their sum.
    count : int or None
        The number of tasks that the lengths have of their own; found, not given.

    Raises
    ------
    InputError
        If a value cannot be used, or both ``tasks_per_core`` and ``tasks`` are given; the message begins with ``where`` and
        the key.
    PluginError
        If a technique's file cannot be loaded.
    """

    technique: str | AnyTechnique = ""
    lengths: str = ""
    tasks_per_core: int | None = None
    tasks: int | None = None
    share: float = 1.0
    count: int | None = field(init=False, default=None, repr=False, compare=False)
    where: InitVar[str] = "loop"

    def __post_init__(self, where: str) -> None:
        for key in ("tasks_per_core", "tasks"):
            if getattr(self, key) is not None:
                object.__setattr__(self, key, whole(_key(where, key), getattr(self, key), 1, MAX_TASKS_PER_JOB))
        if self.tasks is not None and self.tasks_per_core is not None:
            raise InputError(f"{_key(where, 'tasks')}: given beside tasks_per_core; allowed: one of them")
        object.__setattr__(self, "share", _share(_key(where, "share"), self.share))
        if not isinstance(self.technique, str | Technique | Selection):
            raise InputError(f"{_key(where, 'als')}: {shown(self.technique)}; allowed: a name or a Technique")
        if not isinstance(self.lengths, str):
            raise InputError(
                f"{_key(where, 'lengths')}: {shown(self.lengths)} is not a text; allowed: as 'gamma:cov=1'"
            )
        if self.technique:
            self.found_technique(where)
        if self.lengths:
            object.__setattr__(self, "count", self.found_lengths(where).count)
        if self.tasks is not None and self.count not in (None, self.tasks):
            raise InputError(f"{_key(where, 'tasks')}: {self.tasks}; allowed: {self.count}, which {self.lengths} has")

    def found_technique(self, where: str = "loop") -> AnyTechnique:
        """The technique, looked up if it was named."""
        if isinstance(self.technique, Technique | Selection):
            return self.technique
        if not self.technique:
            raise InputError(f"{_key(where, 'als')}: missing; allowed: {', '.join(TECHNIQUES)}")
        return technique(self.technique, where=_key(where, "als"))

    def found_lengths(self, where: str = "loop", *, variation: float = 0.0) -> LengthModel:
        """The model of its task lengths; ``variation`` is the run's, for those that are given none of their own."""
        from als.lengths import lengths

        return lengths(self.lengths, _key(where, "lengths"), variation=variation)

    def n_tasks(self, cores: int) -> int:
        """N on this many cores: that of the lengths, or ``tasks``, or P·K."""
        return self.count or self.tasks or cores * (self.tasks_per_core or 1)


@dataclass(frozen=True)
class Program:
    """What a job computes.

    Attributes
    ----------
    phases : tuple of Serial or Loop
        1 to ``MAX_PHASES``, computed in order; a barrier follows each: the next begins on all cores when the last core has
        ended this one.
    steps : int
        S, how often all phases are computed, 1 to ``MAX_STEPS``. Each step has 1/S of every phase's work, in as many
        tasks as the phase has.
    redraw : bool
        Whether task lengths are drawn anew for every step; else all steps have those of the first.
    name : str
        For tables, up to 100 printable characters.

    Raises
    ------
    InputError
        If a value cannot be used; the message begins with ``where`` and the key.
    """

    phases: tuple[Serial | Loop, ...]
    steps: int = 1
    redraw: bool = False
    name: str = ""
    where: InitVar[str] = "program"

    def __post_init__(self, where: str) -> None:
        if not isinstance(self.name, str) or len(self.name) > 100 or not self.name.isprintable():
            raise InputError(f"{_key(where, 'name')}: {shown(self.name)}; allowed: up to 100 printable characters")
        object.__setattr__(self, "phases", tuple(self.phases))
        if not 1 <= len(self.phases) <= MAX_PHASES:
            raise InputError(f"{_key(where, 'phases')}: {len(self.phases)} phases; allowed: 1 to {MAX_PHASES}")
        for place, phase in enumerate(self.phases):
            if not isinstance(phase, Serial | Loop):
                raise InputError(f"{_key(where, 'phases')}[{place}]: {shown(phase)}; allowed: Serial or Loop")
        object.__setattr__(self, "steps", whole(_key(where, "steps"), self.steps, 1, MAX_STEPS))
        if not isinstance(self.redraw, bool):
            raise InputError(f"{_key(where, 'redraw')}: {shown(self.redraw)}; allowed: true or false")

    @classmethod
    def plain(
        cls,
        technique: str | AnyTechnique,
        lengths: str = "",
        tasks_per_core: int = 1,
        *,
        where: str = "",
        name: str = "",
    ) -> Program:
        """One loop, once: a job of the paper. Errors name options (``--als``) if ``where`` is empty."""
        return cls((Loop(technique, lengths, tasks_per_core, where=where),), name=name)

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The phases that are loops, in order."""
        return tuple(phase for phase in self.phases if isinstance(phase, Loop))

    @property
    def shares(self) -> tuple[float, ...]:
        """Each phase's share of the whole job, all steps together; their sum is 1, that of a single phase exactly."""
        total = math.fsum(phase.share for phase in self.phases)
        return tuple(phase.share / total for phase in self.phases)

    def filled(self, run: Loop, where: str = "program") -> Program:
        """The program with what its loops leave out taken from ``run``: technique, lengths, number of tasks."""
        phases = tuple(_filled(phase, run, f"{where}.phases[{place}]") for place, phase in enumerate(self.phases))
        return replace(self, phases=phases)

    def n_tasks(self, cores: int) -> int:
        """How many tasks a job of this many cores has (by :meth:`Loop.n_tasks`), a serial part being one."""
        return self.steps * sum(phase.n_tasks(cores) if isinstance(phase, Loop) else 1 for phase in self.phases)

    def check(self, cores: Array, job_id: Array, where: str = "program") -> None:
        """Refuse jobs of which one would have more than ``MAX_TASKS_PER_JOB`` tasks, or has a number of cores that the
        parameters of a technique are not for.

        Parameters
        ----------
        cores, job_id : ndarray of int64, shape (n,)
            The jobs that run the program.
        where : str
            For errors: where the program comes from; empty: options of the command line.

        Raises
        ------
        InputError
            If there is such a job.
        """
        if not len(cores):
            return
        widest = int(cores.argmax())
        tasks = self.n_tasks(int(cores[widest]))
        if tasks > MAX_TASKS_PER_JOB:
            raise InputError(
                f"{where or '--tasks-per-core'}: job {job_id[widest]} of {cores[widest]} cores would have {tasks} tasks; "
                f"allowed: up to {MAX_TASKS_PER_JOB} a job"
            )
        for loop in self.loops:
            only = loop.found_technique(where).only_cores
            if only is not None and (cores != only).any():
                other = int((cores != only).argmax())
                raise InputError(
                    f"{_key(where, 'als')}: technique {loop.found_technique(where).name}: its weights are for {only} "
                    f"cores; job {job_id[other]} has {cores[other]}"
                )

    def to_json(self) -> str:
        """The program as a text that :meth:`from_json` reads in another process, in whatever folder it runs.

        Techniques and lengths stand there as they were written; the paths of their files are absolute.

        Raises
        ------
        InputError
            If a technique is an object without a name that can be looked up.
        """
        table = {
            "name": self.name,
            "phases": [_phase_table(phase) for phase in self.phases],
            "steps": self.steps,
            "redraw": self.redraw,
        }
        return json.dumps(table, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Program:
        """The program of a text that :meth:`to_json` wrote.

        Raises
        ------
        InputError, PluginError
            If it is none, or something that it names is not here.
        """
        try:
            table = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"program: not JSON: {error}") from None
        if not isinstance(table, dict):
            raise InputError(f"program: {shown(table)} is not a table")
        return program_of(table, "program")


def _filled(phase: Serial | Loop, run: Loop, where: str) -> Serial | Loop:
    if isinstance(phase, Serial):
        return phase
    counted = phase.tasks is not None or phase.tasks_per_core is not None
    given: dict[str, Any] = {
        "technique": phase.technique or run.technique,
        "lengths": phase.lengths or run.lengths,
        "tasks_per_core": phase.tasks_per_core if counted else run.tasks_per_core,
        "tasks": phase.tasks if counted or phase.count else run.tasks,
    }
    changed = any(getattr(phase, key) != value for key, value in given.items())
    return replace(phase, **given, where=where) if changed else phase


def _phase_table(phase: Serial | Loop) -> dict[str, Any]:
    if isinstance(phase, Serial):
        return {"kind": "serial", "share": phase.share}
    values = {
        "als": _technique_name(phase.technique),
        "lengths": absolute_name(phase.lengths),
        "tasks_per_core": phase.tasks_per_core,
        "tasks": phase.tasks,
        "share": phase.share,
    }
    return {"kind": "loop"} | {key: value for key, value in values.items() if value not in (None, "")}


def _technique_name(given: str | AnyTechnique) -> str:
    if isinstance(given, str):
        return absolute_name(given)
    for name, known in TECHNIQUES.items():
        if known is given:
            return name
    raise InputError(
        f"als: technique {given.name} is an object of this process; for another process name it, as in FILE.py:NAME"
    )


def absolute_name(given: str) -> str:
    """``FILE.py:NAME`` or ``file:PATH``, each perhaps with parameters, with the absolute path; anything else as it is.

    Of a selection, each of its candidates.
    """
    if given.startswith(PREFIX):
        parts = split_names(given.removeprefix(PREFIX).strip().removeprefix("(").removesuffix(")"))
        return f"{PREFIX}({','.join(absolute_name(part) for part in parts)})"
    if (found := _FILE_OF_LENGTHS.fullmatch(given)) and found[1]:
        return f"file:{os.path.abspath(found[1])}{found[2] or ''}"
    plain, parameters = split_parameters(given)
    file, colon, name = plain.rpartition(":")
    if not (colon and file.endswith(".py")):
        return given
    return f"{os.path.abspath(file)}:{name}" + (f":{parameters}" if parameters else "")


def program_of(table: Mapping[str, Any], path: str) -> Program:
    """The program of a table: a loop's keys at its top, or ``phases``; ``name``, ``steps`` and ``redraw`` with either.

    Parameters
    ----------
    table : mapping
        As TOML or JSON gives it.
    path : str
        What stands before the keys in errors, as ``apps.toml: application[2]``.

    Raises
    ------
    InputError
        If a key is unknown, missing or twice there, or a value cannot be used; the message begins with the key's path.
    PluginError
        If a technique's file cannot be loaded.
    """
    known = _PROGRAM_KEYS if "phases" in table else (*_LOOP_KEYS[:-1], *_PROGRAM_KEYS)
    if "phases" in table:
        for key in _LOOP_KEYS[:-1]:
            if key in table:
                raise InputError(
                    f"{path}.{key}: given beside phases; allowed: in the phases, or a single loop without them"
                )
    _check_keys(table, known, path)
    if "phases" in table:
        given = table["phases"]
        if not isinstance(given, list) or not all(isinstance(phase, dict) for phase in given):
            raise InputError(f"{path}.phases: {shown(given)}; allowed: a list of tables")
        phases = tuple(_phase_of(phase, f"{path}.phases[{place}]") for place, phase in enumerate(given))
    else:
        phases = (_loop_of(table, path),)
    others = {key: table[key] for key in ("steps", "redraw", "name") if key in table}
    return Program(phases, **others, where=path)


def _phase_of(table: Mapping[str, Any], path: str) -> Serial | Loop:
    if "kind" not in table:
        raise InputError(f"{path}.kind: missing; allowed: {', '.join(KINDS)}")
    kind = table["kind"]
    if kind not in KINDS:
        raise one_of("kind of phase", kind, KINDS, f"{path}.kind")
    _check_keys(table, _PHASE_KEYS[kind], path)
    if kind == "loop":
        return _loop_of(table, path)
    if "share" not in table:
        raise InputError(f"{path}.share: missing; allowed: above 0")
    return Serial(table["share"], where=path)


def _loop_of(table: Mapping[str, Any], path: str) -> Loop:
    given = {("technique" if key == "als" else key): table[key] for key in _LOOP_KEYS if key in table}
    for key in ("als", "lengths"):
        if table.get(key) == "":
            raise InputError(f"{path}.{key}: ''; allowed: a name, or to leave the key out for the run's")
    return Loop(**given, where=path)


def _check_keys(table: Mapping[str, Any], known: tuple[str, ...], path: str) -> None:
    for key in table:
        if key not in known:
            raise one_of("key", key, known, f"{path}.{key if key.isprintable() and len(key) <= 60 else shown(key)}")
