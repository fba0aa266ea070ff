"""The state of an engine: named columns and numbers that kernels access through one address.

Passing hundreds of arrays to a kernel costs much time, for the kernel and for the compiler. So a state has a block of
addresses, sizes and numbers, and a kernel gets the block's address: ``state.jobs`` within a kernel reads the address of that
column, ``state.now_ns += 1`` changes a number in place, and ``state.jobs = other`` replaces the column. In Python it is an
object with an attribute for each.

A class of states declares everything about a column once::

    class Jobs(State, dim="rows"):
        submit_ns: Ints  # given: an array of the caller, which is never written to
        start_ns: Ints = column(fill=-1)  # the state's own: one number for each row
        host_load: Ints2 = column("hosts", "levels")  # its own, of these sizes
        running: int = 0

        why: Ints = column(fill=-1, codes=Reason)  # codes, which are integers in kernels
        order: int = Order.STATIC  # the same for a number

The declaration determines the memory of a state's own columns (one slab, :meth:`State.new`), their first values, later growth
(:meth:`State.grow`), independent copies (:meth:`State.fork`), and checks of types, shapes and codes (:meth:`State.faults`).
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import inspect
import itertools
import math
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, get_type_hints

import numpy as np

from traces.kernels.signatures import Array, Column, Number, float64, int64

_NUMBERS = {int: int64, float: float64}

_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")

_LINE = 64  #: bytes to which columns of a slab are aligned: a cache line
_ALL = slice(None)  #: all entries of an axis


def jit_enabled() -> bool:
    """Return whether kernels are compiled (False under ``NUMBA_DISABLE_JIT=1``)."""
    return _COMPILED


_Function = TypeVar("_Function", bound=Callable[..., Any])


def _once_per_class(function: _Function) -> _Function:
    # As functools.cache, whose type refuses classes as arguments.
    return functools.cache(function)  # type: ignore[return-value]


@dataclass(slots=True, eq=False)
class Field:
    """A column, a number or another state as declared by a class of states, and its place in the block."""

    name: str = ""
    kind: Any = None
    place: int = -1  # its first entry in the block
    # dims, fill, constant, codes, used, saved: as for :func:`column`; ``dims`` is None for given columns. In a :class:`Tree`,
    # ``used`` has for each number the place of its block, and its place there
    dims: tuple[str | int, ...] | None = None
    fill: float = 0
    constant: bool = False
    codes: type[IntEnum] | None = None
    used: tuple[Any, ...] = ()
    saved: bool = True
    dtype: np.dtype[Any] | None = None  # of a column; derived from ``kind``

    def __post_init__(self) -> None:
        self.codes = self.codes or (type(self.fill) if isinstance(self.fill, IntEnum) else None)
        names = {"boolean": "bool"}  # numpy's name
        known = self.kind.dtype.name if isinstance(self.kind, Column) else None
        self.dtype = None if known is None else np.dtype(names.get(known, known))

    @property
    def entries(self) -> int:
        """Its number of entries: for a column its address and its sizes."""
        return 1 + self.kind.ndim if isinstance(self.kind, Column) else 1


def column(
    *dims: str | int,
    fill: float = 0,
    constant: bool = False,
    codes: type[IntEnum] | None = None,
    used: tuple[str, ...] = (),
    saved: bool = True,
) -> Any:
    """Declare a column, or a nested state, that a state owns.

    - ``*dims``: the length of each axis: the name of a dimension (:meth:`State.new` gets their sizes), or a fixed size. None:
      the dimension of the class. For a nested state: the size of its own dimension; None: the dimension of the same name.
    - ``fill``: the first value of each entry.
    - ``constant``: whether its first contents never change, so that forks share it. Added room may be written to.
    - ``codes``: the meaning of its values if they are codes; an entry may also be ``fill``. By default the class of ``fill``.
    - ``used``: the numbers of the class that delimit the entries in use, as a slice: up to the first number, or from the first
      number up to the second. By default all are in use.
    - ``saved``: whether temporary copies contain it (:class:`traces.kernels.snapshots.Snapshot`, :meth:`State.fork`). False for
      work space, which holds nothing between calls of kernels, and for tables that only grow.
    """
    return Field("", None, -1, dims, fill, constant, codes, used, saved)


def fields_of(state: type[State]) -> dict[str, Field]:
    """Return the fields of a class of states, in order."""
    found = state.__dict__.get("_laid_out")
    if found is None:
        found, place = {}, 0
        hints = {name: hint for name, hint in get_type_hints(state, include_extras=True).items() if name[0] != "_"}
        # Numbers come first in the block, in sequence.
        for name, hint in sorted(hints.items(), key=lambda one: one[1] not in _NUMBERS):
            said = [one for one in getattr(hint, "__metadata__", ()) if isinstance(one, Column | Number)]
            kind = said[0] if said else _NUMBERS.get(hint, hint)
            if not isinstance(kind, Column | Number) and not (isinstance(kind, type) and issubclass(kind, State)):
                raise TypeError(f"{state.__name__}.{name}: {hint}; allowed: a column of numbers, a number, or a state")
            found[name] = field = _field(state, name, kind, place)
            place += field.entries
        state._laid_out = found
        state._entries = place
        state._own = frozenset(name for name, field in found.items() if field.dims is not None)
        state._numbers = frozenset(name for name, field in found.items() if isinstance(field.kind, Number))
    return found


def _field(state: type[State], name: str, kind: Any, place: int) -> Field:
    default = state._defaults.get(name)
    if not isinstance(default, Field):
        return Field(name, kind, place, fill=0 if default is None else default)
    dims = default.dims
    if isinstance(kind, Column):
        dims = dims or ((state._dim,) if state._dim else ())
        if len(dims) != kind.ndim:
            raise TypeError(f"{state.__name__}.{name}: {len(dims)} dimensions; allowed: {kind.ndim}, as its type says")
    return replace(default, name=name, kind=kind, place=place, dims=dims)


def numbers_of(state: State) -> Array:
    """Return all numbers of a state, as stored: a view, int64."""
    return state._block[: len(first_numbers(type(state)))]


@_once_per_class
def first_numbers(state: type[State]) -> Array:
    """Return the declared first values of the numbers of a class of states, as stored."""
    numbers = [field for field in fields_of(state).values() if field.kind is int64 or field.kind is float64]
    return np.array([np.array(field.fill, field.kind.name).view(np.int64) for field in numbers], np.int64)


@_once_per_class
def layout_of(state: type[State]) -> str:
    """Return a short text that is equal for two classes of states only if they are declared alike."""
    words = []
    for name, field in fields_of(state).items():
        kind = field.kind.code if isinstance(field.kind, Column | Number) else layout_of(field.kind)
        words.append(f"{name}:{kind}:{field.dims}:{field.constant}:{field.fill:g}")
    return hashlib.sha256(",".join(words).encode()).hexdigest()[:8]


class _Scalar:
    # A number of a state, which is stored in its block only.

    __slots__ = ("dtype", "name", "place")

    def __init__(self, name: str, dtype: str) -> None:
        self.name, self.dtype, self.place = name, dtype, -1

    def __get__(self, state: State | None, _owner: type[State]) -> Any:
        if state is None:
            return self
        if self.place < 0:
            self.place = fields_of(type(state))[self.name].place
        block = state._block if self.dtype == "int" else state._block.view(np.float64)
        return block.item(self.place)

    def __set__(self, state: State, value: float) -> None:
        if self.place < 0:
            self.place = fields_of(type(state))[self.name].place
        block = state._block if self.dtype == "int" else state._block.view(np.float64)
        block[self.place] = value


class State:
    """A state; its fields are the annotations of its class.

    A call with names (``Jobs(submit_ns=…, …)``) needs all columns, and uses each array directly: it must have the annotated
    type, C order, and be writable. :meth:`new` makes the columns declared by :func:`column`. If a kernel has replaced a column
    (``state.jobs = other``), Python still sees the old one. Numbers are the same for both.
    """

    _laid_out: ClassVar[dict[str, Field]]
    _entries: ClassVar[int]
    _own: ClassVar[frozenset[str]]
    _numbers: ClassVar[frozenset[str]]
    _defaults: ClassVar[dict[str, Any]] = {}
    _dim: ClassVar[str | None] = None
    _block: Array
    _slab: Array | None
    _slab_address: int

    def __init_subclass__(cls, *, dim: str | None = None) -> None:
        hints = inspect.get_annotations(cls)
        cls._dim, cls._defaults = dim, {name: cls.__dict__[name] for name in hints if name in cls.__dict__}
        for name, hint in hints.items():
            if name in cls._defaults:
                delattr(cls, name)
            word = getattr(hint, "__name__", hint)
            if word in ("int", "float"):
                setattr(cls, name, _Scalar(name, word))

    def __init__(self, *values: Any, **named: Any) -> None:
        fields = fields_of(type(self))
        given = dict(zip(fields, values, strict=False)) | named
        if given.keys() != fields.keys():
            given = {name: one for name, one in self._defaults.items() if not isinstance(one, Field)} | given
        if given.keys() != fields.keys() or len(values) > len(fields):
            raise TypeError(f"{type(self).__name__}: {sorted(given.keys() ^ fields.keys())} missing or unknown")
        entries = [one for name, field in fields.items() for one in self._entries_of(field, given[name])]
        block, held = np.array(entries, np.int64), self.__dict__
        held.update((name, value) for name, value in given.items() if name not in self._numbers)
        held.update(_block=block, _address=address_of(block), _slab=None)

    @classmethod
    def new(cls, sizes: Mapping[str, int] | None = None, **given: Any) -> Self:
        """Return a state with its own columns in one slab of memory.

        - ``sizes``: the size of each dimension of its columns.
        - ``**given``: the given columns; and first values of own columns, numbers and states, if not the declared ones.
        """
        fields, sizes = fields_of(cls), {} if sizes is None else sizes
        if unknown := given.keys() - fields.keys():
            raise TypeError(f"{cls.__name__}: {sorted(unknown)} unknown")
        given = {name: value for name, value in given.items() if value is not None}
        plan = _plan_of(cls, frozenset(name for name in given if name in cls._own and fields[name].dtype is None))
        if missing := plan.needed - given.keys():
            raise TypeError(f"{cls.__name__}.{min(missing)}: not given")
        lengths = np.array([*plan.fixed, *[sizes[dim] for dim in plan.dims]], np.int64)
        blocks = plan.blocks.copy()
        blocks[plan.size_places] = lengths[plan.size_axes]
        rooms = -(-lengths[plan.axes].prod(axis=0) * plan.item_bytes // _LINE) * _LINE
        handed_over: list[tuple[Field, Any]] = []  # used directly
        for name, value in given.items():
            field = fields[name]
            if name in plan.columns:
                shape = tuple(blocks[field.place + 1 : field.place + field.entries].tolist())
                if not field.constant or not _is_as_stored(value, field, shape):
                    continue
                rooms[plan.columns[name]] = 0
            if not isinstance(field.kind, Number):
                handed_over.append((field, value))
        slab = np.zeros(rooms.sum() + 1, np.uint8)  # each column begins within it, even an empty one
        begin, first = address_of(slab), address_of(blocks)
        blocks[plan.places] = begin + rooms.cumsum() - rooms
        blocks[plan.tree.links] = plan.tree.linked + first
        parts: dict[int, State] = {}
        for at, kind in plan.tree.nodes:
            part = parts[at] = kind.__new__(kind)
            block = blocks[at : at + kind._entries]
            part.__dict__.update(_block=block, _address=first + 8 * at, _slab=slab, _slab_address=begin)
        for parent, name, child in plan.tree.names:
            parts[parent].__dict__[name] = parts[child]
        state = parts[0]
        for field, value in handed_over:
            state._write(field, value)
            state.__dict__[field.name] = value
        for at, name, fill, column in plan.fills:
            if rooms[column] and (at or name not in given):
                getattr(parts[at], name)[...] = fill
        for name in given.keys() - state.__dict__.keys():
            if name in state._numbers:
                setattr(state, name, given[name])
            else:
                getattr(state, name)[...] = given[name]
        return state  # type: ignore[return-value]

    @classmethod
    def none(cls, sizes: Mapping[str, int] | None = None, /, **given: Any) -> Self:
        """Return a state as :meth:`new`, with empty columns if neither they nor the size of a dimension are given."""
        for name, field in fields_of(cls).items():
            if field.dtype is not None and field.dims is None and name not in given:
                given[name] = np.zeros((0,) * field.kind.ndim, field.dtype)
        return cls.new(defaultdict(int, sizes or {}), **given)

    def grow(self, **sizes: int) -> None:
        """Enlarge the columns of these dimensions, filled as declared; existing entries keep their places, and given columns
        their sizes. The state's address stays; earlier views of its columns are views of the old columns."""
        fields, rooms = fields_of(type(self)), [0]
        before = {name: getattr(self, name) for name, field in fields.items() if field.dtype and field.dims is not None}
        shapes = {}
        for name, kept in before.items():
            dims = fields[name].dims or ()
            shapes[name] = tuple(sizes.get(str(one), long) for one, long in zip(dims, kept.shape, strict=True))
            rooms.append(-(-math.prod(shapes[name]) * kept.itemsize // _LINE) * _LINE)
        slab = np.zeros(sum(rooms) + 1, np.uint8)
        self.__dict__.update(_slab=slab, _slab_address=address_of(slab))
        for (name, kept), place in zip(before.items(), itertools.accumulate(rooms), strict=False):
            made = np.ndarray(shapes[name], kept.dtype, slab, place)
            if fields[name].fill and made.shape != kept.shape:
                made[...] = fields[name].fill
            made[tuple(map(slice, kept.shape))] = kept
            setattr(self, name, made)

    def fork(self, sharing: Set[str] | None = None) -> Self:
        """Return an independent copy, which shares given and constant columns. With ``sharing``, which names dimensions, the
        copy is temporary: it also shares the columns of these dimensions, and those that are not saved (:func:`column`)."""
        tree, parts = tree_of(type(self)), parts_of(self)
        blocks = np.concatenate([part._block for part in parts.values()])
        first, forks = address_of(blocks), {}
        blocks[tree.links] = tree.linked + first
        slab, address = (None, 0) if sharing is not None else _copied_slabs(tree, blocks, parts.values())
        for at, part in parts.items():
            fork = forks[at] = object.__new__(part.__class__)
            before, held = part.__dict__, fork.__dict__
            if slab is None or before["_slab"] is None:
                held.update(before)
                held["_kept"] = None
            else:
                kept = before.get("_kept")
                if kept is None:
                    kept = part._kept_by_forks()
                held.update(kept)
                held["_kept"], held["_slab"], held["_slab_address"] = kept, slab, address
            held["_block"], held["_address"] = blocks[at : at + part._entries], first + 8 * at
        for parent, name, child in tree.names:
            forks[parent].__dict__[name] = forks[child]
        for one in () if sharing is None else changing(self, sharing):
            copied, index = np.empty_like(one.column), one.entries({})
            copied[index] = one.column[index]
            forks[one.at].__dict__[one.field.name] = copied
            blocks[one.at + one.field.place] = address_of(copied)
        return forks[0]  # type: ignore[return-value]

    def _kept_by_forks(self) -> dict[str, Any]:
        # Return what forks share: columns outside of its slab, and given states; kept until an attribute is set.
        slab = self._slab
        assert slab is not None
        kept = self.__dict__["_kept"] = {
            name: one
            for name, one in self.__dict__.items()
            if name[0] != "_" and (name not in self._own or not (isinstance(one, State) or _lies_in(one, slab)))
        }
        return kept

    def only_numbers(self) -> Self:
        """Return a state that shares the numbers of this one, without columns, and does not keep their memory."""
        other = type(self).__new__(type(self))
        other.__dict__.update(_block=self._block, _address=self.address, _slab=None)
        return other

    def faults(self) -> Iterator[str]:
        """Describe faults of its columns and of those of its nested states: a size that differs from others of the same
        dimension, or a value that is not a code. Empty columns may have other sizes."""
        extents, parts = _extents_of(type(self)), parts_of(self)
        sizes = np.concatenate([part._block for part in parts.values()])[extents.places]
        there = np.flatnonzero(sizes)[::-1]
        first = np.zeros(len(extents.names), np.int64)  # the size of each dimension, from the first of its columns
        first[extents.dims[there]] = sizes[there]
        for k in np.flatnonzero((sizes > 0) & (sizes != first[extents.dims])).tolist():
            dim = extents.dims[k]
            yield f"{extents.columns[k]} has {sizes[k]} {extents.names[dim]}; others have {first[dim]}"
        for at, called, field, known in extents.coded:
            value, entry = getattr(parts[at], field.name), ""
            if field.dtype is not None:
                bad = np.flatnonzero(_is_no_code(value, known))
                value, entry = (int(value.flat[bad[0]]), f"[{bad[0]}]") if len(bad) else (known[0], "")
            if value not in known:
                assert field.codes is not None
                yield f"{called}{entry} is {value}; allowed: {field.codes.__name__}, {known}"

    def entry(self, place: int) -> dict[str, Any]:
        """Return an entry of each column of one dimension, by the names of the columns; codes as their names."""
        found = {}
        for name, field in fields_of(type(self)).items():
            if field.dtype is None:
                continue
            value = getattr(self, name)[place].item()
            known = field.codes is not None and value in tuple(field.codes)
            found[name] = field.codes(value).name.lower() if field.codes is not None and known else value
        return found

    def front(self, n: int) -> Self:
        """Return a state that shares the first ``n`` entries of each column with this one, without nested states."""
        front = type(self).__new__(type(self))
        block = self._block.copy()
        sizes = [field.place + 1 for field in fields_of(type(self)).values() if field.dtype is not None]
        block[sizes] = np.minimum(block[sizes], n)
        held = {name: value if name[0] == "_" else value[:n] for name, value in self.__dict__.items()}
        front.__dict__.update(held, _kept=None, _block=block, _address=address_of(block))
        return front

    def take(self, places: Array) -> Self:
        """Return a state with copies of these entries of each column (indices, or a mask)."""
        return type(self)(*(getattr(self, name)[places] for name in fields_of(type(self))))

    def __getattr__(self, name: str) -> Any:
        # A column that has not been read since the state was made or forked.
        field = None if name.startswith("_") else fields_of(type(self)).get(name)
        slab = self.__dict__.get("_slab")
        if field is None or field.dtype is None or slab is None:
            raise self._unknown(name)
        block = self._block
        shape = tuple(block[field.place + 1 : field.place + 1 + field.kind.ndim].tolist())
        offset = block.item(field.place) - self._slab_address
        if not 0 <= offset <= slab.nbytes:  # a column outside its state's slab (traces.kernels.slabs)
            slab, offset = memory_at(block.item(field.place), math.prod(shape) * field.dtype.itemsize), 0
        made = self.__dict__[name] = np.ndarray(shape, field.dtype, slab, offset)
        return made

    def __setattr__(self, name: str, value: Any) -> None:
        field = fields_of(type(self)).get(name)
        if field is None:
            raise self._unknown(name)
        if isinstance(field.kind, Number) and field.kind.name == "int64":  # the most frequent kind
            self._block[field.place] = int(value)
            return
        self._write(field, value)  # if this raises, the block still has the address of the old column
        if not isinstance(field.kind, Number):
            self.__dict__.update({name: value, "_kept": None})

    def _unknown(self, name: str) -> AttributeError:
        known = ", ".join(fields_of(type(self)))
        return AttributeError(f"{type(self).__name__}: {name!r} unknown; allowed: {known}")

    def __iter__(self) -> Iterator[Any]:
        return (getattr(self, name) for name in fields_of(type(self)))

    def __reduce__(self) -> Any:
        return (_remade, (type(self), tuple(self)))

    def _replace(self, **changes: Any) -> Self:
        """Return another state with some columns replaced; it shares the others with this one."""
        fields = fields_of(type(self))
        if unknown := changes.keys() - fields.keys():
            raise TypeError(f"{type(self).__name__}: {sorted(unknown)} unknown")
        other = type(self).__new__(type(self))
        held = other.__dict__
        held.update(self.__dict__)
        block = held["_block"] = self._block.copy()
        held["_address"] = address_of(block)
        for name, value in changes.items():
            setattr(other, name, value)
        return other

    def as_kernels_see(self, name: str) -> Array:
        """Return a column as kernels have last set it, with their size."""
        field = fields_of(type(self))[name]
        assert field.dtype is not None
        address, *shape = self._block[field.place : field.place + field.entries].tolist()
        return memory_at(address, math.prod(shape) * field.dtype.itemsize).view(field.dtype).reshape(shape)

    def _write(self, field: Field, value: Any) -> None:
        self._block[field.place : field.place + field.entries] = self._entries_of(field, value)

    def _entries_of(self, field: Field, value: Any) -> tuple[int, ...]:
        # Called for dozens of columns per job, so it must be fast.
        dtype, kind = field.dtype, field.kind
        if dtype is not None:
            if value.dtype == object and not _COMPILED:
                return (0, *value.shape)  # a table of functions, which are called directly
            same = value.dtype is dtype or value.dtype == dtype
            if not same or value.ndim != kind.ndim or not value.flags.c_contiguous:
                raise TypeError(
                    f"{type(self).__name__}.{field.name}: {value.dtype}, {value.ndim} dimensions; allowed: "
                    f"{kind.dtype.name}, {kind.ndim} dimensions, in C order"
                )
            return (value.__array_interface__["data"][0], *value.shape)
        if isinstance(kind, Number):
            return (int(value) if kind.name == "int64" else int(np.array(value, kind.name).view(np.int64)),)
        return (value.address,)

    @property
    def address(self) -> int:
        """The address of its block, for kernels."""
        return self.__dict__["_address"]  # type: ignore[no-any-return]


class Tree:
    """The blocks of a class of states, of its nested states, and of theirs, in sequence."""

    def __init__(self, root: type[State], given: Set[str] = frozenset()) -> None:
        self.nodes: list[tuple[int, type[State]]] = []  # the place of each block, and its class
        # for each block except the first: the place of the block that has its address, the field there, and its own place
        self.names: list[tuple[int, str, int]] = []
        self.own: list[tuple[int, Field]] = []  # own columns: the places of their addresses; constant columns come last
        self.saved: list[tuple[int, Field]] = []  # those that may change and are saved: the places of their blocks
        self.pointers: list[int] = []  # the places of all addresses, of columns and of states
        self.entries = 0  # of all blocks
        self._add(root, {}, Field(), given)
        self.own.sort(key=lambda one: one[1].constant)
        # The places of the addresses of own columns, and of the first sizes of ``saved``.
        self.columns = np.array(sorted(place for place, _ in self.own), np.int64)
        self.sizes = np.array([at + field.place + 1 for at, field in self.saved], np.int64)
        classes = dict(self.nodes)
        # The places of the addresses of blocks, and the distance of each of these blocks from the first one in bytes.
        self.links = np.array([at + fields_of(classes[at])[name].place for at, name, _ in self.names], np.int64)
        self.linked = np.array([8 * child for _, _, child in self.names], np.int64)

    def _add(self, state: type[State], called: Mapping[Any, Any], outer: Field, given: Set[str] = frozenset()) -> int:
        # ``called``: names of dimensions in the whole tree, if the class uses other names. ``outer``: the field that has this
        # state; its ``used`` and ``saved`` apply to fields that do not declare their own.
        fields = fields_of(state)
        at, self.entries = self.entries, self.entries + state._entries
        self.nodes.append((at, state))
        for name, field in fields.items():
            if isinstance(field.kind, Number):
                continue
            self.pointers.append(at + field.place)
            dims = None if field.dims is None else tuple(called.get(dim, dim) for dim in field.dims)
            if dims is None or (field.dtype is None and name in given):
                continue
            used = tuple((at, fields[one].place) for one in field.used) or outer.used
            here = replace(field, dims=dims, used=used, saved=field.saved and outer.saved)
            if field.dtype is not None:
                self.own.append((at + field.place, here))
                if here.saved and not field.constant:
                    self.saved.append((at, here))
                continue
            place = len(self.names)
            self.names.append((at, name, -1))
            inner = {field.kind._dim: dims[0]} if dims else called
            self.names[place] = (at, name, self._add(field.kind, inner, here))
        return at


@_once_per_class
def tree_of(state: type[State]) -> Tree:
    """Return the blocks of a class of states and of its nested states."""
    return Tree(state)


def parts_of(state: State) -> dict[int, State]:
    """Return a state and its nested states, by the places of their blocks in the class's :class:`Tree`."""
    parts: dict[int, State] = {0: state}
    for parent, name, child in tree_of(type(state)).names:
        parts[child] = getattr(parts[parent], name)
    return parts


def _copied_slabs(tree: Tree, blocks: Array, parts: Iterable[State]) -> tuple[Array | None, int]:
    # Copy the slabs of states with these blocks to one slab, which the blocks then point to. Return it and its address.
    slabs = {part._slab_address: part._slab for part in parts if part._slab is not None}  # several may share one
    if not slabs:
        return None, 0
    begins = np.array(sorted(slabs))
    ends = begins + np.array([slabs[begin].nbytes for begin in begins.tolist()])
    lines = -((begins - ends) // _LINE)
    offsets = _LINE * (lines.cumsum() - lines)
    copied = np.empty(_LINE * int(lines.sum()), np.uint8)
    address = address_of(copied)
    for begin, offset in zip(begins.tolist(), offsets.tolist(), strict=True):
        slab = slabs[begin]
        copied[offset : offset + slab.nbytes] = slab.view(np.uint8)
    pointers = blocks[tree.columns]
    which = begins.searchsorted(pointers, "right") - 1
    within = (pointers >= begins[which]) & (pointers < ends[which])
    blocks[tree.columns] += np.where(within, (address + offsets - begins)[which], 0)
    return copied, address


class Changing(NamedTuple):
    """A column that may change and is saved: the place of its state's block in the :class:`Tree`, the field, and the column.
    ``used``: the numbers that delimit the entries in use, each as its block and its place there."""

    at: int
    field: Field
    column: Array
    used: list[tuple[Array, int]]

    @property
    def dims(self) -> tuple[str | int, ...]:
        """The lengths of its axes."""
        return self.field.dims or ()

    def entries(self, places: Mapping[Any, Any]) -> tuple[Any, ...]:
        """Return the index of the entries in use; for dimensions in ``places``, of these entries only."""
        index = [places.get(dim, _ALL) for dim in self.dims]
        if self.used:
            index[0] = slice(*[block.item(place) for block, place in self.used])
        return tuple(index)


def changing(state: State, but: Set[str] = frozenset()) -> Iterator[Changing]:
    """Yield the columns of a state, and of its nested states, that may change, are saved and have entries, except columns of a
    dimension in ``but``."""
    parts, tree = parts_of(state), tree_of(type(state))
    blocks = np.concatenate([part._block for part in parts.values()])
    for k in np.flatnonzero(blocks[tree.sizes]).tolist():
        at, field = tree.saved[k]
        if but.isdisjoint(field.dims or ()):
            used = [(parts[of]._block, place) for of, place in field.used]
            yield Changing(at, field, getattr(parts[at], field.name), used)


class _Plan:
    # How to make a state of a class: the declarations that ``State.new`` needs, as arrays.

    def __init__(self, state: type[State], given: Set[str]) -> None:
        # ``given``: the nested states that are not made.
        fields, tree = fields_of(state), Tree(state, given)
        self.tree = tree
        given_ones = {name for name, field in fields.items() if field.dims is None}
        self.needed = given_ones - state._numbers
        self.blocks = np.zeros(tree.entries, np.int64)
        for at, kind in tree.nodes:
            self.blocks[at : at + len(first_numbers(kind))] = first_numbers(kind)
        nodes = {place: at for at, kind in tree.nodes for place in range(at, at + kind._entries)}
        self.fills = [(nodes[at], one.name, one.fill, k) for k, (at, one) in enumerate(tree.own) if one.fill]
        # Own columns: the places of their addresses, and the lengths of their axes.
        own = [(place, field, field.dims or ()) for place, field in tree.own]
        known = list(dict.fromkeys(dim for _, _, dims in own for dim in dims))
        self.fixed = [1, *(dim for dim in known if isinstance(dim, int))]
        self.dims = [dim for dim in known if isinstance(dim, str)]
        numbers = {dim: k for k, dim in enumerate([*self.fixed, *self.dims])}
        self.columns = {field.name: k for k, (place, field, _) in enumerate(own) if place < state._entries}
        self.places = np.array([place for place, _, _ in own], np.int64)
        self.item_bytes = np.array([field.dtype.itemsize for _, field, _ in own if field.dtype is not None], np.int64)
        self.axes = np.zeros((max((len(dims) for _, _, dims in own), default=1), len(own)), np.int64)
        for k, (_, _, dims) in enumerate(own):
            self.axes[: len(dims), k] = [numbers[dim] for dim in dims]
        self.size_places = np.array([place + 1 + k for place, _, dims in own for k in range(len(dims))], np.int64)
        self.size_axes = np.array([numbers[dim] for _, _, dims in own for dim in dims], np.int64)


_plan_of = _once_per_class(_Plan)


class _Extents:
    # For a class of states and its nested states: the places of the sizes of own columns in their blocks, their dimensions, and
    # the fields with codes.

    def __init__(self, state: type[State]) -> None:
        tree = tree_of(state)
        path = {0: ""}
        for parent, name, child in tree.names:
            path[child] = f"{path[parent]}{name}."
        fields = [(at, field) for at, kind in tree.nodes for field in fields_of(kind).values()]
        axes = [
            (path[at] + field.name, (at, str(dim)), at + field.place + 1 + k)
            for at, field in fields
            if field.dtype is not None
            for k, dim in enumerate(field.dims or ())
        ]
        self.columns = [name for name, _, _ in axes]
        known = list(dict.fromkeys(dim for _, dim, _ in axes))
        self.names = [dim for _, dim in known]
        self.dims = np.array([known.index(dim) for _, dim, _ in axes], np.int64)
        self.places = np.array([place for _, _, place in axes], np.int64)
        self.coded = [
            (at, path[at] + field.name, field, sorted({*map(int, field.codes), int(field.fill)}))
            for at, field in fields
            if field.codes is not None
        ]


_extents_of = _once_per_class(_Extents)


def _is_no_code(values: Array, known: list[int]) -> Array:
    # Return which values are not in ``known``, which is sorted. If the codes have no gaps, comparing with both ends is faster.
    if known[-1] - known[0] == len(known) - 1:
        return (values < known[0]) | (values > known[-1])
    return np.isin(values, known, invert=True)


def address_of(array: Array) -> int:
    """Return the address of an array's first number."""
    return array.__array_interface__["data"][0]  # type: ignore[no-any-return]


def _lies_in(column: Array, slab: Array) -> bool:
    return 0 <= address_of(column) - address_of(slab) < slab.nbytes


def memory_at(address: int, n_bytes: int) -> Array:
    """Return memory owned elsewhere as an array of bytes."""
    return np.ctypeslib.as_array((ctypes.c_uint8 * n_bytes).from_address(address))


def _is_as_stored(given: Any, field: Field, shape: tuple[int, ...]) -> bool:
    # Return whether an array can be used directly as a column.
    stored = isinstance(given, np.ndarray) and given.dtype == field.dtype and given.shape == shape
    return stored and given.flags.c_contiguous


def _remade(made: type[State], values: tuple[Any, ...]) -> State:
    return made(*values)
