"""The one door to numba and LLVM: from declared kernels to an object file.

numba's own way is to optimise and emit every function, and each again in everything that calls it. Here it only finds types
and writes LLVM's language, each function once; what belongs together is then one module, in which all but its entries is
private, and is optimised and emitted once. The object file has plain C entries (``traces.kernels.signatures``) and needs
neither numba nor Python.

What is shipped is for any x86-64 of the last fifteen years (``x86-64-v2``; another architecture's baseline elsewhere); what is
compiled here for those since 2015, where this is one. Arithmetic is IEEE in the order that is written, so results are the
same.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import llvmlite.binding as llvm
import numba
import numba.core.cgutils as cgutils
import numba.core.codegen as numba_codegen
import numba.np.arrayobj as numba_arrays
from llvmlite import ir
from numba import types
from numba.core import errors, typing
from numba.core.compiler import Compiler, CompilerBase, Flags, compile_extra
from numba.core.compiler_machinery import PassManager
from numba.core.imputils import lower_getattr_generic, lower_setattr_generic
from numba.core.llvm_bindings import create_pass_builder
from numba.core.registry import cpu_target
from numba.core.typed_passes import (
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.typing.context import Context
from numba.core.typing.templates import AttributeTemplate, infer_getattr, make_intrinsic_template
from numba.core.untyped_passes import FixupArgs, GenericRewrites, IRProcessing, ReconstructSSA, TranslateByteCode
from numba.core.utils import pysignature
from numba.extending import models, register_model
from numba.np.arrayobj import make_array, populate_array

from traces.kernels import store
from traces.kernels.c_library import KNOWN, MEMORY
from traces.kernels.declared import OURS, Caller, Kernel
from traces.kernels.loading import load_runtime
from traces.kernels.signatures import CODES, Column, FunctionKind, Kind, Number, Signature, StateKind, Tuple
from traces.kernels.state import State, fields_of, layout_of

__all__ = ["BuildError", "Entry", "Lowered", "caller_type", "emit", "kernel_type", "lower"]

_I64 = ir.IntType(64)


class BuildError(Exception):
    """A kernel that cannot be compiled: what is wrong with it, in a line."""


# ---- the types of what is ours ----


class KernelType(types.Callable, types.Opaque):  # type: ignore[misc]
    """A kernel that another one calls by its name."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        super().__init__(f"kernel({kernel.__module__}.{kernel.__qualname__}@{id(kernel)})")

    def get_call_type(self, context: Any, arguments: Sequence[Any], named: dict[str, Any]) -> Any:
        """Find out what a call returns, which compiles the kernel for its arguments."""
        signature = pysignature(self.kernel.py_func)
        bound = signature.bind(*arguments, **named)
        given = []
        for name, parameter in signature.parameters.items():
            if name in bound.arguments:
                given.append(types.unliteral(bound.arguments[name]))
            else:
                given.append(types.unliteral(context.resolve_value_type(parameter.default)))
        found = lower(self.kernel, tuple(given))
        return typing.signature(found.returned, *given).replace(pysig=signature)

    def get_call_signatures(self) -> Any:
        """What it is compiled for."""
        return (), True

    def get_impl_key(self, signature: Any) -> Any:
        """What its code is known by."""
        return lower(self.kernel, signature.args).key


class StateType(types.Type):  # type: ignore[misc]
    """A state of a class, by its address."""

    def __init__(self, state: type[State]) -> None:
        self.state = state
        # numba takes types of one name for the same: in a notebook a class is changed, and keeps its name.
        super().__init__(f"state({state.__module__}.{state.__qualname__}:{layout_of(state)})")


class FunctionType(types.Callable):  # type: ignore[misc]
    """A function of a signature, by its address."""

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        super().__init__(f"function({signature.code})")

    @property
    def key(self) -> Any:
        """What tells it from others."""
        return self.name

    def get_call_type(self, context: Any, arguments: Sequence[Any], named: dict[str, Any]) -> Any:
        """What a call returns: what its signature says."""
        wanted = [numba_type(kind) for kind in self.signature.parameters]
        if named or len(arguments) != len(wanted):
            raise errors.TypingError(f"{self.name} takes {len(wanted)} arguments")
        return typing.signature(numba_type(self.signature.returned), *wanted, recvr=self)

    def get_call_signatures(self) -> Any:
        """What it can be called with."""
        return (), False

    def get_impl_key(self, signature: Any) -> Any:
        """What its code is known by."""
        return _pointer_call(self)


@register_model(KernelType)
class _KernelModel(models.OpaqueModel):  # type: ignore[misc]
    pass


@register_model(StateType)
@register_model(FunctionType)
class _AddressModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _I64)


@infer_getattr
class _StateAttributes(AttributeTemplate):  # type: ignore[misc]
    key = StateType

    def generic_resolve(self, kind: StateType, name: str) -> Any:
        field = fields_of(kind.state).get(name)
        return None if field is None else numba_type(field.kind)


# What LLVM is told of memory (type-based alias analysis): the block of a state and the numbers in columns are never the same.
# It has then not to look up again where a column is after every number that is written.
_ROOT, _TAGS = "twolevel", ("block", "column")

_ACCESS = re.compile(r"^( +(?:%.* = load|store) (?!.*, !tbaa ).*)$", re.MULTILINE)


def _tag(module: Any, what: str) -> Any:
    root = module.add_metadata([ir.MetaDataString(module, _ROOT)])
    kind = module.add_metadata([ir.MetaDataString(module, what), root, _I64(0)])
    return module.add_metadata([kind, kind, _I64(0)])


def _told_apart(text: str) -> str:
    # All that is not said to be an access to a block is one to a column, or to a variable of the function.
    nodes = f"""
!900000 = !{{!"{_ROOT}"}}
!900001 = !{{!"column", !900000, i64 0}}
!900002 = !{{!900001, !900001, i64 0}}
"""
    return _ACCESS.sub(r"\1, !tbaa !900002", text) + nodes


# What functions of ours are called in LLVM's language.
_OUR_NAMES = tuple(f"_ZN{len(package)}{package}" for package in OURS)

_index_of_numba = numba_arrays.fix_integer_index


def _index(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    # numba has each index count from the end where it is negative, which takes four more instructions and keeps LLVM from
    # seeing what a loop does: the engines take a quarter longer. No kernel of ours counts from the end (CONTRIBUTING.md).
    if kind.signed and builder.function.name.startswith(_OUR_NAMES):
        return context.cast(builder, index, kind, types.intp)
    return _index_of_numba(context, builder, kind, index, size)


numba_arrays.fix_integer_index = _index


def _entry_of(builder: Any, block: Any, place: int) -> Any:
    pointer = builder.inttoptr(block, _I64.as_pointer())
    return builder.gep(pointer, [_I64(place)], inbounds=True)


def _read_entry(builder: Any, block: Any, place: int) -> Any:
    found = builder.load(_entry_of(builder, block, place))
    found.set_metadata("tbaa", _tag(builder.module, "block"))
    return found


@lower_getattr_generic(StateType)  # type: ignore[untyped-decorator]
def _read_field(context: Any, builder: Any, kind: StateType, value: Any, name: str) -> Any:
    field = fields_of(kind.state)[name]
    first = _read_entry(builder, value, field.place)
    if isinstance(field.kind, Column):
        sizes = [_read_entry(builder, value, field.place + 1 + k) for k in range(field.kind.ndim)]
        return _array(context, builder, numba_type(field.kind), first, sizes)
    if isinstance(field.kind, Number) and field.kind.name == "float64":
        return builder.bitcast(first, ir.DoubleType())
    return first


@lower_setattr_generic(StateType)  # type: ignore[untyped-decorator]
def _write_field(context: Any, builder: Any, signature: Any, values: Sequence[Any], name: str) -> None:
    state, value = values
    field = fields_of(signature.args[0].state)[name]
    given = _flat(context, builder, numba_type(field.kind), value)
    for k, one in enumerate(given):
        entry = one if one.type == _I64 else builder.bitcast(one, _I64)
        written = builder.store(entry, _entry_of(builder, state, field.place + k))
        written.set_metadata("tbaa", _tag(builder.module, "block"))


def _array(context: Any, builder: Any, kind: Any, address: Any, sizes: Sequence[Any]) -> Any:
    made = make_array(kind)(context, builder)
    item = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    strides: list[Any] = []
    step = _I64(item)
    for size in reversed(sizes):
        strides.insert(0, step)
        step = builder.mul(step, size) if len(sizes) > 1 else step
    populate_array(
        made,
        data=builder.inttoptr(address, context.get_data_type(kind.dtype).as_pointer()),
        shape=list(sizes),
        strides=strides,
        itemsize=_I64(item),
        meminfo=None,
        parent=None,
    )
    return made._getvalue()


def _flat(context: Any, builder: Any, kind: Any, value: Any) -> list[Any]:
    # A value as the plain numbers that our C entries take.
    if isinstance(kind, types.Array):
        array = make_array(kind)(context, builder, value)
        return [builder.ptrtoint(array.data, _I64), *cgutils.unpack_tuple(builder, array.shape, kind.ndim)]
    if isinstance(kind, types.Boolean):
        return [builder.zext(context.get_value_as_data(builder, kind, value), _I64)]
    return [value]


def _flat_types(context: Any, kind: Any) -> list[Any]:
    if isinstance(kind, types.Array):
        return [_I64] * (1 + kind.ndim)
    if isinstance(kind, types.Boolean):
        return [_I64]
    return [context.get_value_type(kind)]


def _from_flat(context: Any, builder: Any, kind: Any, values: Sequence[Any]) -> Any:
    if isinstance(kind, types.Array):
        return _array(context, builder, kind, values[0], values[1:])
    if isinstance(kind, types.Boolean):
        return builder.icmp_signed("!=", values[0], _I64(0))
    return values[0]


@functools.cache
def numba_type(kind: Kind | type[State] | None) -> Any:
    """What numba calls one of our kinds."""
    if kind is None:
        return types.void
    if isinstance(kind, Number):
        return getattr(types, kind.name)
    if isinstance(kind, Column):
        return types.Array(getattr(types, kind.dtype.name), kind.ndim, "C")
    if isinstance(kind, FunctionKind):
        return FunctionType(kind.signature)
    return StateType(kind.state if isinstance(kind, StateKind) else kind)


@functools.cache
def kernel_type(kernel: Kernel) -> KernelType:
    """The type of a kernel, for others that call it."""
    return KernelType(kernel)


def _call_pointer(context: Any, builder: Any, signature: Signature, address: Any, values: Any, given: Any) -> Any:
    wanted = [numba_type(kind) for kind in signature.parameters]
    flat: list[Any] = []
    for value, kind, want in zip(values, given, wanted, strict=True):
        flat += _flat(context, builder, want, context.cast(builder, value, kind, want))
    returned = numba_type(signature.returned)
    shape = ir.FunctionType(context.get_value_type(returned), [one.type for one in flat])
    return builder.call(builder.inttoptr(address, shape.as_pointer()), flat)


@functools.cache
def _pointer_call(kind: FunctionType) -> Any:
    key = ("twolevel function", kind.name)
    wanted = tuple(numba_type(one) for one in kind.signature.parameters)

    def call(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
        given = signature.args[-len(wanted) :] if wanted else ()
        return _call_pointer(context, builder, kind.signature, values[0], values[1:], given)

    _context().insert_func_defn([(call, key, (kind, *wanted))])
    return key


@functools.cache
def caller_type(caller: Caller) -> Any:
    """The type of what calls, or makes, a function of an entry of a table."""
    signature = caller.signature

    def typed(typing_context: Any, entry: Any, arguments: Any) -> Any:
        def generate(context: Any, builder: Any, found: Any, values: Any) -> Any:
            given = cgutils.unpack_tuple(builder, values[1], len(signature.parameters))
            return _call_pointer(context, builder, signature, values[0], given, arguments.types)

        return numba_type(signature.returned)(types.int64, arguments), generate

    def made(typing_context: Any, entry: Any) -> Any:
        def generate(context: Any, builder: Any, found: Any, values: Any) -> Any:
            return values[0]

        return FunctionType(signature)(types.int64), generate

    handle = object()
    template = make_intrinsic_template(
        handle, made if caller.makes else typed, "caller", prefer_literal=False, kwargs={}
    )
    return types.Function(template)


# ---- from a kernel to LLVM's language ----


class _Compiler(CompilerBase):  # type: ignore[misc]
    # The passes that our kernels need. numba's own list has as many again, for closures, list comprehensions, branches on types
    # and array expressions, and takes half as long again.
    def define_pipelines(self) -> list[Any]:
        passes = PassManager("kernels")
        if self.state.func_ir is None:
            passes.add_pass(TranslateByteCode, "analysing bytecode")
            passes.add_pass(FixupArgs, "fix up args")
        passes.add_pass(IRProcessing, "processing IR")
        passes.add_pass(GenericRewrites, "constant places in tuples")
        passes.add_pass(ReconstructSSA, "ssa")
        passes.add_pass(NopythonTypeInference, "types")
        passes.add_pass(PreLowerStripPhis, "remove phi nodes")
        passes.add_pass(IRLegalization, "deletions")
        passes.add_pass(NativeLowering, "lowering")
        passes.add_pass(NoPythonBackend, "backend")
        passes.finalize()
        return [passes]


@dataclass
class Lowered:
    """A kernel in LLVM's language, for one combination of types of its arguments.

    Attributes
    ----------
    returned : numba type
    text : str
        The module.
    calls : list
        The lowered kernels that it calls, and libraries of numba's own.
    description : numba FunctionDescriptor
    lines : int
        Of the kernel's source.
    """

    kernel: Kernel
    arguments: tuple[Any, ...]
    returned: Any = None
    text: str = ""
    calls: list[Any] = field(default_factory=list)
    description: Any = None
    lines: int = 0

    @property
    def key(self) -> Any:
        """What its code is known by to numba."""
        return ("twolevel kernel", self.kernel, self.arguments)


class _Library(numba_codegen.AOTCodeLibrary):  # type: ignore[misc]
    # Keeps the text that numba writes, and what else it needs, for whoever puts the module together.
    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.texts: list[str] = []
        self.others: list[Any] = []

    def add_ir_module(self, ir_module: Any) -> None:
        self.texts.append(_told_apart(cgutils.normalize_ir_text(str(ir_module))))

    def add_linking_library(self, library: Any) -> None:
        if library is not self:
            self.others.append(library)

    def _ensure_finalized(self) -> None:
        pass


class _KnownLibrary:
    # Says that code of one of our kernels is needed.
    def __init__(self, found: Lowered) -> None:
        self.found = found


@functools.cache
def _context() -> Any:
    context = cpu_target.target_context.with_aot_codegen("twolevel", cpu_name=store.BASELINE)
    cpu_target.typing_context.refresh()
    context.refresh()
    return context


class _Flags(Flags):  # type: ignore[misc]
    # numba looks functions up by the flags of whoever calls them, tens of thousands of times; ours are few, and stay.
    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


@functools.cache
def _flags(merged: bool, makes_arrays: bool) -> Flags:
    flags = _Flags()
    flags.error_model = "numpy"
    flags.nrt = makes_arrays
    flags.no_compile = True
    flags.no_cpython_wrapper = True
    flags.no_cfunc_wrapper = True
    flags.forceinline = merged
    return flags


class _Typing(Context):  # type: ignore[misc]
    # numba's knowledge of what calls return, with what it has once found out: it tries dozens of rules for every subscript.
    def __init__(self) -> None:
        known = cpu_target.typing_context
        known.refresh()
        self.__dict__.update(known.__dict__)
        self._answers: dict[Any, Any] = {}

    def refresh(self) -> None:
        """Nothing is added while kernels are lowered."""

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        """What a call returns."""
        if kws:
            return super().resolve_function_type(func, args, kws)
        key = (func, tuple(args))
        try:
            found = self._answers.get(key)
        except TypeError:  # a slice of constants
            return super().resolve_function_type(func, args, kws)
        if found is None:
            found = self._answers[key] = super().resolve_function_type(func, args, kws)
        return found


@functools.cache
def _typing() -> _Typing:
    return _Typing()


_LOWERED: dict[Any, Lowered] = {}
_NOTES: list[
    Callable[[], None]
] = []  # whom to tell: kernels are lowered while numba finds the types of those that call them


def lower(kernel: Kernel, arguments: tuple[Any, ...], note: Callable[[], None] | None = None) -> Lowered:
    """A kernel in LLVM's language; what it calls is, too. ``note`` is called for each that was not before.

    Raises
    ------
    BuildError
        If numba does not take it.
    """
    found = _LOWERED.get((kernel, arguments))
    if found is not None:
        return found
    context = _context()
    if note is not None:
        _NOTES.append(note)
        try:
            return lower(kernel, arguments)
        finally:
            _NOTES.pop()
    found = Lowered(kernel, arguments)
    library = _Library(context.codegen(), kernel.__qualname__)
    result = compile_extra(
        _typing() if kernel.is_ours else cpu_target.typing_context,
        context,
        kernel.py_func,
        arguments,
        None if kernel.signature is None else numba_type(kernel.signature.returned),
        _flags(kernel.merged, kernel.makes_arrays),
        {},
        library=library,
        pipeline_class=_Compiler if kernel.is_ours else Compiler,
    )
    found.returned, found.description = result.signature.return_type, result.fndesc
    found.lines = max(line or 0 for *_, line in kernel.__code__.co_lines()) - kernel.__code__.co_firstlineno + 1
    found.text = library.texts[0]
    for other in library.others:
        found.calls.append(other.found if isinstance(other, _KnownLibrary) else other)
    context.insert_user_function(found.key, result.fndesc, [_KnownLibrary(found)])
    _LOWERED[kernel, arguments] = found
    for one in _NOTES[-1:]:
        one()
    return found


# ---- from kernels to an object file ----


@dataclass(frozen=True)
class Entry:
    """One way into a piece of machine code.

    Attributes
    ----------
    kernel : Kernel
    parameters : tuple of Kind
    symbol : str
        What its function is called.
    """

    kernel: Kernel
    parameters: tuple[Kind, ...]
    symbol: str


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


def _add_entry(context: Any, module: Any, entry: Entry, found: Lowered) -> None:
    kinds = found.arguments
    flat_types = [_flat_types(context, kind) for kind in kinds]
    returned = found.returned
    several = isinstance(returned, types.BaseTuple)
    nothing = isinstance(returned, types.NoneType)
    result = ir.VoidType() if nothing or several else _flat_types(context, returned)[0]
    flat = [one for group in flat_types for one in group]
    if several:
        flat.append(_I64)
    function = ir.Function(module, ir.FunctionType(result, flat), name=entry.symbol)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    arguments, taken = [], 0
    for kind, group in zip(kinds, flat_types, strict=True):
        arguments.append(_from_flat(context, builder, kind, function.args[taken : taken + len(group)]))
        taken += len(group)
    callee = context.declare_function(module, found.description)
    status, value = context.call_conv.call_function(builder, callee, returned, kinds, arguments)
    if not entry.kernel.is_ours:
        _note_raised(module, builder, entry.symbol, status.is_error)
    if nothing:
        builder.ret_void()
    elif several:
        for k, member in enumerate(returned):
            one = _flat(context, builder, member, builder.extract_value(value, k))[0]
            where = _entry_of(builder, function.args[-1], k)
            builder.store(one if one.type == _I64 else builder.bitcast(one, _I64), where)
        builder.ret_void()
    else:
        builder.ret(_flat(context, builder, returned, value)[0])


def _note_raised(module: Any, builder: Any, symbol: str, is_error: Any) -> None:
    # Machine code has nobody to raise to: that a user's function has raised is kept, for whoever asks (and forgotten then).
    flag = ir.GlobalVariable(module, _I64, name=f"{symbol}.flag")
    flag.initializer, flag.linkage = _I64(0), "internal"
    with builder.if_then(is_error, likely=False):
        builder.store(_I64(1), flag)
    asked = ir.IRBuilder(ir.Function(module, ir.FunctionType(_I64, []), name=raised_of(symbol)).append_basic_block())
    answer = asked.load(flag)
    asked.store(_I64(0), flag)
    asked.ret(answer)


def raised_of(symbol: str) -> str:
    """What tells whether the function of an entry has raised since this was last asked."""
    return f"{symbol}_raised"


@functools.cache
def _machine(processor: str) -> Any:
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(cpu=processor, opt=_OPTIMISE, reloc="pic", codemodel="default")


@contextlib.contextmanager
def _no_garbage() -> Iterator[None]:
    # What numba makes stays until it is done: to look for garbage in it again and again takes a tenth of the time.
    looked = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if looked:
            gc.enable()


def emit(
    entries: Sequence[Entry], note: Callable[[], None] = lambda: None, processor: str | None = None
) -> tuple[bytes, dict[str, str], dict[str, int]]:
    """The machine code of entries, and of what they call.

    Parameters
    ----------
    entries : sequence of Entry
    note : callable
        Is called whenever a kernel has been gone through.
    processor : str, optional
        What it is made for, as LLVM calls it; default what this machine has (``traces.kernels.store.processor``).

    Returns
    -------
    tuple
        The object file; what each symbol returns; and how many kernels and lines there are in it, and whether it needs
        numba's runtime (``traces.kernels.loading``).

    Raises
    ------
    BuildError
        If numba does not take one of them.
    """
    with numba.core.compiler_lock.global_compiler_lock, _no_garbage():
        context = _context()
        found = []
        for entry in entries:
            kinds = tuple(numba_type(kind) for kind in entry.parameters)
            try:
                found.append(lower(entry.kernel, kinds, note))
            except (errors.NumbaError, ImportError, NotImplementedError) as error:
                # Which step of numba's failed is said before what is wrong.
                lines = [line.strip() for line in str(error).splitlines() if line.strip()]
                told = [line for line in lines if not line.startswith("Failed in")]
                raise BuildError(told[0]) from error
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
            # The object file, and what it needs that the C library has not.
            module = llvm.parse_assembly(cgutils.normalize_ir_text(str(wrappers)))
            for text in (*(one.text for one in ours), *memory):
                module.link_in(llvm.parse_assembly(text))
            for other in others:
                module.link_in(other._get_module_for_linking(), preserve=True)
            for function in module.functions:
                if not function.is_declaration and function.name not in symbols:
                    function.linkage = "internal"
            for variable in module.global_variables:
                if not variable.is_declaration:
                    variable.linkage = "internal"
            module.data_layout = codegen._data_layout
            builder = create_pass_builder(machine, opt=_OPTIMISE, loop_vectorize=True, slp_vectorize=False)
            builder.getModulePassManager().run(module, builder)
            functions = [
                one.name for one in module.functions if one.is_declaration and not one.name.startswith("llvm.")
            ]
            variables = [one.name for one in module.global_variables if one.is_declaration]
            return machine.emit_object(module), [*(one for one in functions if one not in KNOWN), *variables]

        code, strange = made(MEMORY)
        facts = {"kernels": len(ours), "lines": sum(one.lines for one in ours)}
        if strange and not any(entry.kernel.is_ours for entry in entries):
            # A user's may sort, or keep a list: then all memory is numba's, which has to be there when it is run.
            code, strange = made()
            load_runtime()
            strange = [name for name in strange if llvm.address_of_symbol(name) is None]
            facts["numba"] = 1
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
        return code, returned, facts


#: LLVM's level of optimisation.
_OPTIMISE = 3
