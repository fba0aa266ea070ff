"""Reads files as batches of columns: CSV and the like, Parquet, and JSON (:mod:`bls.workloads.readers.tables.json_rows`).

Only some batches are in memory, except for JSON texts that are one list. In CSV, rows are numbered as lines if no cell contains
a line break; in Parquet and JSON they are numbered from 1.
"""

from __future__ import annotations

import codecs
import io
import os
from array import array as numbers_array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, tee
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bls.workloads.columns import KEPT, RejectedLine
from bls.workloads.readers.tables.json_rows import (
    JsonRows,
    Row,
    blocks_of_lines,
    cells_of,
    plain_lines,
    quoted,
    records_of_lines,
    records_of_text,
    root_of,
    whole_numbers,
)
from bls.workloads.readers.tables.named import header_names, separator_of
from bls.workloads.workload import MALFORMED
from traces.base.errors import InputError, one_of, parse_real, printable, shown, shown_name
from traces.base.given_file import GivenFile
from traces.compiled import Array

MOST_COLUMNS = 10_000  #: largest number of columns of a table
BLOCK_BYTES = 1 << 21  #: bytes of CSV that are parsed in one step; also the longest row
JSON_BYTES = 1 << 23  #: bytes of lines of JSON that are parsed in one step
BATCH_ROWS = 1 << 16  #: rows of a batch of Parquet, or of JSON that is one list
_PARQUET_BUFFER = 1 << 16  # bytes of a column of Parquet that are read in one step
_LONGEST_HEADER = 1 << 24
_PARQUET = b"PAR1"
_LAST = "\0end\0"  # the first cell of a row that follows those of CSV, and is not of their number of cells
_LONGEST = 200


class RowBatch(NamedTuple):
    """Some rows of a table."""

    columns: dict[str, Any]  # Arrow arrays, by name
    line: Array  # int64 (rows,): the rows' numbers


class RowTable(Protocol):
    """A table in a file, read once."""

    names: tuple[str, ...]  # its columns, and the paths of those within others; of JSON, those of the first rows
    comments: list[str]  # comment lines before the header
    rejected: list[RejectedLine]  # the first rows that cannot be parsed

    @property
    def n_rejected(self) -> int:
        """Number of rows so far that cannot be parsed."""

    def batches(self, wanted: Iterable[str]) -> Iterator[RowBatch]:
        """The rows, with some of the columns. Raises InputError if a file is damaged."""


class _Reading(io.RawIOBase):
    def __init__(self, file: GivenFile) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._file.readinto(memoryview(buffer))


class _WithLast:
    """A text that a given row follows, on a new line."""

    closed = False

    def __init__(self, text: Any, row: bytes) -> None:
        self._text, self._row, self._end = text, row, b"\n"

    def read(self, n: int) -> bytes:
        data: bytes = self._text.read(n)
        if not data and self._row:
            data = self._row if self._end in (b"\r", b"\n") else b"\n" + self._row
            self._row = b""
        self._end = data[-1:]
        return data


@contextmanager
def opened(
    path: str | os.PathLike[str], form: str = "", separator: str = "", header: tuple[str, ...] = (), records: str = ""
) -> Iterator[RowTable]:
    """Open a table; the parameters as the fields of a map. Raises InputError if the file cannot be read, or has no table."""
    source = os.fspath(path)
    with GivenFile(path, "table") as file:
        text: Any = io.BufferedReader(_Reading(file), 1 << 16)
        if text.peek(3)[:3] == codecs.BOM_UTF8:
            text.read(3)
        start = text.peek(1024).lstrip()
        if not start:
            raise InputError(f"{source}: the file is empty")
        if form == "parquet" or (not form and start.startswith(_PARQUET)):
            if not _begins(source, _PARQUET):
                is_packed = start.startswith(_PARQUET)
                what = "a compressed Parquet file; decompress it first" if is_packed else "no Parquet file"
                raise InputError(f"{source}: {what}")
            yield _Parquet(source)
        elif form in ("json", "jsonl") or (not form and start[:1] in (b"{", b"[")):
            is_lines = form == "jsonl" or (not form and start[:1] == b"{" and not records)
            yield _JsonLines(text, source) if is_lines else _Json(records_of_text(text, source, records), source)
        else:
            yield _Csv(text, source, separator, header)


def check_known(
    table: RowTable, wanted: Iterable[str], optional: Iterable[str], where: str, source: str
) -> tuple[str, ...]:
    """The columns to read: those wanted, without optional ones that the table lacks. Raises InputError if another is missing,
    or a name is not unique; ``where`` is the map."""
    found = []
    for name in wanted:
        known = name if name in table.names else root_of(name)
        if known in table.names:
            if table.names.count(known) > 1:
                raise InputError(f"{source}: column {shown_name(known)} appears twice")
            found.append(name)
        elif name not in optional:
            raise one_of("column", name, [one for one in table.names if one], f"{source}: {where}")
    return tuple(found)


def _paths(name: str, kind: Any) -> Iterator[str]:
    """A column of a type, and the paths of the fields in it."""
    yield name
    if pa.types.is_struct(kind):
        for place in range(kind.num_fields):
            yield from _paths(f"{name}.{kind.field(place).name}", kind.field(place).type)


def _begins(source: str, magic: bytes) -> bool:
    with open(source, "rb") as file:
        return file.read(len(magic)) == magic


def _check_width(names: tuple[str, ...], source: str) -> None:
    if len(names) > MOST_COLUMNS:
        raise InputError(f"{source}: {len(names):,} columns; allowed: up to {MOST_COLUMNS:,}")


@contextmanager
def _arrow_errors(form: str, source: str, row: int = 0) -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        if "straddl" in str(error):
            what = f"row {row} is longer than {BLOCK_BYTES:,} bytes: perhaps a quotation mark is not closed"
            raise InputError(f"{source}: not usable {form}: {what}") from None
        said = printable(str(error).split("\n", 1)[0])[:_LONGEST]
        raise InputError(f"{source}: not usable {form}, perhaps truncated: {said}") from None


class _Csv:
    def __init__(self, text: Any, source: str, separator: str, header: tuple[str, ...]) -> None:
        self._text, self._source = text, source
        self.comments: list[str] = []
        self.rejected: list[RejectedLine] = []
        self.n_rejected = 0
        self._bad = numbers_array("q")
        self._is_whole = False  # whether the row that follows the last was found, and is not within a cell
        self._first = 1  # number of the first row
        while text.peek(1)[:1] == b"#":
            self.comments.append(text.readline(_LONGEST_HEADER).decode("utf-8", "replace").rstrip("\r\n"))
            self._first += 1
        self.names = header
        self.separator = separator
        if header:
            self.separator = separator or separator_of(text.peek(1 << 16).split(b"\n", 1)[0].decode("utf-8", "replace"))
        else:
            line = self._line()
            self.separator = separator or separator_of(line)
            self.names = header_names(line, self.separator, source)
        _check_width(self.names, source)

    def _line(self) -> str:
        found = b""
        while not found.strip() or found.count(b'"') % 2:
            more = self._text.readline(_LONGEST_HEADER)
            self._first += 1
            if not more or len(found) > _LONGEST_HEADER:
                break
            found = found + more if found.strip() else more
        line = found.decode(errors="replace").rstrip("\r\n")
        if "\0" in line or "\ufffd" in line:
            what = "is no text in UTF-8; extract an archive first, and save a spreadsheet as CSV"
            raise InputError(f"{self._source}: the first line, which names the columns, {what}")
        return line

    def batches(self, wanted: Iterable[str]) -> Iterator[RowBatch]:
        """The rows, with some of the columns."""
        import pyarrow.csv as arrow_csv

        names = list(wanted)
        unique = [name if self.names.count(name) == 1 else f"\0{place}" for place, name in enumerate(self.names)]
        done, last = 0, self._first - 1
        with _arrow_errors("CSV", self._source, last + 1):
            if not self._text.peek(1):
                return
            decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
            text = _WithLast(self._text, f"{_LAST}{self.separator * len(unique)}\n".encode())
            reader = arrow_csv.open_csv(
                # Arrow cannot report a row that is not UTF-8.
                pa.TransformInputStream(pa.PythonFile(text, "r"), lambda block: decoder.decode(block).encode()),
                read_options=arrow_csv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES, column_names=unique),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self.separator,
                    newlines_in_values=True,
                    ignore_empty_lines=False,
                    invalid_row_handler=self._skip,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.binary()), include_columns=names, strings_can_be_null=False
                ),
            )
        while True:
            latest = max([last, *self._bad[-1:]])
            with _arrow_errors("CSV", self._source, latest + 1):
                rows = next(reader, None)
            if rows is None:
                if not self._is_whole:
                    row = max([last, *self._bad[-1:]])
                    what = f"row {row}: a quotation mark is not closed, so that the cell has all the rows after it"
                    raise InputError(f"{self._source}: {what}")
                return
            line, done = self._numbers(len(rows), last, done)
            last = int(line[-1]) if len(line) else last
            yield RowBatch(dict(zip(names, rows.columns, strict=True)), line)

    def _skip(self, row: Any) -> str:
        if row.text == _LAST + self.separator * len(self.names):
            self._is_whole = True
            return "skip"
        line = int(row.number) + self._first - 1
        self._bad.append(line)
        self.n_rejected += 1
        if self.n_rejected <= KEPT:
            fields = f"fields ({row.expected_columns} expected)"
            self.rejected.append(RejectedLine(MALFORMED, line, fields, f"{row.actual_columns}"))
        return "skip"

    def _numbers(self, rows: int, last: int, done: int) -> tuple[Array, int]:
        """The numbers of the next rows, after row ``last``, without those of skipped rows; ``done`` skipped rows precede."""
        bad = np.array(self._bad[done:], np.int64)
        # Of the k-th skipped row, k rows before it are skipped: row n is followed by as many as have number - k <= last + n.
        shift = np.searchsorted(bad - np.arange(len(bad)), last + 1 + np.arange(rows), side="right")
        line = last + 1 + np.arange(rows) + shift
        return line, done + (int(shift[-1]) if rows else 0)


class _Parquet:
    def __init__(self, source: str) -> None:
        import pyarrow.parquet as pq

        self._source = source
        with _arrow_errors("Parquet", source):
            # With pre_buffer, pyarrow keeps the bytes of all columns that it has read; without buffer_size, it reads those of a
            # whole row group in one step.
            self._file = pq.ParquetFile(source, pre_buffer=False, buffer_size=_PARQUET_BUFFER)
            schema = self._file.schema_arrow
        self._roots = frozenset(schema.names)
        self.names = tuple(chain.from_iterable(_paths(one.name, one.type) for one in schema))
        _check_width(self.names, source)
        known = (schema.metadata or {}).get(HEADER_KEY, b"")
        self.comments = known.decode("utf-8", "replace").split("\n") if known else []
        self.rejected: list[RejectedLine] = []
        self.n_rejected = 0

    def batches(self, wanted: Iterable[str]) -> Iterator[RowBatch]:
        """The rows, with some of the columns."""
        names = list(wanted)
        roots = [name if name in self._roots else root_of(name) for name in names]
        rows = self._file.iter_batches(BATCH_ROWS, columns=list(dict.fromkeys(roots)))
        first = 1
        while True:
            with _arrow_errors("Parquet", self._source):
                batch = next(rows, None)
            if batch is None:
                return
            columns = {
                name: self._field(batch.column(root), name, root) for name, root in zip(names, roots, strict=True)
            }
            yield RowBatch(columns, np.arange(first, first + len(batch)))
            first += len(batch)

    def _field(self, column: Any, name: str, root: str) -> Any:
        if name == root:
            return column
        try:
            return pc.struct_field(column, name[len(root) + 1 :].split("."))
        except (pa.ArrowException, TypeError):
            what = f"is of type {column.type}; allowed: fields of it, as {root}.NAME"
            raise InputError(f"{self._source}: column {shown_name(name)}: {shown_name(root)} {what}") from None


HEADER_KEY = b"twolevel.header"  #: key of a Parquet file's metadata: the header's lines


class _Json(JsonRows):
    def __init__(self, records: Iterable[tuple[int, Any]], source: str) -> None:
        super().__init__(records)
        self._source = source
        self.comments: list[str] = []
        _check_width(self.names, source)
        if not self.names:
            allowed = "one object per line, or a list of objects (of an object: records)"
            raise InputError(f"{source}: no JSON object with columns; allowed: {allowed}")

    def batches(self, wanted: Iterable[str]) -> Iterator[RowBatch]:
        """The rows, with some of the columns."""
        names = list(wanted)
        for rows, lines in self.several(BATCH_ROWS):
            yield RowBatch({name: self._column(rows, name, lines) for name in names}, np.array(lines, np.int64))

    def _column(self, rows: list[Row], name: str, lines: list[int]) -> Any:
        if root_of(name) == name:
            try:
                return pa.array([row.get(name) for row in rows], pa.string()).cast(pa.binary())
            except (pa.ArrowException, UnicodeError):
                pass  # booleans, objects, lists, or texts that are not UTF-8
        cells = cells_of(rows, name)
        for place, cell in enumerate(cells):
            if isinstance(cell, dict):
                raise InputError(
                    f"{self._source}: row {lines[place]}: column {shown_name(name)} is an object, {shown(cell)}; "
                    f"allowed: its fields, as {shown_name(name)}.NAME"
                )
        if not any(isinstance(cell, list) for cell in cells):
            return pa.array([None if cell is None else cell.encode("utf-8", "replace") for cell in cells], pa.binary())
        lists = [cell if cell is None or isinstance(cell, list) else [cell] for cell in cells]
        try:
            return pa.array(
                [None if one is None else [parse_real(word) for word in one] for one in lists], pa.list_(pa.float64())
            )
        except ValueError:
            return pa.array(lists, pa.list_(pa.string()))


class _JsonLines(_Json):
    """One object per line. Arrow parses blocks of lines; a block that it cannot parse exactly is parsed line by line."""

    def __init__(self, text: Any, source: str) -> None:
        start, self._blocks = tee(blocks_of_lines(text, JSON_BYTES))
        super().__init__(chain.from_iterable(records_of_lines(*block, source) for block in start), source)
        # These rows only gave the names, and are read again. Blocks are kept as long as the rows have an iterator of them.
        self._rows, self.rejected, self.n_rejected = chain(), [], 0

    def batches(self, wanted: Iterable[str]) -> Iterator[RowBatch]:
        """The rows, with some of the columns."""
        names = list(wanted)
        for first, data in self._blocks:
            columns = _parsed(data, names)
            if columns is not None:
                yield RowBatch(columns, first + np.arange(len(next(iter(columns.values())))))
            elif rows := list(self._checked(records_of_lines(first, data, self._source))):
                lines = [line for line, _ in rows]
                found = {name: self._column([row for _, row in rows], name, lines) for name in names}
                yield RowBatch(found, np.array(lines, np.int64))


def _parsed(data: bytes, names: list[str]) -> dict[str, Any] | None:
    """The columns of lines with plain cells, as texts; None if the lines have to be parsed one by one."""
    import pyarrow.json as arrow_json

    n = plain_lines(data)
    # Arrow ignores objects whose key is empty.
    if not n or any(not name or root_of(name) != name for name in names):
        return None
    try:
        kinds = [whole_numbers(data, names), ([], names)]
    except (ValueError, RecursionError):
        return None
    for whole, others in kinds:
        text = quoted(data, others)
        schema = pa.schema([(name, pa.int64() if name in whole else pa.string()) for name in names])
        try:
            table = arrow_json.read_json(
                pa.BufferReader(text),
                arrow_json.ReadOptions(use_threads=False, block_size=len(text) + 1),
                arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
            )
        except pa.ArrowException:
            continue
        # Several objects in a line make more rows.
        if len(table) == n:
            return {name: table[name].combine_chunks().cast(pa.string()).cast(pa.binary()) for name in names}
    return None
