"""How a plug-in is written on the command line, beyond its name: parameters, and several plug-ins in a row."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass, replace
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from traces.base.errors import InputError, blamed_on, one_of, shown
from traces.base.ranges import parse_real, parse_whole
from traces.base.time import Seconds, parse_duration_ns, time_in

P = TypeVar("P")

_PARAMETERS = re.compile(r"(.+?):\s*([A-Za-z_]\w*\s*=.*)", re.DOTALL)
_PARAMETER = re.compile(r"\s*[A-Za-z_]\w*\s*=")


def is_number(text: str) -> bool:
    """Whether the text is a number (:func:`traces.base.ranges.parse_real`)."""
    try:
        parse_real(text)
    except ValueError:
        return False
    return True


def split_names(text: str) -> list[str]:
    """The plug-ins of a list separated by commas.

    A comma within parentheses belongs to an expression, one before ``key=`` to the parameters of the plug-in before it.

    Examples
    --------
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
    """``NAME:key=value,…`` as NAME and the rest; the rest is empty if there are no parameters."""
    match = _PARAMETERS.fullmatch(name)
    return (match[1], match[2]) if match else (name, "")


def with_parameters(plug_in: P, text: str, where: str, kind: str, shared: Iterable[str] = ()) -> P:
    """The plug-in with other parameters.

    - ``plug_in``: its parameters are its fields that are numbers, words or true/false, but for ``name`` and those whose
      metadata say ``parameter=False``. A field ``x_ns`` is given as the duration ``x``; one of
      :data:`traces.base.time.Seconds` as seconds, or as a duration.
    - ``text``: ``key=value,key=value``.
    - ``shared``: parameters that all of its kind have, which are not in the text; for errors.

    Raises InputError if a parameter is unknown, given twice, or cannot be what it is said to be. Raises PluginError if
    the plug-in cannot be made with them.
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
            raise one_of(f"parameter of {kind} {name}", key, [*known, *shared], where)
        of, expected = known[key]
        if of in given:
            raise InputError(f"{where}: parameter {key} of {kind} {name} is given twice")
        given[of] = _value(value, expected, of, f"{where}: {name}:{key}")
    with blamed_on(f"{where}: {name}:{text} cannot be made"):
        return replace(plug_in, **given)  # type: ignore[type-var]


def _known(plug_in: object) -> dict[str, tuple[str, type]]:
    # The parameters: by the name that is written, the field and its type.
    if not is_dataclass(plug_in) or isinstance(plug_in, type):
        return {}
    try:
        hints = get_type_hints(type(plug_in), include_extras=True)
    except Exception:  # a plug-in's annotations may name what only a type checker imports
        hints = {}
    known = {}
    for field in fields(plug_in):
        expected = _plain(hints.get(field.name, type(getattr(plug_in, field.name))))
        given = field.init and field.name != "name" and field.metadata.get("parameter", True)
        if given and expected in (bool, int, float, str, Seconds):
            known[field.name.removesuffix("_ns") if expected is int else field.name] = (field.name, expected)
    return known


def _plain(hint: Any) -> Any:
    # What may be given, of what may also be None or is annotated with something else.
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
        read: Callable[[str], float] = parse_whole if expected is int else parse_real
        number = time_in("s", text, where) if expected is Seconds else read(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{where}: {shown(text)} is not a {'whole ' * (expected is int)}number")
    return number
