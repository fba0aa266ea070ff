"""The state of an engine: named columns that kernels reach through one address.

A kernel that is handed hundreds of arrays spends its time, and the compiler's, with handing them on. So a state is a block of
addresses and sizes, and a kernel is given the block's address; ``state.jobs`` within a kernel reads where that column is,
and ``state.jobs = other`` within one says that it is elsewhere. To Python it is an object with an attribute a column.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, ClassVar, Self, get_type_hints

import numpy as np

from traces.kernels.signatures import Array, Column, Number, float64, int64

__all__ = ["Field", "State", "fields_of", "layout_of"]


_NUMBERS = {int: int64, float: float64}


class Field:
    """Where a column, a number or another state is in the block.

    Attributes
    ----------
    name : str
    kind : Column, Number, or a class of states
    place : int
        Its first entry in the block.
    dtype : numpy dtype or None
        Of a column.
    """

    __slots__ = ("dtype", "kind", "name", "place")

    def __init__(self, name: str, kind: Any, place: int) -> None:
        self.name, self.kind, self.place = name, kind, place
        names = {"boolean": "bool"}  # as numpy calls it
        self.dtype = np.dtype(names.get(kind.dtype.name, kind.dtype.name)) if isinstance(kind, Column) else None

    @property
    def entries(self) -> int:
        """How many entries it has: of a column its address and its sizes."""
        return 1 + self.kind.ndim if isinstance(self.kind, Column) else 1


def fields_of(state: type[State]) -> dict[str, Field]:
    """The fields of a class of states, in order."""
    found = state.__dict__.get("_laid_out")
    if found is None:
        found, place = {}, 0
        for name, hint in get_type_hints(state, include_extras=True).items():
            if name.startswith("_"):
                continue
            said = [one for one in getattr(hint, "__metadata__", ()) if isinstance(one, Column | Number)]
            kind = said[0] if said else _NUMBERS.get(hint, hint)
            field = Field(name, kind, place)
            if not isinstance(kind, Column | Number) and not (isinstance(kind, type) and issubclass(kind, State)):
                raise TypeError(f"{state.__name__}.{name}: {hint}; allowed: a column of numbers, a number, or a state")
            found[name] = field
            place += field.entries
        state._laid_out = found
        state._entries = place
    return found


def layout_of(state: type[State]) -> str:
    """A short text that two classes of states have in common only if their blocks are the same."""
    found: str | None = state.__dict__.get("_layout")
    if found is None:
        kinds = ((name, field.kind) for name, field in fields_of(state).items())
        words = [f"{name}:{k.code if isinstance(k, Column | Number) else layout_of(k)}" for name, k in kinds]
        found = state._layout = hashlib.sha256(",".join(words).encode()).hexdigest()[:8]
    return found


class State:
    """A state; its fields are what its class annotates, all of them given where it is made, by name.

    Notes
    -----
    A column has to be of the type that is annotated, in C order, and writable: it is handed over as it is. What kernels have
    set (``state.jobs = other``) Python does not see.
    """

    _laid_out: ClassVar[dict[str, Field]]
    _entries: ClassVar[int]
    _layout: ClassVar[str]
    _block: Array | None

    def __init__(self, *values: Any, **named: Any) -> None:
        fields = fields_of(type(self))
        given = dict(zip(fields, values, strict=False)) | named
        if given.keys() != fields.keys() or len(values) > len(fields):
            raise TypeError(f"{type(self).__name__}: {sorted(given.keys() ^ fields.keys())} missing or unknown")
        self.__dict__.update(given)
        self.__dict__["_block"] = None

    def __setattr__(self, name: str, value: Any) -> None:
        field = fields_of(type(self)).get(name)
        if field is None:
            raise AttributeError(
                f"{type(self).__name__}: {name!r} unknown; allowed: {', '.join(fields_of(type(self)))}"
            )
        if self._block is not None:
            self._write(field, value)  # or else it complains, and the block still says where the column before is
        self.__dict__[name] = value

    def __iter__(self) -> Iterator[Any]:
        return (self.__dict__[name] for name in fields_of(type(self)))

    def __reduce__(self) -> Any:
        return (_remade, (type(self), tuple(self)))

    def _replace(self, **changes: Any) -> Self:
        """Another state with some columns changed, which has the other columns in common with this one."""
        fields = fields_of(type(self))
        if unknown := changes.keys() - fields.keys():
            raise TypeError(f"{type(self).__name__}: {sorted(unknown)} unknown")
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.__dict__.update(changes)
        if self._block is not None:
            block = other.__dict__["_block"] = self._block.copy()
            other.__dict__["_address"] = block.__array_interface__["data"][0]
            for name, value in changes.items():
                other._write(fields[name], value)
        return other

    def _write(self, field: Field, value: Any) -> None:
        assert self._block is not None
        self._block[field.place : field.place + field.entries] = self._entries_of(field, value)

    def _entries_of(self, field: Field, value: Any) -> tuple[int, ...]:
        # A state a job is made, of dozens of columns: there is no time to lose here.
        dtype, kind = field.dtype, field.kind
        if dtype is not None:
            if (
                (value.dtype is not dtype and value.dtype != dtype)
                or value.ndim != kind.ndim
                or not value.flags.c_contiguous
            ):
                raise TypeError(
                    f"{type(self).__name__}.{field.name}: {value.dtype}, {value.ndim} dimensions; allowed: "
                    f"{kind.dtype.name}, {kind.ndim} dimensions, in C order"
                )
            return (value.__array_interface__["data"][0], *value.shape)
        if isinstance(kind, Number):
            return (int(np.array(value, kind.name).view(np.int64)),)
        return (value.address,)

    @property
    def address(self) -> int:
        """Where its block is, for kernels."""
        if self._block is None:
            held = self.__dict__
            entries = [one for name, field in self._laid_out.items() for one in self._entries_of(field, held[name])]
            block = held["_block"] = np.array(entries, np.int64)
            held["_address"] = block.__array_interface__["data"][0]
        return self.__dict__["_address"]  # type: ignore[no-any-return]


def _remade(made: type[State], values: tuple[Any, ...]) -> State:
    return made(*values)
