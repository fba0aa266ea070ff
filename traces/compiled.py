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

from traces.kernels import signatures, slabs
from traces.kernels.declared import Caller, Intrinsic, Kernel
from traces.kernels.declared import CFunction as CFunction
from traces.kernels.signatures import Array as Array
from traces.kernels.signatures import Signature
from traces.kernels.state import State as State
from traces.kernels.state import jit_enabled as jit_enabled

types = signatures  # the types of arguments, for declarations of kernels

F = TypeVar("F", bound=Callable[..., Any])


def own(values: Any, dtype: Any) -> Array:
    """Return ``values`` as an array for kernels: of this dtype, contiguous and writable; a copy only if necessary."""
    if type(values) is np.ndarray and values.dtype == dtype and values.flags.carray:
        return values  # the usual case, found in a fraction of numpy's time
    return np.require(np.asarray(values), dtype, ("C", "W"))


def compiled(
    signature: Any = None, *, inner: bool = False, merged: bool = False, makes_arrays: bool = False
) -> Callable[[F], F]:
    """Compile a function. Arithmetic is IEEE, without ``fastmath``: results must not depend on the machine's vector width.

    - ``signature``: for functions passed by their address (techniques, allocators), with :func:`as_value`. Other functions have
      the types of their annotations or, if these say less, of their arguments.
    - ``inner``: whether only other kernels call it.
    - ``merged``: whether it is inner and inlined into every kernel that calls it, whatever its size.
    - ``makes_arrays``: whether it makes arrays, or calls a kernel that returns one. Counting references to all arrays costs
      more than the work of a short function.
    """

    def decorate(function: F) -> F:
        is_entry = not (inner or merged)
        return cast(F, Kernel(function, signature, merged=merged, is_entry=is_entry, makes_arrays=makes_arrays))

    return decorate


@functools.cache
def as_value(kernel: Callable[..., Any], signature: Signature) -> Callable[..., Any]:
    """Return a kernel made by :func:`compiled` as a value that other kernels take as an argument and call through a pointer;
    the kernel itself if the JIT is off. Raises TypeError if it was not declared for ``signature``, or cannot be compiled for
    it."""
    if not jit_enabled():
        return kernel
    if not (
        isinstance(kernel, Kernel)
        and (kernel.signature or Signature(signature.returned, kernel.parameters or ())) == signature
    ):
        raise TypeError(f"{getattr(kernel, '__name__', kernel)} is not compiled for {signature.code}")
    from traces.kernels.units import CannotCompile, machine_code

    try:
        found = machine_code(kernel, signature.parameters)
    except CannotCompile as error:
        raise TypeError(f"{kernel.__name__} cannot be compiled: {error}") from error
    if signature.returned is not None and found.returned != signature.returned.code:
        raise TypeError(f"{kernel.__name__} returns {found.returned}, not {signature.returned.name}")
    return CFunction(kernel, signature, found.address)


def function_table(functions: Sequence[Any]) -> Array:
    """Return functions from :func:`as_value`, which the caller keeps alive, as an array for kernels: their addresses, int64
    (n,); the functions themselves if the JIT is off. False: no function at this index."""
    if not jit_enabled():
        table = np.empty(len(functions), object)
        table[:] = functions
        return table
    return np.array([function and function.address for function in functions], np.int64)


def caller(signature: Signature) -> Any:
    """Return a function ``call(entry, arguments)`` for kernels: it calls an entry of a :func:`function_table` whose functions
    have this signature, with a tuple of arguments."""
    return Caller(signature)


def value_from(signature: Signature) -> Any:
    """Return a function ``value(entry)`` for kernels: it makes a callable, for kernels that take a function of this signature,
    of an entry of a :func:`function_table`."""
    return Caller(signature, makes=True)


# What kernels do with whole states (:mod:`traces.kernels.slabs`).
keep_numbers, put_numbers = Intrinsic(slabs.keep_numbers), Intrinsic(slabs.put_numbers)
reset_numbers, resized = Intrinsic(slabs.reset_numbers), Intrinsic(slabs.resized)
slab_words, lay_out, state_at = Intrinsic(slabs.slab_words), Intrinsic(slabs.lay_out), Intrinsic(slabs.state_at)
copy_columns, copy_words = Intrinsic(slabs.copy_columns), Intrinsic(slabs.copy_words)
relocate = Intrinsic(slabs.relocate)

REFUSED = -(2**62)  #: result of an unused slot


class Hooks:
    """The slots of an engine. ``engine``: its name, for errors. ``signature``: of all functions. ``slots``: by index, from 0
    on, the purpose of a slot and the place of its kernel, ``("plan ahead", "module:name")``."""

    def __init__(self, engine: str, signature: Signature, slots: Mapping[int, tuple[str, str]]) -> None:
        self.engine, self.signature, self.slots = engine, signature, dict(slots)
        if list(self.slots) != list(range(len(self.slots))):
            raise ValueError(f"{engine}: slots {list(self.slots)}; allowed: all from 0 on, in order")
        self._refused: list[str] = []
        self._refusing: dict[int, Any] = {}

    def filled(self, wanted: Collection[int]) -> Array:
        """Return a table, int64 (slots,), in which the slots that a run needs are filled."""
        return self.filled_with({slot: self.slots[slot][1] for slot in wanted})

    def filled_with(self, kernels: Mapping[int, str]) -> Array:
        """Return such a table with other kernels than the declared ones, ``"module:name"``, by slot."""
        found = (self.kernel(kernels[slot]) if slot in kernels else self._refuse(slot) for slot in self.slots)
        return function_table(list(found))

    def kernel(self, where: str) -> Any:
        """Return the compiled function at ``"module:name"``."""
        module, _, name = where.partition(":")
        return as_value(getattr(importlib.import_module(module), name), self.signature)

    def modules(self) -> list[str]:
        """The modules of all slots, each once."""
        return list(dict.fromkeys(where.partition(":")[0] for _, where in self.slots.values()))

    def check(self) -> None:
        """Raise RuntimeError if an unused slot was called: a fault of this project, as the run has not declared a feature."""
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

            found = refuse
            if jit_enabled():
                names = [getattr(kind, "name", "") for kind in self.flat()]
                kinds = [ctypes.c_double if name == "float64" else ctypes.c_int64 for name in names]
                found = CFunction(ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)(refuse), self.signature)
            self._refusing[slot] = found
        return found

    def flat(self) -> list[Any]:
        """The parameters for C: a column becomes an address and its sizes."""
        return [one for kind in self.signature.parameters for one in [kind] * (1 + getattr(kind, "ndim", 0))]
