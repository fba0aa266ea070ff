"""Features that do not go together: rows of a table, from which come errors, a page of the documentation, and a test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from traces.base.errors import InputError, at
from traces.base.options import Option


@dataclass(frozen=True)
class Feature:
    """Something that a run may have. Texts mention options (``traces.base.mentions``)."""

    name: str  # as the page has it
    found: Callable[[Any], object]  # whether the object of the table has it
    given: str | Callable[[Any], str] = ""  # how an error names it; empty: by its name
    example: Mapping[str, Any] = field(default_factory=dict)  # keywords of ``bridge.simulate`` with which a run has it

    def text(self, chosen: Any) -> str:
        """How an error names it."""
        return self.given(chosen) if callable(self.given) else self.given or self.name


def has(name: str, found: Callable[[Any], object], given: str | Callable[[Any], str] = "", **example: Any) -> Feature:
    """A feature, with its example as keywords."""
    return Feature(name, found, given, example)


def option_given(option: Option[Any], value: Callable[[Any], Any], example: Any) -> Feature:
    """The feature that an option has another value than by default; ``example`` is such a value."""
    return Feature(
        str(option),
        lambda chosen: value(chosen) != option.default,
        lambda chosen: at(str(option), value(chosen)),
        {option.keyword: example},
    )


@dataclass(frozen=True)
class Conflict:
    """Two features that do not go together, or one that needs another: then ``second`` is the lack of that."""

    first: Feature
    second: Feature
    why: str = ""  # goes on after "not with" and the second feature, as "which …" or "as …"
    allowed: str = ""  # what may be given instead; empty: the rest says it
    reason: str = ""  # in place of "not with …"; ``{second}`` stands for the second feature
    example: Mapping[str, Any] = field(default_factory=dict)  # further keywords that the example needs

    def said(self, first: str, second: str) -> str:
        """The error, with these names of the features."""
        reason = self.reason.replace("{second}", second) or f"not with {second}{', ' * bool(self.why)}{self.why}"
        return f"{first}: {reason}" + f"; allowed: {self.allowed}" * bool(self.allowed)

    def found(self, chosen: Any) -> bool:
        """Whether both are there."""
        return bool(self.first.found(chosen) and self.second.found(chosen))


def needs(
    feature: Feature, option: Option[Any], lacks: Callable[[Any], object], why: str = "", **further: Any
) -> Conflict:
    """The conflict of a feature with the lack of an option that it needs; ``why`` follows the option."""
    return Conflict(feature, Feature(f"no {option}", lacks), reason=f"needs {option}{why}", **further)


def check(table: Iterable[Conflict], chosen: Any) -> None:
    """See that what is chosen has no conflict of a table.

    Raises
    ------
    InputError
        If it has; the first row is said.
    """
    for row in table:
        if row.found(chosen):
            raise InputError(row.said(row.first.text(chosen), row.second.text(chosen)))
