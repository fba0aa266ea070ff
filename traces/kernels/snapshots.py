"""Copies of the changing part of a state, for restoring it later.

The declaration of the state defines this part (:func:`traces.kernels.state.changing`). Only entries in use are copied: a few
rows of a long table, and no work space.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np

from traces.kernels.signatures import Array
from traces.kernels.state import Changing, State, address_of, changing, parts_of


class Snapshot:
    """Keeps the contents of a state and its nested states, as long as no column is enlarged."""

    def __init__(self, state: State) -> None:
        blocks = [part._block if part._block.base is None else part._block.base for part in parts_of(state).values()]
        self._blocks = [*{id(block): block for block in blocks}.values()]
        self._alone: list[Changing] = []
        together: dict[Any, list[Changing]] = defaultdict(list)
        for one in changing(state):
            slab = one.column.base
            if one.used or len(one.dims) > 1 or slab is None or slab.dtype != np.uint8:
                self._alone.append(one)
            else:
                together[id(slab), one.dims, one.column.dtype].append(one)
        self._tables = [_Table(columns) for columns in together.values()]
        self._kept: list[tuple[Array, Any, Array]] = []

    def keep(self, places: Mapping[Any, Any]) -> None:
        """Keep the state's present contents; of dimensions in ``places`` only these entries, the only ones that will change."""
        found: list[tuple[Array, Any]] = [(block, ...) for block in self._blocks]
        found += [(table.words, table.at(places.get(table.dim, table.all))) for table in self._tables]
        found += [(one.column, one.entries(places)) for one in self._alone]
        self._kept = [(array, index, array[index].copy()) for array, index in found]

    def put_back(self, new: Mapping[Any, slice]) -> None:
        """Restore the kept state; entries ``new``, by dimension, which came into use since, get their first values."""
        for table in self._tables:
            if table.dim in new:
                table.words[table.at(table.all[new[table.dim]])] = table.fills
        for array, index, values in self._kept:
            array[index] = values


class _Table:
    # Columns of one dimension and type in one slab: the slab as an array of that type, and where each column begins in it.

    def __init__(self, columns: list[Changing]) -> None:
        first, size = columns[0].column, columns[0].column.itemsize
        slab: Any = first.base
        self.dim, self.all = columns[0].dims[0], np.arange(len(first))
        self.words = slab[: slab.nbytes // size * size].view(first.dtype)
        self.begins = np.array([[address_of(one.column) - address_of(slab)] for one in columns]) // size
        self.fills = np.array([[one.field.fill] for one in columns])

    def at(self, entries: Array) -> Array:
        """Return the places of entries of all columns."""
        return self.begins + entries
