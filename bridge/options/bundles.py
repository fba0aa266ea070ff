"""What a command takes, made of the declarations of its options (``traces.base.option``), alone or as fields of dataclasses."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields, is_dataclass
from functools import update_wrapper
from importlib import import_module
from typing import Annotated, Any, get_args, get_type_hints

import typer

from bridge.spelling import flag, on_command_line
from traces.base.option import Choice, Option


def bundled(command: Callable[..., None]) -> Callable[..., None]:
    """A command as Typer takes it, of one whose options are declared, or are the fields of dataclasses.

    Parameters
    ----------
    command : callable
        Its arguments are as Typer takes them, or ``Annotated[type, OPTION]`` with an OPTION that is declared. One that is
        annotated with a dataclass, of such fields with defaults, is given an instance of it: each field is an option of its
        own.

    Returns
    -------
    callable
        The same, with the fields in place of such an argument. Its ``options`` are what is declared, by the argument's
        name, each with what it has by default.
    """
    bundles: dict[str, Any] = {}
    options: dict[str, tuple[Option[Any], Any]] = {}
    arguments: list[inspect.Parameter] = []
    hints = get_type_hints(command, include_extras=True)
    for argument in inspect.signature(command).parameters.values():
        kind = hints[argument.name]
        if is_dataclass(kind):
            bundles[argument.name] = kind
            types = get_type_hints(kind, include_extras=True)
            given = [(one.name, types[one.name], one.default) for one in fields(kind)]
        else:
            given = [(argument.name, kind, argument.default)]
        for name, hint, default in given:
            missing = default is MISSING or default is inspect.Parameter.empty
            if declared := declaration(hint):
                options[name] = declared, inspect.Parameter.empty if missing else default
            arguments.append(
                inspect.Parameter(
                    name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=inspect.Parameter.empty if missing else default,
                    annotation=_for_typer(hint, required=missing, said=default),
                )
            )

    def flat(**values: Any) -> None:
        for name, kind in bundles.items():
            values[name] = kind(**{one.name: values.pop(one.name) for one in fields(kind)})
        command(**values)

    made: Any = update_wrapper(flat, command)
    del made.__wrapped__
    made.__signature__, made.options = inspect.Signature(arguments), options
    made.__annotations__ = {one.name: one.annotation for one in arguments}
    return flat


def declaration(hint: Any) -> Option[Any] | None:
    """What ``Annotated[type, OPTION]`` declares; None if it declares nothing."""
    return next((one for one in get_args(hint)[1:] if isinstance(one, Option)), None)


def _for_typer(hint: Any, *, required: bool, said: Any) -> Any:
    # The help of an option that is declared; where None stands for what holds by default, that is said.
    declared = declaration(hint)
    if declared is None:
        return hint
    kind = get_args(hint)[0]
    metavar, text, name = declared.metavar or None, on_command_line(declared.text), flag(declared.name)
    if name == declared.name:
        return Annotated[kind, typer.Argument(metavar=metavar, help=text)]
    if declared.off:
        name += f"/{flag(declared.off)}"
    names = [name, *([declared.short] if declared.short else [])]
    unsaid = not required and said is None and declared.default not in (None, "", ())
    shown: Any = _plain(declared.default) if unsaid else True
    words = _words(declared) if declared.names or isinstance(declared, Choice) else None
    return Annotated[
        kind,
        typer.Option(
            *names, metavar=metavar, help=text, show_default=shown, rich_help_panel=declared.panel, autocompletion=words
        ),
    ]


def _words(declared: Option[Any]) -> Callable[[str], list[str]]:
    # What a shell offers; the registry is loaded when it asks.
    def offered(begun: str) -> list[str]:
        if isinstance(declared, Choice):
            known: Iterable[str] = declared.choices
        else:
            module, _, registry = declared.names.partition(":")
            known = getattr(import_module(module), registry)
        done, comma, rest = begun.rpartition(",")  # several names in a row
        return [f"{done}{comma}{name}" for name in known if name.startswith(rest)]

    return offered


def _plain(default: object) -> str:
    return f"{default:g}" if isinstance(default, float) else str(default)
