"""Programs as text: TOML and JSON tables, in which a program is given, and sent to other processes."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from als.programs.program import Graph, Loop, Phase, Program, Serial
from als.schedulers import AnyScheduler, scheduler_name
from als.techniques.contract import PREFIX
from traces.base.errors import InputError, one_of, shown, shown_name
from traces.base.given_file import parse_json
from traces.base.plugins import split_names, split_parameters

KINDS = ("serial", "loop", "graph")  #: the kinds of phases in a table

_LOOP_KEYS = ("als", "lengths", "tasks_per_core", "tasks", "on", "cores", "share")
_GRAPH_KEYS = ("als", "graph", "order", "tasks_per_core", "tasks", "cores", "share")
_PHASE_KEYS = {"serial": ("kind", "cores", "share"), "loop": ("kind", *_LOOP_KEYS), "graph": ("kind", *_GRAPH_KEYS)}
_PROGRAM_KEYS = ("name", "phases", "steps", "redraw", "workers")

_FILE_OF_LENGTHS = re.compile(r"file:(.*?)(,\s*[A-Za-z_]\w*\s*=.*)?", re.DOTALL)


def to_json(program: Program) -> str:
    """As :meth:`als.programs.program.Program.to_json`."""
    phases = [_phase_table(phase) for phase in program.phases]
    table = {"name": program.name, "phases": phases, "steps": program.steps, "redraw": program.redraw}
    if program.workers:
        table["workers"] = {kind.name: kind.given() for kind in program.workers}
    return json.dumps(table, ensure_ascii=False, separators=(",", ":"))


def from_json(text: str) -> Program:
    """As :meth:`als.programs.program.Program.from_json`."""
    table = parse_json(text, "program", parse_constant=float)  # NaN is refused later, with its path
    if not isinstance(table, dict):
        raise InputError(f"program: {shown(table)} is not a table")
    return program_of(table, "program")


def _phase_table(phase: Phase) -> dict[str, Any]:
    values: dict[str, Any] = {"kind": "serial"}
    if not isinstance(phase, Serial):
        values = {"kind": "loop", "als": _technique_name(phase.technique)}
        if isinstance(phase, Graph):
            values |= {"kind": "graph", "graph": absolute_name(phase.graph), "order": phase.order}
        else:
            values |= {"lengths": absolute_name(phase.lengths), "on": phase.on}
        values |= {"tasks_per_core": phase.tasks_per_core, "tasks": phase.tasks}
    values |= {"share": phase.share, "cores": phase.cores}
    return {key: value for key, value in values.items() if value not in (None, "")}


def _technique_name(given: str | AnyScheduler) -> str:
    if isinstance(given, str):
        return absolute_name(given)
    if (name := scheduler_name(given)) is not None:
        return name
    raise InputError(f"als: {given.name} is an object of this process; for another process name it, as in FILE.py:NAME")


def absolute_name(given: str) -> str:
    """Return ``FILE.py:NAME`` or ``file:PATH``, each optionally with parameters, with an absolute path; other names unchanged.
    For a selection, do this for each candidate."""
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


def program_of(table: Mapping[str, Any], path: str, also: Sequence[str] = ()) -> Program:
    """Return the program of a TOML or JSON table: a loop's keys at its top, or ``phases``; ``name``, ``steps`` and ``redraw``
    with either. ``path`` precedes the keys in errors, such as ``apps.toml: application[2]``; the caller reads the keys
    ``also``.

    Raises InputError if a key is unknown, missing or given twice, or a value is invalid; PluginError if a technique's file
    cannot be loaded."""
    own = _GRAPH_KEYS[:-1] if "graph" in table else (*_LOOP_KEYS[:-1], "graph")
    known = _PROGRAM_KEYS if "phases" in table else (*own, *_PROGRAM_KEYS)
    if "phases" in table:
        for key in (*_LOOP_KEYS[:-1], *_GRAPH_KEYS[:-1]):
            if key in table:
                allowed = "in the phases, or a single loop or graph without them"
                raise InputError(f"{path}.{key}: given in addition to phases; allowed: {allowed}")
    _check_keys(table, (*known, *also), path)
    if "phases" in table:
        given = table["phases"]
        if not isinstance(given, list) or not all(isinstance(phase, dict) for phase in given):
            raise InputError(f"{path}.phases: {shown(given)}; allowed: a list of tables")
        phases = tuple(_phase_of(phase, f"{path}.phases[{place}]") for place, phase in enumerate(given))
    else:
        kind, keys = (Graph, _GRAPH_KEYS) if "graph" in table else (Loop, _LOOP_KEYS)
        phases = (kind(**_given(table, keys, path), where=path),)
    others = {key: table[key] for key in ("steps", "redraw", "name") if key in table}
    if "workers" in table:
        from als.workers import worker_kinds  # not needed by programs on cores

        others["workers"] = worker_kinds(table["workers"], f"{path}.workers", count=None)
    return Program(phases, **others, where=path)


def _phase_of(table: Mapping[str, Any], path: str) -> Phase:
    if "kind" not in table:
        raise InputError(f"{path}.kind: missing; allowed: {', '.join(KINDS)}")
    kind = table["kind"]
    if kind not in KINDS:
        raise one_of("kind of phase", kind, KINDS, f"{path}.kind")
    _check_keys(table, _PHASE_KEYS[kind], path)
    if kind == "loop":
        return Loop(**_given(table, _LOOP_KEYS, path), where=path)
    if kind == "graph":
        if "graph" not in table:
            raise InputError(f"{path}.graph: missing; allowed: e.g. 'cholesky:tiles=8' or 'file:PATH'")
        return Graph(**_given(table, _GRAPH_KEYS, path), where=path)
    if "share" not in table:
        raise InputError(f"{path}.share: missing; allowed: above 0")
    return Serial(table["share"], table.get("cores"), where=path)


def _given(table: Mapping[str, Any], keys: Sequence[str], path: str) -> dict[str, Any]:
    for key in ("als", "lengths"):
        if table.get(key) == "":
            raise InputError(f"{path}.{key}: ''; allowed: a name, or to leave the key out for the run's")
    return {("technique" if key == "als" else key): table[key] for key in keys if key in table}


def _check_keys(table: Mapping[str, Any], known: tuple[str, ...], path: str) -> None:
    for key in table:
        if key not in known:
            raise one_of("key", key, known, f"{path}.{shown_name(key)}")
