"""Plug-ins: found by name in the dict of a folder, an installed package's entry point, or ``FILE.py:NAME``, and made with the
parameters given after the name. Also their compiled rules."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import math
import os
import re
import sys
from collections import UserDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from types import ModuleType, NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from traces.base import errors
from traces.base.errors import InputError, PluginError, shown, shown_path
from traces.base.given_file import near_files
from traces.base.options import named
from traces.base.time import Seconds, parse_duration_ns, time_in
from traces.compiled import compiled, types

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints


T = TypeVar("T")


class Registry(UserDict[str, T]):
    """Built-in plug-ins by name: objects, or their places, ``MODULE:NAME``. There a plug-in is imported when it is first asked
    for, since a run uses few of them. If NAME is a class, the plug-in is the class called without arguments."""

    data: dict[str, Any]  # the objects; places that were not asked for yet

    def __init__(self, places: Mapping[str, str | T]) -> None:
        super().__init__()
        self.data.update(places)

    def __getitem__(self, name: str) -> T:
        found = self.data[name]
        if isinstance(found, str):
            found = named(found)
            found = self.data[name] = found() if isinstance(found, type) else found
        return cast(T, found)


def entry_points(group: str) -> EntryPoints:
    """Return the entry points of installed packages under a group."""
    from importlib import metadata  # slow to import, and needed for custom names only

    return metadata.entry_points(group=group)


def _load_file(path: Path, where: str) -> ModuleType:
    if not os.path.isfile(path):  # also false for impossible file names
        raise InputError(f"{where}: no file {shown_path(path)}{near_files(path)}; allowed: a name, or FILE.py:NAME")
    # The name is made from the whole path, so that two files of the same name do not replace each other. It is the same in
    # every process, since a compiled kernel from the cache finds its module by name.
    name = f"twolevel_plugin_{hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{where}: {shown_path(path)} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except errors.RAISED_BY_PLUGINS as error:  # also our own errors: a decorator's error is the file's fault
        del sys.modules[name]
        raise PluginError(f"{where}: {path} cannot be loaded: {errors.raised_text(error)}") from error
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _own_names(module: ModuleType) -> list[str]:
    # Names defined in the file, not imported; only classes and functions know where they are from.
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and not isinstance(value, ModuleType)
        and (not hasattr(value, "__qualname__") or value.__module__ == module.__name__)
    ]


def resolve(
    kind: str,
    name: str,
    builtin: Mapping[str, T],
    group: str,
    expected: type[T],
    where: str,
    also: tuple[str, ...] = (),
) -> T:
    """Return the plug-in called ``name``: a key of ``builtin``, an entry point of ``group``, or ``FILE.py:NAME``. ``builtin``
    precedes entry points: an installed package cannot change the meaning of a name. ``expected``: the type of the plug-in.
    ``also``: names handled by the caller, listed in the error.

    Raises InputError if there is no such name (the message lists the known names, nearest first), or it has another type;
    PluginError if it cannot be loaded.
    """
    if name in builtin:
        return builtin[name]
    file, colon, attribute = name.rpartition(":")
    if colon and file.endswith(".py"):
        module = _load_file(Path(file), where)
        if not hasattr(module, attribute):
            names = _own_names(module)
            raise InputError(
                f"{where}: {file} has no {shown(attribute)}{errors.did_you_mean(attribute, names)}; "
                f"it has: {', '.join(names) or 'nothing'}"
            )
        found: object = getattr(module, attribute)
    elif name.endswith(".py"):
        raise InputError(f"{where}: {shown(name)} names no object of the file; allowed: FILE.py:NAME")
    else:
        points = {point.name: point for point in entry_points(group)}
        if name not in points:
            raise errors.one_of(kind, name, [*builtin, *points, *also], where)
        with errors.blamed_on(f"{where}: plug-in {name} cannot be loaded"):
            found = points[name].load()
    if isinstance(found, type):  # a class is called without arguments
        with errors.blamed_on(f"{where}: {name}() cannot be made"):
            found = found()
    if not isinstance(found, expected):
        raise InputError(f"{where}: {name} is of type {type(found).__name__}; allowed: {expected.__name__}")
    return found


_PARAMETERS = re.compile(r"(.+?):\s*([A-Za-z_]\w*\s*=.*)", re.DOTALL)
_PARAMETER = re.compile(r"\s*[A-Za-z_]\w*\s*=")


def is_number(text: str) -> bool:
    """Return whether the text is a number (:func:`traces.base.errors.parse_real`)."""
    try:
        errors.parse_real(text)
    except ValueError:
        return False
    return True


def split_names(text: str) -> list[str]:
    """Split a list of plug-ins separated by commas.

    A comma within parentheses belongs to an expression, a comma before ``key=`` to the parameters of the plug-in before it.

    >>> split_names("fcfs, expr:max(w,t), multifactor:age=1,size=2")
    ['fcfs', 'expr:max(w,t)', 'multifactor:age=1,size=2']
    """
    parts, depth = [""], 0
    for character in text:
        depth = max(0, depth + (character == "(") - (character == ")"))
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    names: list[str] = []
    for part in parts:
        if names and ":" in names[-1] and _PARAMETER.match(part):
            names[-1] += f",{part}"
        else:
            names.append(part)
    return [name.strip() for name in names if name.strip()]


def split_parameters(name: str) -> tuple[str, str]:
    """Split ``NAME:key=value,…`` into NAME and the rest, which is empty without parameters."""
    match = _PARAMETERS.fullmatch(name)
    return (match[1], match[2]) if match else (name, "")


def with_parameters(plug_in: T, text: str, where: str, kind: str, shared: Iterable[str] = ()) -> T:
    """Return the plug-in with other parameters, given as the ``text`` ``key=value,key=value``.

    Its parameters are its fields that are numbers, words or true/false, except ``name`` and fields with the metadata
    ``parameter=False``. A field ``x_ns`` is given as the duration ``x``; a field of type :data:`traces.base.time.Seconds` as
    seconds or as a duration. ``shared``: parameters of all plug-ins of its kind, which are not in the text; for errors. Raises
    InputError if a parameter is unknown, given twice, or invalid; PluginError if the plug-in cannot be made with them.
    """
    known = _known(plug_in)
    name = getattr(plug_in, "name", type(plug_in).__name__)
    given: dict[str, Any] = {}
    for part in text.split(","):
        key, equals, value = (word.strip() for word in part.partition("="))
        if not equals:
            raise InputError(f"{where}: {shown(part)} is not a parameter; allowed: key=value, separated by commas")
        if not known and not shared:
            raise InputError(f"{where}: {kind} {name} has no parameter {shown(key)}; it has none")
        if key not in known:
            raise errors.one_of(f"parameter of {kind} {name}", key, [*known, *shared], where)
        of, expected = known[key]
        if of in given:
            raise InputError(f"{where}: parameter {key} of {kind} {name} is given twice")
        given[of] = _value(value, expected, of, f"{where}: {name}:{key}")
    with errors.blamed_on(f"{where}: {name}:{text} cannot be made"):
        return replace(plug_in, **given)  # type: ignore[type-var]


def _known(plug_in: object) -> dict[str, tuple[str, type]]:
    # The parameters: by given name, the field and its type.
    if not is_dataclass(plug_in) or isinstance(plug_in, type):
        return {}
    try:
        hints = get_type_hints(type(plug_in), include_extras=True)
    except Exception:  # a plug-in's annotations may use names that only a type checker imports
        hints = {}
    known = {}
    for field in fields(plug_in):
        expected = _plain(hints.get(field.name, type(getattr(plug_in, field.name))))
        given = field.init and field.name != "name" and field.metadata.get("parameter", True)
        if given and expected in (bool, int, float, str, Seconds):
            known[field.name.removesuffix("_ns") if expected is int else field.name] = (field.name, expected)
    return known


def _plain(hint: Any) -> Any:
    # The type of given values, for fields that may also be None or have further annotations.
    if get_origin(hint) is Annotated and hint != Seconds:
        return _plain(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        others = [option for option in get_args(hint) if option is not NoneType]
        return _plain(others[0]) if len(others) == 1 else hint
    return hint


def _value(text: str, expected: type, field: str, where: str) -> bool | int | float | str:
    if expected is int and field.endswith("_ns"):
        return parse_duration_ns(text, where)
    if expected is bool:
        words = {"true": True, "yes": True, "false": False, "no": False}
        if text.lower() not in words:
            raise InputError(f"{where}: {shown(text)}; allowed: true, yes, false, no")
        return words[text.lower()]
    if expected is str:
        if not text:
            raise InputError(f"{where}: empty; allowed: a text")
        return text
    try:
        read: Callable[[str], float] = errors.parse_whole if expected is int else errors.parse_real
        number = time_in("s", text, where) if expected is Seconds else read(text)
    except ValueError:
        number = math.nan
    if not abs(number) < math.inf:  # also of whole numbers that no float holds
        raise InputError(f"{where}: {shown(text)} is not a {'whole ' * (expected is int)}number")
    return number


# A file name may contain commas; trailing key=value parts are parameters.
_FILE = re.compile(r"file:(.*?)((?:,\s*[A-Za-z_]\w*\s*=[^,]*)*)", re.DOTALL)


@contextmanager
def at_its_place(where: str) -> Iterator[None]:
    """Prefix errors with the line of a file that gives a plug-in; an option's own error already has its place."""
    try:
        yield
    except InputError as error:
        if errors.leading(where)[0] is not None or error.text.startswith(where):
            raise
        raise InputError(f"{where}: {error.text}") from None


def without_parameter(spec: str, key: str, where: str, noun: str) -> tuple[str, str | None]:
    """Split a parameter off a spec, ``NAME:key=value,…`` or ``file:PATH,key=value,…``. Returns the rest and the value; None if
    it is not given. Raises InputError if it is given twice."""
    match = _FILE.fullmatch(spec)
    name, text = (f"file:{match[1]}", match[2][1:]) if match else split_parameters(spec)
    rest, values = [], []
    for part in text.split(","):
        word, _, value = part.partition("=")
        if word.strip() == key:
            values.append(value.strip())
        else:
            rest.append(part)
    if not values:
        return spec, None
    if len(values) > 1:
        raise InputError(f"{where}: parameter {key} of {noun} {name} is given twice")
    return f"{name}{',' if match else ':'}{','.join(rest)}" if rest else name, values[0]


def parameterised(
    kind: str,
    spec: str,
    builtin: Mapping[str, T],
    group: str,
    expected: type[T],
    where: str,
    *,
    from_file: Callable[[str], T],
    made: type[Any],
    noun: str,
    also: tuple[str, ...] = (),
    shared: tuple[str, ...] = (),
) -> tuple[T, bool]:
    """Return the plug-in given as ``spec``, and whether it is built in. ``spec`` is a name as for :func:`resolve`, or
    ``file:PATH``; each optionally followed by parameters.

    - ``from_file``: makes the plug-in of a path.
    - ``made``: the type that a plug-in makes in the end; a plug-in of this type has no parameters.
    - ``noun``: its kind in errors about its parameters; ``shared``: as for :func:`with_parameters`.

    Raises InputError if there is none, or a parameter is invalid; PluginError if it cannot be loaded, or has another type.
    """
    if match := _FILE.fullmatch(spec):
        named = from_file(match[1])
        return (with_parameters(named, match[2][1:], where, noun, shared) if match[2] else named), True
    plain, text = split_parameters(spec)
    found = resolve(kind, plain, builtin, group, expected, where, also=also)
    if text and isinstance(found, made):
        raise InputError(f"{where}: {spec}: {getattr(found, 'name', plain)} has no parameters")
    return (with_parameters(found, text, where, noun, shared) if text else found), plain in builtin


def compiled_rule(
    function: Callable[..., Any], decorator: str, *forms: tuple[types.Signature, tuple[str, ...]]
) -> Callable[..., Any]:
    """Compile a rule to the signature with its number of arguments. ``decorator``: its decorator, for the error. ``*forms``:
    signatures, each with the names of its arguments. Raises InputError if no signature has this number of arguments."""
    count = len(inspect.signature(function).parameters)
    for signature, arguments in forms:
        if count == len(arguments):
            return compiled(signature)(function)
    allowed = "; or ".join(", ".join(arguments) for _, arguments in forms)
    raise InputError(f"{decorator}: {function.__name__} takes {count} arguments; allowed: {allowed}")
