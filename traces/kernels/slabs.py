"""States laid out by kernels: operations on whole states, derived from their declarations.

A *slab* is a part of a column of int64, in this order:

- a header: the address at which it was laid out, the number of words that can change, and the number of all words;
- the blocks of a state and of its own states;
- the columns that change;
- the columns that are constant.

A kernel lays out a slab for a state (:func:`lay_out`), and works on it in place (:func:`state_at`). To simulate ahead, it
copies the words that can change (:func:`copy_words`), and updates the pointers in the copy (:func:`relocate`). The same update
follows after a slab has moved.

These are the versions in Python; those for kernels are in ``traces.kernels.intrinsics``.
"""

import math
from typing import Any

import numpy as np

from traces.kernels.signatures import Array, Number
from traces.kernels.state import Field, State, address_of, fields_of, first_numbers, numbers_of, parts_of, tree_of

# The first words of a slab: its address when laid out, the number of words that change, and the number of all words.
LAID_AT, CHANGING, WHOLE = range(3)
HEADER = 3


def keep_numbers(state: State, column: Array, at: int) -> None:
    """Write all numbers of a state, without those of nested states, to a column of int64, from an index on."""
    numbers = numbers_of(state)
    column[at : at + len(numbers)] = numbers


def put_numbers(state: State, column: Array, at: int) -> None:
    """Set all numbers of a state to the values that :func:`keep_numbers` has written."""
    numbers = numbers_of(state)
    numbers[:] = column[at : at + len(numbers)]


def reset_numbers(state: State) -> None:
    """Set all numbers of a state to their declared values."""
    numbers_of(state)[:] = first_numbers(type(state))


def _shape(field: Field, sizes: State) -> list[int]:
    return [getattr(sizes, dim) if isinstance(dim, str) else dim for dim in field.dims or ()]


def _ends(state: type[State], sizes: State) -> list[int]:
    # The ends of the columns of a slab, in words from its begin, after the header and the blocks.
    tree = tree_of(state)
    ends = [HEADER + tree.entries]
    for _, field in tree.own:
        assert field.dtype is not None
        count = math.prod(_shape(field, sizes))
        ends.append(ends[-1] + -(-count * field.dtype.itemsize // 8))
    return ends


def slab_words(state: State, sizes: State) -> int:
    """Return the number of words of a state's slab. ``sizes`` has a number for each of the class's dimensions, with its
    name."""
    return _ends(type(state), sizes)[-1]


def lay_out(state: State, words: Array, at: int, sizes: State) -> None:
    """Lay out a slab in ``words``, from an index on, for a state like ``state``. It has the numbers and the given columns of
    ``state``, and own columns of these sizes with undefined contents."""
    tree, parts, ends = tree_of(type(state)), parts_of(state), _ends(type(state), sizes)
    laid_at = address_of(words) + 8 * at
    blocks = words[at + HEADER : at + HEADER + tree.entries]
    for node, part in parts.items():
        blocks[node : node + part._entries] = part._block
    for parent, name, child in tree.names:
        blocks[parent + fields_of(type(parts[parent]))[name].place] = laid_at + 8 * (HEADER + child)
    for (place, field), end in zip(tree.own, ends, strict=False):
        blocks[place : place + field.entries] = (laid_at + 8 * end, *_shape(field, sizes))
    changing = sum(not field.constant for _, field in tree.own)
    words[at : at + HEADER] = laid_at, ends[changing], ends[-1]


def state_at(like: State, words: Array, at: int) -> State:
    """Return the state in the slab that begins at ``at``; ``like`` is of its class, with the same given columns."""
    parts, tree = parts_of(like), tree_of(type(like))
    made: dict[int, State] = {}
    for node, part in parts.items():
        one = made[node] = type(part).__new__(type(part))
        block = words[at + HEADER + node : at + HEADER + node + part._entries]
        one.__dict__.update(_block=block, _address=address_of(block), _slab=words, _slab_address=address_of(words))
        for name, field in fields_of(type(part)).items():
            same = block[field.place] == part._block[field.place]
            if same and field.dims is None and not isinstance(field.kind, Number):
                one.__dict__[name] = getattr(part, name)
    for parent, name, child in tree.names:
        made[parent].__dict__[name] = made[child]
    return made[0]


def give_again(words: Array, at: int, before: State, after: State) -> None:
    """Replace a slab's given columns and states from ``before`` by those of ``after``."""
    others = parts_of(after)
    for node, part in parts_of(before).items():
        block = words[at + HEADER + node : at + HEADER + node + part._entries]
        for field in fields_of(type(part)).values():
            entries = slice(field.place, field.place + field.entries)
            if (
                field.dims is None
                and not isinstance(field.kind, Number)
                and block[field.place] == part._block[field.place]
            ):
                block[entries] = others[node]._block[entries]


def copy_columns(target: State, source: State, most: int) -> None:
    """Copy all numbers, and the front of each own column: at most ``most`` entries, and no more than both columns have."""
    others = parts_of(source)
    for node, part in parts_of(target).items():
        keep_numbers(others[node], numbers_of(part), 0)
        for name, field in fields_of(type(part)).items():
            if field.dtype is not None and field.dims is not None:
                to, values = getattr(part, name).reshape(-1), getattr(others[node], name).reshape(-1)
                n = min(to.size, values.size, most)
                to[:n] = values[:n]


def copy_words(target: Array, at: int, source: Array, first: int, n: int) -> None:
    """Copy ``n`` numbers of ``source``, from ``first`` on, to ``target``, from ``at`` on; the two do not overlap."""
    target[at : at + n] = source[first : first + n]


def relocate(like: State, words: Array, at: int, n: int) -> None:
    """Update a slab after a move or a copy: shift every pointer to one of its first ``n`` words."""
    tree = tree_of(type(like))
    laid_at, now = int(words[at + LAID_AT]), address_of(words) + 8 * at
    for place in tree.pointers:
        if 0 <= words[at + HEADER + place] - laid_at < 8 * n:
            words[at + HEADER + place] += now - laid_at
    words[at + LAID_AT] = now


def slab_fault(like: State, words: Array, at: int) -> str:
    """Describe the fault of the slab that begins at ``at``: in its header, or a misplaced state or column; empty if none."""
    tree, here = tree_of(type(like)), address_of(words) + 8 * at
    begin = HEADER + tree.entries
    if not 0 <= at <= len(words) - begin:
        return f"begins at word {at} of {len(words)}; its blocks alone have {begin}"
    laid_at, changing, whole = words[at : at + HEADER].tolist()
    if laid_at != here:
        return f"lies at {here:#x}; its header says {laid_at:#x}"
    if not begin <= changing <= whole <= len(words) - at:
        return f"its header says that {changing} of {whole} words change; it has {begin} to {len(words) - at}"
    blocks, classes = words[at + HEADER : at + begin].tolist(), dict(tree.nodes)
    for parent, name, child in tree.names:
        address = blocks[parent + fields_of(classes[parent])[name].place]
        if address != here + 8 * (HEADER + child):
            return f"{name} is at {address:#x}; it has it at {here + 8 * (HEADER + child):#x}"
    for place, field in tree.own:
        address, *shape = blocks[place : place + field.entries]
        assert field.dtype is not None
        n_bytes = math.prod(shape) * field.dtype.itemsize
        first, stop = (changing, whole) if field.constant else (begin, changing)
        if n_bytes and not here + 8 * first <= address <= here + 8 * stop - n_bytes:
            return f"{field.name}, {shape} of {field.dtype}, is at {address:#x}; not within its words {first} to {stop}"
    return ""


def resized(column: Array, n: int) -> Any:
    """Return the column that begins where this one does, with ``n`` numbers. The caller ensures that there is room for them."""
    return np.lib.stride_tricks.as_strided(column, (n,))
