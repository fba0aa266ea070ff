"""The one door to numba: how this project compiles its kernels, and where it keeps the machine code.

Kernels are plain Python functions over numpy arrays; ``NUMBA_DISABLE_JIT=1`` runs the very same code in a debugger.

numba's own cache is kept beside each source file and is renewed only when *that* file changes, so a caller would keep
an old copy of a callee that it inlined from another file, and an upgrade that leaves the caller alone would leave it so
for good. Ours is kept in one folder named by a digest of every file of the four packages that holds a kernel: a change to
any of them is a fresh cache.
"""

from __future__ import annotations

import builtins
import ctypes
import dis
import functools
import hashlib
import os
import shutil
import sys
import weakref
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, TypeVar, cast

import numba
import numba.core.cgutils
import numba.extending
import numpy as np
from llvmlite import ir as llvm
from numba import types

__all__ = [
    "Array",
    "CFunction",
    "as_value",
    "cache_directory",
    "caller",
    "compiled",
    "function_table",
    "function_type",
    "jit_enabled",
    "own",
    "types",
    "value_from",
]

#: A numpy array; shapes and dtypes are said where one is used.
Array = np.ndarray[Any, np.dtype[Any]]

F = TypeVar("F", bound=Callable[..., Any])

# What kernels are compiled for: arrays that are contiguous and may be written to. Others would be compiled for again.
_OWN: tuple[Literal["C", "W"], ...] = ("C", "W")


def own(values: Any, dtype: Any) -> Array:
    """``values`` as an array that kernels take: of this dtype, contiguous and writable; a copy only where it must be."""
    if type(values) is np.ndarray and values.dtype == dtype and values.flags.carray:
        return values  # the usual case, in a fraction of what numpy takes to find that out
    return np.require(np.asarray(values), dtype, _OWN)


_PACKAGES = ("als", "bls", "bridge", "traces")

# How a file that holds a kernel is told: one of the decorators that make them. Files of states hold what kernels are made
# with, the numbers of columns.
_KERNEL_MARKS = (
    b"NamedTuple",
    b"@compiled(",
    b"@technique_kernel",
    b"@length_kernel",
    b"@graph_kernel",
    b"@planner_kernel",
    b"@allocator_kernel",
    b"@score_kernel",
    b"@account_kernel",
)


def jit_enabled() -> bool:
    """Whether kernels are compiled (False under ``NUMBA_DISABLE_JIT=1``)."""
    return not numba.config.DISABLE_JIT


def _source_digest() -> str:
    root = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256(numba.__version__.encode())
    for package in _PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            source = path.read_bytes()
            if any(mark in source for mark in _KERNEL_MARKS):
                digest.update(str(path.relative_to(root)).encode())
                digest.update(source)
    return digest.hexdigest()[:16]


def _cache_root() -> Path:
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "twolevel"


_CACHE_DIRECTORY = _cache_root() / f"kernels-{_source_digest()}"

#: How many caches of other versions are kept when a new one is made.
_OLD_CACHES = 3


def _make_cache() -> bool:
    # Whether there is a folder for the cache. Without one nothing is cached: numba would turn to the source folders,
    # where a kernel can outlive what it was made of.
    if _CACHE_DIRECTORY.is_dir():
        return os.access(_CACHE_DIRECTORY, os.W_OK)
    try:
        _CACHE_DIRECTORY.mkdir(parents=True, exist_ok=True)
        old = sorted(_CACHE_DIRECTORY.parent.glob("kernels-*"), key=lambda folder: folder.stat().st_mtime)
    except OSError:
        return False
    for folder in old[: -1 - _OLD_CACHES]:
        shutil.rmtree(folder, ignore_errors=True)
    return True


_CACHED = jit_enabled() and _make_cache()


def cache_directory() -> Path:
    """The folder that holds this version's compiled kernels."""
    return _CACHE_DIRECTORY


def compiled(
    signature: Any = None, *, borrows: bool = False, inner: bool = False, merged: bool = False
) -> Callable[[F], F]:
    """Compile a function with numba, keeping the machine code in :func:`cache_directory`.

    Parameters
    ----------
    signature : numba signature, optional
        Given for functions that are passed to other kernels as values (techniques, allocators); :func:`as_value`
        compiles them for it. Other kernels are compiled at their first call.
    borrows : bool
        Whether it leaves it to its caller to keep its arrays alive, and makes none. It then counts no references, which
        costs more than the work of a short function that is given a state of many arrays.
    inner : bool
        Whether only other kernels call it (and it borrows): what Python would need to call it is not compiled.
    merged : bool
        Whether it is inner and becomes part of the code of every kernel that calls it: to hand on a state of many arrays
        costs as much as a short function does.

    Returns
    -------
    callable
        A decorator. Arithmetic is IEEE (no ``fastmath``): results must not depend on the machine's vector width.
    """

    def decorate(function: F) -> F:
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(_CACHE_DIRECTORY)
        try:
            result: F = numba.njit(
                cache=_CACHED and _can_be_kept(function),
                nogil=True,
                error_model="numpy",
                _nrt=not (borrows or inner or merged),
                no_cpython_wrapper=inner or merged,
                no_cfunc_wrapper=(borrows and signature is None) or inner or merged,
                forceinline=merged,
            )(function)
            if signature is not None:
                _SIGNATURES[result] = signature
            if jit_enabled():
                _take_numbers_as_numbers(result)
            return result
        finally:
            numba.config.CACHE_DIR = before

    return decorate


def _can_be_kept(function: Callable[..., Any]) -> bool:
    # Machine code has the values of the globals in it that the function reads, and what it calls. Ours are as the source that
    # names the cache; those in a user's file may come from anywhere, as from another file, and be others in the next run.
    if _is_from(_PACKAGES, function.__module__):
        return True
    if function.__code__.co_freevars:
        return False
    read = {one.argval for one in dis.get_instructions(function) if one.opname == "LOAD_GLOBAL"}
    return all(_is_constant(function, name) for name in read)


def _is_constant(function: Callable[..., Any], name: str) -> bool:
    if name not in function.__globals__:
        return hasattr(builtins, name)
    value = function.__globals__[name]
    known = ("math", "numpy", *_PACKAGES)
    if isinstance(value, ModuleType):
        return _is_from(known, value.__name__)
    if callable(value):
        return _is_from(known, getattr(value, "__module__", None))
    # A number that is called as one of ours, and is it, as the columns of a state.
    ours = (module for home, module in tuple(sys.modules.items()) if _is_from(_PACKAGES, home))
    return any(vars(module).get(name) is value for module in ours)


def _is_from(packages: Sequence[str], module: str | None) -> bool:
    return module is not None and module.partition(".")[0] in packages


def _take_numbers_as_numbers(dispatcher: Any) -> None:
    # numba compiles a function once more for every constant that a kernel calls it with: for 0, for -1, for an int64. That
    # made a third of all that was compiled, and nothing quicker.
    found = dispatcher.get_call_template

    def plain(arguments: Sequence[Any], named: dict[str, Any]) -> Any:
        return found(
            tuple(map(types.unliteral, arguments)), {name: types.unliteral(kind) for name, kind in named.items()}
        )

    dispatcher.get_call_template = plain


#: What the kernels that are passed as values were declared for.
_SIGNATURES: weakref.WeakKeyDictionary[Callable[..., Any], Any] = weakref.WeakKeyDictionary()


def function_type(signature: Any) -> Any:
    """The numba type of a function of this signature, for kernels that take such functions as arguments."""
    return types.FunctionType(signature)


@functools.cache
def as_value(kernel: Callable[..., Any], signature: Any) -> Callable[..., Any]:
    """A kernel as a value that other kernels take as an argument and call through a pointer.

    A kernel that is passed as it is would become part of its caller's type, and the caller would be compiled anew for
    each of them, in each process.

    Parameters
    ----------
    kernel : callable
        Made by :func:`compiled` with ``signature``.
    signature : numba signature
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
    if not isinstance(kernel, Hashable) or _SIGNATURES.get(kernel) != signature:
        raise TypeError(f"{getattr(kernel, '__name__', kernel)} is not compiled for {signature}")
    dispatcher: Any = kernel
    try:
        dispatcher.compile(signature)
    except numba.core.errors.NumbaError as error:
        # Which step of numba's failed is said before what is wrong.
        lines = [line.strip() for line in str(error).splitlines() if line.strip() and not line.startswith("Failed in")]
        raise TypeError(f"{getattr(kernel, '__name__', kernel)} cannot be compiled: {lines[0]}") from error
    result = dispatcher.overloads[signature.args]
    address = result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name)
    return CFunction(kernel, signature, address)


def function_table(functions: Sequence[Any]) -> Array:
    """Functions as an array that kernels take: what :func:`caller` calls by their places.

    Parameters
    ----------
    functions : sequence
        From :func:`as_value`; the caller keeps them alive.

    Returns
    -------
    ndarray of int64, shape (n,)
        Their addresses; of objects, the functions themselves, when the JIT is off.
    """
    if not jit_enabled():
        table = np.empty(len(functions), object)
        table[:] = functions
        return table
    return np.array([function.__wrapper_address__() for function in functions], np.int64)


def caller(signature: Any) -> Callable[..., Any]:
    """What calls, within a kernel, the function at a place of a :func:`function_table`.

    Which function it is may then differ from job to job, and is no part of the kernel's type.

    Parameters
    ----------
    signature : numba signature
        That of all functions that it will be given.

    Returns
    -------
    callable
        ``call(entry, arguments)``: an entry of the table and a tuple of the arguments, of exactly the signature's types.
    """
    if not jit_enabled():
        return lambda entry, arguments: entry(*arguments)

    @numba.extending.intrinsic  # type: ignore[untyped-decorator]
    def call(typing_context: Any, entry: Any, arguments: Any) -> Any:
        def generate(context: Any, builder: Any, typed: Any, values: Any) -> Any:
            kinds = [context.get_value_type(kind) for kind in signature.args]
            shape = llvm.FunctionType(context.get_value_type(signature.return_type), kinds)
            address = builder.inttoptr(values[0], shape.as_pointer())
            given = numba.core.cgutils.unpack_tuple(builder, values[1], len(kinds))
            return builder.call(address, given)

        return signature.return_type(entry, numba.types.Tuple(signature.args)), generate

    return cast(Callable[..., Any], call)


def value_from(signature: Any) -> Callable[..., Any]:
    """What makes, within a kernel, a function value of an entry of a :func:`function_table`.

    Python takes microseconds to hand a function value to a kernel, each time, and none to hand over a table of them.

    Parameters
    ----------
    signature : numba signature
        That of the function.

    Returns
    -------
    callable
        ``value(entry)``: what kernels that take a function of this signature are called with.
    """
    if not jit_enabled():
        return lambda entry: entry
    kind = function_type(signature)

    @numba.extending.intrinsic  # type: ignore[untyped-decorator]
    def value(typing_context: Any, entry: Any) -> Any:
        def generate(context: Any, builder: Any, typed: Any, values: Any) -> Any:
            made = numba.core.cgutils.create_struct_proxy(kind)(context, builder)
            made.c_addr = builder.inttoptr(values[0], numba.core.cgutils.voidptr_t)
            made.py_addr = made.jit_addr = numba.core.cgutils.get_null_value(numba.core.cgutils.voidptr_t)
            return made._getvalue()

        return kind(entry), generate

    return cast(Callable[..., Any], value)


class CFunction(types.WrapperAddressProtocol):  # type: ignore[misc]
    """A C function that a kernel can call through a pointer.

    Passing the address as a value keeps it out of the kernel's type, so that the kernel can be cached.

    Parameters
    ----------
    function
        A ctypes function object (or whatever keeps the code at ``address`` alive). It is called itself when the JIT is
        off.
    signature : numba signature
        Its C signature; pointers are ``uintp``.
    address : int, optional
        Where its code is, for what is no ctypes function.
    """

    def __init__(self, function: Any, signature: Any, address: int | None = None) -> None:
        self._function = function
        self._address = ctypes.cast(function, ctypes.c_void_p).value if address is None else address
        self._signature = signature
        self._numba_type_ = function_type(signature)  # numba asks for it at every call; to find it out is slow

    def __wrapper_address__(self) -> int:
        return int(self._address or 0)

    def signature(self) -> Any:
        """The numba signature (asked for by numba)."""
        return self._signature

    def __call__(self, *arguments: Any) -> Any:
        return self._function(*arguments)
