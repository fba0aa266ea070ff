"""Declared kernels: Python functions over arrays and states, compiled when they are first needed.

Nothing here imports numba: a run whose kernels are all stored as machine code does not need it. With ``NUMBA_DISABLE_JIT=1``
nothing is compiled, and the same functions run in Python.
"""

import ctypes
import functools
import inspect
import operator
import threading
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType
from typing import Any, get_type_hints

import numpy as np

from traces.kernels import signatures
from traces.kernels.signatures import Column, FunctionKind, Kind, Number, StateKind
from traces.kernels.state import State, jit_enabled

OURS = ("als", "bls", "bridge", "traces")


class Kernel:
    """A function that is compiled.

    - ``function``: in the part of Python that numba compiles.
    - ``signature``: types of its arguments and result, for functions passed by their address. None: as its annotations say; if
      these say too little, as the arguments of each call.
    - ``merged``: whether it is inlined into every kernel that calls it.
    - ``is_entry``: whether Python, or a pointer, calls it, and not only other kernels.
    - ``makes_arrays``: whether it makes arrays, or calls a kernel that returns one: it then counts references to all
      arrays. A user's kernel may.
    """

    def __init__(
        self,
        function: Any,
        signature: signatures.Signature | None = None,
        *,
        merged: bool = False,
        is_entry: bool = True,
        makes_arrays: bool = False,
    ) -> None:
        self.py_func: FunctionType = function
        self.signature = signature
        self.merged, self.is_entry = merged, is_entry
        self.makes_arrays = makes_arrays or not self.is_ours
        self._ways: dict[Any, Callable[..., Any]] = {}
        self._fixed: Callable[..., Any] | None = None if jit_enabled() else function
        self._count = function.__code__.co_argcount
        self.__name__: str = function.__name__
        self.__qualname__: str = function.__qualname__
        functools.update_wrapper(self, function)

    def __repr__(self) -> str:
        return f"<kernel {self.__module__}.{self.__qualname__}>"

    def __reduce__(self) -> Any:
        return self.__qualname__

    @property
    def __code__(self) -> CodeType:
        return self.py_func.__code__

    @property
    def is_ours(self) -> bool:
        """Whether it is part of this project, and not a user's."""
        return self.py_func.__module__.partition(".")[0] in OURS

    @functools.cached_property
    def parameters(self) -> tuple[Kind, ...] | None:
        """The kinds of its arguments from its signature or annotations; None if they say too little."""
        if self.signature is not None:
            return self.signature.parameters
        try:
            hints = get_type_hints(self.py_func, include_extras=True)
        except NameError:
            return None
        kinds = [_said(hints.get(name)) for name in inspect.signature(self.py_func).parameters]
        return None if None in kinds else tuple(kinds)  # type: ignore[arg-type]

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if self._fixed is not None and not named and len(arguments) == self._count:
            return self._fixed(*arguments)
        return self._call(arguments, named)

    def _call(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if not jit_enabled():
            return self.py_func(*arguments, **named)
        bound = inspect.signature(self.py_func).bind(*arguments, **named)
        bound.apply_defaults()
        arguments = bound.args
        kinds = self.parameters
        if kinds is not None:
            if self._fixed is None:
                self._fixed = way_in(self, kinds)
            return self._fixed(*arguments)
        kinds = tuple(map(kind_of, arguments))
        way = self._ways.get(kinds)
        if way is None:
            way = self._ways[kinds] = way_in(self, kinds)
        return way(*arguments)


def _said(hint: Any) -> Kind | None:
    # The kind of a parameter from its annotation.
    if isinstance(hint, type) and issubclass(hint, State):
        return StateKind(hint)
    if hint in _PLAIN:
        return _PLAIN[hint]
    said = getattr(hint, "__metadata__", ())
    return next((one for one in said if isinstance(one, Column | Number | FunctionKind)), None)


_PLAIN: dict[Any, Number] = {
    bool: signatures.boolean,
    int: signatures.int64,
    float: signatures.float64,
    np.bool_: signatures.boolean,
    np.int64: signatures.int64,
    np.int32: signatures.int64,
    np.float64: signatures.float64,
    np.uint64: signatures.uint64,
}


def kind_of(value: Any) -> Kind:
    """Return the kind of an argument. Raises TypeError if kernels do not accept it."""
    if isinstance(value, np.ndarray):
        name = "boolean" if value.dtype == np.bool_ else value.dtype.name
        if name not in signatures.CODES:
            raise TypeError(f"an array of {name}; allowed: of {', '.join(signatures.CODES)}")
        return Column(Number(name), value.ndim)
    if isinstance(value, State):
        return StateKind(type(value))
    if isinstance(value, CFunction):
        return FunctionKind(value.signature)
    kind = _PLAIN.get(type(value))
    if kind is None:
        raise TypeError(f"{type(value).__name__}: kernels take arrays, states, functions and numbers")
    return kind


def _checked_column(kind: Column, where: str) -> Callable[[signatures.Array], None]:
    # Return a function that refuses arrays that a kernel cannot use.
    dtype, ndim = _numpy_dtype(kind), kind.ndim

    def check(value: signatures.Array) -> None:
        if value.dtype != dtype or value.ndim != ndim or not value.flags.c_contiguous:
            allowed = f"allowed: {dtype}, {ndim} dimensions, in C order"
            raise TypeError(f"{where}: {value.dtype}, {value.ndim} dimensions; {allowed}")

    return check


def _checked_whole(where: str) -> Callable[[Any], int]:
    # Return a function that converts whole numbers to int, and refuses everything else: 2.5 is not 2.
    def whole(value: Any) -> int:
        if isinstance(value, np.bool_):
            return int(value)
        try:
            return operator.index(value)
        except TypeError:
            raise TypeError(f"{where}: {value!r}; allowed: a whole number") from None

    return whole


def _numpy_dtype(kind: Column) -> Any:
    return np.dtype("bool" if kind.dtype.name == "boolean" else kind.dtype.name)


def _c_types(kind: Kind) -> list[Any]:
    if isinstance(kind, Column):
        return [ctypes.c_int64] * (1 + kind.ndim)
    return [_C.get(kind.name, ctypes.c_int64) if isinstance(kind, Number) else ctypes.c_int64]


_C: dict[str, Any] = {"float64": ctypes.c_double, "uint64": ctypes.c_uint64, "int32": ctypes.c_int32}
_RETURNED: dict[str, Any] = {"v": None, "f": ctypes.c_double, "u": ctypes.c_uint64, "s": ctypes.c_int32}
_MEMBERS: dict[str, Any] = {"f": ctypes.c_double, "u": ctypes.c_uint64}


def way_in(kernel: Kernel, kinds: Sequence[Kind]) -> Callable[..., Any]:
    """Return a function that calls the machine code of a kernel with arguments of these kinds. Its source is generated for the
    kernel, since a job needs a dozen such calls: looping over arguments and kinds would take longer than most kernels."""
    from traces.kernels.units import CannotCompile, machine_code

    try:
        found = machine_code(kernel, tuple(kinds))
    except CannotCompile as error:
        raise CannotCompile(f"{kernel.__name__} cannot be compiled: {error}") from error
    known: dict[str, Any] = {"function": kernel.py_func, "raised": None}
    checks, given = [], []
    for k, (kind, name) in enumerate(zip(kinds, inspect.signature(kernel.py_func).parameters, strict=True)):
        if isinstance(kind, Column):
            known[f"check{k}"] = _checked_column(kind, f"{kernel.__name__}: {name}")
            known[f"dtype{k}"] = _numpy_dtype(kind)
            shape = f"a{k}.ndim != {kind.ndim} or not a{k}.flags.c_contiguous"
            checks.append(f"if a{k}.dtype is not dtype{k} or {shape}: check{k}(a{k})")
            given.append(f"a{k}.__array_interface__['data'][0], *a{k}.shape")
        elif isinstance(kind, StateKind | FunctionKind):
            given.append(f"a{k}.address")
        elif kind.name == "boolean":
            given.append(f"1 if a{k} else 0")
        elif kind.name == "float64":
            given.append(f"a{k}")
        else:
            known[f"whole{k}"] = _checked_whole(f"{kernel.__name__}: {name}")
            given.append(f"a{k} if type(a{k}) is int else whole{k}(a{k})")
    types = [one for kind in kinds for one in _c_types(kind)]
    code = found.returned
    several = code[1:] if code.startswith("t") and len(code) > 1 else ""
    taken = ", ".join(f"a{k}" for k in range(len(kinds)))
    lines = [*checks]
    if several:
        types.append(ctypes.c_int64)
        fields = [(f"m{k}", _MEMBERS.get(member, ctypes.c_int64)) for k, member in enumerate(several)]
        known["Answer"] = type("Answer", (ctypes.Structure,), {"_fields_": fields})
        known["addressof"] = ctypes.addressof
        lines.append("answer = Answer()")
        given.append("addressof(answer)")
    returned = None if several else _RETURNED.get(code, ctypes.c_int64)
    known["call"] = ctypes.CFUNCTYPE(returned, *types)(found.address)
    call = f"{'' if several else 'answer = '}call({', '.join(given)})"
    if not found.raised:
        lines.append(call)
    else:
        # Whether it has raised is kept once for all threads: only one calls at a time.
        known["raised"], known["lock"] = ctypes.CFUNCTYPE(ctypes.c_int64)(found.raised), threading.RLock()
        lines += [
            "with lock:",
            f"    {call}",
            "    has_raised = raised()",
            "if has_raised != 0:",
            f"    function({taken})",  # raises as well, with a message
            f"    raise RuntimeError({f'{kernel.__name__} has raised'!r})",
        ]
    members = [f"answer.m{k} != 0" if member == "t" else f"answer.m{k}" for k, member in enumerate(several)]
    answer = f"({', '.join(members)},)" if several else "answer != 0" if code == "t" else "answer"
    lines.append(f"return {answer}")
    exec("\n    ".join([f"def way({taken}):", *lines]), known)
    return known["way"]  # type: ignore[no-any-return]


class Caller:
    """Within a kernel, calls a function by its address; with ``makes``, makes a callable of the address instead."""

    def __init__(self, signature: signatures.Signature, *, makes: bool = False) -> None:
        self.signature, self.makes = signature, makes

    def __call__(self, entry: Any, arguments: Any = ()) -> Any:
        return entry if self.makes else entry(*arguments)


class Intrinsic:
    """A function for kernels written in LLVM IR (``traces.kernels.intrinsics``), with a version in Python. ``function``: the
    version in Python, whose name identifies it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.__doc__ = function, function.__doc__

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)


class CFunction:
    """A C function that a kernel can call by its address: a ctypes function object, or any object that keeps the code at
    ``address`` alive. It is called directly if nothing is compiled."""

    def __init__(self, function: Any, signature: signatures.Signature, address: int | None = None) -> None:
        self._function = function
        self.signature = signature
        self.address = (ctypes.cast(function, ctypes.c_void_p).value if address is None else address) or 0

    def __call__(self, *arguments: Any) -> Any:
        return self._function(*arguments)
