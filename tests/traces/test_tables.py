"""The tables: what pandas is shown, what Parquet, a page, Batsim's file and SWF hold is what the ledger says."""

import base64
import json
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledgers import NEVER, Job, ledger, ledgers, machine, never_started
from pages import ROOT, section, table
from tables import table_rows, table_text

from traces.base.columns import packed_bytes, packed_text
from traces.base.errors import InputError
from traces.base.time import NS_PER_S
from traces.exporters import exporter
from traces.exporters.batsim_jobs import write_batsim_jobs
from traces.exporters.swf import write_swf_jobs
from traces.intervals import intervals_text, intervals_texts
from traces.ledger import STATES, WHY, Ledger
from traces.ledger_tables import TASKS, stored_ledger, tasks_frame
from traces.tables import JOB_COLUMNS, RENAMED_COLUMNS, jobs_frame, read_columns, read_rows, write_jobs

JOBS = [
    Job(7, 0, 2, 6, [(0, 2)], [(0, 0, 2, 6), NEVER, (1, 1, 2, 5)], state="requeued"),
    never_started(8, 3, asked=64),
    Job(7, 0, 8, 9, [(0, 2), (3, 4)], [(0, 0, 8, 9)], 1, 1, "backfill", "killed", 6),
]


def test_a_row_an_attempt_and_none_of_tasks_that_never_ran() -> None:
    of = ledger(machine(2, 2), JOBS)
    frame = jobs_frame(of)
    assert tuple(frame.columns) == JOB_COLUMNS
    names = ["job_id", "attempt", "start_ns", "end_ns", "eligible_ns", "why", "state", "cores", "held_cores", "tasks"]
    assert frame[[*names, "allocation"]].to_numpy().tolist() == [
        [7, 0, 2, 6, 0, "head", "requeued", 2, 2, 2, "0-1"],
        [8, 0, -1, -1, 3, "never", "cancelled", 64, 0, 0, ""],
        [7, 1, 8, 9, 6, "backfill", "killed", 1, 3, 1, "0-1 3"],
    ]
    tasks = tasks_frame(of)
    assert tuple(tasks.columns) == TASKS.columns
    assert tasks[["job_id", "task", "core"]].to_numpy().tolist() == [[7, 0, 0], [7, 2, 1], [7, 0, 0]]


@settings(max_examples=60, deadline=None)
@given(of=ledgers())
def test_reading_returns_what_was_written(of: Ledger) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "jobs.parquet"
        write_jobs(of, path)
        pd.testing.assert_frame_equal(pd.read_parquet(path), jobs_frame(of), check_dtype=len(of.jobs) > 0)
        assert pd.read_parquet(path).state.tolist() == [STATES[k] for k in of.jobs.state.tolist()]
        assert pd.read_parquet(path).why.tolist() == [WHY[k] for k in of.jobs.why.tolist()]
        if of.tasks is not None:
            TASKS.write(of, path)
            pd.testing.assert_frame_equal(TASKS.read(path), tasks_frame(of))


def test_words_are_stored_once(tmp_path: Path) -> None:
    write_jobs(ledger(machine(2, 2), JOBS), tmp_path / "jobs.parquet")
    group = pq.read_metadata(tmp_path / "jobs.parquet").row_group(0)
    encoded = {group.column(k).path_in_schema: group.column(k).encodings for k in range(group.num_columns)}
    for name in JOB_COLUMNS:
        assert ("RLE_DICTIONARY" in encoded[name]) == (name in ("allocation", "why", "state")), name
    assert str(pq.read_schema(tmp_path / "jobs.parquet").field("why").type) == "string"


def test_the_words_are_those_of_the_page() -> None:
    text = section(ROOT / "docs" / "reference/results.md", "jobs.parquet")
    for head, words in (("| `why` | meaning", WHY), ("| `state` | meaning", STATES)):
        assert tuple(row[0].strip("`") for row in table(text[text.index(head) :])) == words


@given(rows=st.lists(st.lists(st.tuples(st.integers(0, 10**7), st.integers(1, 200)), max_size=4), max_size=12))
def test_texts_of_many_sets_of_cores_are_those_of_each(rows: list[list[tuple[int, int]]]) -> None:
    sets = [[(lo, lo + cores) for lo, cores in row] for row in rows]
    first = np.cumsum([0, *(len(one) for one in sets)])
    flat = np.array([interval for one in sets for interval in one], np.int64).reshape(-1, 2)
    assert intervals_texts(first, flat[:, 0], flat[:, 1]).list() == [intervals_text(one) for one in sets]


def unpacked(data: bytes) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    assert data[:8] == b"2LCOLS01"
    length = int.from_bytes(data[8:12], "little")
    header = json.loads(data[12 : 12 + length])
    begin = (12 + length + 7) & ~7
    columns = {}
    for entry in header["columns"]:
        assert (begin + entry["offset"]) % 8 == 0  # or a typed array cannot be laid over it
        columns[entry["name"]] = np.frombuffer(data, "<" + entry["type"], entry["rows"], begin + entry["offset"])
    return header["about"], columns


@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "f4", "f8"])
@pytest.mark.parametrize("order", ["<", ">"])
def test_columns_come_back(kind: str, order: str) -> None:
    numbers = np.array([0, 1, 3, 100], order + kind)
    about = {"unit": "ns", "texts": ["<script>", "ü"]}
    data = packed_bytes({"a": numbers, "none": numbers[:0], "b": numbers[::2]}, about)
    said, columns = unpacked(data)
    assert said == about
    assert columns["a"].tolist() == [0, 1, 3, 100]
    assert columns["none"].tolist() == []
    assert columns["b"].tolist() == [0, 3]
    assert (
        zlib.decompress(base64.b64decode(packed_text({"a": numbers, "none": numbers[:0], "b": numbers[::2]}, about)))
        == data
    )


@pytest.mark.parametrize(
    "column", [np.zeros((2, 2)), np.array(["a"]), np.array([1], np.uint64), np.array([True]), np.array([1], np.float16)]
)
def test_types_without_an_array_on_the_page_are_refused(column: npt.NDArray[Any]) -> None:
    with pytest.raises(ValueError, match=r"column 'a': .* cannot be packed"):
        packed_bytes({"a": column}, {})


S = NS_PER_S

#: A job that ran, one that was withdrawn, one that an outage cut and that ran again, one cut at its very start.
LEDGER = ledger(
    machine(4, 4),
    [
        Job(1, 0, 0, 1_500_000_000, [(0, 3)], asked=2, state="killed"),
        never_started(7, 5, asked=3),
        Job(2, S, 2 * S, 3 * S, [(0, 2), (5, 6)], state="requeued"),
        Job(3, S, 2 * S, 2 * S, [(3, 4)], state="cancelled"),
        Job(2, S, 4 * S, 6 * S + 1, [(1, 4)], attempt=1, eligible=3 * S),
        Job(9, 2 * S, 2 * S, 3 * S, [(7, 8)], state="failed"),
    ],
    with_tasks=False,
)


def test_batsims_file_as_a_whole(tmp_path: Path) -> None:
    path = write_batsim_jobs(LEDGER, tmp_path / "new")
    assert path == tmp_path / "new" / "jobs.csv"
    assert path.read_text() == table_text(__file__, "batsim")


def test_jobs_with_tasks_are_applications(tmp_path: Path) -> None:
    jobs = [Job(1, 0, 0, 5, [(0, 1)], [(0, 0, 0, 5)]), Job(2, 5, 5, 9, [(0, 1)])]
    path = write_batsim_jobs(ledger(machine(1), jobs), tmp_path)
    assert pd.read_csv(path)["profile"].tolist() == ["application", "delay"]


def test_swf_of_a_run_as_a_whole(tmp_path: Path) -> None:
    path = write_swf_jobs(LEDGER, tmp_path)
    assert path.read_text() == table_text(__file__, "swf")


def test_a_run_of_no_jobs(tmp_path: Path) -> None:
    empty = ledger(machine(2), [])
    assert len(write_batsim_jobs(empty, tmp_path).read_text().splitlines()) == 1
    assert "; MaxJobs: 0" in write_swf_jobs(empty, tmp_path).read_text()


@pytest.mark.parametrize("name", ["batsim", "swf"])
def test_existing_files_are_not_replaced(name: str, tmp_path: Path) -> None:
    path = exporter(name)(LEDGER, tmp_path)
    before = path.read_bytes()
    with pytest.raises(InputError, match="exists already"):
        exporter(name)(LEDGER, tmp_path)
    assert path.read_bytes() == before
    with pytest.raises(InputError, match="cannot be written: Not a directory"):
        exporter(name)(LEDGER, path / "below")


@given(of=ledgers())
@settings(max_examples=50)
def test_a_table_of_jobs_is_a_ledger_again(of: Ledger) -> None:
    frame = jobs_frame(of)
    again = stored_ledger({name: frame[name].to_numpy() for name in frame.columns}, of.machine)
    assert again.tasks is None
    for name, column in vars(of.jobs).items():
        np.testing.assert_array_equal(getattr(again.jobs, name), column, name)
        assert getattr(again.jobs, name).dtype == column.dtype, name


@pytest.mark.parametrize(("column", "value", "message"), table_rows(__file__, "a_table_that_is_none_is"))
def test_a_table_that_is_none_is_one_line(column: str, value: str, message: str) -> None:
    frame = jobs_frame(LEDGER)
    columns = {name: frame[name].to_numpy().copy() for name in frame.columns}
    columns[column][0] = value
    with pytest.raises(InputError, match=message):
        stored_ledger(columns, LEDGER.machine)


def test_earlier_names_are_read_as_present_ones(tmp_path: Path) -> None:
    for earlier, present in RENAMED_COLUMNS.items():
        pd.DataFrame({"row": [0, 1], earlier: [5, 7]}).to_parquet(tmp_path / "old.parquet")
        assert list(read_rows(tmp_path / "old.parquet", ("row", present))) == ["row", present]
        assert read_columns(tmp_path / "old.parquet", (present,))[present].tolist() == [5, 7]
