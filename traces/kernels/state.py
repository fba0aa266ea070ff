"""The state of an engine: named columns that kernels reach through one address.

A kernel that is handed hundreds of arrays spends its time, and the compiler's, with handing them on. So a state is a block of
addresses and sizes, and a kernel is given the block's address; ``state.jobs`` within a kernel reads where that column is,
and ``state.jobs = other`` within one says that it is elsewhere. To Python it is an object with an attribute a column.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self, get_type_hints

import numpy as np

from traces.kernels.signatures import Array, Column, Number, float64, int64

__all__ = ["Field", "State", "fields_of"]


_NUMBERS = {int: int64, float: float64}


class Field:
    """Where a column, a number or another state is in the block.

    Attributes
    ----------
    name : str
    kind : Column, Number, or a class of states
    place : int
        Its first entry in the block.
    """

    __slots__ = ("kind", "name", "place")

    def __init__(self, name: str, kind: Any, place: int) -> None:
        self.name, self.kind, self.place = name, kind, place

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


class State:
    """A state; its fields are what its class annotates, all of them given where it is made, by name.

    Notes
    -----
    A column has to be of the type that is annotated, in C order, and writable: it is handed over as it is. What kernels have
    set (``state.jobs = other``) Python does not see.
    """

    _laid_out: ClassVar[dict[str, Field]]
    _entries: ClassVar[int]
    _block: Array | None

    def __init__(self, *values: Any, **named: Any) -> None:
        fields = fields_of(type(self))
        given = dict(zip(fields, values, strict=False)) | named
        if given.keys() != fields.keys() or len(values) > len(fields):
            raise TypeError(f"{type(self).__name__}: {sorted(given.keys() ^ fields.keys())} missing or unknown")
        self.__dict__.update(given)
        self.__dict__["_block"] = None

    def __setattr__(self, name: str, value: Any) -> None:
        field = fields_of(type(self))[name]
        self.__dict__[name] = value
        if self._block is not None:
            self._write(field, value)

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
        block, place, kind = self._block, field.place, field.kind
        assert block is not None
        if isinstance(kind, Column):
            if value.dtype.name != kind.dtype.name or value.ndim != kind.ndim or not value.flags.c_contiguous:
                raise TypeError(
                    f"{type(self).__name__}.{field.name}: {value.dtype}, {value.ndim} dimensions; allowed: "
                    f"{kind.dtype.name}, {kind.ndim} dimensions, in C order"
                )
            block[place] = value.__array_interface__["data"][0]
            block[place + 1 : place + 1 + kind.ndim] = value.shape
        elif isinstance(kind, Number):
            block[place : place + 1].view(kind.name)[0] = value
        else:
            block[place] = value.address

    @property
    def address(self) -> int:
        """Where its block is, for kernels."""
        block = self._block
        if block is None:
            block = self.__dict__["_block"] = np.empty(self._entries, np.int64)
            for name, field in self._laid_out.items():
                self._write(field, self.__dict__[name])
            self.__dict__["_address"] = block.__array_interface__["data"][0]
        return self.__dict__["_address"]  # type: ignore[no-any-return]


def _remade(made: type[State], values: tuple[Any, ...]) -> State:
    return made(*values)
