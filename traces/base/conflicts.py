"""Features that do not go together: rows of a table, from which come errors, a page of the documentation, and a test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from traces.base.errors import InputError

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Conflict(Generic[T]):
    """Two features that do not go together, or one that needs another.

    Texts mention options (``traces.base.mentions``). In all but ``first`` and ``second``, names in braces as ``{policy}`` stand
    for what was given.
    """

    # the features, as the page has them
    first: str
    second: str
    given: str  # what was given, which an error begins with
    reason: str  # what is wrong, and why
    found: Callable[[T], object]  # whether both are there, of what a table is about
    allowed: str = ""  # what may be given instead; empty: the reason says it
    example: Mapping[str, Any] = field(default_factory=dict)  # keywords of ``bridge.simulate`` with which it is raised

    def text(self, names: Mapping[str, str]) -> str:
        """The error, with what the names in braces stand for."""
        allowed = f"; allowed: {self.allowed}" if self.allowed else ""
        return f"{self.given}{self.reason}{allowed}".format_map(names)


def check(table: Iterable[Conflict[T]], chosen: T, names: Mapping[str, str]) -> None:
    """See that what is chosen has no conflict of a table; ``names`` are what names in braces stand for.

    Raises
    ------
    InputError
        If it has; the first row is said.
    """
    for row in table:
        if row.found(chosen):
            raise InputError(row.text(names))
