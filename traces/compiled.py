"""How this project declares its kernels, their arguments, and hooks.

Kernels are plain Python functions over numpy arrays and states; ``NUMBA_DISABLE_JIT=1`` runs the same code in a debugger.
:mod:`traces.kernels` compiles and stores them.

Code for special runs is in functions of its own, called through a table of addresses, and compiled only if a run needs it. An
engine has a table of such slots, :class:`Hooks`. A kernel calls a slot by its index; unused slots hold a function that refuses,
with the slot's name.
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
    """Return ``values`` as an array for kernels: of this dtype, contiguous and writable; a copy only if necessary."""
    if type(values) is np.ndarray and values.dtype == dtype and values.flags.carray:
        return values  # the usual case, found in a fraction of numpy's time
    return np.require(np.asarray(values), dtype, ("C", "W"))


def compiled(
    signature: Any = None, *, inner: bool = False, merged: bool = False, makes_arrays: bool = False
) -> Callable[[F], F]:
    """Compile a function.

    Parameters
    ----------
    signature : Signature, optional
        For functions passed by their address (techniques, allocators); :func:`as_value` does that. Other functions have the
        types of their annotations or, if these say less, of their arguments.
    inner : bool
        Whether only other kernels call it.
    merged : bool
        Whether it is inner and inlined into every kernel that calls it, whatever its size.
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
    """Return the type of a kernel's argument that is a function of this signature."""
    return FunctionKind(signature)


@functools.cache
def as_value(kernel: Callable[..., Any], signature: Signature) -> Callable[..., Any]:
    """Return a kernel as a value that other kernels take as an argument and call through a pointer.

    Parameters
    ----------
    kernel : callable
        Made by :func:`compiled` with ``signature``.
    signature : Signature
        The signature that it was compiled for.

    Returns
    -------
    callable
        The value to pass; ``kernel`` itself if the JIT is off.

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
    """Return functions as an array for kernels; :func:`caller` calls them by index.

    Parameters
    ----------
    functions : sequence
        From :func:`as_value`; the caller keeps them alive. False: no function at this index.

    Returns
    -------
    ndarray of int64, shape (n,)
        Their addresses; if the JIT is off, an array of the functions themselves.
    """
    if not jit_enabled():
        table = np.empty(len(functions), object)
        table[:] = functions
        return table
    return np.array([function and function.address for function in functions], np.int64)


def caller(signature: Signature) -> Any:
    """Return a function for calling, within a kernel, an entry of a :func:`function_table`.

    Parameters
    ----------
    signature : Signature
        The signature of all functions in the table.

    Returns
    -------
    callable
        ``call(entry, arguments)``: an entry of the table and a tuple of the arguments.
    """
    return Caller(signature)


def value_from(signature: Signature) -> Any:
    """Return a function that makes, within a kernel, a callable of an entry of a :func:`function_table`.

    Parameters
    ----------
    signature : Signature
        The signature of the function.

    Returns
    -------
    callable
        ``value(entry)``: the argument of kernels that take a function of this signature.
    """
    return Caller(signature, makes=True)


# What kernels do with whole states (:mod:`traces.kernels.slabs`).
keep_numbers, put_numbers = Intrinsic(slabs.keep_numbers), Intrinsic(slabs.put_numbers)
reset_numbers, resized = Intrinsic(slabs.reset_numbers), Intrinsic(slabs.resized)
slab_words, lay_out, state_at = Intrinsic(slabs.slab_words), Intrinsic(slabs.lay_out), Intrinsic(slabs.state_at)
copy_columns, copy_words = Intrinsic(slabs.copy_columns), Intrinsic(slabs.copy_words)
relocate = Intrinsic(slabs.relocate)

#: Result of an unused slot.
REFUSED = -(2**62)


class Hooks:
    """The slots of an engine.

    Parameters
    ----------
    engine : str
        The engine's name, for errors.
    signature : Signature
        The signature of all the functions.
    slots : mapping
        By index, from 0 on, the purpose of a slot and the place of its kernel: ``("plan ahead", "module:name")``.
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
        """Return a table in which the slots that a run needs are filled.

        Returns
        -------
        ndarray of int64, shape (slots,)
        """
        return self.filled_with({slot: self.slots[slot][1] for slot in wanted})

    def filled_with(self, kernels: Mapping[int, str]) -> Array:
        """Return such a table with other kernels than the declared ones, ``"module:name"``, by slot."""
        return function_table(
            [self.kernel(kernels[slot]) if slot in kernels else self._refuse(slot) for slot in self.slots]
        )

    def kernel(self, where: str) -> Any:
        """Return the compiled function at ``"module:name"``."""
        module, _, name = where.partition(":")
        return as_value(getattr(importlib.import_module(module), name), self.signature)

    def modules(self) -> list[str]:
        """The modules of all slots, each once."""
        return list(dict.fromkeys(where.partition(":")[0] for _, where in self.slots.values()))

    def check(self) -> None:
        """Raise RuntimeError if an unused slot was called: the run has not declared a feature that it uses, which is a fault of
        this project.
        """
        if self._refused:
            refused = sorted(set(self._refused))
            self._refused.clear()  # for the next run
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
        """The parameters for C: a column becomes an address and its sizes."""
        return [one for kind in self.signature.parameters for one in [kind] * (1 + getattr(kind, "ndim", 0))]
