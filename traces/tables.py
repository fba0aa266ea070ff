"""Tables: the ledger as pandas frames and Parquet files. The only module that imports pandas and pyarrow.

The columns, their order, types and units are the published schema (docs/reference/results.md); a test compares them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ForwardRef, Literal, NamedTuple, Self, TypeAlias

import numpy as np

from traces.base.errors import InputError, shown
from traces.base.written_file import whole_file
from traces.compiled import Array
from traces.intervals import Texts, intervals_texts
from traces.ledger import STATES, WHY, JobRecords, Ledger, PowerRecords

if TYPE_CHECKING:
    import pandas as pd

    DataFrame: TypeAlias = pd.DataFrame
else:
    #: The type of tables in annotations; its module is not loaded for them.
    DataFrame = ForwardRef("pandas.DataFrame")

JOB_COLUMNS = tuple(JobRecords.table_columns())  #: columns that every table of jobs has
NAME = "name"  #: columns of ``jobs_frame`` that are present only on request, or if they are not trivial
BEGIN = "begin_ns"
PLANNED = "planned_ns"
REJECTED_BECAUSE = "rejected_because"
STARTED_BECAUSE = "started_because"
CUT_BECAUSE = "cut_because"

ALLOWED = "allowed"  #: whether a job may be slowed if power is limited, if given
PREDICTED_POWER = "predicted_power"  #: a job's estimated power by the platform, if its real power is unknown
ENERGY = "energy_j"  #: energy used by a job's cores while it held them, J, if known

#: Columns of the table of power over time (``docs/reference/power.md``).
POWER_COLUMNS = tuple(PowerRecords.table_columns())

#: Kinds of a column's values; a seed beyond int64 is a number without a sign.
ColumnKind: TypeAlias = Literal["whole", "seed", "real", "text", "truth", "unknown"]

_ROW_GROUP = 1 << 20  #: rows of one Parquet row group: the part of tasks.parquet that a reader holds at once
JOB_GROUP = 1 << 15  #: the same for jobs.parquet: the part that a run holds if it writes jobs when they end
_REPEATED = ["allocation", "why", "state"]  #: text columns with many equal rows


class Values(NamedTuple):
    """A column of values; some may be missing."""

    values: Sequence[Any]  # None if missing
    # {"whole", "seed", "real", "text", "truth"}: type of the others, also for an empty column
    kind: ColumnKind


class _Words(NamedTuple):
    """A column of words from a short list: the index of each row's word."""

    place: Array
    words: tuple[str, ...]


def _job_columns(ledger: Ledger, further: Mapping[str, Array] | None) -> dict[str, object]:
    jobs = ledger.jobs
    columns: dict[str, object] = {name: getattr(jobs, name) for name in JOB_COLUMNS if name != "allocation"}
    columns["allocation"] = intervals_texts(jobs.allocation_first, jobs.allocation_lo, jobs.allocation_hi)
    columns["why"], columns["state"] = _Words(jobs.why, WHY), _Words(jobs.state, STATES)
    gpus = {} if ledger.gpus is None else ledger.gpus.columns_of_jobs()
    return {name: columns[name] for name in JOB_COLUMNS} | gpus | dict(further or {})


def jobs_frame(ledger: Ledger, further: Mapping[str, Array] | None = None) -> DataFrame:
    """Return one row per attempt at a job, columns ``JOB_COLUMNS``, in the order of ``traces.ledger.JobRecords``.

    ``allocation`` is text such as ``0-63 128-191``; ``why`` and ``state`` are words of ``WHY`` and ``STATES`` there. They are
    followed by any ``further`` columns, one value per row: ``NAME``, ``BEGIN``, ``PLANNED``,
    ``REJECTED_BECAUSE``, ``STARTED_BECAUSE``, ``CUT_BECAUSE``, ``ENERGY``, and those of features.
    """
    columns = _job_columns(ledger, further)
    for name, column in columns.items():
        if isinstance(column, _Words):
            columns[name] = np.array(column.words, object)[column.place]
        elif isinstance(column, Texts):
            columns[name] = column.list()
    return rows_frame(columns)


def timedeltas(values: Any) -> Any:
    """Return times as ``Timedelta`` instead of whole ns, without ``_ns`` at the end of their names.

    Parameters
    ----------
    values : DataFrame or mapping
        A table, as ``result.jobs``, or metrics by name, as ``result.metrics``.

    Returns
    -------
    DataFrame or dict
        The same with every column, or number, whose name ends in ``_ns`` as times; missing values (None, -1) are ``NaT``.
        Instants are times since the simulation's time 0.

    Examples
    --------
    >>> timedeltas({"makespan_ns": 60_000_000_000, "jobs": 2})
    {'makespan': Timedelta('0 days 00:01:00'), 'jobs': 2}
    """
    import pandas as pd

    if not isinstance(values, pd.DataFrame | Mapping):
        raise InputError(f"timedeltas: {shown(values)}; allowed: a table, or metrics by name, as result.metrics")
    if not isinstance(values, pd.DataFrame):
        return {
            name.removesuffix("_ns"): _timedelta(value) if name.endswith("_ns") else value
            for name, value in values.items()
        }
    columns = {str(name): values[name] for name in values}
    for name, column in columns.items():
        if name.endswith("_ns"):
            times = pd.to_timedelta(column, unit="ns")
            columns[name] = times.where(column != -1)
    return pd.DataFrame({name.removesuffix("_ns"): column for name, column in columns.items()}, index=values.index)


def _timedelta(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _timedelta(one) for name, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_timedelta(one) for one in value]
    import pandas as pd

    return pd.NaT if value is None or value == -1 else pd.Timedelta(value, unit="ns")


def rows_frame(columns: Any) -> DataFrame:
    """Return a frame of a mapping of columns or a list of row mappings; values missing in :class:`Values` are missing in it."""
    import pandas as pd

    if isinstance(columns, Mapping) and any(isinstance(column, Values) for column in columns.values()):
        types: Any = {"whole": "Int64", "seed": "UInt64", "real": "float64", "text": object, "truth": "boolean"}
        columns = {
            name: pd.Series(list(column.values), dtype=types[column.kind]) if isinstance(column, Values) else column
            for name, column in columns.items()
        }
    return pd.DataFrame(columns)


def joined_frames(frames: Sequence[DataFrame]) -> DataFrame:
    """Concatenate the rows of several frames."""
    import pandas as pd

    return pd.concat(frames, ignore_index=True)


def _arrow(column: Any) -> Any:
    # Directly from memory: pyarrow's own conversion would import pandas first, which takes as long as a small run.
    import pyarrow as pa

    if isinstance(column, np.ndarray):
        values = np.ascontiguousarray(column)
        if values.dtype == np.bool_:  # Arrow stores these as bits
            return pa.array(values.tolist())
        return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])
    if isinstance(column, Values):
        return pa.array(list(column.values), _arrow_types()[column.kind])
    if isinstance(column, _Words):  # pyarrow's own conversion would import all its compute functions
        words = [word.encode() for word in column.words]
        lengths = np.array([len(word) for word in words], np.int32)
        return _text([words[place] for place in column.place.tolist()], lengths[column.place])
    if isinstance(column, Texts):
        offsets = column.first.astype(np.int32)
        return pa.StringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(column.text))
    if column and isinstance(column[0], str):
        encoded = [text.encode() for text in column]
        return _text(encoded, [len(text) for text in encoded])
    return pa.array(column)


def _arrow_types() -> dict[str, Any]:
    import pyarrow as pa

    return {"whole": pa.int64(), "seed": pa.uint64(), "real": pa.float64(), "text": pa.string(), "truth": pa.bool_()}


def _text(encoded: Sequence[bytes], lengths: Any) -> Any:
    import pyarrow as pa

    offsets = np.zeros(len(encoded) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.StringArray.from_buffers(len(encoded), pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded)))


def _table(columns: Mapping[str, Any]) -> Any:
    import pyarrow as pa

    return pa.table({name: _arrow(column) for name, column in columns.items()})


def write_rows(columns: Mapping[str, Any], path: Path, row_group: int = _ROW_GROUP) -> None:
    """Write any table of columns as Parquet."""
    import pyarrow.parquet as pq

    with whole_file(path) as partial:
        pq.write_table(_table(columns), partial, compression="zstd", row_group_size=row_group, use_dictionary=_REPEATED)


def write_jobs(ledger: Ledger, path: Path, further: Mapping[str, Array] | None = None) -> None:
    """Write ``jobs_frame`` as Parquet; equal ledgers give equal bytes."""
    write_rows(_job_columns(ledger, further), path, JOB_GROUP)


class JobsWriter:
    """Writes the same file as :func:`write_jobs`, ``JOB_GROUP`` jobs at a time; the last part may be smaller."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._partial = path
        self._writer: Any = None
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        self._partial = self._stack.enter_context(whole_file(self._path))
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def write(self, ledger: Ledger, further: Mapping[str, Array] | None = None) -> None:
        """Append the jobs of a ledger."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = _table(_job_columns(ledger, further))
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._partial, table.schema, compression="zstd", use_dictionary=_REPEATED)
            self._stack.callback(self._writer.close)
        self._writer.write_table(table, row_group_size=JOB_GROUP)
        pa.default_memory_pool().release_unused()


def finish_jobs(path: Path, texts: Mapping[str, Mapping[int, str]], *, begins: bool) -> None:
    """Add the columns to a jobs.parquet that are known only now: it becomes the file that :func:`write_jobs` writes.

    - ``path``: the file, without later columns than ``BEGIN``.
    - ``texts``: mapping of str to mapping of int to str, further text columns, by row; missing texts are empty.
    - ``begins``: whether it keeps the column ``BEGIN``, if it has one.
    """
    import pyarrow.parquet as pq

    with contextlib.ExitStack() as stack:
        file = stack.enter_context(pq.ParquetFile(path))
        partial = stack.enter_context(whole_file(path))
        writer: Any = None
        at = 0
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, use_threads=False)
            if not begins and BEGIN in table.column_names:
                table = table.drop_columns([BEGIN])
            names, stop = table.column_names, at + table.num_rows
            place = names.index(BEGIN) if BEGIN in names else len(names)
            for k, (name, said) in enumerate(texts.items()):
                table = table.add_column(place + k, name, _arrow([said.get(row, "") for row in range(at, stop)]))
            if writer is None:
                writer = pq.ParquetWriter(partial, table.schema, compression="zstd", use_dictionary=_REPEATED)
                stack.callback(writer.close)
            writer.write_table(table, row_group_size=JOB_GROUP)
            at = stop


def job_blocks(path: Path, names: Sequence[str]) -> Iterator[dict[str, Array]]:
    """Yield columns of an existing jobs.parquet, one block of rows after another, as dict of str to int64.

    - ``names``: names in ``JOB_COLUMNS``: whole numbers, and ``why`` and ``state``, as indices of ``traces.ledger.WHY`` and
      ``STATES``.
    """
    import pyarrow.parquet as pq

    words = {"why": WHY, "state": STATES}
    with pq.ParquetFile(path, read_dictionary=[*words]) as file:
        for group in range(file.num_row_groups):  # its batches would hold far more than a group
            rows = file.read_row_group(group, list(names), use_threads=False)
            yield {
                name: np.concatenate([_whole_numbers(one, words.get(name)) for one in rows.column(name).chunks])
                for name in names
            }


def _whole_numbers(column: Any, words: Sequence[str] | None) -> Array:
    # Convert numbers, or words to their indices in ``words``.
    if words is None:
        return _numbers(column, np.int64)
    place = np.array([words.index(word) for word in column.dictionary.to_pylist()], np.int64)
    return place[_numbers(column.indices, np.int32)]


def _numbers(column: Any, dtype: Any) -> Array:
    # Without a copy: pyarrow's own conversion would import pandas.
    return np.frombuffer(column.buffers()[1], dtype)[column.offset : column.offset + len(column)]


def job_names(path: Path) -> tuple[Array, Sequence[str] | None]:
    """Return job numbers and names of the rows of a jobs.parquet; None if it has no names, and nothing if the file does not
    exist. Raises InputError if it is not a table."""
    import pyarrow.parquet as pq

    if not path.is_file():
        return np.zeros(0, np.int64), None
    with _readable(path), pq.ParquetFile(path) as file:
        wanted = [name for name in ("job_id", NAME) if name in file.schema_arrow.names]
        rows = file.read(wanted, use_threads=False)
        numbers = (_numbers(one, np.int64) for one in rows.column("job_id").chunks)
        names = rows.column(NAME).to_pylist() if NAME in wanted else None
        return np.concatenate([np.zeros(0, np.int64), *numbers]), names


def write_blocks(kinds: Mapping[str, ColumnKind], blocks: Iterable[Sequence[Mapping[str, Any]]], path: Path) -> None:
    """Write rows as Parquet, block after block, so that only one is held; missing values are null.

    - ``kinds``: mapping of str to {"whole", "seed", "real", "text", "truth"}, the columns and their types: int64, uint64,
      double, string, bool.
    - ``blocks``: iterable of sequence of mapping, rows by name.
    - ``path``: the file, which gets its name when it is complete.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = _arrow_types()
    schema = pa.schema([(name, types[kind]) for name, kind in kinds.items()])
    with whole_file(path) as partial, pq.ParquetWriter(partial, schema, compression="zstd") as writer:
        for rows in blocks:
            columns = (([row.get(name) for row in rows], types[kind]) for name, kind in kinds.items())
            arrays = [pa.array(*column, from_pandas=True) for column in columns]
            writer.write_table(pa.table(arrays, schema=schema))


def write_frame(frame: DataFrame, path: Path) -> None:
    """Write a frame as Parquet, with the types of its columns."""
    with whole_file(path) as partial:
        frame.to_parquet(partial, index=False, compression="zstd")


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    # Read a table; errors name the file.
    from pyarrow import ArrowException

    if not path.is_file():
        raise InputError(f"{path}: no such file; is {path.parent} a result of twolevel run?")
    try:
        yield
    except (ArrowException, OSError, ValueError, KeyError) as error:
        raise InputError(f"{path}: not a readable table: {str(error).splitlines()[0]}") from None


RENAMED_COLUMNS = {"told_ns": "command_ns"}  #: columns of earlier results, and their present names


def read_rows(path: Path, columns: tuple[str, ...] = (), alone: tuple[str, ...] = ()) -> DataFrame:
    """Read any table with at least these columns; with ``alone``, only the columns of these names that it has. Raises
    InputError if it does not exist, or lacks a column."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    with _readable(path):
        names = {RENAMED_COLUMNS.get(name, name): name for name in pq.read_schema(path).names}
        frame = pd.read_parquet(path, columns=[names[name] for name in alone if name in names] if alone else None)
        frame = frame.rename(columns=RENAMED_COLUMNS)
        pa.default_memory_pool().release_unused()  # a third of the process's memory
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise InputError(f"{path}: no column {missing[0]}; this is not a table of twolevel")
    return frame


def read_power(path: Path) -> DataFrame:
    """Read a power.parquet. Raises InputError if it does not exist, or is another table."""
    return read_rows(path, POWER_COLUMNS)


def read_columns(path: Path, columns: tuple[str, ...], optional: tuple[str, ...] = ()) -> DataFrame:
    """Read only these columns of a table, and the ``optional`` ones that it has. Raises InputError if the table does not
    exist, or lacks one of ``columns``."""
    return read_rows(path, columns, (*columns, *optional))


def read_numbers(path: Path, columns: tuple[str, ...]) -> DataFrame:
    """Read only these columns of a table of numbers, one group of rows after another.

    It needs only the memory of the columns, half of :func:`read_columns`, which matters for tasks. Raises InputError if the
    table does not exist, lacks a column, or a column has a row without a number.
    """
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    with _readable(path), pq.ParquetFile(path) as file:
        for name in columns:
            if name not in file.schema_arrow.names:
                raise InputError(f"{path}: no column {name}; this is not a table of twolevel")
        types = {name: file.schema_arrow.field(name).type.to_pandas_dtype() for name in columns}
        found = {name: np.empty(file.metadata.num_rows, kind) for name, kind in types.items()}
        at = 0
        for group in range(file.num_row_groups):
            rows = file.read_row_group(group, list(columns), use_threads=False)
            for name, column in found.items():
                if column.dtype.kind not in "iuf" or rows.column(name).null_count:
                    raise InputError(f"{path}: column {name} has a row without a number")
                column[at : at + len(rows)] = rows.column(name).to_numpy()
            at += len(rows)
            del rows
            pa.default_memory_pool().release_unused()
    return pd.DataFrame(found, copy=False)


def distinct(column: Any) -> tuple[Array, list[Any]]:
    """Return the index of each value of a column in the list of distinct values, and that list, in order of appearance."""
    import pandas as pd

    values: Any
    codes, values = pd.factorize(column, use_na_sentinel=False)
    return codes, values.tolist()


def table_rows(path: Path) -> int:
    """Return the number of rows of a Parquet file, without reading them. Raises InputError if it is not one."""
    import pyarrow.parquet as pq
    from pyarrow import ArrowInvalid

    try:
        return int(pq.read_metadata(path).num_rows)
    except (ArrowInvalid, OSError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None


def read_jobs(path: Path) -> DataFrame:
    """Read a jobs.parquet. Raises InputError if it does not exist, or is another table."""
    return read_rows(path, JOB_COLUMNS)
