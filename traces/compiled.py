"""How this project declares its kernels, and what they are given.

Kernels are plain Python functions over numpy arrays and states; ``NUMBA_DISABLE_JIT=1`` runs the very same code in a debugger.
How they become machine code, and where it is kept, is in :mod:`traces.kernels`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
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
