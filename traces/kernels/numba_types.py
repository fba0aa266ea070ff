"""Arguments of kernels for numba and LLVM: states, functions, and the plain numbers that our C entries use for both.

The first of the three steps from declared kernels to an object file; :mod:`traces.kernels.lowering` is the next.
"""

import functools
import re
from collections.abc import Sequence
from typing import Any

import numba.core.cgutils as cgutils
import numba.np.arrayobj as numba_arrays
from llvmlite import ir
from numba import types
from numba.core import errors, typing
from numba.core.imputils import lower_getattr_generic, lower_setattr_generic
from numba.core.registry import cpu_target
from numba.core.typing.templates import AttributeTemplate, infer_getattr, make_intrinsic_template
from numba.extending import models, register_model, typeof_impl
from numba.np.arrayobj import make_array, populate_array

from traces.kernels.declared import OURS, Caller
from traces.kernels.signatures import Column, FunctionKind, Kind, Number, Signature, StateKind
from traces.kernels.state import State, fields_of, layout_of
from traces.kernels.store import BASELINE

_I64 = ir.IntType(64)


class StateType(types.Type):  # type: ignore[misc]
    """A state of a class, by address."""

    def __init__(self, state: type[State]) -> None:
        self.state = state
        # numba takes types of the same name as equal, but a class redefined in a notebook keeps its name.
        super().__init__(f"state({state.__module__}.{state.__qualname__}:{layout_of(state)})")


class FunctionType(types.Callable):  # type: ignore[misc]
    """A function of a signature, by address."""

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        super().__init__(f"function({signature.code})")

    @property
    def key(self) -> Any:
        """The key that distinguishes it."""
        return self.name

    def get_call_type(self, context: Any, arguments: Sequence[Any], named: dict[str, Any]) -> Any:
        """Return the result of a call, from its signature."""
        wanted = [numba_type(kind) for kind in self.signature.parameters]
        if named or len(arguments) != len(wanted):
            raise errors.TypingError(f"{self.name} takes {len(wanted)} arguments")
        return typing.signature(numba_type(self.signature.returned), *wanted, recvr=self)

    def get_call_signatures(self) -> Any:
        """Return the signatures of its calls."""
        return (), False

    def get_impl_key(self, signature: Any) -> Any:
        """Return the key of its code."""
        return _pointer_call(self)


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


# Alias information for LLVM (type-based alias analysis): the addresses of columns in a state's block, the numbers in that
# block, and the numbers in columns are three disjoint kinds of memory. So LLVM need not reload the address of a column after
# every written number.
_ROOT = "twolevel"

_ACCESS = re.compile(r"^( +(?:%.* = load|store) (?!.*, !tbaa ).*)$", re.MULTILINE)


def _tag(module: Any, what: str) -> Any:
    root = module.add_metadata([ir.MetaDataString(module, _ROOT)])
    kind = module.add_metadata([ir.MetaDataString(module, what), root, _I64(0)])
    return module.add_metadata([kind, kind, _I64(0)])


def told_apart(text: str) -> str:
    """Tag all untagged accesses in LLVM's text as accesses to columns or variables."""
    nodes = f"""
!900000 = !{{!"{_ROOT}"}}
!900001 = !{{!"column", !900000, i64 0}}
!900002 = !{{!900001, !900001, i64 0}}
"""
    return _ACCESS.sub(r"\1, !tbaa !900002", text) + nodes


# Names of our functions in LLVM IR.
_OUR_NAMES = tuple(f"_ZN{len(package)}{package}" for package in OURS)

_index_of_numba = numba_arrays.fix_integer_index


def _index(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    # numba lets negative indices count from the end, which takes four more instructions and keeps LLVM from analysing loops:
    # engines become a quarter slower. No kernel of ours counts from the end (CONTRIBUTING.md).
    if kind.signed and builder.function.name.startswith(_OUR_NAMES):
        return context.cast(builder, index, kind, types.intp)
    return _index_of_numba(context, builder, kind, index, size)


numba_arrays.fix_integer_index = _index


def entry_of(builder: Any, block: Any, place: int) -> Any:
    """Return the address of an entry of a block."""
    pointer = builder.inttoptr(block, _I64.as_pointer())
    return builder.gep(pointer, [_I64(place)], inbounds=True)


def load(builder: Any, pointer: Any, what: str) -> Any:
    """Load a ``number`` of a block, or an address or size, a ``block``."""
    found = builder.load(pointer)
    found.set_metadata("tbaa", _tag(builder.module, what))
    return found


def store(builder: Any, value: Any, pointer: Any, what: str) -> None:
    """Store it, as :func:`load`."""
    builder.store(value, pointer).set_metadata("tbaa", _tag(builder.module, what))


def what(field: Any) -> str:
    """Return the kind of memory of a field's entries in its block."""
    return "number" if isinstance(field.kind, Number) else "block"


@lower_getattr_generic(StateType)  # type: ignore[untyped-decorator]
def _read_field(context: Any, builder: Any, kind: StateType, value: Any, name: str) -> Any:
    field = fields_of(kind.state)[name]
    entries = (entry_of(builder, value, field.place + k) for k in range(field.entries))
    first, *sizes = (load(builder, entry, what(field)) for entry in entries)
    if isinstance(field.kind, Column):
        return array_at(context, builder, numba_type(field.kind), first, sizes)
    if isinstance(field.kind, Number) and field.kind.name == "float64":
        return builder.bitcast(first, ir.DoubleType())
    return first


@lower_setattr_generic(StateType)  # type: ignore[untyped-decorator]
def _write_field(context: Any, builder: Any, signature: Any, values: Sequence[Any], name: str) -> None:
    state, value = values
    field = fields_of(signature.args[0].state)[name]
    given = flat(context, builder, numba_type(field.kind), value)
    for k, one in enumerate(given):
        entry = one if one.type == _I64 else builder.bitcast(one, _I64)
        store(builder, entry, entry_of(builder, state, field.place + k), what(field))


def array_at(context: Any, builder: Any, kind: Any, address: Any, sizes: Sequence[Any]) -> Any:
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


def flat(context: Any, builder: Any, kind: Any, value: Any) -> list[Any]:
    """Return a value as the plain numbers of our C entries."""
    if isinstance(kind, types.Array):
        array = make_array(kind)(context, builder, value)
        return [builder.ptrtoint(array.data, _I64), *cgutils.unpack_tuple(builder, array.shape, kind.ndim)]
    if isinstance(kind, types.Boolean):
        return [builder.zext(context.get_value_as_data(builder, kind, value), _I64)]
    return [value]


def flat_types(context: Any, kind: Any) -> list[Any]:
    """Return the types of these numbers."""
    if isinstance(kind, types.Array):
        return [_I64] * (1 + kind.ndim)
    if isinstance(kind, types.Boolean):
        return [_I64]
    return [context.get_value_type(kind)]


def from_flat(context: Any, builder: Any, kind: Any, values: Sequence[Any]) -> Any:
    """Return the value made of such numbers."""
    if isinstance(kind, types.Array):
        return array_at(context, builder, kind, values[0], values[1:])
    if isinstance(kind, types.Boolean):
        return builder.icmp_signed("!=", values[0], _I64(0))
    return values[0]


@functools.cache
def numba_type(kind: Kind | type[State] | None) -> Any:
    """Return numba's type for one of our kinds."""
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
def target_context() -> Any:
    """Return the context in which numba writes code for our kernels."""
    context = cpu_target.target_context.with_aot_codegen("twolevel", cpu_name=BASELINE)
    cpu_target.typing_context.refresh()
    context.refresh()
    return context


def _call_pointer(context: Any, builder: Any, signature: Signature, address: Any, values: Any, given: Any) -> Any:
    wanted = [numba_type(kind) for kind in signature.parameters]
    plain: list[Any] = []
    for value, kind, want in zip(values, given, wanted, strict=True):
        plain += flat(context, builder, want, context.cast(builder, value, kind, want))
    returned = numba_type(signature.returned)
    shape = ir.FunctionType(context.get_value_type(returned), [one.type for one in plain])
    return builder.call(builder.inttoptr(address, shape.as_pointer()), plain)


@functools.cache
def _pointer_call(kind: FunctionType) -> Any:
    key = ("twolevel function", kind.name)
    wanted = tuple(numba_type(one) for one in kind.signature.parameters)

    def call(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
        given = signature.args[-len(wanted) :] if wanted else ()
        return _call_pointer(context, builder, kind.signature, values[0], values[1:], given)

    target_context().insert_func_defn([(call, key, (kind, *wanted))])
    return key


@functools.cache
def _caller_type(caller: Caller) -> Any:
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

    how = made if caller.makes else typed
    return types.Function(make_intrinsic_template(object(), how, "caller", prefer_literal=False, kwargs={}))


@typeof_impl.register(Caller)  # type: ignore[untyped-decorator]
def _type_of_caller(caller: Caller, _context: Any) -> Any:
    return _caller_type(caller)
