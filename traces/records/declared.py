"""The declaration of a kind of records: one class for the kind, one entry for each of its columns.

The declaration gives the constructor, read-only arrays, empty records and selections of rows, the table as written and read,
and the table of the reference page (``python -m tools.states``)::

    class PassRecords(Records):
        \"\"\"One row per scheduling pass, in the order in which they were made.\"\"\"

        now_ns: Array = column("instant of the pass", "ns")
        waiting: Array = column("number of jobs that waited before it")
"""

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, ClassVar, NamedTuple, Self, dataclass_transform

import numpy as np

from traces.base.columns import Columns
from traces.compiled import Array
from traces.intervals import intervals_of


class RecordColumn(NamedTuple):
    """A column as declared by its kind, or as in the kind's table."""

    meaning: str  # meaning of its values, as a clause
    unit: str = ""  # empty without a unit
    dtype: str = "int64"  # numpy's name of their type, or ``string``
    shape: str = ""  # its shape, if it is not the number of rows
    # its name in the table of the kind; by default its own. Empty: the table does not have it.
    table: str | None = None
    parts: int = 1  # divisor of its values in the table
    text: str = ""  # its name in a trace of text; by default its own
    # its attribute in traces: name, description, type, one of ``traces.records.events``; None: no attribute
    attribute: tuple[str, str, int] | None = None

    @property
    def stored(self) -> str:
        """Parquet's name of its type in the table."""
        return "double" if self.parts > 1 or self.dtype == "float64" else self.dtype


def column(
    meaning: str,
    unit: str = "",
    dtype: str = "int64",
    *,
    shape: str = "",
    table: str | None = None,
    parts: int = 1,
    text: str = "",
    attribute: tuple[str, str, int] | None = None,
    default: Any = MISSING,
) -> Any:
    """Declare a column of records; ``default`` is its value if none is given, the others are as in :class:`RecordColumn`."""
    said = RecordColumn(meaning, unit, dtype, shape, table, parts, text, attribute)
    return field(default=default, metadata={"column": said})


@dataclass_transform(frozen_default=True, field_specifiers=(column,))
class RecordKind(Columns):
    """Base of the kinds of records: a subclass is a frozen dataclass, and its docstring lists its columns."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)
        about = (cls.__doc__ or "").rstrip()
        lines = []
        for name, one in cls.columns().items():
            lines += [f"{name} : {one.dtype}, shape {one.shape or '(rows,)'}", f"    {_sentence(one)}"]
        cls.__doc__ = "\n    ".join([about, "", "Attributes", "----------", *lines, ""]) if lines else about

    @classmethod
    def columns(cls) -> dict[str, RecordColumn]:
        """Its declared columns by name."""
        return {one.name: one.metadata["column"] for one in fields(cls) if "column" in one.metadata}

    @classmethod
    def table_columns(cls) -> dict[str, RecordColumn]:
        """The columns of its table, by their names there."""
        return table_columns(cls.columns())

    @classmethod
    def empty(cls) -> Self:
        """Records without rows."""
        sizes = {name: int("+ 1" in one.shape) for name, one in cls.columns().items()}
        return cls(**{name: np.zeros(sizes[name], one.dtype) for name, one in cls.columns().items()})

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def take(self, rows: Array, **changed: Any) -> Self:
        """Return some of its rows, in this order, with some columns replaced; other fields stay."""
        every = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in changed}
        some = {name: value[rows] if isinstance(value, np.ndarray) else value for name, value in every.items()}
        return type(self)(**some | changed)


def _sentence(one: RecordColumn) -> str:
    text = one.meaning[:1].upper() + one.meaning[1:]
    return f"{text} ({one.unit})." if one.unit else f"{text}."


class RecordsOfJobs(RecordKind):
    """Rows sorted by job, in the order of ``JobRecords``."""

    first: Array = column("job ``i`` has the rows ``first[i]:first[i + 1]``", shape="(n_jobs + 1,)", table="")

    def __len__(self) -> int:
        return int(self.first[-1])

    @property
    def job(self) -> Array:
        """The row of each row's job in ``JobRecords``."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))

    def where(self, kept: Array) -> Self:
        """Return the rows that are kept, bool (rows,), of the same jobs."""
        upto = np.concatenate([[0], np.cumsum(kept)])
        return self.take(np.flatnonzero(kept), first=upto[self.first])

    def of_jobs(self, jobs: Array) -> Self:
        """Return the rows of some jobs, renumbered in this order."""
        rows, first = ranges(self.first, jobs)
        return self.take(rows, first=first)


def ranges(first: Array, rows: Array) -> tuple[Array, Array]:
    """Return the indices ``first[row]:first[row + 1]`` of some rows, concatenated, and the bounds of each row among them."""
    count = np.diff(first)[rows]
    begin = np.concatenate([[0], np.cumsum(count)])
    return intervals_of(first[rows], count), begin


def table_columns(declared: Mapping[str, RecordColumn]) -> dict[str, RecordColumn]:
    """Return the columns that appear in a table, by their names there."""
    named = {name if one.table is None else one.table: one for name, one in declared.items()}
    return {name: one for name, one in named.items() if name}
