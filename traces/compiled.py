"""How this project declares its kernels, what they are given, and hooks.

Kernels are plain Python functions over numpy arrays and states; ``NUMBA_DISABLE_JIT=1`` runs the very same code in a debugger.
How they become machine code, and where it is kept, is in :mod:`traces.kernels`.

What only some runs do is a function of its own, in a table of addresses, compiled only where a run does it. An engine has a
table of such slots, :class:`Hooks`. In a kernel a slot is called by its place in the table; where the run has no use for it,
the slot holds a function that refuses, by name.
"""

import ctypes
import functools
import importlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from traces.kernels import signatures as types
from traces.kernels import slabs
from traces.kernels.declared import Caller, CFunction, Intrinsic, Kernel, jit_enabled
from traces.kernels.signatures import Array, FunctionKind, Signature
from traces.kernels.state import State
from traces.kernels.store import cache_directory

__all__ = [
    "Array",
    "CFunction",
    "Hooks",
    "REFUSED",
    "State",
    "as_value",
    "cache_directory",
    "caller",
    "compiled",
    "copy_columns",
    "copy_words",
    "function_table",
    "function_type",
    "jit_enabled",
    "keep_numbers",
    "lay_out",
    "own",
    "put_numbers",
    "relocate",
    "reset_numbers",
    "resized",
    "slab_words",
    "state_at",
    "types",
    "value_from",
]

F = TypeVar("F", bound=Callable[..., Any])


def own(values: Any, dtype: Any) -> Array:
    """``values`` as an array that kernels take: of this dtype, contiguous and writable; a copy only where it must be."""
    if type(values) is np.ndarray and values.dtype == dtype and values.flags.carray:
        return values  # the usual case, in a fraction of what numpy takes to find that out
    return np.require(np.asarray(values), dtype, ("C", "W"))


def compiled(
    signature: Any = None, *, inner: bool = False, merged: bool = False, makes_arrays: bool = False
) -> Callable[[F], F]:
    """Compile a function.

    Parameters
    ----------
    signature : Signature, optional
        Given for functions that are handed over by their address (techniques, allocators); :func:`as_value` does that. Others
        take what their annotations say, or, where these say less, what they are called with.
    inner : bool
        Whether only other kernels call it.
    merged : bool
        Whether it is inner and becomes part of the code of every kernel that calls it, whatever its size.
    makes_arrays : bool
        Whether it makes arrays, or calls a kernel that returns one: it then counts references to all arrays, which costs more
        than the work of a short function.

    Returns
    -------
    callable
        A decorator. Arithmetic is IEEE (no ``fastmath``): results must not depend on the machine's
        vector width.
    """

    def decorate(function: F) -> F:
        return cast(
            F, Kernel(function, signature, merged=merged, is_entry=not (inner or merged), makes_arrays=makes_arrays)
        )

    return decorate


def function_type(signature: Signature) -> FunctionKind:
    """What a kernel takes that is given a function of this signature."""
    return FunctionKind(signature)


@functools.cache
def as_value(kernel: Callable[..., Any], signature: Signature) -> Callable[..., Any]:
    """A kernel as a value that other kernels take as an argument and call through a pointer.

    Parameters
    ----------
    kernel : callable
        Made by :func:`compiled` with ``signature``.
    signature : Signature
        The one it was compiled for.

    Returns
    -------
    callable
        What to pass; ``kernel`` itself when the JIT is off.

    Raises
    ------
    TypeError
        If ``kernel`` was not declared for ``signature``, or cannot be compiled for it.
    """
    if not jit_enabled():
        return kernel
    given = (
        kernel.signature or Signature(signature.returned, kernel.parameters or ())
        if isinstance(kernel, Kernel)
        else None
    )
    if given != signature:
        raise TypeError(f"{getattr(kernel, '__name__', kernel)} is not compiled for {signature.code}")
    from traces.kernels.units import CannotCompile, machine_code

    assert isinstance(kernel, Kernel)
    try:
        found = machine_code(kernel, signature.parameters)
    except CannotCompile as error:
        raise TypeError(f"{kernel.__name__} cannot be compiled: {error}") from error
    if signature.returned is not None and found.returned != signature.returned.code:
        raise TypeError(f"{kernel.__name__} returns {found.returned}, not {signature.returned.name}")
    return CFunction(kernel, signature, found.address)


def function_table(functions: Sequence[Any]) -> Array:
    """Functions as an array that kernels take: what :func:`caller` calls by their places.

    Parameters
    ----------
    functions : sequence
        From :func:`as_value`; the caller keeps them alive. False: none is at this place.

    Returns
    -------
    ndarray of int64, shape (n,)
        Their addresses; of objects, the functions themselves, when the JIT is off.
    """
    if not jit_enabled():
        table = np.empty(len(functions), object)
        table[:] = functions
        return table
    return np.array([function and function.address for function in functions], np.int64)


def caller(signature: Signature) -> Any:
    """What calls, within a kernel, the function at a place of a :func:`function_table`.

    Parameters
    ----------
    signature : Signature
        That of all functions that it will be given.

    Returns
    -------
    callable
        ``call(entry, arguments)``: an entry of the table and a tuple of the arguments.
    """
    return Caller(signature)


def value_from(signature: Signature) -> Any:
    """What makes, within a kernel, a function that can be called of an entry of a :func:`function_table`.

    Parameters
    ----------
    signature : Signature
        That of the function.

    Returns
    -------
    callable
        ``value(entry)``: what kernels that take a function of this signature are called with.
    """
    return Caller(signature, makes=True)


# What kernels do with whole states (:mod:`traces.kernels.slabs`).
keep_numbers, put_numbers = Intrinsic(slabs.keep_numbers), Intrinsic(slabs.put_numbers)
reset_numbers, resized = Intrinsic(slabs.reset_numbers), Intrinsic(slabs.resized)
slab_words, lay_out, state_at = Intrinsic(slabs.slab_words), Intrinsic(slabs.lay_out), Intrinsic(slabs.state_at)
copy_columns, copy_words = Intrinsic(slabs.copy_columns), Intrinsic(slabs.copy_words)
relocate = Intrinsic(slabs.relocate)

#: What a slot answers that is not filled.
REFUSED = -(2**62)


class Hooks:
    """The slots of an engine.

    Parameters
    ----------
    engine : str
        Whose they are, for errors.
    signature : Signature
        Of all the functions.
    slots : mapping
        By its place in the table, from 0 on, what a slot is for and where its kernel is: ``("plan ahead", "module:name")``.
    """

    def __init__(self, engine: str, signature: Signature, slots: Mapping[int, tuple[str, str]]) -> None:
        self.engine, self.signature, self.slots = engine, signature, dict(slots)
        if list(self.slots) != list(range(len(self.slots))):
            raise ValueError(
                f"{engine}: slots {list(self.slots)}; allowed: all from 0 on, in order, as they are called by place"
            )
        self._refused: list[str] = []
        self._refusing: dict[int, Any] = {}

    def filled(self, wanted: Collection[int]) -> Array:
        """A table in which the slots that a run has a use for are filled.

        Returns
        -------
        ndarray of int64, shape (slots,)
        """
        return self.filled_with({slot: self.slots[slot][1] for slot in wanted})

    def filled_with(self, kernels: Mapping[int, str]) -> Array:
        """The same with other kernels than the table's, ``"module:name"``, by their slots."""
        return function_table(
            [self.kernel(kernels[slot]) if slot in kernels else self._refuse(slot) for slot in self.slots]
        )

    def kernel(self, where: str) -> Any:
        """The function that is there, ``"module:name"``, compiled."""
        module, _, name = where.partition(":")
        return as_value(getattr(importlib.import_module(module), name), self.signature)

    def modules(self) -> list[str]:
        """The modules of all slots, each once."""
        return list(dict.fromkeys(where.partition(":")[0] for _, where in self.slots.values()))

    def check(self) -> None:
        """Raise if a slot was called that is not filled.

        Raises
        ------
        RuntimeError
            It is a fault of ours: a run that does something did not say so.
        """
        if self._refused:
            refused = sorted(set(self._refused))
            self._refused.clear()  # the next run has done nothing wrong
            raise RuntimeError(f"{self.engine}: {', '.join(refused)}: this run has not asked for it")

    def _refuse(self, slot: int) -> Any:
        found = self._refusing.get(slot)
        if found is None:
            name = self.slots[slot][0]

            def refuse(*_: int) -> int:
                self._refused.append(name)
                if not jit_enabled():
                    self.check()
                return REFUSED

            kinds = [
                ctypes.c_double if getattr(kind, "name", "") == "float64" else ctypes.c_int64 for kind in self.flat()
            ]
            function = ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)(refuse) if jit_enabled() else refuse
            found = self._refusing[slot] = CFunction(function, self.signature) if jit_enabled() else function
        return found

    def flat(self) -> list[Any]:
        """The parameters as C has them: a column is an address and its sizes."""
        return [one for kind in self.signature.parameters for one in [kind] * (1 + getattr(kind, "ndim", 0))]
