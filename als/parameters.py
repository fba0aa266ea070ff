"""Parameters of plug-ins: a frozen dataclass declares each with its allowed values, and checks it when it is made."""

import functools
import math
import sys
from collections.abc import Iterable
from dataclasses import FrozenInstanceError, dataclass, fields
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform, get_args, get_type_hints

from traces.base.errors import InputError, one_of, real, shown, whole

MOST = 2**53  #: not every larger whole number is a float64, the type of ``params``
_LARGEST = sys.float_info.max  #: larger integers overflow a float64


@dataclass(frozen=True)
class WholeNumber:
    """A whole number within limits."""

    lowest: int = 1
    highest: int = MOST

    def checked(self, where: str, value: Any) -> int:
        return whole(where, value, self.lowest, self.highest)


@dataclass(frozen=True)
class RealNumber:
    """A number within limits."""

    lowest: float
    highest: float

    def checked(self, where: str, value: Any) -> float:
        return real(where, value, self.lowest, self.highest)


@dataclass(frozen=True)
class Positive:
    """A finite number above 0; with ``or_zero`` at least 0."""

    or_zero: bool = False

    def checked(self, where: str, value: Any) -> float:
        if not isinstance(value, bool) and isinstance(value, Real) and value <= _LARGEST:
            number = float(value)
            if number > 0.0 or (self.or_zero and number == 0.0):
                return number
        text = f"{value:g}" if isinstance(value, float) else shown(value)
        raise InputError(f"{where}: {text}; allowed: {'0 or more' if self.or_zero else 'above 0'}")


class TrueOrFalse:
    """True or False."""

    def checked(self, where: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise InputError(f"{where}: {shown(value)}; allowed: True or False")
        return value


class OneOf:
    """One of these words."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def checked(self, where: str, value: Any) -> str:
        if value not in self.words:
            raise one_of(where.rpartition(": ")[2], value, self.words, where)
        word: str = value
        return word


@dataclass_transform(frozen_default=True)
class Checked:
    """The base of parameters: it makes each subclass a frozen dataclass (:func:`dataclasses.dataclass`) whose fields are
    checked when it is made: ``tasks: Annotated[int, WholeNumber(0)] = 0``.

    None is not checked in a field that may be None. Raises InputError; the message begins with the kind of plug-in, its name
    and the parameter.
    """

    noun: ClassVar[str]  # kind of plug-in in errors, such as ``graph``
    if TYPE_CHECKING:

        @property
        def name(self) -> str: ...

    def __init_subclass__(cls, *, kw_only: bool = False) -> None:
        super().__init_subclass__()
        dataclass(frozen=True, kw_only=kw_only)(cls)
        # Each subclass inherits these: ``dataclass`` refuses a class that has its own, and a user may decorate a subclass too.
        type.__delattr__(cls, "__setattr__")
        type.__delattr__(cls, "__delattr__")

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __post_init__(self) -> None:
        kind: Any = type(self)
        for field, (allowed, may_be_none) in _allowed(kind).items():
            if (value := getattr(self, field)) is not None or not may_be_none:
                object.__setattr__(self, field, allowed.checked(f"{self.noun} {self.name}: {field}", value))

    def numbers(self) -> tuple[float, ...]:
        """All parameters in order, for ``params``: the index of a word among the allowed ones, NaN for None."""
        kind: Any = type(self)
        names = [field.name for field in fields(kind) if field.name != "name"]
        allowed = {name: values for name, (values, _) in _allowed(kind).items()}
        return tuple(_number(getattr(self, name), allowed.get(name)) for name in names)


def _number(value: Any, allowed: Any) -> float:
    if value is None:
        return math.nan
    return float(allowed.words.index(value) if isinstance(allowed, OneOf) else value)


@functools.cache
def _allowed(kind: type) -> dict[str, tuple[Any, bool]]:
    # The allowed values of each checked field, and whether it may be None.
    hints = {name: get_args(hint) for name, hint in get_type_hints(kind, include_extras=True).items()}
    of = {name: (args[-1], type(None) in get_args(args[0])) for name, args in hints.items() if args}
    return {name: found for name, found in of.items() if hasattr(found[0], "checked")}


def floats(where: str, params: Iterable[Any]) -> tuple[float, ...]:
    """Return the numbers of ``params``. Raises InputError if one is not a number."""
    try:
        return tuple(float(value) for value in params)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{where}: params {shown(params)}; allowed: numbers") from None
