"""Parameters of a command, made of the declarations of its options (``traces.base.options``), alone or in dataclasses."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import update_wrapper
from importlib import import_module
from typing import Annotated, Any, cast, get_args, get_origin, get_type_hints

import typer

from bridge.spelling import flag, on_command_line
from traces.base.options import Choice, Option, OptionPlace, built, places


@dataclass(frozen=True)
class TakenOptions:
    """Which options of a dataclass of ``traces.base.options`` a command takes: ``Annotated[Scenario, Taken(…)]``."""

    only: tuple[Option[Any], ...] = ()  # these; empty: all
    without: tuple[Option[Any] | str, ...] = ()  # all but these
    instead: tuple[Option[Any], ...] = ()  # options with another default or another help than those of the same name
    # the dataclass of which the command is given a mapping of values by key, as they were typed, and no instance
    raw_of: type | None = None

    def places(self, kind: type) -> list[OptionPlace]:
        """The options that the command takes, and where their values are."""
        only, without = {one.name for one in self.only}, {getattr(one, "name", one) for one in self.without}
        other = {one.name: one for one in self.instead}
        return [
            OptionPlace(other[place.option.name], place.path, other[place.option.name].default)
            if place.option.name in other
            else place
            for place in places(kind)
            if (not only or place.option.name in only) and without.isdisjoint((place.option.name, place.path[0]))
        ]


@dataclass(frozen=True)
class _Bundle:
    # What the command is given in place of parameters: of each the key, and where its value goes.
    kind: Any
    paths: dict[str, tuple[str, ...]]
    raw: bool = False

    def built(self, values: dict[str, Any]) -> Any:
        given = {key: values.pop(key) for key in self.paths}
        if self.raw:
            return given
        return built(self.kind, {self.paths[key]: value for key, value in given.items() if value is not None})


def bundled(command: Callable[..., None]) -> Callable[..., None]:
    """A command as Typer takes it, of one whose options are declared, or are the fields of dataclasses.

    Parameters
    ----------
    command : callable
        Its arguments are as Typer takes them, or ``Annotated[type, OPTION]`` with an OPTION that is declared. One that is
        annotated with a dataclass, whose fields are such or hold options (``traces.base.options``), is given an instance
        of it: each field is an option of its own. ``Annotated[kind, Taken(…)]`` takes some of the options.

    Returns
    -------
    callable
        The same, with the fields in place of such an argument. Its ``options`` are what is declared, by the argument's
        name, each with what it has by default.
    """
    bundles: dict[str, _Bundle] = {}
    options: dict[str, tuple[Option[Any], Any]] = {}
    arguments: list[inspect.Parameter] = []
    hints = get_type_hints(command, include_extras=True)
    for argument in inspect.signature(command).parameters.values():
        hint = hints[argument.name]
        kind, *marks = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        taken = next((one for one in marks if isinstance(one, TakenOptions)), TakenOptions())
        kind = taken.raw_of or kind
        if not is_dataclass(kind):
            given = [(argument.name, hint, argument.default)]
        elif found := taken.places(cast(type, kind)):
            paths = {place.option.key: place.path for place in found}
            bundles[argument.name] = _Bundle(kind, paths, taken.raw_of is not None)
            given = [_parameter(place) for place in found]
        else:
            bundles[argument.name] = _Bundle(kind, {one.name: (one.name,) for one in fields(kind)})
            types = get_type_hints(kind, include_extras=True)
            given = [(one.name, types[one.name], one.default) for one in fields(kind)]
        for name, annotation, default in given:
            missing = default is MISSING or default is inspect.Parameter.empty
            if declared := declaration(annotation):
                options[name] = declared, inspect.Parameter.empty if missing else default
            arguments.append(
                inspect.Parameter(
                    name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=inspect.Parameter.empty if missing else default,
                    annotation=_for_typer(annotation, required=missing, said=default),
                )
            )

    def flat(**values: Any) -> None:
        command(**{name: bundle.built(values) for name, bundle in bundles.items()}, **values)

    made: Any = update_wrapper(flat, command)
    del made.__wrapped__
    made.__signature__, made.options = inspect.Signature(arguments), options
    made.__annotations__ = {one.name: one.annotation for one in arguments}
    return flat


def _parameter(place: OptionPlace) -> tuple[str, Any, Any]:
    # Name, annotation and default of the parameter that stands for an option.
    option, default = place.option, place.default
    kind: Any = list[str] if option.kind is tuple else option.kind
    if option.name.isupper():
        return option.key, Annotated[kind, option], MISSING
    if not isinstance(default, option.kind) or option.kind is tuple:
        default = None  # nothing is typed; or of a time, which is a number in Python and a text here
    return option.key, Annotated[kind if default is not None else kind | None, option], default


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
