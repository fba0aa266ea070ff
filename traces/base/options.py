"""Options, each declared once: its name, default, unit, limits and meaning.

Help, defaults of the Python API and checks come from these declarations, and tests compare the pages' tables with them. Options
of both levels are declared here, those of one level in ``bls/options.py``, ``als/options.py`` or the folder of their feature,
those of commands in ``bridge/options/declared.py``. Dataclasses, possibly nested, hold the values: a field declares its option
with :func:`holds`, and a nested dataclass with :func:`part`.

Features that exclude each other are rows of a table (:class:`Conflict`), the source of errors, a page, and a test.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from enum import StrEnum
from functools import cache, wraps
from importlib import import_module
from inspect import cleandoc
from typing import Any, Generic, NamedTuple, Self, TypeVar

from traces.base.errors import InputError, Mention, at, in_python, one_of, real, shown, spelled, whole
from traces.base.retired import unknown

T = TypeVar("T")


class Panel(StrEnum):
    """Topics of options, in the order in which the help shows them; ``when`` says what a user does with them."""

    when: str

    def __new__(cls, heading: str, when: str) -> Self:
        """Make a topic of its heading, which is its value, and of the line below that."""
        made = str.__new__(cls, heading)
        made._value_, made.when = heading, when
        return made

    JOBS = "Jobs and machine", "Select a part of a log, and describe your own machine."
    BATCH = "Batch level", "Compare how the scheduler orders, places and backfills jobs."
    CONSTRAINTS = (
        "Constraints and failures",
        "Add memory, licences, dependencies, reservations, variable widths and failures.",
    )
    POWER = "Power", "Compute power and energy, and shut down idle hosts."
    LIMITS = "Power limits", "Keep the machine, or a part of it, below a power limit."
    APPLICATION = "Application level", "Compare how the tasks of each job are made and assigned to its cores."
    COUPLING = "Execution", "Use several processes or hosts, or your own scheduler or application simulator."
    CLOCK = "Clock", "Run Slurm at another pace, or with the delays of real nodes."
    RESULTS = "Results", "Choose the folder of the results and further tables; watch or check the run."
    TRACES = "Traces", "View a run, or a part of it, in a trace viewer."
    OTHER = "Options", ""


@dataclass(frozen=True, kw_only=True)
class Option(Generic[T]):
    """An option or an argument.

    A text mentions it by formatting it: ``str(RESIZE)``, with a value ``f"{RESIZE:none}"`` or ``f"{RESIZE:{value}}"``, switched
    off ``f"{PRESET:False}"`` (``traces.base.errors``).
    """

    # as on the command line, without the dashes, ``overhead``; arguments are in capital letters, ``WORKLOAD``
    name: str
    default: T  # value if it is not given. None: no value, or as ``rule`` says.
    help: str  # its meaning, without the limits, the default, and a full stop at the end
    rule: str = ""  # the default in words, if ``default`` alone does not say it
    metavar: str = ""  # placeholder of its value in the help; empty: none, or the parser's
    # unit of a number; empty: none. A time, in ``ns`` or ``s``, may also be given with its own unit, as ``1ms``.
    unit: str = ""
    short: str = ""  # a short name, ``-o``; empty: none
    panel: Panel = Panel.OTHER  # its topic
    first: bool = False  # whether a command with many options shows it in ``--help``; ``--help-all`` shows all
    # the registry whose names its value may be, for the completion of shells: ``MODULE:DICT``; empty: none
    names: str = ""
    bare: str = ""  # its value if none follows it; empty: a value is needed
    off: str = ""  # the name that switches it off, ``no-preset``; empty: none
    python: str = ""  # its keyword in Python, if it is not the name with the unit of a time, ``overhead_ns``
    # a further check, which returns the value to store, or raises InputError
    checked: Callable[[Any], Any] = lambda value: value

    def __str__(self) -> str:
        return f"{self}"

    def __format__(self, value: str) -> str:
        if self.off and value == "False":
            return str(Mention(self.off, self.keyword, given=value))
        flag = self.off or self.default is False
        return str(Mention(self.name, self.keyword, said=value, given="True" if flag and not value else ""))

    @property
    def keyword(self) -> str:
        """Its name in Python."""
        return self.python or self.name.replace("-", "_") + (f"_{self.unit}" if self.is_time else "")

    @property
    def key(self) -> str:
        """Its name with underscores, as for parameters of commands and columns of tables."""
        return self.name.replace("-", "_").lower()

    @property
    def kind(self) -> type:
        """The type of a value on the command line and in files: bool, int, float, str, or tuple of texts."""
        if self.off or isinstance(self.default, bool):
            return bool
        return tuple if isinstance(self.default, tuple) else str

    @property
    def limits(self) -> str:
        """The allowed numbers with their unit; empty if its value is not a number."""
        return ""

    @property
    def is_time(self) -> bool:
        """Whether it is a time, which may be given with a unit."""
        return self.unit in ("ns", "s")

    @property
    def text(self) -> str:
        """The help, with the unit of a bare number, the limits and the rule for the default."""
        bare = f"a bare number is {self.unit}" if self.is_time else ""
        parts = (self.help, bare, self.limits, self.rule and f"default: {self.rule}")
        return "; ".join(filter(None, parts)) + "."

    def read(self, value: Any, where: str = "") -> Any:
        """Return ``value``; for a time given as a text, such as ``1ms``, the number of its unit; None for the text ``none`` if
        it is a number or switch without a default. Raises InputError if the text is not a time; the message begins with
        ``where``, by default the name."""
        if self.kind is not str and is_no_value(value, self):
            return None  # texts are left to :func:`check_fields`: outside a scenario they may name a file
        if not self.is_time or not isinstance(value, str):
            return value
        from traces.base.time import time_in  # loads numpy, which the help does not need

        return time_in(self.unit, value, where or str(self), whole=isinstance(self, Whole))


@dataclass(frozen=True, kw_only=True)
class Real(Option[T]):
    """A number from ``lowest`` to ``highest``, with a unit."""

    lowest: float
    highest: float

    @property
    def kind(self) -> type:
        """As of :class:`Option`."""
        return float

    @property
    def limits(self) -> str:
        """As of :class:`Option`."""
        return f"{number_text(self.lowest)} to {number_text(self.highest)}{' ' * bool(self.unit)}{self.unit}"

    def check(self, value: object, where: str = "") -> float:
        """Return ``value`` as a float; errors begin with ``where``, by default the name. Raises InputError if it is not
        allowed."""
        return real(where or str(self), value, self.lowest, self.highest, self.unit)


@dataclass(frozen=True, kw_only=True)
class Whole(Real[T]):
    """A whole number from ``lowest`` to ``highest``, with a unit."""

    lowest: int
    highest: int

    @property
    def kind(self) -> type:
        """As of :class:`Option`."""
        return int

    def check(self, value: object, where: str = "", *, highest: int | None = None) -> int:
        """Return ``value`` as an int, as :meth:`Real.check`. ``highest`` is a lower limit from another option."""
        return whole(where or str(self), value, self.lowest, self.highest if highest is None else highest)


@dataclass(frozen=True, kw_only=True)
class Choice(Option[str]):
    """One of a few names; ``what`` is their kind in errors."""

    choices: tuple[str, ...]
    what: str

    def named(self, value: Any) -> Any:
        """Return the name that true or false stands for; any other value unchanged."""
        return (self.bare if value else self.default) if self.bare and isinstance(value, bool) else value

    def check(self, value: str, where: str = "") -> str:
        """Return ``value`` if it is one of the names. Raises InputError otherwise; the message lists them, nearest first."""
        if not isinstance(value, str) or value not in self.choices:
            raise one_of(self.what, value, self.choices, at(where or str(self), value))
        return value


class Implied(str):
    """The name of a :class:`Choice` that was not given and follows from other options; it equals the name."""


def number_text(number: float) -> str:
    """Return a limit in short form: powers of two less one as ``2^64 - 1``, other large numbers as ``3.6e12``."""
    if isinstance(number, int) and number > 10**6 and (number + 1).bit_count() == 1:
        return f"2^{number.bit_length()} - 1"
    if isinstance(number, int) and number > 10**6 and number.bit_count() == 1:
        return f"2^{number.bit_length() - 1}"
    text = f"{number:g}"
    if float(text) != number:
        return str(number)
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if e else text


_OPTION, _PART, _RECORDED = "option", "part", "recorded"

#: Values of fields by their annotation, and their description in errors.
_TYPES: dict[str, Any] = {
    "bool": (bool, "True or False"),
    "bool | None": (bool, type(None), "True or False"),
    "str | None": (str, type(None), "a string"),
    "tuple[str, ...]": (str, tuple, list, "a sequence of strings"),
    "str | os.PathLike[str] | None": (str, os.PathLike, type(None), "a string or path"),
}


def named(place: str) -> Any:
    """The object at a place, ``MODULE:NAME``. Its module is imported now, not where the place is written."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def holds(option: Option[Any] | None, *default: Any, recorded: str = "") -> Any:
    """Declare a field that holds the value of an option (None: of Python only); ``default``: replaces the option's default.
    ``recorded``: the attribute with the value for a record of a run, if not the field itself."""
    value = default[0] if default or option is None else option.default
    return field(default=value, metadata={_RECORDED: recorded} | ({} if option is None else {_OPTION: option}))


def part(kind: type) -> Any:
    """Declare a field that holds a dataclass with fields for options; by default with their defaults."""
    return field(default_factory=kind, metadata={_PART: kind})


def is_no_value(value: object, option: Option[Any], default: object = None) -> bool:
    """Whether a value is the text ``none``, which stands for the default if that is None: files have no None."""
    return option.default is None and default is None and isinstance(value, str) and value == "none"


def check_fields(whole: Any) -> None:
    """Check the values of a dataclass by their options and types, and store numbers and choices as the checks return them. None
    is allowed where it is the default; the text ``none`` stands for it. Raises InputError for the first value that is not
    allowed."""
    for one in fields(whole):
        if (option := one.metadata.get(_OPTION)) is None:
            continue
        value, kinds = getattr(whole, one.name), _TYPES.get(getattr(one.type, "__name__", str(one.type)))
        if is_no_value(value, option, one.default):
            value = None
            object.__setattr__(whole, one.name, value)
        if isinstance(option, Real | Choice) and not (one.default is None and value is None):
            object.__setattr__(whole, one.name, option.check(value))
        elif kinds is not None and not isinstance(value, kinds[:-1]):
            raise InputError(f"{option}: {shown(value)}; allowed: {kinds[-1]}")
        elif value is not None or one.default is not None:
            object.__setattr__(whole, one.name, option.checked(value))


def knows_its_keywords(kind: type[T]) -> type[T]:
    """Make a dataclass refuse unknown keywords with an InputError that names the nearest known one; its docstring describes
    the fields by their options."""
    declared: Any = kind
    made, known = declared.__init__, [one.name for one in fields(declared) if one.init]

    @wraps(made)
    def checked(self: T, *args: Any, **given: Any) -> None:
        for name in given:
            if name not in known:
                raise unknown("keyword", name, known, kind.__name__)
        made(self, *args, **given)

    declared.__init__, declared.__doc__ = checked, _described(declared)
    return kind


def _described(kind: Any) -> str:
    about = cleandoc(kind.__doc__ or "")
    held = [(one, one.metadata[_OPTION]) for one in _own_first(kind) if _OPTION in one.metadata]
    if "Attributes\n" in about or not held:
        return about
    texts = []
    for one, option in held:
        # On the command line and in files, such a time is a text.
        unit = " An int is in ns." if one.name.endswith("_ns") and not option.is_time else ""
        texts.append(
            f"{one.name} : {getattr(one.type, '__name__', one.type)}\n    {spelled(option.text, in_python)}{unit}"
        )
    return "\n".join([about, "", "Attributes", "----------", *texts])


class OptionPlace(NamedTuple):
    """The place of an option's value."""

    option: Option[Any]
    path: tuple[str, ...]  # names of fields, from the outermost dataclass to the value
    default: Any  # value if nothing is given


def _own_first(kind: Any) -> list[Any]:
    # The fields of a dataclass: its own, then inherited ones.
    classes = reversed([*enumerate(kind.__mro__)])
    declaring = {name: at for at, one in classes for name in vars(one).get("__annotations__", ())}
    return sorted(fields(kind), key=lambda one: declaring[one.name])


@cache
def places(kind: Any) -> tuple[OptionPlace, ...]:
    """The options of a dataclass and of its parts, in order; a class's own options precede inherited ones."""
    found: list[OptionPlace] = []
    for one in _own_first(kind):
        if option := one.metadata.get(_OPTION):
            found.append(OptionPlace(option, (one.name,), None if one.default is MISSING else one.default))
        elif inner := one.metadata.get(_PART):
            found += (place._replace(path=(one.name, *place.path)) for place in places(inner))
    return tuple(found)


@cache
def by_keyword(kind: type) -> Mapping[str, OptionPlace]:
    """The same by the options' Python keywords, as ``overhead_ns``."""
    return {place.option.keyword.lower(): place for place in places(kind)}


def built(kind: type[T], values: Mapping[tuple[str, ...], Any]) -> T:
    """Return a dataclass with these values at their paths (:class:`OptionPlace`), and defaults elsewhere."""
    given: dict[str, Any] = {}
    parts = {one.name: one.metadata.get(_PART, object) for one in fields(kind)}  # type: ignore[arg-type]
    for name, (value, inner) in _by_name(values).items():
        given[name] = built(parts[name], inner) if inner else value
    return kind(**given)


def with_values(whole: T, values: Mapping[tuple[str, ...], Any]) -> T:
    """Return a copy with other values at some paths (:class:`OptionPlace`)."""
    changed: dict[str, Any] = {}
    for name, (value, inner) in _by_name(values).items():
        changed[name] = with_values(getattr(whole, name), inner) if inner else value
    return replace(whole, **changed) if changed else whole  # type: ignore[type-var]


def _by_name(values: Mapping[tuple[str, ...], Any]) -> dict[str, tuple[Any, dict[tuple[str, ...], Any]]]:
    # For each field its value or, for a part, the values within it.
    found: dict[str, tuple[Any, dict[tuple[str, ...], Any]]] = {}
    for (name, *rest), value in values.items():
        if rest:
            found.setdefault(name, (None, {}))[1][tuple(rest)] = value
        else:
            found[name] = value, {}
    return found


def values(whole: Any) -> dict[str, Any]:
    """Return all values by the options' keys (:attr:`Option.key`)."""
    found = {}
    for place in places(whole.__class__):
        value = whole
        for name in place.path:
            value = getattr(value, name)
        found[place.option.key] = value
    return found


def recorded(whole: Any) -> dict[str, Any]:
    """Return all values as plain ones for a record of a run, under the options' Python names; fields without an option under
    their own names."""
    found: dict[str, Any] = {}
    for one in fields(whole):
        value = getattr(whole, one.metadata.get(_RECORDED) or one.name)
        if _PART in one.metadata:
            found |= recorded(value)
        else:
            option = one.metadata.get(_OPTION)
            found[one.name if option is None else option.keyword.lower()] = plain(value)
    return found


def plain(value: Any) -> Any:
    """Return a value for JSON: a path as text, a sequence as a list, an object as its name or origin."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if value is None or isinstance(value, str | int | float | Mapping):
        return value
    return value.source if hasattr(value, "source") else value.name


@dataclass(frozen=True)
class ChosenFeature:
    """A feature that a run may have. Texts mention options (``traces.base.errors``)."""

    name: str  # its name on the page
    found: Callable[[Any], object]  # whether the object of the table has it
    given: str | Callable[[Any], str] = ""  # its name in errors; empty: ``name``
    example: Mapping[str, Any] = field(default_factory=dict)  # keywords of ``bridge.simulate`` with which a run has it

    def text(self, chosen: Any) -> str:
        """Return its name in errors."""
        return self.given(chosen) if callable(self.given) else self.given or self.name


def has(
    name: str, found: Callable[[Any], object], given: str | Callable[[Any], str] = "", **example: Any
) -> ChosenFeature:
    """Return a feature, with its example as keywords."""
    return ChosenFeature(name, found, given, example)


def said(option: Option[Any], value: Callable[[Any], object]) -> Callable[[Any], str]:
    """Return a function that gives an option and its chosen value as text."""
    return lambda chosen: f"{option:{value(chosen)}}"


def option_given(option: Option[Any], value: Callable[[Any], Any], example: Any) -> ChosenFeature:
    """Return the feature that an option has another value than its default; ``example`` is such a value."""
    return ChosenFeature(
        str(option),
        lambda chosen: value(chosen) != option.default,
        lambda chosen: at(str(option), value(chosen)),
        {option.keyword: example},
    )


@dataclass(frozen=True)
class Conflict:
    """Two features that exclude each other, or a feature that needs another: ``second`` is then the lack of the other."""

    first: ChosenFeature
    second: ChosenFeature
    why: str = ""  # follows "not with" and the second feature, as "which …" or "as …"
    allowed: str = ""  # what may be given instead; empty: clear from the rest
    reason: str = ""  # replaces "not with …"; ``{second}`` stands for the second feature
    example: Mapping[str, Any] = field(default_factory=dict)  # further keywords that the example needs

    def said(self, first: str, second: str) -> str:
        """Return the error, with these names of the features."""
        reason = self.reason.replace("{second}", second) or f"not with {second}{', ' * bool(self.why)}{self.why}"
        return f"{first}: {reason}" + f"; allowed: {self.allowed}" * bool(self.allowed)

    def found(self, chosen: Any) -> bool:
        """Return whether both are present."""
        return bool(self.first.found(chosen) and self.second.found(chosen))


def needs(
    feature: ChosenFeature, option: Option[Any], lacks: Callable[[Any], object], why: str = "", **further: Any
) -> Conflict:
    """Return the conflict of a feature with the lack of an option that it needs; ``why`` follows the option."""
    return Conflict(feature, ChosenFeature(f"no {option}", lacks), reason=f"needs {option}{why}", **further)


def check(table: Iterable[Conflict], chosen: Any) -> None:
    """Check that the chosen features have no conflict of a table. Raises InputError for the first conflicting row."""
    for row in table:
        if row.found(chosen):
            raise InputError(row.said(row.first.text(chosen), row.second.text(chosen)))


# Set by hand, as in ``bls.options``: name, place and default first, then the help.
# fmt: off

SEED = Whole(
    name="seed", first=True, default=0, lowest=0, highest=2**64 - 1, metavar="N",
    help="Seed of all random numbers"
)

#: The default is the speed of a core of the two-level paper's hosts. It is also assumed for logs and graphs that do not state
#: the speed at which they were measured.
CORE_GFLOPS = Real(
    name="core-gflops", default=46.875, lowest=1e-9, highest=1e12, unit="GFLOP/s", metavar="GFLOPS",
    help="Speed of the core on which the run times in a file were measured"
)

LINK_BANDWIDTH = Real(
    name="bandwidth", default=50.0, lowest=1e-9, highest=1e9, unit="Gbit/s", metavar="GBPS",
    help="Bandwidth of a link; needs a network"
)
LINK_LATENCY = Real(
    name="link-latency", default=500.0, lowest=0.0, highest=1e12, unit="ns", metavar="TIME",
    help="Latency of a link, e.g. 2us; needs a network"
)
MEMORY_BANDWIDTH = Real[float | None](
    name="memory-bandwidth", default=None, lowest=LINK_BANDWIDTH.lowest, highest=LINK_BANDWIDTH.highest, unit="Gbit/s",
    metavar="GBPS", help="Bandwidth between cores of one host; needs a network", rule="unlimited"
)

# Of a trace or a figure that is to show a part of a run.

PART_CORES = Option[str | None](
    name="cores", default=None, metavar="NUMBERS", help="Only these cores, e.g. 0-63 128, and the jobs that held any of them"
)
PART_JOBS = Option[str | None](name="jobs", default=None, metavar="NUMBERS", help="Only these jobs, e.g. 40-60 77")
