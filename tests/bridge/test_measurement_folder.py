"""The folder of a measurement: what is written is read, and what is not valid is refused with its place."""

import copy
import json
from pathlib import Path

import pytest
from measurements import RECORD, SMALL

from bridge.measure import read_measurement, write_measurement
from bridge.measure.folder import TABLES
from traces.base.errors import InputError
from traces.tables import write_rows


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_measurement(tmp_path, RECORD, SMALL)
    read = read_measurement(tmp_path)
    assert read.record == RECORD
    for name, columns in SMALL.items():
        assert {column: [*values] for column, values in getattr(read, name).items()} == columns


def test_tables_that_are_not_given_are_empty_with_their_columns(tmp_path: Path) -> None:
    write_measurement(tmp_path, RECORD, {})
    read = read_measurement(tmp_path)
    for name, columns in TABLES.items():
        assert list(getattr(read, name).columns) == list(columns)
        assert len(getattr(read, name)) == 0


#: Table, column, row, value, and the error.
WRONG = [
    ("chunks", "iterations", 2, 0, "chunks.parquet: iterations of row 2: 0; allowed: 1 or more"),
    ("chunks", "first", 1, -2, "chunks.parquet: first of row 1: -2; allowed: -1 or more"),
    ("chunks", "end_ns", 1, 7, "chunks.parquet: end_ns of row 1: 7 is before begin_ns, 120"),
    ("chunks", "loop", 0, 4, "chunks.parquet: row 0: run 0, loop 4 is not in loops.parquet"),
    ("regions", "kind", 1, "graph", "regions.parquet: kind of row 1: 'graph'; allowed: loop, tasks, serial"),
    ("regions", "region", 1, 0, "regions.parquet: row 1: region 0 is there already"),
    ("loops", "region", 1, 3, "loops.parquet: row 1: region 3 is not in regions.parquet"),
    ("loops", "run", 0, 1, "loops.parquet: row 0: run 1 is not in runs.parquet"),
    ("dependences", "after", 0, 9, "dependences.parquet: row 0: run 0, after 9 is not in tasks.parquet"),
]


@pytest.mark.parametrize("written", [True, False], ids=["write", "read"])
@pytest.mark.parametrize(("table", "column", "row", "value", "words"), WRONG)
def test_wrong_values_are_refused_with_their_place(
    table: str, column: str, row: int, value: object, words: str, written: bool, tmp_path: Path
) -> None:
    tables = copy.deepcopy(SMALL)
    tables[table][column][row] = value
    if not written:
        write_measurement(tmp_path, RECORD, SMALL)
        (tmp_path / f"{table}.parquet").unlink()
        write_rows(tables[table], tmp_path / f"{table}.parquet")
    with pytest.raises(InputError) as refused:
        write_measurement(tmp_path, RECORD, tables) if written else read_measurement(tmp_path)
    assert str(refused.value).endswith(f"/{words}")


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("format", 2, "measurement.json: format 2; allowed: 1"),
        ("source", "guess", "measurement.json: source 'guess'; allowed: openmp, "),
        ("remarks", "none", "measurement.json: remarks: 'none'; allowed: a list"),
    ],
)
def test_wrong_records_are_refused(key: str, value: object, words: str, tmp_path: Path) -> None:
    write_measurement(tmp_path, RECORD, SMALL)
    path = tmp_path / "measurement.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    with pytest.raises(InputError, match=words):
        read_measurement(tmp_path)


def test_columns_of_another_type_are_refused(tmp_path: Path) -> None:
    write_measurement(tmp_path, RECORD, SMALL)
    write_rows(SMALL["waits"] | {"thread": ["a", "b"]}, tmp_path / "waits.parquet")
    with pytest.raises(InputError, match=r"waits.parquet: column thread has type .*; needed: whole numbers \(int64\)"):
        read_measurement(tmp_path)
