"""Commands: parameters made from declarations of options (``traces.base.options``), conversion of values, and groups.

Plain values are converted without Typer's machinery, which loads a library of checks and makes one for each option: 0.1 s of a
small run's 0.9 s. Typer converts all other values, and reports errors.
"""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from difflib import get_close_matches
from functools import partial, update_wrapper
from itertools import chain, pairwise
from types import NoneType
from typing import Annotated, Any, cast, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from bridge.standard_error import flag, on_command_line
from traces.base.errors import InputError, parse_real, parse_whole, shown
from traces.base.options import Choice, Implied, Option, OptionPlace, Panel, built, named, places


@dataclass(frozen=True)
class TakenOptions:
    """Which options of a dataclass of ``traces.base.options`` a command takes: ``Annotated[Scenario, TakenOptions(…)]``."""

    only: tuple[Option[Any], ...] = ()  # only these options; empty: all
    without: tuple[Option[Any] | str, ...] = ()  # all options except these
    instead: tuple[Option[Any], ...] = ()  # options that replace those of the same name, with another default or help
    # the dataclass whose values the command receives as a mapping by key, as typed, instead of an instance
    raw_of: type | None = None
    these: tuple[Option[Any], ...] = ()  # these options instead, whose values the command receives in the same way

    def places(self, kind: type) -> list[OptionPlace]:
        """The options that the command takes, and where their values are."""
        only, without = {one.name for one in self.only}, {getattr(one, "name", one) for one in self.without}
        other = {one.name: one for one in self.instead}
        taken = []
        for place in [OptionPlace(one, (one.key,), one.default) for one in self.these] or places(kind):
            name, instead = place.option.name, other.get(place.option.name)
            if (not only or name in only) and without.isdisjoint((name, place.path[0])):
                taken.append(OptionPlace(instead, place.path, instead.default) if instead else place)
        return taken


@dataclass(frozen=True)
class _Bundle:
    # Replaced parameters of the command: the key of each, and the place of its value.
    kind: Any
    paths: dict[str, tuple[str, ...]]
    raw: bool = False

    def built(self, values: dict[str, Any]) -> Any:
        given = {key: values.pop(key) for key in self.paths}
        if self.raw:
            return given
        return built(self.kind, {self.paths[key]: value for key, value in given.items() if value is not None})


def bundled(command: Callable[..., None]) -> Callable[..., None]:
    """A command for Typer. An argument may be ``Annotated[type, OPTION]`` with a declared option, or a dataclass of options:
    the command gets an instance of it, or with ``Annotated[kind, TakenOptions(…)]`` some of its options. ``options`` of the
    result has the declared options, by the argument's name, each with its default."""
    bundles: dict[str, _Bundle] = {}
    options: dict[str, tuple[Option[Any], Any]] = {}
    arguments: list[inspect.Parameter] = []
    hints = get_type_hints(command, include_extras=True)
    for argument in inspect.signature(command).parameters.values():
        hint = hints[argument.name]
        kind, *marks = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        taken = next((one for one in marks if isinstance(one, TakenOptions)), TakenOptions())
        kind = taken.raw_of or kind
        if not (taken.these or is_dataclass(kind)):
            given = [(argument.name, hint, argument.default)]
        elif found := taken.places(cast(type, kind)):
            paths = {place.option.key: place.path for place in found}
            bundles[argument.name] = _Bundle(kind, paths, bool(taken.these or taken.raw_of))
            given = [_parameter(place) for place in found]
        else:
            bundles[argument.name] = _Bundle(kind, {one.name: (one.name,) for one in fields(kind)})
            types = get_type_hints(kind, include_extras=True)
            given = [(one.name, types[one.name], one.default) for one in fields(kind)]
        for name, annotation, default in given:
            missing = default is MISSING or default is inspect.Parameter.empty
            kept = inspect.Parameter.empty if missing else default
            if declared := declaration(annotation):
                options[name] = declared, kept
            hint = _for_typer(annotation, required=missing, said=default)
            arguments.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=kept, annotation=hint))

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
    if not isinstance(default, option.kind) or option.kind is tuple or isinstance(default, Implied):
        default = None  # no default as typed; or a time, which is a number in Python and a text here
    return option.key, Annotated[kind if default is not None else kind | None, option], default


def declaration(hint: Any) -> Option[Any] | None:
    """Return the OPTION of ``Annotated[type, OPTION]``, or None."""
    return next((one for one in get_args(hint)[1:] if isinstance(one, Option)), None)


def _for_typer(hint: Any, *, required: bool, said: Any) -> Any:
    # The help of a declared option, with its default if None stands for one.
    declared = declaration(hint)
    if declared is None:
        return hint
    kind = get_args(hint)[0]
    metavar, text, name = declared.metavar or None, on_command_line(declared.text), flag(declared.name)
    if name == declared.name:
        return Annotated[kind, typer.Argument(metavar=metavar, help=text)]
    if declared.bare not in ("", declared.default):
        text = f"{text.removesuffix('.')}; without a value: {declared.bare}."
    if declared.off:
        name += f"/{flag(declared.off)}"
    names = [name, *([declared.short] if declared.short else [])]
    if not (required or declared.rule) and said is None and declared.default not in (None, "", ()):
        plain = f"{declared.default:g}" if isinstance(declared.default, float) else str(declared.default)
        text += f"  [default: {plain}]"  # typer would write it in parentheses
    words = _words(declared) if declared.names or isinstance(declared, Choice) else None
    shown_as: dict[str, Any] = {"metavar": metavar, "help": text, "rich_help_panel": declared.panel}
    ruled = bool(declared.rule)  # the text states the default
    return Annotated[kind, typer.Option(*names, **shown_as, autocompletion=words, show_default=not ruled)]


def _words(declared: Option[Any]) -> Callable[[str], list[str]]:
    # Completions for a shell; the registry is loaded when the shell requests them.
    def offered(begun: str) -> list[str]:
        if isinstance(declared, Choice):
            known: Iterable[str] = declared.choices
        else:
            known = named(declared.names)
        done, comma, rest = begun.rpartition(",")  # several names in a row
        return [f"{done}{comma}{name}" for name in known if name.startswith(rest)]

    return offered


def option(metavar: str, text: str, *names: str) -> Any:
    """An option with a value; ``names`` if they differ from the parameter's name."""
    return typer.Option(*names, metavar=metavar, help=text)


def switch(name: str, text: str) -> Any:
    """An option without a value."""
    return typer.Option(name, help=text)


def argument(metavar: str, text: str) -> Any:
    """A word without a name."""
    return typer.Argument(metavar=metavar, help=text)


RUN = Annotated[str, argument("DIR", "Results of twolevel run.")]
AS_JSON = Annotated[bool, switch("--json", "Print JSON.")]
REPLACE_FILE = Annotated[bool, switch("--force", "Replace an existing FILE.")]


def group(name: str, text: str, *commands: tuple[Callable[..., None], str, str]) -> typer.Typer:
    """Make a group of commands, each with its line in the list of commands and the words of its example."""
    made = typer.Typer(help=text, no_args_is_help=True, rich_markup_mode=None)
    for function, short, words in commands:
        command = function.__name__.removesuffix("_command")
        made.command(command, short_help=short, epilog=f"Example: twolevel {name} {command} {words}")(bundled(function))
    return made


MANY = 25  #: a command with at least this many options shows only the first ones in ``--help``
_HELP_ALL = "--help-all"

_USAGE_ERROR: Any = typer.BadParameter.__bases__[0]  #: the class of all errors of a wrong command line

#: Patterns and conversions of options that are numbers.
NUMBERS: dict[Any, tuple[Callable[[str], float], str]] = {
    int: (parse_whole, "a whole number"),
    float: (parse_real, "a number"),
}


class _QuickHelp:
    """A command or group that builds its ``--help`` only when requested."""

    def get_help_option(self, context: Any) -> Any:
        """The option, as in every command."""
        option: Any = super().get_help_option(context)  # type: ignore[misc]
        if option is not None and not isinstance(option.process_value, partial):
            option.process_value = partial(_flag, option.process_value)
        return option


class QuickGroup(_QuickHelp, TyperGroup):
    """A group of commands."""


class QuickCommand(_QuickHelp, TyperCommand):
    """A command that converts plain values of its parameters itself."""

    shows_all = False  # whether ``--help-all`` was given

    def collect_usage_pieces(self, context: Any) -> list[str]:
        """The words of the line of usage; a required argument is its plain name."""
        return [
            piece.replace("{", "").replace("...}", "").rstrip("}") for piece in super().collect_usage_pieces(context)
        ]

    def format_options(self, context: Any, formatter: Any) -> None:
        """Write the arguments and the options: of many, the first ones, or all by topic (``traces.base.options.Panel``)."""
        arguments, options = self._shown(context)
        if len(options) < MANY:
            topics = {Panel.OTHER: [record for _, record in options]}
        else:
            declared = ((self._declared(one), one, record) for one, record in options)
            shown = [(one, record) for known, one, record in declared if self.shows_all or known is None or known.first]
            by_topic = [(getattr(one, "rich_help_panel", None) or Panel.OTHER, record) for one, record in shown]
            topics = {panel: [record for topic, record in by_topic if topic == panel] for panel in Panel}
            if not self.shows_all:
                topics = {Panel.OTHER: list(chain.from_iterable(topics.values()))}
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl(arguments)
        for topic, records in topics.items():
            if records:
                with formatter.section(topic):
                    if len(topics) > 1 and topic.when:
                        formatter.write_text(topic.when)
                    formatter.write_dl(records)

    def format_epilog(self, context: Any, formatter: Any) -> None:
        """Write the example, and a hint at the other options."""
        super().format_epilog(context, formatter)
        _, options = self._shown(context)
        if len(options) >= MANY and not self.shows_all:
            formatter.write_paragraph()
            formatter.write_text(f"All {len(options)} options, by topic: twolevel {context.info_name} {_HELP_ALL}")

    def _shown(self, context: Any) -> tuple[list[tuple[str, str]], list[tuple[Any, tuple[str, str]]]]:
        # Rows of the help about arguments and options.
        shown = [(one, record) for one in self.get_params(context) if (record := one.get_help_record(context))]
        of_arguments = [record for one, record in shown if one.param_type_name == "argument"]
        arguments = [(name.partition(" <")[0], text) for name, text in of_arguments]  # without the type in Python
        return arguments, [(one, record) for one, record in shown if one.param_type_name != "argument"]

    def _declared(self, parameter: Any) -> Option[Any] | None:
        options: dict[str, tuple[Option[Any], Any]] = getattr(self.callback, "options", {})
        return options.get(parameter.name, (None, None))[0]

    def make_context(self, *arguments: Any, **named: Any) -> Any:
        """Parse the words of a command line, like every command."""
        assert self.callback is not None  # a callback must be called
        annotations = inspect.signature(self.callback, eval_str=True).parameters
        for parameter in self.params:
            if parameter.name in annotations:
                one: Any = parameter
                kind = _kind(annotations[parameter.name].annotation)
                one.process_value = partial(_value, one, kind, self._declared(parameter), one.process_value)
        name, words, *more = arguments
        if _HELP_ALL in words[: words.index("--") if "--" in words else None]:
            self.shows_all, words = True, ["--help"]
        try:
            return super().make_context(name, self._with_bare(words), *more, **named)
        except _USAGE_ERROR as error:
            self._check_surplus(words, str(error))
            self._explain(error)
            raise

    def _flags(self) -> dict[str, Option[Any]]:
        # The declared options, by their flags.
        return {flag(one.name): one for one, _ in getattr(self.callback, "options", {}).values()}

    def _with_bare(self, words: list[str]) -> list[str]:
        # An option that may be given without a value, and is: the next word is another option or not a choice, or is missing.
        alone = {name: one for name, one in self._flags().items() if one.bare}
        return [
            f"{word}={alone[word].bare}" if word in alone and not _is_value(after, alone[word]) else word
            for word, after in zip(words, [*words[1:], None], strict=False)
        ]

    def _check_surplus(self, words: list[str], message: str) -> None:
        # A misspelled choice of an option that may stand alone, or a value of a switch, was read as an argument:
        # then there are too many arguments.
        if "extra argument" not in message:
            return
        declared, surplus = self._flags(), message.rpartition("(")[2].rstrip(")").split(" ")
        for word, after in pairwise(words):
            option = declared.get(word)
            if isinstance(option, Choice) and (after in surplus or get_close_matches(after, option.choices)):
                option.check(after)
            if option is not None and option.kind is bool and after in surplus:
                raise InputError(f"{word}: {shown(after)}; allowed: no value")

    def _explain(self, error: Any) -> None:
        # Of what is missing or too much on a command line, say what may be given, from its help.
        message, parameters = error.format_message().removesuffix("."), list[Any](self.params)
        if "extra argument" in message:
            names = [one.metavar or one.human_readable_name for one in parameters if one.param_type_name == "argument"]
            surplus = message.rpartition("(")[2].rstrip(")")
            raise InputError(f"unexpected {shown(surplus)}; allowed: {' '.join(names) or 'no argument'}") from None
        if message.startswith("Missing"):
            missing = error.param
        elif "requires an argument" in message:
            missing = next(one for one in parameters if error.option_name in one.opts)
            message = f"{error.option_name}: no value"
        else:
            return
        about, example = missing.help.partition("  [default")[0].removesuffix("."), str(self.epilog)
        raise InputError(f"{message}: {about}; example: {example.removeprefix('Example: ')}") from None


def _is_value(word: str | None, option: Option[Any]) -> bool:
    # Whether the word after an option, if there is one, is its value.
    return word is not None and (word in option.choices if isinstance(option, Choice) else not word.startswith("-"))


def _flag(convert: Callable[[Any, Any], Any], context: Any, value: Any) -> Any:
    return None if value is None else convert(context, value)


def _kind(annotation: Any) -> Any:
    # str, int, float or list, for Annotated[KIND, Option] and Annotated[KIND | None, Option]; None for other types.
    hint, *given = get_args(annotation) or (annotation,)
    if any(getattr(one, name, None) is not None for one in given for name in ("callback", "parser", "min", "max")):
        return None
    kinds = [hint] if get_origin(hint) is list else [kind for kind in get_args(hint) or (hint,) if kind is not NoneType]
    kind = get_origin(kinds[0]) or kinds[0]
    return kind if len(kinds) == 1 and kind in (str, int, float, list) else None


def _value(
    parameter: Any, kind: Any, declared: Option[Any] | None, convert: Callable[..., Any], context: Any, value: Any
) -> Any:
    if declared is not None:
        value = declared.read(value)
    if kind is None:
        # Typer would load pydantic for a missing option.
        single = getattr(parameter, "callback", None) is not None or (not parameter.multiple and parameter.nargs == 1)
        return None if single and value is None and not parameter.required else convert(context, value)
    if value is None and not parameter.required:
        return () if kind is list else None
    if kind is not list:
        if type(value) is kind:
            return value
        if kind in NUMBERS and type(value) is str:
            # Typer accepts everything that Python's int and float accept, such as 1_0.
            parse, allowed = NUMBERS[kind]
            try:
                return parse(value)
            except ValueError:
                name = parameter.metavar or parameter.human_readable_name
                where = name if parameter.param_type_name == "argument" else max(parameter.opts, key=len)
                about = on_command_line(declared.text) if declared else getattr(parameter, "help", "") or where
                raise InputError(f"{where}: {shown(value)}; allowed: {allowed} ({about.rstrip('.')})") from None
    return convert(context, value)
