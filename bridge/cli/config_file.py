"""``run --config FILE.toml``: options from a file, under the names that a study's file has for them."""

from collections.abc import Iterator, Mapping
from inspect import signature
from pathlib import Path
from typing import Any

from bridge.options.declared import NO_FORMATS, TRACE_FORMATS
from bridge.studies.input.named_files import located_value
from bridge.studies.input.run_options import GivenOption, Value, in_study, of_part, once, parts, value_of, with_origin
from traces.base.errors import InputError, in_table, spelled
from traces.base.given_file import parse_toml, read_text
from traces.base.retired import unknown

_NOT_THERE = ("config",)  #: options that a file cannot give
_NO_INPUT = ("out", "als-command", "listen", "certificate")  #: options that do not name an input file


def options_of_file(file: str, command: Any) -> dict[str, Any]:
    """The options of a file, by their names in Python; ``command`` is one of ``bridge.options.bundles.bundled``. Raises
    InputError if it cannot be read or used; the message begins with file and key."""
    return {name: value for name, value, _ in _options(file, command)}


def with_place(error: str, file: str, command: Any, used: Mapping[str, Any]) -> str:
    """An error of a run, preceded by file and key if it is about a value of the file. ``used``: the values of the run."""
    given: dict[str, Value] = {}
    origins: dict[tuple[str, Value], str] = {}
    for name, value, place in _options(file, command):
        if used.get(name) == value:
            key, kept = name.replace("_", "-"), tuple(value) if isinstance(value, list) else value
            given[key], origins[key, kept] = kept, place
    return with_origin(error, given, origins)


def _options(file: str, command: Any) -> Iterator[tuple[str, Any, str]]:
    # Name in Python, value, and its place.
    given = parse_toml(read_text(file, "file of options", "TOML"), file)
    try:
        yield from _checked(given, file, command)
    except InputError as error:
        grouped = any(isinstance(given[part], dict) for part in parts().keys() & given.keys())
        raise InputError(spelled(error.text, in_study if grouped else in_table)) from None


def _checked(given: Mapping[str, Any], file: str, command: Any) -> Iterator[tuple[str, Any, str]]:
    where = f"{file}: "
    known = signature(command, eval_str=True).parameters
    names = {name.replace("_", "-"): name for name in known if name not in _NOT_THERE}
    for key, value, place in once(_entries(given, where)):
        if key not in names:
            raise unknown("option of twolevel run", key, names, place.removesuffix(key).strip().rstrip(":"))
        declared, _ = command.options[names[key]]
        checked = value_of(declared, _formats(value) if key == "trace" else value, place)
        yield names[key], _located(key, checked, Path(file).resolve().parent), place


def _entries(given: Mapping[str, Any], where: str) -> Iterator[GivenOption]:
    for key, value in given.items():
        if key == "run" and isinstance(value, dict):  # as in a study's file
            yield from _entries(value, f"{where}[run] ")
        elif key == "results":
            raise InputError(
                f"{where}[results]: a run computes none; allowed in a study; after a run, twolevel power and twolevel metrics"
            )
        elif key in parts() and isinstance(value, dict):
            of_workload = {"source": "workload"} if key == "workload" else {}
            for name in value.keys() & of_workload:
                yield GivenOption(of_workload[name], value[name], f"{where}[{key}] {name}")
            yield from of_part(key, {k: v for k, v in value.items() if k not in of_workload}, f"{where}[{key}] ")
        else:
            yield GivenOption(key, value, f"{where}{key}")


def _formats(value: Any) -> Any:
    # A file may switch the trace on or off without naming a format.
    if isinstance(value, bool):
        return TRACE_FORMATS.default if value else NO_FORMATS
    return ",".join(value) if isinstance(value, list) and all(isinstance(one, str) for one in value) else value


def _located(key: str, value: Any, folder: Path) -> Any:
    # Named files are searched in the folder of this file, as in studies.
    if key in _NO_INPUT:
        return value
    found = located_value(key, value, [folder])
    return list(found) if isinstance(found, tuple) else found
