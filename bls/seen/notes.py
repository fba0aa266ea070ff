"""Notes of a policy about its decisions: values of columns that it has declared, one row per pass."""

import math
from collections.abc import Mapping
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any, Final

from traces.base.errors import PluginError, one_of, printable, shown
from traces.tables import ColumnKind, Values

NOTED: Final[tuple[type, ...]] = (int, float, str, Fraction)  #: types of notes about a decision

#: Suffix of a column with the exact value of a fraction, as a text; the column without it has the nearest float.
EXACT: Final = "_exact"

#: The longest text, and the largest numerator or denominator of a fraction, in bits: the common denominator of a hundred
#: durations in ns is below that, and Python does not print integers of more than 4,300 digits.
_LONGEST, _MOST_BITS = 200, 14_000

_KINDS: Final[Mapping[type, ColumnKind]] = {int: "whole", float: "real", str: "text"}

_ALLOWED: Final[Mapping[type, str]] = {
    int: "int64", float: "float", str: f"str of up to {_LONGEST} characters",
    Fraction: f"Fraction or int, of up to {_MOST_BITS} bits",
}  # fmt: skip


class DecisionNotes:
    """The notes of a run. ``columns``: the declared columns, with types from :data:`NOTED`. ``keeps``: whether there will be a
    table of decisions; notes are checked in any case."""

    def __init__(self, columns: Mapping[str, type], keeps: bool) -> None:
        self._columns, self._keeps = dict(columns), keeps
        self._rows: dict[int, dict[str, Any]] = {}  # by the number of the pass

    def note(self, decision: int, values: Mapping[str, Any]) -> None:
        """Note values of one decision; a later note replaces an earlier one. Raises PluginError if a column was not declared,
        or the value has another type."""
        if not self._columns and values:
            raise PluginError("note() is for a batch policy with decision_columns, a mapping of names to types")
        row: dict[str, Any] = {}
        for name, value in values.items():
            if name not in self._columns:
                raise PluginError(f"note(): {one_of('column', name, self._columns)}")
            if value is not None:
                row |= _checked(name, self._columns[name], value)
            elif self._keeps:
                row |= dict.fromkeys((name, name + EXACT) if self._columns[name] is Fraction else (name,))
        if self._keeps:
            self._rows.setdefault(decision, {}).update(row)

    def columns(self, decisions: int) -> dict[str, Values]:
        """The columns of the first ``decisions`` decisions; None for missing notes."""
        kinds: dict[str, ColumnKind] = {}
        for name, kind in self._columns.items():
            kinds |= {name: "real", name + EXACT: "text"} if kind is Fraction else {name: _KINDS[kind]}
        rows = [self._rows.get(k, {}) for k in range(decisions)]
        return {name: Values([row.get(name) for row in rows], kind) for name, kind in kinds.items()}


def _checked(name: str, kind: type, value: object) -> dict[str, Any]:
    # The columns for one value.
    if isinstance(value, bool):
        pass
    elif kind is int and isinstance(value, Integral) and -(2**63) <= int(value) < 2**63:
        return {name: int(value)}
    elif kind is float and isinstance(value, Real):
        try:
            return {name: float(value)}
        except OverflowError:
            pass
    elif kind is str and isinstance(value, str) and len(value) <= _LONGEST:
        return {name: printable(str(value))}
    elif kind is Fraction and isinstance(value, Rational):
        exact = Fraction(value)
        if max(abs(exact.numerator), exact.denominator).bit_length() <= _MOST_BITS:
            try:
                nearest = float(exact)
            except OverflowError:
                nearest = math.copysign(math.inf, exact)
            return {name: nearest, name + EXACT: str(exact)}
    raise PluginError(f"note(): {name}={shown(value)}; allowed: {_ALLOWED[kind]}")
