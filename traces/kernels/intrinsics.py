"""Operations of kernels on whole states, in LLVM IR: the functions of :mod:`traces.kernels.slabs`, generated per class.

Accesses to blocks carry an alias tag (``traces.kernels.numba_types``); copies carry none, since they may touch anything.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numba.core.cgutils as cgutils
from llvmlite import ir
from numba import types
from numba.core.typing.templates import make_intrinsic_template
from numba.extending import typeof_impl
from numba.np.arrayobj import make_array

from traces.kernels.declared import Intrinsic
from traces.kernels.numba_types import array_at, entry_of, load, store, what
from traces.kernels.signatures import Number
from traces.kernels.slabs import CHANGING, HEADER, LAID_AT, WHOLE
from traces.kernels.state import Field, State, Tree, fields_of, first_numbers, tree_of

_I64 = ir.IntType(64)


class _Words:
    # A part of a column of int64 within a kernel.
    def __init__(self, context: Any, builder: Any, kind: Any, column: Any, at: Any) -> None:
        self.builder = builder
        self.pointer = builder.gep(make_array(kind)(context, builder, column).data, [at])
        self.address = builder.ptrtoint(self.pointer, _I64)

    def word(self, place: int) -> Any:
        return self.builder.gep(self.pointer, [_I64(place)])

    @property
    def blocks(self) -> Any:
        return self.builder.add(self.address, _I64(8 * HEADER))


def _numbers(action: str) -> Any:
    def typed(state: Any, *where: Any) -> Any:
        first = first_numbers(state.state)

        def generate(context: Any, builder: Any, found: Any, values: Any) -> Any:
            kept = _Words(context, builder, where[0], *values[1:]) if where else None
            for k in range(len(first)):
                number = entry_of(builder, values[0], k)
                if kept is None:
                    store(builder, _I64(int(first[k])), number, "number")
                elif action == "keep":
                    builder.store(load(builder, number, "number"), kept.word(k))
                else:
                    store(builder, builder.load(kept.word(k)), number, "number")
            return context.get_dummy_value()

        return types.none(state, *((where[0], types.int64) if where else ())), generate

    if action == "reset":
        return lambda _, state: typed(state)
    return lambda _, state, column, at: typed(state, column, at)


def _blocks(builder: Any, tree: Tree, root: Any) -> dict[int, Any]:
    # Return the blocks of a state, by their indices in the tree.
    found = {0: root}
    classes = dict(tree.nodes)
    for parent, name, child in tree.names:
        found[child] = load(builder, entry_of(builder, found[parent], fields_of(classes[parent])[name].place), "block")
    return found


def _extents(builder: Any, tree: Tree, kind: Any, sizes: Any) -> Iterator[tuple[int, Field, list[Any], Any]]:
    # For each own column: where its address is, its field, its sizes, and its number of words.
    named = {name: field.place for name, field in fields_of(kind.state).items()}
    for place, field in tree.own:
        assert field.dtype is not None
        dims = [
            load(builder, entry_of(builder, sizes, named[dim]), "number") if isinstance(dim, str) else _I64(dim)
            for dim in field.dims or ()
        ]
        n_bytes = functools.reduce(builder.mul, dims, _I64(field.dtype.itemsize))
        yield place, field, dims, builder.lshr(builder.add(n_bytes, _I64(7)), _I64(3))


def _slab_words(_: Any, state: Any, sizes: Any) -> Any:
    tree = tree_of(state.state)

    def generate(context: Any, builder: Any, found: Any, values: Any) -> Any:
        words = [n for *_, n in _extents(builder, tree, sizes, values[1])]
        return functools.reduce(builder.add, words, _I64(HEADER + tree.entries))

    return types.int64(state, sizes), generate


def _lay_out(_: Any, state: Any, words: Any, at: Any, sizes: Any) -> Any:
    tree = tree_of(state.state)

    def generate(context: Any, builder: Any, found: Any, values: Any) -> Any:
        slab = _Words(context, builder, words, values[1], values[2])
        sources = _blocks(builder, tree, values[0])
        for node, of in tree.nodes:
            _copy_block(builder, of, sources[node], builder.add(slab.blocks, _I64(8 * node)))
        classes = dict(tree.nodes)
        for parent, name, child in tree.names:
            place = parent + fields_of(classes[parent])[name].place
            address = builder.add(slab.blocks, _I64(8 * child))
            store(builder, address, entry_of(builder, slab.blocks, place), "block")
        end, changing = _I64(HEADER + tree.entries), None
        for place, field, dims, n in _extents(builder, tree, sizes, values[3]):
            if field.constant and changing is None:
                changing = end
            address = builder.add(slab.address, builder.shl(end, _I64(3)))
            for k, entry in enumerate((address, *dims)):
                store(builder, entry, entry_of(builder, slab.blocks, place + k), "block")
            end = builder.add(end, n)
        for word, value in ((LAID_AT, slab.address), (CHANGING, end if changing is None else changing), (WHOLE, end)):
            builder.store(value, slab.word(word))
        return context.get_dummy_value()

    return types.none(state, words, types.int64, sizes), generate


def _copy_block(builder: Any, of: type[State], source: Any, target: Any) -> None:
    # Copy the numbers, and the given columns.
    for field in fields_of(of).values():
        if field.dims is None:
            for place in range(field.place, field.place + field.entries):
                entry = load(builder, entry_of(builder, source, place), what(field))
                store(builder, entry, entry_of(builder, target, place), what(field))


def _state_at(_: Any, like: Any, words: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, found: Any, values: Any) -> Any:
        return _Words(context, builder, words, values[1], values[2]).blocks

    return like(like, words, types.int64), generate


def _copy_columns(_: Any, target: Any, source: Any, most: Any) -> Any:
    tree = tree_of(target.state)

    def generate(context: Any, builder: Any, found: Any, values: Any) -> Any:
        to, values_of = (_blocks(builder, tree, one) for one in values[:2])
        for node, of in tree.nodes:
            for field in fields_of(of).values():
                entries = [entry_of(builder, side[node], field.place) for side in (to, values_of)]
                if isinstance(field.kind, Number):
                    store(builder, load(builder, entries[1], "number"), entries[0], "number")
                elif field.dtype is not None and field.dims is not None:
                    sides = [
                        [load(builder, builder.gep(entry, [_I64(k)]), "block") for k in range(field.entries)]
                        for entry in entries
                    ]
                    _copy_column(builder, field, sides[0], sides[1], values[2])
        return context.get_dummy_value()

    return types.none(target, source, types.int64), generate


def _copy_column(builder: Any, field: Field, target: list[Any], source: list[Any], most: Any) -> None:
    assert field.dtype is not None
    n = most
    for one in (target, source):
        size = functools.reduce(builder.mul, one[2:], one[1])
        n = builder.select(builder.icmp_signed("<", size, n), size, n)
    to, values = (builder.inttoptr(one[0], ir.IntType(8).as_pointer()) for one in (target, source))
    cgutils.raw_memcpy(builder, to, values, n, _I64(field.dtype.itemsize))


def _copy_words(_: Any, target: Any, at: Any, source: Any, first: Any, n: Any) -> Any:
    def generate(context: Any, builder: Any, found: Any, values: Any) -> Any:
        to = _Words(context, builder, target, values[0], values[1])
        given = _Words(context, builder, source, values[2], values[3])
        cgutils.raw_memcpy(builder, to.pointer, given.pointer, values[4], _I64(8))
        return context.get_dummy_value()

    return types.none(target, types.int64, source, types.int64, types.int64), generate


def _relocate(_: Any, like: Any, words: Any, at: Any, n: Any) -> Any:
    tree = tree_of(like.state)

    def generate(context: Any, builder: Any, found: Any, values: Any) -> Any:
        slab = _Words(context, builder, words, values[1], values[2])
        laid_at = builder.load(slab.word(LAID_AT))
        moved, n_bytes = builder.sub(slab.address, laid_at), builder.shl(values[3], _I64(3))
        for place in tree.pointers:
            entry = entry_of(builder, slab.blocks, place)
            address = load(builder, entry, "block")
            inside = builder.icmp_unsigned("<", builder.sub(address, laid_at), n_bytes)
            store(builder, builder.add(address, builder.select(inside, moved, _I64(0))), entry, "block")
        builder.store(slab.address, slab.word(LAID_AT))
        return context.get_dummy_value()

    return types.none(like, words, types.int64, types.int64), generate


def _resized(_: Any, column: Any, n: Any) -> Any:
    def generate(context: Any, builder: Any, found: Any, values: Any) -> Any:
        data = make_array(column)(context, builder, values[0]).data
        return array_at(context, builder, column, builder.ptrtoint(data, _I64), [values[1]])

    return column(column, types.int64), generate


_TYPED: dict[str, Callable[..., Any]] = {
    "keep_numbers": _numbers("keep"),
    "put_numbers": _numbers("put"),
    "reset_numbers": _numbers("reset"),
    "slab_words": _slab_words,
    "lay_out": _lay_out,
    "state_at": _state_at,
    "copy_columns": _copy_columns,
    "copy_words": _copy_words,
    "relocate": _relocate,
    "resized": _resized,
}


@functools.cache
def _type_named(name: str) -> Any:
    return types.Function(make_intrinsic_template(object(), _TYPED[name], name, prefer_literal=False, kwargs={}))


@typeof_impl.register(Intrinsic)  # type: ignore[untyped-decorator]
def _type_of(intrinsic: Intrinsic, _context: Any) -> Any:
    return _type_named(intrinsic.function.__name__)
