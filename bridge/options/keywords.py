"""Errors of the Python API: they name keywords of a function where those of the command line name its options."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from types import FrameType
from typing import Any, ParamSpec, TypeVar

from traces.base.errors import TwolevelError, shown
from traces.base.naming import is_number

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

#: Units that a keyword says and an option does not, and other names of the same.
_ENDINGS = ("", "_ns", "_s", "_name")
_OTHERS = {"observe": "observers", "out": "folder", "als-command": "command", "als-timeout": "timeout_s"}
#: Options that take no value.
_FLAGS = {
    "charge-decisions",
    "kill-at-walltime",
    "stretch-walltime",
    "dependencies",
    "preset",
    "cancelled",
    "fair-start",
    "force",
}
#: What is said of several options at once.
_PHRASES = {"without them (--no-trace, and no --tasks)": "without them (keep_tasks=False)"}
#: What is said behind this is a command line.
_COMMAND = "twolevel worker "
#: Words after an option that are not its value.
_WORDS = r"(?:needs|gives|is|as|with|and|or|of|to|names)\b"
_OPTION = re.compile(rf"(?<![\w-])--([a-z][a-z-]*)(: | (?!{_WORDS})([^\s,;:()]+(?::[^\s,;:()]+)*))?")


#: Who calls with options in mind, and so is told of options; ``dataclasses`` calls for others.
_OURS = ("als", "bls", "bridge", "traces")


def errors_name_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """The same function, whose errors say ``bls='sfj': unknown batch policy …`` instead of ``--bls: …``.

    Not so where the project's own code calls it, as a command does.
    """
    keywords = signature(function)

    @wraps(function)
    def named(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TwolevelError as error:
            if _called_by_us(sys._getframe(1)):
                raise
            given = keywords.bind_partial(*args, **kwargs).arguments
            error.args = (_in_python(str(error), keywords.parameters, given), *error.args[1:])
            raise

    return named


def made_with_keywords(kind: type[T]) -> type[T]:
    """The same class, whose errors as it is made are as those of :func:`errors_name_keywords`."""
    kind.__init__ = errors_name_keywords(kind.__init__)  # type: ignore[method-assign]
    return kind


def _called_by_us(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_globals.get("__name__") == "dataclasses":
        frame = frame.f_back
    return frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in _OURS


def _in_python(text: str, known: Mapping[str, object], given: Mapping[str, Any]) -> str:
    for phrase, instead in _PHRASES.items():
        text = text.replace(phrase, instead)

    def keyword(found: re.Match[str]) -> str:
        option, behind, value = found[1], found[2] or "", found[3]
        plain = option.replace("-", "_")
        names = (*(plain + ending for ending in _ENDINGS), _OTHERS.get(option, plain))
        name = next((one for one in names if one in known), plain)
        if option in _FLAGS:
            return f"{name}=True{behind}"
        if value is not None:
            return f"{name}={value if is_number(value) else repr(value)}"
        said = given.get(name)
        return f"{name}={shown(said) if behind and isinstance(said, str | int | float) else ''}{behind}"

    # A command to type stays as it is.
    text, command, typed = text.partition(_COMMAND)
    return _OPTION.sub(keyword, text) + command + typed
