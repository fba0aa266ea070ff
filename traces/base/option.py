"""An option, declared once: its name, its default, its unit, what is allowed, what it means.

The command line's help, the defaults of the dataclasses and functions of the Python API, and the checks of what a user gives
come from these declarations, and the pages' tables are held against them. What both levels have is in
``traces/base/shared_options.py``, what one has in ``bls/options.py`` and ``als/options.py``, and what only commands have in
``bridge/options/declared.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

from traces.base.errors import at, one_of
from traces.base.mentions import Mention
from traces.base.ranges import real, whole

T = TypeVar("T")


class Panel(StrEnum):
    """What an option is about: the headings, in their order, under which the help of a command with many options has them."""

    JOBS = "Jobs and machine"
    BATCH = "Batch level"
    CONSTRAINTS = "What jobs ask for and wait for, and what happens to hosts"
    POWER = "Power"
    LIMITS = "Limits to power"
    APPLICATION = "Application level"
    COUPLING = "How the levels are run"
    RESULTS = "Results"
    TRACES = "Traces"
    OTHER = "Options"


@dataclass(frozen=True, kw_only=True)
class Option(Generic[T]):
    """An option, or an argument, and what holds where it is not given.

    A text mentions it by formatting it: ``str(RESIZE)``, with a value ``f"{RESIZE:none}"`` or ``f"{RESIZE:{value}}"``, switched
    off ``f"{PRESET:False}"``; ``str(RESIZE)`` is its mention alone (``traces.base.mentions``).
    """

    # as on the command line, without the dashes, ``overhead``; an argument is written in capital letters, ``WORKLOAD``
    name: str
    default: T  # what holds where it is not given. None: nothing does, or what ``rule`` says.
    help: str  # what it means, without the limits, the default, and a full stop at the end
    rule: str = ""  # what holds where it is not given, in words, if the default alone does not say it
    metavar: str = ""  # what stands for its value in the help; empty: nothing, or what the parser puts there
    # of a number; empty: none. A time, in ``ns`` or ``s``, may also be given with a unit of its own, as ``1ms``.
    unit: str = ""
    short: str = ""  # a short name, ``-o``; empty: none
    panel: Panel = Panel.OTHER  # what it is about
    # the registry whose names its value may be, for the completion of shells: ``MODULE:DICT``; empty: none
    names: str = ""
    bare: str = ""  # its value where none stands behind it; empty: one must
    off: str = ""  # the name that switches it off, ``no-preset``; empty: none
    python: str = ""  # its keyword in Python, if that is not the name with the unit of a time, ``overhead_ns``

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
        """Its name with underscores, as the parameters of commands and the columns of tables are called."""
        return self.name.replace("-", "_").lower()

    @property
    def kind(self) -> type:
        """The type of a value as the command line and files give it: bool, int, float, str, or tuple of texts."""
        if self.off or isinstance(self.default, bool):
            return bool
        return tuple if isinstance(self.default, tuple) else str

    @property
    def limits(self) -> str:
        """Which numbers are allowed, with their unit; empty where no numbers are."""
        return ""

    @property
    def is_time(self) -> bool:
        """Whether it is a time, which may be given with a unit."""
        return self.unit in ("ns", "s")

    @property
    def text(self) -> str:
        """The help, with what a bare number is, the limits and the rule for the default."""
        bare = f"a bare number is {self.unit}" if self.is_time else ""
        return (
            "; ".join(part for part in (self.help, bare, self.limits, self.rule and f"default: {self.rule}") if part)
            + "."
        )

    def read(self, value: Any, where: str = "") -> Any:
        """``value``; of a time that is a text, as ``1ms``, the number of its unit.

        Raises
        ------
        InputError
            If the text is no time; the message begins with ``where``, by default the name.
        """
        if not self.is_time or not isinstance(value, str):
            return value
        from traces.base.time import time_in  # it loads numpy, which the help can do without

        return time_in(self.unit, value, where or str(self), whole=isinstance(self, Whole))


@dataclass(frozen=True, kw_only=True)
class Whole(Option[T]):
    """A whole number from ``lowest`` to ``highest``, of a unit."""

    lowest: int
    highest: int

    @property
    def kind(self) -> type:
        """As of :class:`Option`."""
        return int

    @property
    def limits(self) -> str:
        """As of :class:`Option`."""
        return _limits(self.lowest, self.highest, self.unit)

    def check(self, value: object, where: str = "", *, highest: int | None = None) -> int:
        """``value`` as an int; the message of what is none, or out of range, begins with ``where``, by default the name.

        ``highest`` is a limit that comes from another option, where it is lower.

        Raises
        ------
        InputError
            If it is not allowed.
        """
        return whole(where or str(self), value, self.lowest, self.highest if highest is None else highest)


@dataclass(frozen=True, kw_only=True)
class Real(Option[T]):
    """A number from ``lowest`` to ``highest``, of a unit."""

    lowest: float
    highest: float

    @property
    def kind(self) -> type:
        """As of :class:`Option`."""
        return float

    @property
    def limits(self) -> str:
        """As of :class:`Option`."""
        return _limits(self.lowest, self.highest, self.unit)

    def check(self, value: object, where: str = "") -> float:
        """As :meth:`Whole.check`, as a float.

        Raises
        ------
        InputError
            If it is not allowed.
        """
        return real(where or str(self), value, self.lowest, self.highest, self.unit)


@dataclass(frozen=True, kw_only=True)
class Choice(Option[str]):
    """One of a few names; ``what`` says in errors what they are names of."""

    choices: tuple[str, ...]
    what: str

    def check(self, value: str, where: str = "") -> str:
        """``value``, if it is one of the names.

        Raises
        ------
        InputError
            If it is not; the message lists them, nearest first.
        """
        if value not in self.choices:
            raise one_of(self.what, value, self.choices, at(where or str(self), value))
        return value


def _limits(lowest: float, highest: float, unit: str) -> str:
    return f"{number_text(lowest)} to {number_text(highest)}{' ' * bool(unit)}{unit}"


def number_text(number: float) -> str:
    """A limit, short: powers of two less one as ``2^64 - 1``, other large numbers as ``3.6e12``."""
    if isinstance(number, int) and number > 10**6 and (number + 1).bit_count() == 1:
        return f"2^{number.bit_length()} - 1"
    if isinstance(number, int) and number > 10**6 and number.bit_count() == 1:
        return f"2^{number.bit_length() - 1}"
    text = f"{number:g}"
    if float(text) != number:
        return str(number)
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if e else text
