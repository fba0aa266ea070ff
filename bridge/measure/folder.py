"""The folder of a measurement: its record and its tables, which ``traces.records.measurements`` declares."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from bridge.runs.directory import read_record, write_record
from traces.base.errors import InputError, listed, shown
from traces.records.measurements import FORMAT, RECORD, SOURCES, TABLES
from traces.tables import DataFrame, Values, read_rows, rows_frame, write_rows

#: Columns that identify a row.
_KEYS: Final = {
    "runs": ("run",),
    "regions": ("region",),
    "loops": ("run", "loop"),
    "tasks": ("run", "task"),
}

#: (table, columns, other table, the columns of its rows that they identify)
_REFERENCES: Final = (
    ("loops", ("run",), "runs", ("run",)),
    ("loops", ("region",), "regions", ("region",)),
    ("chunks", ("run", "loop"), "loops", ("run", "loop")),
    ("waits", ("run", "loop"), "loops", ("run", "loop")),
    ("tasks", ("run", "loop"), "loops", ("run", "loop")),
    ("dependences", ("run", "loop"), "loops", ("run", "loop")),
    ("dependences", ("run", "before"), "tasks", ("run", "task")),
    ("dependences", ("run", "after"), "tasks", ("run", "task")),
)


@dataclass(frozen=True)
class MeasurementRecord:
    """The record, ``measurement.json``."""

    source: str  # one of SOURCES
    command: list[str] = field(default_factory=list)  # words of the measured program's command line
    machine: Mapping[str, Any] = field(default_factory=dict)  # cpu, cores, governor, frequency_mhz, as far as known
    versions: Mapping[str, str] = field(default_factory=dict)  # twolevel, runtime, compiler, as far as known
    clock: Mapping[str, Any] = field(default_factory=dict)  # name, resolution_ns, read_ns (of one read)
    overhead: Mapping[str, Any] = field(default_factory=dict)  # event_ns, events, share (of the run, 0 to 1)
    affinity: Mapping[str, list[int]] = field(default_factory=dict)  # thread → processors that it may use
    remarks: list[str] = field(default_factory=list)  # lines: what was merged, what could not be measured


@dataclass(frozen=True)
class MeasurementTables:
    """A measurement: the record and one frame per table, with the columns of ``TABLES``."""

    record: MeasurementRecord
    runs: DataFrame
    regions: DataFrame
    loops: DataFrame
    chunks: DataFrame
    waits: DataFrame
    tasks: DataFrame
    dependences: DataFrame


def write_measurement(folder: Path, record: MeasurementRecord, tables: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the record and all tables into a folder.

    Parameters
    ----------
    folder : Path
        An existing folder, as from ``bridge.runs.directory.fresh_directory``.
    record : MeasurementRecord
    tables : mapping of str to mapping of str to sequence
        Columns by table; tables that are not given are written empty.

    Raises
    ------
    InputError
        If a table or column is unknown or missing, or a value is not allowed; the message names the file, column and row.
    """
    if unknown := [name for name in tables if name not in TABLES]:
        raise InputError(f"{folder}: unknown table {shown(unknown[0])}; known: {listed(TABLES)}")
    frames = {}
    for name, declared in TABLES.items():
        given = tables.get(name, dict.fromkeys(declared, ()))
        path = _path(folder, name)
        if missing := [column for column in declared if column not in given]:
            raise InputError(f"{path}: no column {missing[0]}; needed: {listed(declared)}")
        columns = {
            column: Values(list(given[column]), "text") if one.kind == "text" else np.asarray(given[column], np.int64)
            for column, one in declared.items()
        }
        frames[name] = rows_frame(columns)
        _check_values(path, name, frames[name])
        write_rows(columns, path)
    _check_references(folder, frames)
    write_record(folder / RECORD, {"format": FORMAT, **vars(record)})


def read_measurement(folder: str | os.PathLike[str]) -> MeasurementTables:
    """Read a measurement. Raises InputError if the folder has none, or a table is not valid; the message names the file,
    column and row."""
    folder = Path(folder)
    record = read_measurement_record(folder)
    frames = {name: _read(folder, name) for name in TABLES}
    _check_references(folder, frames)
    return MeasurementTables(record, **frames)


def read_measurement_record(folder: Path) -> MeasurementRecord:
    """Read the record of a measurement. Raises InputError if the folder has none."""
    found = read_record(folder, RECORD, "measure")
    where = folder / RECORD
    if found.get("format") != FORMAT:
        raise InputError(f"{where}: format {shown(found.get('format'))}; allowed: {FORMAT}")
    if found.get("source") not in SOURCES:
        raise InputError(f"{where}: source {shown(found.get('source'))}; allowed: {listed(SOURCES)}")
    known = {name: found[name] for name in MeasurementRecord.__dataclass_fields__ if name in found}
    empty = vars(MeasurementRecord(""))
    for name, value in known.items():
        if not isinstance(value, type(empty[name])):
            raise InputError(f"{where}: {name}: {shown(value)}; allowed: {_KIND_WORDS[type(empty[name])]}")
    return MeasurementRecord(**known)


_KIND_WORDS: Final[Mapping[type, str]] = {str: "a text", list: "a list", dict: "a table"}


def _path(folder: Path, name: str) -> Path:
    return folder / f"{name}.parquet"


def _read(folder: Path, name: str) -> DataFrame:
    path, declared = _path(folder, name), TABLES[name]
    frame = read_rows(path, tuple(declared), tuple(declared))[list(declared)]
    for column, one in declared.items():
        kind = frame[column].dtype.kind
        if (kind == "i") != (one.kind == "whole") and len(frame):
            raise InputError(f"{path}: column {column} has type {frame[column].dtype}; needed: {_TYPE_WORDS[one.kind]}")
    _check_values(path, name, frame)
    return frame


_TYPE_WORDS = {"whole": "whole numbers (int64)", "text": "texts"}


def _check_values(path: Path, name: str, frame: DataFrame) -> None:
    for column, one in TABLES[name].items():
        values = frame[column]
        if one.kind == "text":
            wrong = values.isna() if not one.words else ~values.isin(one.words)
            allowed = listed(one.words) if one.words else "a text"
        elif one.lowest is None:
            continue
        else:
            wrong, allowed = values < one.lowest, f"{one.lowest} or more"
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            value = values[row] if one.kind == "text" else int(values[row])
            raise InputError(f"{path}: {column} of row {row}: {shown(value)}; allowed: {allowed}")
    if "end_ns" in TABLES[name] and (wrong := frame["end_ns"] < frame["begin_ns"]).any():
        row = int(np.flatnonzero(wrong)[0])
        begin, end = int(frame["begin_ns"][row]), int(frame["end_ns"][row])
        raise InputError(f"{path}: end_ns of row {row}: {end} is before begin_ns, {begin}")
    keys = list(_KEYS.get(name, ()))
    if keys and (wrong := frame.duplicated(keys)).any():
        row = int(np.flatnonzero(wrong)[0])
        raise InputError(f"{path}: row {row}: {_numbered(frame, row, keys)} is there already")


def _check_references(folder: Path, frames: Mapping[str, DataFrame]) -> None:
    for name, columns, other, keys in _REFERENCES:
        frame = frames[name]
        known = frames[other][list(keys)].rename(columns=dict(zip(keys, columns, strict=True))).assign(_known=True)
        wrong = frame[list(columns)].merge(known, how="left", on=list(columns))["_known"].isna()
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise InputError(
                f"{_path(folder, name)}: row {row}: {_numbered(frame, row, list(columns))} is not in {other}.parquet"
            )


def _numbered(frame: DataFrame, row: int, columns: list[str]) -> str:
    return ", ".join(f"{column} {int(frame[column][row])}" for column in columns)
