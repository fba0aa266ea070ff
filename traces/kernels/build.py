"""Compile declared kernels to an object file, with numba and LLVM.

numba would optimise and emit every function, and each again in everything that calls it. Here it only infers types and writes
LLVM IR, each function once (:mod:`traces.kernels.lowering`). A unit then becomes one module in which everything except its
entries is private, and is optimised and emitted once. The object file has plain C entries (``traces.kernels.signatures``) and
needs neither numba nor Python.

Shipped code is for any x86-64 of the last fifteen years (``x86-64-v2``; the baseline of other architectures); code compiled
here is for x86-64 since 2015 if possible. Arithmetic is IEEE in the written order, so results are the same.
"""

import contextlib
import functools
import gc
import linecache
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm
import numba
import numba.core.cgutils as cgutils
from llvmlite import ir
from numba import types
from numba.core import errors
from numba.core.llvm_bindings import create_pass_builder

from traces.kernels import store
from traces.kernels.declared import Kernel
from traces.kernels.lowering import Lowered, lower
from traces.kernels.numba_types import entry_of, flat, flat_types, from_flat, numba_type, target_context
from traces.kernels.signatures import CODES, Kind, Number, Tuple
from traces.kernels.units import load_runtime

_I64 = ir.IntType(64)

#: Functions of the C library that the code may call.
_BLOCKS = ("malloc", "free", "memset", "memcpy", "memmove", "abort", "perror")
_ROUNDING = ("ceil", "floor", "rint", "round", "trunc", "fmod", "modf", "frexp", "ldexp", "nextafter", "fabs")
_POWERS = ("sqrt", "cbrt", "pow", "hypot", "exp", "exp2", "expm1", "log", "log10", "log1p", "log2")
_ANGLES = ("sin", "cos", "sincos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh")
_KNOWN = frozenset((*_BLOCKS, *_ROUNDING, *_POWERS, *_ANGLES, "erf", "erfc", "lgamma", "tgamma"))

# The memory functions for kernels that make arrays: numba's own are in numba, which is not loaded when the code runs. An
# array's block is: references, two pointers for a destructor, data, size, allocator.
_MEMORY = """
declare noalias ptr @malloc(i64)
declare void @free(ptr)
define ptr @NRT_Allocate(i64 %size) {
  %block = call ptr @malloc(i64 %size)
  ret ptr %block
}
define void @NRT_Free(ptr %block) {
  call void @free(ptr %block)
  ret void
}
define ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) {
  %wide = zext i32 %align to i64
  %room = add i64 %size, %wide
  %whole = add i64 %room, 64
  %block = call ptr @malloc(i64 %whole)
  %none = icmp eq ptr %block, null
  br i1 %none, label %failed, label %made
failed:
  ret ptr null
made:
  %address = ptrtoint ptr %block to i64
  %after = add i64 %address, 64
  %before = add i64 %after, %wide
  %last = sub i64 %before, 1
  %rest = urem i64 %last, %wide
  %aligned = sub i64 %last, %rest
  %data = inttoptr i64 %aligned to ptr
  store i64 1, ptr %block
  %dtor = getelementptr i64, ptr %block, i64 1
  store ptr null, ptr %dtor
  %info = getelementptr i64, ptr %block, i64 2
  store ptr null, ptr %info
  %at = getelementptr i64, ptr %block, i64 3
  store ptr %data, ptr %at
  %sized = getelementptr i64, ptr %block, i64 4
  store i64 %size, ptr %sized
  %from = getelementptr i64, ptr %block, i64 5
  store ptr null, ptr %from
  ret ptr %block
}
define ptr @NRT_MemInfo_alloc(i64 %size) {
  %block = call ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 32)
  ret ptr %block
}
define ptr @NRT_MemInfo_alloc_safe_aligned(i64 %size, i32 %align) {
  %block = call ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align)
  ret ptr %block
}
define void @NRT_MemInfo_call_dtor(ptr %block) {
  call void @free(ptr %block)
  ret void
}
declare void @perror(ptr)
declare void @abort()
define void @PyErr_SetString(ptr %kind, ptr %text) {
  call void @perror(ptr %text)
  call void @abort()
  unreachable
}
define void @numba_gil_ensure(ptr %state) {
  ret void
}
define void @numba_gil_release(ptr %state) {
  ret void
}
@PyExc_MemoryError = global ptr null
"""


class BuildError(Exception):
    """A kernel cannot be compiled; the message is one line."""


@dataclass(frozen=True)
class EntryPoint:
    """One entry of a piece of machine code."""

    kernel: Kernel
    parameters: tuple[Kind, ...]
    symbol: str  # name of its function


def _closure(roots: Iterable[Lowered]) -> tuple[list[Lowered], list[Any]]:
    ours: dict[int, Lowered] = {}
    others: dict[int, Any] = {}
    todo = list(roots)
    while todo:
        one = todo.pop()
        if id(one) in ours:
            continue
        ours[id(one)] = one
        for call in one.calls:
            if isinstance(call, Lowered):
                todo.append(call)
            else:
                others[id(call)] = call
    return list(ours.values()), list(others.values())


def _returned_kind(kind: Any) -> Number | Tuple | None:
    kind = types.unliteral(kind)
    if isinstance(kind, types.NoneType):
        return None
    if isinstance(kind, types.BaseTuple):
        return Tuple(tuple(_number(member) for member in kind))
    return _number(kind)


def _number(kind: Any) -> Number:
    kind = types.unliteral(kind)
    name = "boolean" if isinstance(kind, types.Boolean) else str(kind)
    if name not in CODES:
        raise BuildError(f"it returns {name}; allowed: a number, several in a tuple, or nothing")
    return Number(name)


def _add_entry(context: Any, module: Any, entry: EntryPoint, found: Lowered) -> None:
    kinds = found.arguments
    groups = [flat_types(context, kind) for kind in kinds]
    returned = found.returned
    several = isinstance(returned, types.BaseTuple)
    nothing = isinstance(returned, types.NoneType)
    result = ir.VoidType() if nothing or several else flat_types(context, returned)[0]
    taken_types = [one for group in groups for one in group] + [_I64] * several
    function = ir.Function(module, ir.FunctionType(result, taken_types), name=entry.symbol)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    arguments, taken = [], 0
    for kind, group in zip(kinds, groups, strict=True):
        arguments.append(from_flat(context, builder, kind, function.args[taken : taken + len(group)]))
        taken += len(group)
    callee = context.declare_function(module, found.description)
    status, value = context.call_conv.call_function(builder, callee, returned, kinds, arguments)
    if not entry.kernel.is_ours:
        _note_raised(module, builder, entry.symbol, status.is_error)
    if nothing:
        builder.ret_void()
    elif several:
        for k, member in enumerate(returned):
            one = flat(context, builder, member, builder.extract_value(value, k))[0]
            where = entry_of(builder, function.args[-1], k)
            builder.store(one if one.type == _I64 else builder.bitcast(one, _I64), where)
        builder.ret_void()
    else:
        builder.ret(flat(context, builder, returned, value)[0])


def _note_raised(module: Any, builder: Any, symbol: str, is_error: Any) -> None:
    # Machine code cannot raise to Python: it notes that a user's function has raised, for :func:`raised_of`'s caller.
    flag = ir.GlobalVariable(module, _I64, name=f"{symbol}.flag")
    flag.initializer, flag.linkage = _I64(0), "internal"
    with builder.if_then(is_error, likely=False):
        builder.store(_I64(1), flag)
    asked = ir.IRBuilder(ir.Function(module, ir.FunctionType(_I64, []), name=raised_of(symbol)).append_basic_block())
    answer = asked.load(flag)
    asked.store(_I64(0), flag)
    asked.ret(answer)


def raised_of(symbol: str) -> str:
    """Return the symbol that states whether the function of an entry has raised since it was last read."""
    return f"{symbol}_raised"


@functools.cache
def _machine(processor: str) -> Any:
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(cpu=processor, opt=_OPTIMISE, reloc="pic", codemodel="default")


@contextlib.contextmanager
def _no_garbage() -> Iterator[None]:
    # numba's objects stay alive until it is done: searching them for garbage again and again takes a tenth of the time.
    looked = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if looked:
            gc.enable()


def _where(error: Any) -> str:
    # The line of Python that numba refuses, if known.
    at = getattr(error, "loc", None)
    if at is None or not os.path.isfile(at.filename):
        return ""
    source = linecache.getline(at.filename, at.line).strip()
    return f" ({os.path.relpath(at.filename)}:{at.line}{': ' if source else ''}{source[:80]})"


def emit(
    entries: Sequence[EntryPoint], note: Callable[[], None] = lambda: None, processor: str | None = None
) -> store.Kept:
    """Return the machine code of entries and of everything that they call.

    - ``note``: called after each kernel.
    - ``processor``: LLVM's name of the target; by default this machine's (``traces.kernels.store.processor``).

    Raises BuildError if numba refuses one of them.
    """
    with numba.core.compiler_lock.global_compiler_lock, _no_garbage():
        context = target_context()
        found = []
        for entry in entries:
            kinds = tuple(numba_type(kind) for kind in entry.parameters)
            try:
                found.append(lower(entry.kernel, kinds, note))
            except (errors.NumbaError, ImportError, NotImplementedError) as error:
                # numba puts the failed step before the actual fault.
                lines = [line.strip() for line in str(error).splitlines() if line.strip()]
                said = [line for line in lines if not line.startswith("Failed in")]
                raise BuildError(said[0] + _where(error)) from error
        kinds_returned = [_returned_kind(one.returned) for one in found]
        codegen = context.codegen()
        wrappers = codegen._create_empty_module("entries")
        for entry, one in zip(entries, found, strict=True):
            _add_entry(context, wrappers, entry, one)
        ours, others = _closure(found)
        symbols = {entry.symbol for entry in entries}
        symbols |= {raised_of(entry.symbol) for entry in entries if not entry.kernel.is_ours}
        machine = _machine(processor or store.processor())

        def made(*memory: str) -> tuple[bytes, list[str]]:
            # Return the object file, and the symbols that the C library does not have.
            module = llvm.parse_assembly(cgutils.normalize_ir_text(str(wrappers)))
            for text in (*(one.text for one in ours), *memory):
                module.link_in(llvm.parse_assembly(text))
            for other in others:
                module.link_in(other._get_module_for_linking(), preserve=True)
            for one in (*module.functions, *module.global_variables):
                if not one.is_declaration and one.name not in symbols:
                    one.linkage = "internal"
            module.data_layout = codegen._data_layout
            builder = create_pass_builder(machine, opt=_OPTIMISE, loop_vectorize=True, slp_vectorize=False)
            builder.getModulePassManager().run(module, builder)
            functions = [one.name for one in module.functions if one.is_declaration and one.name not in _KNOWN]
            variables = [one.name for one in module.global_variables if one.is_declaration]
            unknown = [*(name for name in functions if not name.startswith("llvm.")), *variables]
            return machine.emit_object(module), unknown

        code, strange = made(_MEMORY)
        of_numba: list[str] = []
        facts = {"kernels": len(ours), "lines": sum(one.lines for one in ours)}
        if strange and not any(entry.kernel.is_ours for entry in entries):
            # A user's kernel may sort, or keep a list: then all memory functions are numba's, which must be loaded.
            code, strange = made()
            load_runtime()
            of_numba = [name for name in strange if llvm.address_of_symbol(name) is not None]
            strange = [name for name in strange if name not in of_numba]
        if strange:
            raise BuildError(
                f"it needs {', '.join(strange)} of numba's, which is not there when it is run, as lists, text and linear "
                "algebra do; allowed: numbers, loops and arrays"
            )
        returned = {}
        for entry, kind in zip(entries, kinds_returned, strict=True):
            returned[entry.symbol] = kind.code if kind else "v"
            if not entry.kernel.is_ours:
                returned[raised_of(entry.symbol)] = "i"
        return store.Kept(code, returned, facts, of_numba)


_OPTIMISE = 3  #: LLVM's optimisation level
