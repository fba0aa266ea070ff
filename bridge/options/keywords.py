"""Errors of the Python API: they name keywords of a function where those of the command line name its options."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from traces.base.errors import TwolevelError, shown
from traces.base.naming import is_number

__all__ = ["errors_name_keywords"]

P = ParamSpec("P")
R = TypeVar("R")

#: Units that a keyword says and an option does not, and other names of the same.
_ENDINGS = ("", "_ns", "_s", "_name")
_OTHERS = {"observe": "observers"}
#: Options that take no value.
_FLAGS = {"charge-decisions", "kill-at-walltime", "dependencies", "preset", "cancelled", "fair-start"}
#: What is said of several options at once.
_PHRASES = {"without them (--no-trace, and no --tasks)": "without them (keep_tasks=False)"}
#: Words after an option that are not its value.
_WORDS = r"(?:needs|gives|is|as|with|and|or|of|to|names)\b"
_OPTION = re.compile(rf"(?<![\w-])--([a-z][a-z-]*)(: | (?!{_WORDS})([^\s,;:()]+))?")


def errors_name_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """The same function, whose errors say ``bls='sfj': unknown batch policy …`` instead of ``--bls: …``."""
    keywords = signature(function)

    @wraps(function)
    def named(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TwolevelError as error:
            given = keywords.bind_partial(*args, **kwargs).arguments
            error.args = (_in_python(str(error), keywords.parameters, given), *error.args[1:])
            raise

    return named


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

    return _OPTION.sub(keyword, text)
