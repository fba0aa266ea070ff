"""Arguments and results of kernels, declared without numba: kinds of numbers, columns, signatures of functions.

Our machine code has one calling convention for Python, other kernels and C: a column is its address and its sizes, a state its
address, a function its address, a truth value an integer. The ``code`` of each kind is part of the names of machine code; a
state's code includes the places of its columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]  #: a numpy array; shapes and dtypes are stated where one is used


@dataclass(frozen=True)
class Number:
    """A kind of number; called with other kinds it makes a :class:`Signature` that returns it."""

    name: str  # name in numpy and numba

    def __call__(self, *parameters: Kind) -> Signature:
        return Signature(self, parameters)

    @property
    def code(self) -> str:
        return CODES[self.name]


@dataclass(frozen=True)
class Column:
    """An array in C order."""

    dtype: Number
    ndim: int = 1

    @property
    def code(self) -> str:
        return f"{self.dtype.code}{self.ndim}"


@dataclass(frozen=True)
class Tuple:
    """Several numbers; for results only."""

    members: tuple[Number, ...]

    @property
    def code(self) -> str:
        return "t" + "".join(member.code for member in self.members)


@dataclass(frozen=True)
class StateKind:
    """A state, passed by its address (``traces.kernels.state``)."""

    state: type[Any]

    @property
    def code(self) -> str:
        from traces.kernels.state import layout_of  # imports this module

        return f"<{self.state.__name__}:{layout_of(self.state)}>"


@dataclass(frozen=True)
class FunctionKind:
    """A function, passed by its address."""

    signature: Signature

    @property
    def code(self) -> str:
        return f"({self.signature.code})"


Kind = Number | Column | StateKind | FunctionKind


@dataclass(frozen=True)
class Signature:
    """The arguments and the result of a function."""

    returned: Number | None  # None: nothing
    parameters: tuple[Kind, ...]

    def __hash__(self) -> int:
        return hash((self.returned, len(self.parameters)))

    @property
    def code(self) -> str:
        returned = self.returned.code if self.returned else "v"
        return f"{returned}:{','.join(kind.code for kind in self.parameters)}"


#: Codes of the kinds of numbers in the name of a piece of machine code.
CODES = {
    "int64": "i",
    "float64": "f",
    "uint64": "u",
    "int32": "s",
    "uint8": "b",
    "boolean": "t",
    "uint32": "w",
    "int8": "c",
    "float32": "g",
}

int64 = Number("int64")
float64 = Number("float64")
uint64 = Number("uint64")
int32 = Number("int32")
uint8 = Number("uint8")
int8 = Number("int8")
boolean = Number("boolean")

uintp = uint64  #: an address
Ints = Annotated[Array, Column(int64)]  #: columns of a state, as its class declares them
Ints2 = Annotated[Array, Column(int64, 2)]
Ints3 = Annotated[Array, Column(int64, 3)]
Floats = Annotated[Array, Column(float64)]
Floats2 = Annotated[Array, Column(float64, 2)]
Floats3 = Annotated[Array, Column(float64, 3)]
Words = Annotated[Array, Column(uint64)]
Shorts = Annotated[Array, Column(int32)]
Bytes = Annotated[Array, Column(uint8)]
Chars = Annotated[Array, Column(int8)]
Flags = Annotated[Array, Column(boolean)]

#: An entry of a table of functions: its address; the function itself if nothing is compiled.
Entry = Annotated[Any, int64]
