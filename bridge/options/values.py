"""Values of options that are plain as they stand, converted without Typer's machinery for all others.

Typer loads a library of checks and makes one for each option, which takes a small run 0.1 s more (of 0.9 s). What is not
plain, or wrong, is left to it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from types import NoneType
from typing import Any, get_args, get_origin

from typer.core import TyperCommand, TyperGroup

from bridge.spelling import flag
from traces.base.errors import InputError, parse_real, parse_whole, shown
from traces.base.options import Option, Panel

#: From so many options on they are shown by what they are about.
_MANY = 25

#: How the text of an option that is a number is read, and what is allowed there.
NUMBERS: dict[Any, tuple[Callable[[str], float], str]] = {
    int: (parse_whole, "a whole number"),
    float: (parse_real, "a number"),
}


class _QuickHelp:
    """A command or group whose ``--help`` costs nothing where it is not asked for."""

    def get_help_option(self, context: Any) -> Any:
        """The option, as every command has it."""
        option: Any = super().get_help_option(context)  # type: ignore[misc]
        if option is not None and not isinstance(option.process_value, partial):
            option.process_value = partial(_flag, option.process_value)
        return option


class QuickGroup(_QuickHelp, TyperGroup):
    """A group of commands."""


class QuickCommand(_QuickHelp, TyperCommand):
    """A command that converts plain values of its parameters itself."""

    def format_options(self, context: Any, formatter: Any) -> None:
        """Write the arguments, and the options: many ones by what they are about (``traces.base.options.Panel``)."""
        by_panel: dict[str, list[tuple[str, str]]] = {"Arguments": [], **{panel: [] for panel in Panel}}
        shown = [(one, one.get_help_record(context)) for one in self.get_params(context)]
        options = [one for one, record in shown if record is not None and one.param_type_name != "argument"]
        for one, record in shown:
            if record is not None:
                panel = getattr(one, "rich_help_panel", None) if len(options) >= _MANY else None
                is_argument = one.param_type_name == "argument"
                by_panel["Arguments" if is_argument else panel or Panel.OTHER].append(record)
        for heading, records in by_panel.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)

    def make_context(self, *arguments: Any, **named: Any) -> Any:
        """Parse the words of a command line, as every command does."""
        assert self.callback is not None  # it has something to do
        annotations = inspect.signature(self.callback, eval_str=True).parameters
        for parameter in self.params:
            if parameter.name in annotations:
                one: Any = parameter
                kind = _kind(annotations[parameter.name].annotation)
                declared, _ = getattr(self.callback, "options", {}).get(parameter.name, (None, None))
                one.process_value = partial(_value, one, kind, declared, one.process_value)
        name, words, *more = arguments
        return super().make_context(name, self._with_bare(words), *more, **named)

    def _with_bare(self, words: list[str]) -> list[str]:
        # An option that may stand alone, and does: the next word is another option, or there is none.
        declared = [one for one, _ in getattr(self.callback, "options", {}).values()]
        alone = {flag(one.name): one.bare for one in declared if one.bare}
        return [
            f"{word}={alone[word]}" if word in alone and (not after or after[0].startswith("-")) else word
            for word, after in ((word, words[place + 1 : place + 2]) for place, word in enumerate(words))
        ]


def _flag(convert: Callable[[Any, Any], Any], context: Any, value: Any) -> Any:
    return None if value is None else convert(context, value)


def _kind(annotation: Any) -> Any:
    # str, int, float or list, of Annotated[KIND, Option] and Annotated[KIND | None, Option]; None where it is not as plain.
    hint, *given = get_args(annotation) or (annotation,)
    if any(getattr(one, name, None) is not None for one in given for name in ("callback", "parser", "min", "max")):
        return None
    kinds = [hint] if get_origin(hint) is list else [kind for kind in get_args(hint) or (hint,) if kind is not NoneType]
    kind = get_origin(kinds[0]) or kinds[0]
    return kind if len(kinds) == 1 and kind in (str, int, float, list) else None


def _value(
    parameter: Any,
    kind: Any,
    declared: Option[Any] | None,
    convert: Callable[[Any, Any], Any],
    context: Any,
    value: Any,
) -> Any:
    if declared is not None:
        value = declared.read(value)
    if kind is None:
        # An option that is not given has nothing to be told of, and typer loads pydantic to say so.
        single = getattr(parameter, "callback", None) is not None or (not parameter.multiple and parameter.nargs == 1)
        return None if single and value is None and not parameter.required else convert(context, value)
    if value is None and not parameter.required:
        return () if kind is list else None
    if kind is not list:
        if type(value) is kind:
            return value
        if kind in NUMBERS and type(value) is str:
            # Typer takes whatever Python's int and float do, as 1_0.
            parse, allowed = NUMBERS[kind]
            try:
                return parse(value)
            except ValueError:
                name = parameter.metavar or parameter.human_readable_name
                where = name if parameter.param_type_name == "argument" else max(parameter.opts, key=len)
                about = (getattr(parameter, "help", "") or where).rstrip(".")
                raise InputError(f"{where}: {shown(value)}; allowed: {allowed} ({about})") from None
    return convert(context, value)
