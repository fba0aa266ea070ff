"""Tables with a map of their columns: each row is a job or a counted reject, as a slow reader of single rows finds."""

import contextlib
import csv
import gzip
import io
import json
import tomllib
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference import tables as slow
from refusing import refusals
from tables import kept, table_rows

from bls.stream import joined
from bls.workloads import format_of, read_workload, sample_path
from bls.workloads.columns import COLUMNS, OPTIONAL
from bls.workloads.readers.tables import json_rows, sources
from bls.workloads.readers.tables.column_map import parse_map
from bls.workloads.readers.tables.first_map import first_map
from bls.workloads.readers.tables.named import map_names, named_map
from bls.workloads.readers.tables.reader import read_table, table_blocks
from bls.workloads.workload import Workload
from bls.workloads.writers.table import write_table
from tools import table_keys
from traces.base.errors import InputError

NS = 10**9
LOGS = Path(__file__).parent / "tables" / "logs"

# Random tables and maps.

_ZONES = ("Europe/Rome", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe")
_HOURS = [
    datetime(2023, 3, 26, 1, 30),
    datetime(2023, 10, 29, 2, 0),
    datetime(2024, 11, 3, 1, 15),
    datetime(2024, 4, 7, 1, 50),
]
_WRONG = ("x", "-", "1 2", "12:61:00x", "2023-02-30", "9" * 25, "1e40", "--1", "+", ".", "2023-01-01T25:00:00", "0x10")
_ABSENT = ("", " ", "NULL", "nan", "Unknown")


def _few(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly values, else words that are none."""
    return st.integers(0, 15).flatmap(lambda k: st.sampled_from((_WRONG, _ABSENT)[k]) if k < 2 else values)


def _padded(words: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(st.sampled_from(("", "", " ")), words, st.sampled_from(("", "", " "))).map("".join)


_NUMBERS = st.one_of(
    st.integers(1, 400).map(str),
    st.decimals(-2, 400, allow_nan=False, allow_infinity=False, places=11).map(str),
    st.integers(0, 10**6).map(lambda k: f"{k}e-3"),
    st.sampled_from(("0", "1", "0.5", "1.0000000005", "2.5e1", "+3", ".25", "7.", "0.00000000049")),
)
_SECONDS = st.one_of(_NUMBERS, st.integers(1_600_000_000, 1_700_000_000).map(str), st.just("1650000000.125"))


@st.composite
def _dates(draw: st.DrawFn) -> str:
    near = draw(st.sampled_from(_HOURS)) + timedelta(minutes=draw(st.integers(-90, 120)))
    mark = draw(st.sampled_from("-/"))
    text = near.strftime(f"%Y{mark}%m{mark}%d")
    if draw(st.booleans()) or draw(st.booleans()):
        text += draw(st.sampled_from("T ")) + near.strftime("%H:%M")
        if draw(st.booleans()):
            text += f":{draw(st.integers(0, 59)):02}"
            text += draw(st.sampled_from(("", "", ".5", ".123456789", ".0000000015", ".9999999999")))
        text += draw(st.sampled_from(("", "", "", "Z", " UTC", "+01:00", "-0530", "+02")))
    return text


_CLOCKS = st.tuples(st.integers(0, 30), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59)).map(
    lambda t: (
        f"{t[0]}-{t[1]:02}:{t[2]:02}:{t[3]:02}"
        if t[0] % 3
        else f"{t[2]:02}:{t[3]:02}"
        if t[0]
        else f"{t[1]}:{t[2]}:{t[3]}"
    )
)


@st.composite
def _instants(draw: st.DrawFn, name: str) -> tuple[dict[str, Any], st.SearchStrategy[str]]:
    unit = draw(st.sampled_from(("auto", "iso", "s", "ms", "min")))
    spec: dict[str, Any] = {"column": name, "unit": unit}
    if draw(st.booleans()):
        spec["zone"] = draw(st.sampled_from(_ZONES))
    if draw(st.booleans()):
        spec["repeated"] = draw(st.sampled_from(("first", "second")))
    if draw(st.booleans()):
        spec["skipped"] = draw(st.sampled_from(("reject", "forward")))
    cells = {"auto": st.one_of(_SECONDS, _dates()), "iso": _dates(), "s": _SECONDS, "ms": _NUMBERS, "min": _NUMBERS}[
        unit
    ]
    return spec, cells


@st.composite
def _durations(draw: st.DrawFn, name: str) -> tuple[dict[str, Any], st.SearchStrategy[str]]:
    unit = draw(st.sampled_from(("auto", "clock", "s", "ms", "us", "ns", "min", "h")))
    spec: dict[str, Any] = {"column": name, "unit": unit}
    if draw(st.booleans()):
        spec["infinite"] = ["INFINITE", "7"]
    cells = {"auto": st.one_of(_NUMBERS, _CLOCKS), "clock": _CLOCKS}.get(unit, _NUMBERS)
    return spec, st.one_of(cells, st.just("INFINITE")) if "infinite" in spec else cells


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """A map, and the texts of a table's columns."""
    columns: dict[str, Any] = {}
    cells: dict[str, st.SearchStrategy[str]] = {}
    kind = draw(st.sampled_from(("number", "name", "none")))
    if kind != "none":
        columns["job_id"] = {"column": "job", "unit": kind}
        cells["job"] = st.integers(0, 30).map(str) if kind == "number" else st.integers(0, 30).map(lambda k: f"j{k}")
    for name in ("submit", "start", "end", "begin", "cancel"):
        if name == "submit" or draw(st.booleans()):
            columns[name], cells[name] = draw(_instants(name))
    for name in ("run", "walltime", "wait"):
        if draw(st.booleans()) or name == "run":
            columns[name], cells[name] = draw(_durations(name))
    for name in ("hosts", "cores", "gpus"):
        if name == "cores" or draw(st.booleans()):
            spec: dict[str, Any] = {"column": name, "unit": draw(st.sampled_from(("one", "percent", "milli")))}
            if draw(st.booleans()):
                spec["times"] = draw(st.integers(1, 1000))
            if name != "hosts" and "hosts" in columns and draw(st.booleans()):
                spec["per"] = "host"
            columns[name] = [spec, {"value": draw(st.integers(0, 5))}] if draw(st.booleans()) else spec
            cells[name] = _NUMBERS
    if draw(st.booleans()):
        columns["memory"] = {"column": "memory", "unit": draw(st.sampled_from(list(slow.KB)))}
        columns["memory"]["per"] = draw(
            st.sampled_from(("job", "core", "host") if "hosts" in columns else ("job", "core"))
        )
        cells["memory"] = _NUMBERS
    for name in ("user", "queue"):
        if draw(st.booleans()):
            columns[name], cells[name] = name, st.sampled_from(("ann", "bob", "c,d", 'e"f', "ü\nx", "17"))
    if draw(st.booleans()):
        columns["state"] = {
            "column": "state",
            "completed": ["DONE"],
            "failed": ["BAD"],
            "cancelled": ["CANCELLED"],
            "not_ended": ["RUNS"],
        }
        cells["state"] = st.sampled_from(("DONE", "BAD", "CANCELLED by 7", "RUNS", "ODD"))
    given: dict[str, Any] = {"columns": columns}
    if draw(st.booleans()):
        given["zone"] = draw(st.sampled_from(_ZONES))
    if draw(st.booleans()):
        given["missing"] = draw(st.sampled_from((["Unknown"], ["Unknown", "0"], ["1.5", "2023-03-26"])))
    n = draw(st.integers(1, 12))
    return given, {name: draw(st.lists(_padded(_few(some)), min_size=n, max_size=n)) for name, some in cells.items()}


def toml(given: dict[str, Any]) -> str:
    """The map as a TOML file."""

    def text(value: Any) -> str:
        if isinstance(value, dict):
            return "{ " + ", ".join(f"{key} = {text(one)}" for key, one in value.items()) + " }"
        if isinstance(value, list):
            return "[" + ", ".join(map(text, value)) + "]"
        return json.dumps(value)

    heads = [f"{key} = {text(value)}" for key, value in given.items() if key != "columns"]
    return "\n".join([*heads, "[columns]", *(f"{key} = {text(value)}" for key, value in given["columns"].items())])


def written(path: Path, columns: dict[str, list[Any]], separator: str = ",") -> Path:
    """A table as a file."""
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path, row_group_size=5)
        return path
    text = io.StringIO()
    if ".jsonl" in path.name:
        text.writelines(json.dumps(row) + "\n" for row in rows)
    else:
        made = csv.writer(text, delimiter=separator, lineterminator="\n")
        made.writerow(columns)
        made.writerows(row.values() for row in rows)
    path.write_bytes(gzip.compress(text.getvalue().encode()) if path.suffix == ".gz" else text.getvalue().encode())
    return path


def facts(found: Workload) -> list[dict[str, int]]:
    """The jobs of a workload as the slow reader describes them."""
    names = {
        "job_id": found.job_id,
        "submit": found.submit_ns,
        "run": found.run_ns,
        "cores": found.cores,
        "line": found.line,
        "estimate": found.estimate_ns,
        "wait": found.wait_ns,
        "status": found.status,
        "memory": found.memory_kb,
        "begin": found.begin_ns,
        "cancel": found.cancel_ns,
        "user": found.user,
        "queue": found.queue,
    }
    none = np.full(len(found), -1)
    names |= {name: found.extras.get(name, none) for name in ("nodes", "gpus")}
    return [
        dict(zip(names, row, strict=True)) for row in zip(*(column.tolist() for column in names.values()), strict=True)
    ]


def attempt(path: Path, **how: Any) -> tuple[Workload | None, str]:
    """The workload of a table, or the error."""
    try:
        return read_table(path, **how), ""
    except InputError as error:
        return None, error.text


def compare(path: Path, given: dict[str, Any], separator: str = ",") -> None:
    """The reader and the slow one find the same."""
    map_file = path.with_name("map.toml")
    map_file.write_text(toml(given), encoding="utf-8")
    assert tomllib.loads(map_file.read_text("utf-8")) == given
    expected = slow.read(slow.rows_of(path, separator), given)
    found, error = attempt(path, columns=str(map_file))
    if found is None:
        if "no valid job" in error:
            assert not expected.jobs
            return
        assert any(words in error for words in ("longer than ten years", "more than 146 years", "would run for")), error
        return
    assert Counter({reason: count for reason, count in found.rejects.items() if count}) == expected.rejects
    assert (facts(found), found.n_lines) == (expected.jobs, expected.n_lines)


@settings(
    max_examples=600, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture], deadline=None
)
@given(
    case=cases(),
    ending=st.sampled_from((".csv", ".tsv", ".csv.gz", ".jsonl", ".parquet")),
    block=st.sampled_from((3, 4096)),
)
def test_a_slow_reader_of_rows_finds_the_same(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    case: tuple[dict[str, Any], dict[str, list[str]]],
    ending: str,
    block: int,
) -> None:
    given_map, columns = case
    with monkeypatch.context() as patched:
        patched.setattr(sources, "BATCH_ROWS", block)
        patched.setattr(sources, "BLOCK_BYTES", max(block, 4096))
        separator = "\t" if ending == ".tsv" else ","
        compare(written(tmp_path / f"t{ending}", columns, separator), given_map, separator)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_types_of_parquet_are_read_as_the_slow_reader_does(tmp_path: Path, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 10))

    def some(values: st.SearchStrategy[Any]) -> list[Any]:
        return data.draw(st.lists(st.one_of(values, values, st.none()), min_size=n, max_size=n))

    zone = data.draw(st.sampled_from((None, "UTC", "Europe/Rome")))
    moments = st.sampled_from(_HOURS).flatmap(lambda at: st.integers(0, 7200).map(lambda s: at + timedelta(seconds=s)))
    unit = data.draw(st.sampled_from(("s", "ms", "us", "ns")))
    start = [None if one is None else one.replace(tzinfo=UTC) if zone else one for one in some(moments)]
    columns = {
        "submit": pa.array(
            some(st.integers(1_600_000_000, 1_700_000_000)), data.draw(st.sampled_from((pa.int64(), pa.uint64())))
        ),
        "start": pa.array(start, pa.timestamp(unit, zone)),
        "run": pa.array(some(st.floats(-1, 1e5)), pa.float64()),
        "cores": pa.array(
            some(st.integers(-1, 100)), data.draw(st.sampled_from((pa.int8(), pa.int32(), pa.float32())))
        ),
        "wait": pa.array(some(st.integers(0, 100).map(lambda k: timedelta(seconds=k))), pa.duration("us")),
        "user": pa.array(some(st.sampled_from(("a", "b", ""))), pa.dictionary(pa.int32(), pa.string())),
        "queue": pa.array(some(st.integers(0, 3)), pa.int16()),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    given_map: dict[str, Any] = {"columns": {name: name for name in columns}}
    if data.draw(st.booleans()):
        given_map["zone"] = "America/New_York"
    compare(tmp_path / "t.parquet", given_map)


_JSON = st.one_of(
    st.integers(-3, 2**65).map(str),
    st.sampled_from(
        ("-0", "-0.0", "1.50", "1e3", "2E-7", "1e999", "007", "NaN", "Infinity", "Inf", "true", "false", "null")
    ),
    st.sampled_from(
        ('"5"', '"1.50"', '"a\\"b\\": 7, "', '"\\u00e9"', '"\\ud800"', '"a\tb"', '"x', '"-0,"', '"é}"', '":1,"')
    ),
    st.sampled_from(("[1, 2]", '{"a": 1}', "[]", "[[[1]]]", '{"x": {"y": {"z": {}}}}', "", "1 2", "tru")),
)
_KEYS = st.sampled_from(('"a"', '"b"', '"c"', '"other"', '"x \\"a"', '"\\u0061"', '"a.b"', "a"))


@st.composite
def json_lines(draw: st.DrawFn) -> bytes:
    """Lines of JSON, most of which are objects of plain cells."""
    kinds = {name: draw(st.sampled_from(("3", "2.5", "true", '"w"'))) for name in ('"a"', '"b"', '"c"')}
    lines = []
    for _ in range(draw(st.integers(1, 12))):
        cells = dict(kinds)
        if draw(st.integers(0, 3)) == 0:
            cells[draw(_KEYS)] = draw(_JSON)
        mark = draw(st.sampled_from((": ", ":", " :\t")))
        line = "{" + ", ".join(f"{key}{mark}{cell}" for key, cell in cells.items()) + "}"
        lines.append(draw(st.sampled_from((line,) * 12 + (line + line, f" {line}", f'{line},"', "", "[1]", line[:-1]))))
    text = draw(st.sampled_from(("\n", "\n", "\r\n"))).join(lines) + draw(st.sampled_from(("", "\n")))
    return text.encode().replace(b"w", draw(st.sampled_from((b"w", b"w", b"\xff"))))


@settings(max_examples=600, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=json_lines(), size=st.sampled_from((1, 40, 1 << 20)))
def test_blocks_of_json_have_the_cells_and_rejects_of_single_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes, size: int
) -> None:
    (tmp_path / "t.jsonl").write_bytes(text)

    def found() -> Any:
        try:
            with sources.opened(tmp_path / "t.jsonl", "jsonl") as table:
                batches = list(table.batches(("a", "b", "c")))
        except InputError as error:
            return error.text
        columns = {name: [str(cell) for one in batches for cell in one.columns[name].to_pylist()] for name in "abc"}
        return [row for one in batches for row in one.line.tolist()], columns, table.n_rejected, table.rejected

    with monkeypatch.context() as patched:
        patched.setattr(sources, "JSON_BYTES", size)
        patched.setattr(json_rows, "_KINDS_OF", 1)
        by_blocks = found()
        patched.setattr(sources, "_parsed", lambda *_: None)
        assert found() == by_blocks


@pytest.mark.parametrize(
    ("cell", "texts"),
    [
        ("9007199254740993", [b"9007199254740993"]),
        ("36893488147419103232", [b"36893488147419103232"]),
        ("1.50", [b"1.50"]),
        ('"1.50"', [b"1.50"]),
        ("1e999", [b"1e999"]),
        ("true", [b"true"]),
        ("null", [None]),
        ("-0", None),
        ("-0\r", None),
        ("[1]", None),
        ('1, "c": ' + "[ " * 100 + "]" * 100, None),
        ("01", None),
        ('1}\n{"a": 1} {"a": 2', None),
    ],
)
def test_plain_cells_of_json_are_parsed_in_blocks(cell: str, texts: list[bytes | None] | None) -> None:
    found = sources._parsed(f'{{"a": {cell}, "b": [1]}}\n'.encode(), ["a"])
    assert (found and found["a"].to_pylist()) == texts


def test_objects_in_a_column_without_a_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"": {"a": 1}}\n')
    with sources.opened(tmp_path / "t.jsonl") as table, pytest.raises(InputError, match="row 1: column  is an object"):
        list(table.batches([""]))


# Published logs.

KNOWN: dict[str, dict[str, Any]] = kept(__file__, "logs")


@pytest.mark.parametrize("name", sorted(set(KNOWN) | {"pm100"}))
def test_a_log_is_read_by_its_published_description(name: str, tmp_path: Path) -> None:
    if name == "pm100":
        path, known = pm100(tmp_path), dict(PM100)
    else:
        known = dict(KNOWN[name])
        path = LOGS / known.pop("file")
    form = known.pop("format", None)
    assert form or format_of(path) == "table"
    found = read_workload(path, format=form)
    rejects = known.pop("rejects")
    assert {reason: count for reason, count in found.rejects.items() if count} == rejects
    assert found.n_lines == len(found) + sum(rejects.values())
    assert f"map {name}" in found.remarks[0]
    for column, values in known.items():
        assert (column, list(found.extras.get(column, getattr(found, column, ())))) == (column, values)


PM100: dict[str, Any] = {
    "job_id": [9, 8],
    "submit_ns": [0, 5 * NS],
    "run_ns": [60 * NS, 61 * NS],
    "estimate_ns": [86400 * NS, 61 * NS],
    "cores": [128, 4],
    "memory_kb": [1966080, 2097152],
    "gpus": [16, 0],
    "power_w": [1501, -1],
    "status": [1, 0],
    "rejects": {},
}


def pm100(folder: Path) -> Path:
    """A table as PM100's, with a list of power samples for each job."""
    moment = datetime(2020, 5, 1, 10, tzinfo=UTC)
    instants = {"submit_time": (5, 0), "eligible_time": (5, 0), "start_time": (9, 9), "end_time": (70, 69)}
    columns: dict[str, Any] = {
        name: pa.array([moment + timedelta(seconds=k) for k in seconds], pa.timestamp("us", "UTC"))
        for name, seconds in instants.items()
    }
    columns |= {
        "job_id": [8, 9],
        "num_cores_alloc": [4, 128],
        "num_cores_req": [4, 128],
        "num_nodes_alloc": [1, 4],
        "num_gpus_alloc": [0, 16],
        "mem_alloc": [8, 240],
        "time_limit": pa.array(["INFINITE", "1440"]),
        "run_time": [61, 60],
        "user_id": [5, 6],
        "partition": ["1", "2"],
        "job_state": ["TIMEOUT", "COMPLETED"],
        "node_power_consumption": pa.array([[], [1500.0, 1501.0]]),
    }
    pq.write_table(pa.table(columns), folder / "job_table.parquet")
    return folder / "job_table.parquet"


def test_every_map_is_tested_and_cites_its_description() -> None:
    assert set(map_names()) == set(KNOWN) | {"pm100", "twolevel"}
    for name in map_names():
        found = named_map(name)
        assert all((found.recognised, found.origin, found.title)), name
    for one in map(named_map, map_names()):
        others = [other.source for other in map(named_map, map_names()) if other is not one]
        best = [
            other for other in others if set(named_map(other.removeprefix("map ")).recognised) <= set(one.recognised)
        ]
        assert not best, (one.source, best)


@pytest.mark.parametrize(("name", "text", "form"), table_rows(__file__, "formats"))
def test_tables_are_found_by_name_and_columns(tmp_path: Path, name: str, text: str, form: str) -> None:
    (tmp_path / name).write_text(text)
    assert format_of(tmp_path / name) == form


@pytest.mark.parametrize(("date", "zone", "repeated", "skipped", "seconds"), table_rows(__file__, "dates"))
def test_dates_of_a_zone(
    tmp_path: Path, date: str, zone: str, repeated: str, skipped: str, seconds: int | None
) -> None:
    columns = {"submit": ["1970-01-01 00:00:00Z", date], "run": ["1", "1"], "cores": ["1", "1"]}
    spec = {"column": "submit", "repeated": repeated, "skipped": skipped} | ({"zone": zone} if zone else {})
    given_map = {"columns": {"submit": spec, "run": "run", "cores": "cores"}}
    path = written(tmp_path / "t.csv", columns)
    compare(path, given_map)
    found = read_table(path, columns=str(tmp_path / "map.toml"))
    assert found.submit_ns.tolist()[1:] == ([] if seconds is None else [seconds * NS])
    assert found.rejects["skipped hour"] == (seconds is None)


# What twolevel writes is read back.


def same(one: Workload, other: Workload) -> None:
    """Both have the same jobs, names and header."""
    for name in (*(name for name in COLUMNS if name != "line"), *OPTIONAL):
        assert (name, getattr(one, name).tolist()) == (name, getattr(other, name).tolist())
    assert {name: column.tolist() for name, column in one.extras.items()} == {
        name: column.tolist() for name, column in other.extras.items()
    }
    for name in ("header", "names", "ids", "also_preceding"):
        assert (name, getattr(one, name)) == (name, getattr(other, name))
    assert {name: dict(known) for name, known in one.labels.items() if known} == {
        name: dict(known) for name, known in other.labels.items() if known
    }


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """Any workload."""
    n = draw(st.integers(1, 6))

    def numbers(low: int, high: int) -> np.ndarray[Any, Any]:
        return np.array(draw(st.lists(st.integers(low, high), min_size=n, max_size=n)), np.int64)

    words = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp")), min_size=1, max_size=6).filter(
        lambda word: word.strip() == word and word not in slow.MISSING
    )
    submit = np.sort(numbers(0, draw(st.sampled_from((100, 2**62)))))
    unknown = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    job = np.array(draw(st.lists(st.integers(0, 2**62), min_size=n, max_size=n, unique=True)))
    begin = np.minimum(submit + numbers(1, 9), 2**62)
    extra = {
        name: numbers(-1, 2**62)
        for name in ("memory_kb", "wait_ns", "preceding", "group", "qos")
        if draw(st.booleans())
    } | {
        "status": np.where(unknown, 5, numbers(-1, 4)),
        "cancel_ns": np.where(unknown, submit, -1),
        "user": numbers(1, 3),
        "application": numbers(1, 3),
        "think_ns": numbers(0, 5),
        "begin_ns": np.where((numbers(0, 1) > 0) & (begin > submit), begin, -1),
    }
    names = draw(st.dictionaries(st.integers(1, 3), words))
    present = set(extra["application"].tolist())
    users = set(extra["user"].tolist())
    kind = numbers(-1, 3)

    def of(known: dict[int, str], there: set[int]) -> dict[int, str]:
        return {number: name for number, name in known.items() if number in there}

    return Workload.from_lines(
        [
            job,
            submit,
            np.where(unknown, 1, numbers(2, 2**61)),
            numbers(1, 2**62),
            numbers(1, 2**61),
            np.arange(1, n + 1),
        ],
        header=draw(st.lists(words.map(lambda word: f"; {word}"), max_size=3)),
        rejects={},
        source="made",
        n_lines=n,
        extra=extra,
        extras={"a b": numbers(-(2**62), 2**62), "kind": kind},
        names=of(names, present),
        ids={int(number): draw(words) for number in job.tolist() if draw(st.booleans())},
        labels={
            "user": of(draw(st.dictionaries(st.integers(1, 3), words)), users),
            "kind": of(draw(st.dictionaries(st.integers(0, 3), words)), set(kind.tolist())),
        },
        also_preceding={int(job[0]): (3, 4)} if draw(st.booleans()) else {},
    )


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(log=workloads(), ending=st.sampled_from((".csv", ".csv.gz", ".parquet")))
def test_a_table_that_was_written_is_read_back(tmp_path: Path, log: Workload, ending: str) -> None:
    path = tmp_path / f"t{ending}"
    assert write_table(log, path) == ()
    same(read_workload(path, cancelled=True), log)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_the_sample_is_read_back(tmp_path: Path, ending: str) -> None:
    log = read_workload(sample_path())
    write_table(log, tmp_path / f"t{ending}")
    same(read_workload(tmp_path / f"t{ending}"), log)


# Block by block.


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    data=st.data(),
    rows=st.integers(1, 40),
    block=st.sampled_from((1, 3, 8)),
    ending=st.sampled_from((".jsonl", ".parquet", ".csv")),
)
def test_blocks_have_the_jobs_of_the_whole_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: st.DataObject, rows: int, block: int, ending: str
) -> None:
    def some(values: list[str]) -> list[str]:
        return data.draw(st.lists(st.sampled_from(values), min_size=rows, max_size=rows))

    submit = sorted(some([f"16{k:02}000000" for k in range(100)]))
    columns = {
        "submit": submit,
        "job": [f"{k}" for k in range(rows)],
        "run": some(["1", "60.5", "x", ""]),
        "cores": some(["1", "2", "0"]),
        "user": some(["ann", "bob", "eve"]),
        "begin": [f"{int(one) + 5}" for one in submit],
        "app": some(["a", "b"]),
    }
    path = written(tmp_path / f"t{ending}", columns)
    names = {
        "submit": "submit",
        "job_id": "job",
        "run": "run",
        "cores": "cores",
        "user": "user",
        "begin": "begin",
        "name": "app",
    }
    (tmp_path / "map.toml").write_text(toml({"columns": names}))
    how = {"columns": str(tmp_path / "map.toml")}
    with monkeypatch.context() as patched:
        patched.setattr(sources, "BATCH_ROWS", block)
        patched.setattr(sources, "BLOCK_BYTES", 100 * block)
        whole, error = attempt(path, **how)
        if whole is None:
            assert "no valid job" in error
            return
        blocks = list(table_blocks(path, **how))
    got = joined(blocks)
    for name in (*COLUMNS, *OPTIONAL):
        assert (name, getattr(got, name).tolist()) == (name, getattr(whole, name).tolist())
    assert sum(one.n_lines for one in blocks) == whole.n_lines
    total: Counter[str] = Counter()
    for one in blocks:
        total.update(one.rejects)
    assert {reason: count for reason, count in total.items() if count} == {
        reason: count for reason, count in whole.rejects.items() if count
    }
    assert (dict(got.labels["user"]), dict(got.names)) == (dict(whole.labels["user"]), dict(whole.names))
    assert "; Field 19: begin_ns" in blocks[0].header
    assert blocks[0].header[0] == whole.header[0]


def test_blocks_need_the_order_of_submits_and_numbers(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text("[columns]\nsubmit = 's'\nrun = 's'\ncores = 1\njob_id = 'j'\n")
    for rows, words in (
        ("5,1\n3,2\n", "row 3: job 2 is submitted before"),
        ("3,2\n5,1\n", "row 3: job 1 has no higher number"),
    ):
        (tmp_path / "t.csv").write_text(f"s,j\n{rows}")
        with pytest.raises(InputError, match=words):
            list(table_blocks(tmp_path / "t.csv", columns=str(tmp_path / "m.toml")))
    with pytest.raises(InputError, match="events: needs all rows"):
        next(table_blocks(LOGS / "google-2019.csv"))


def test_parquet_is_read_with_memory_for_some_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "BATCH_ROWS", 4096)
    random = np.random.default_rng(1)
    columns = {name: random.integers(0, 2**62, 300_000) for name in "abc"}
    path, most = tmp_path / "t.parquet", 0
    for groups in (1, 30):
        pq.write_table(pa.table(columns), path, row_group_size=300_000 // groups, use_dictionary=False)
        before = pa.total_allocated_bytes()
        with sources.opened(path) as table:
            for rows in table.batches("abc"):
                most = max(most, pa.total_allocated_bytes() - before)
                assert len(rows.columns) == 3
        assert most < path.stat().st_size / 4


# Others.


def test_rejects_name_row_column_and_word(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text("[columns]\nsubmit = 's'\nrun = 'r'\ncores = 'c'\ngpus = 'g'\n")
    rows = ("1,2,3,1", "", "1,x,3,", "1,2", '"1",0,3,', "1,2,,", "1,2,3,4,5", "1,2,3,x")
    (tmp_path / "t.csv").write_text("\n".join(["s,r,c,g", *rows, ""]))
    found = read_table(tmp_path / "t.csv", columns=str(tmp_path / "m.toml"))
    places = {one.place for one in found.rejected}
    assert places == {
        "line 4: column r, 'x'",
        "line 5: fields (4 expected), '2'",
        "line 6: column r, '0'",
        "line 7: column c is missing",
        "line 8: fields (4 expected), '5'",
        "line 9: column g, 'x'",
    }
    assert found.n_lines == 7


def test_texts_that_are_not_utf_8_are_kept_apart(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text("file = 't.csv'\n[columns]\nsubmit = 's'\nrun = 1\ncores = 1\nuser = 'u'\n")
    (tmp_path / "t.csv").write_bytes(b"s,u\n1,M\xf6ller\n2,M\xf6ller,3\n4,M\xfcller\n5,J\xc3\xbcrgen\n")
    found = read_workload(tmp_path / "m.toml")
    assert [one.place for one in found.rejected] == ["line 3: fields (2 expected), '3'"]
    assert found.user.tolist() == [1, 2, 3]
    assert dict(found.labels["user"]) == {1: "M\\xf6ller", 2: "M\\xfcller", 3: "Jürgen"}


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.json"])
def test_a_byte_order_mark_is_no_text(tmp_path: Path, name: str) -> None:
    (tmp_path / "m.toml").write_text("[columns]\nsubmit = 'at'\nrun = 'at'\ncores = 1\n")
    text = {"t.csv": "at\r\n3\r\n", "t.jsonl": '{"at": 3}\r\n', "t.json": '[{"at": 3}]'}[name]
    (tmp_path / name).write_text(text, encoding="utf-8-sig")
    found = read_table(tmp_path / name, columns=str(tmp_path / "m.toml"))
    assert (found.submit_ns.tolist(), found.n_lines) == ([3 * NS], 1)


def test_bytes_of_fixed_size_are_words(tmp_path: Path) -> None:
    cells = [bytes(range(16)), b"0123456789abcdef"]
    columns = {"at": [1, 2], "id": pa.array(cells, pa.binary(16))}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    (tmp_path / "m.toml").write_text("[columns]\njob_id = 'id'\nsubmit = 'at'\nrun = 'at'\ncores = 1\n")
    found = read_table(tmp_path / "t.parquet", columns=str(tmp_path / "m.toml"))
    assert found.ids == {1: "000102030405060708090a0b0c0d0e0f", 2: cells[1].hex()}


def test_a_table_without_jobs_is_no_other_format(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text("file = 't.csv'\n[columns]\nsubmit = 's'\nrun = 1\ncores = 'c'\n")
    (tmp_path / "t.csv").write_text("s,c\n1,many\n")
    with pytest.raises(InputError, match=r"t.csv: no valid job in 1 line: malformed 1 \(line 2: column c, 'many'\)$"):
        read_workload(tmp_path / "m.toml")


def test_units_that_are_doubtful_are_remarked(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("at,ran,limit\n" + "".join(f"{k},{600 + k},{20 + k}\n" for k in range(9)))
    for unit, run, words in (
        ("min", "s", []),
        ("s", "s", ["9 of 9 jobs with a time limit run longer than it; check the unit of columns.walltime in"]),
        ("min", "us", ["no job runs for a second; check the units of columns.run, columns.start and columns.end in"]),
    ):
        run_and_limit = (
            f"run = {{ column = 'ran', unit = '{run}' }}\nwalltime = {{ column = 'limit', unit = '{unit}' }}"
        )
        (tmp_path / "m.toml").write_text(f"[columns]\nsubmit = 'at'\ncores = 1\n{run_and_limit}\n")
        remarks = read_table(tmp_path / "t.csv", columns=str(tmp_path / "m.toml")).remarks[1:]
        assert [one.partition(f" {tmp_path}")[0] for one in remarks] == words


def test_a_map_that_names_its_table_is_a_workload(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("# a comment\ns;r;c\n1;2;3\n")
    (tmp_path / "m.toml").write_text(
        "file = 't.csv'\n[columns]\nsubmit = 's'\nrun = 'r'\ncores = 'c'\n[machine]\ncores = 8\nhosts = 2\n"
    )
    found = read_workload(tmp_path / "m.toml")
    assert (found.source, found.cores.tolist()) == (str(tmp_path / "m.toml"), [3])
    assert found.header == ("; a comment", "; MaxNodes: 2", "; MaxProcs: 8")


def test_a_first_map_reads_its_table(tmp_path: Path) -> None:
    rows = ["Job;Submit Time;StartTime;EndTime;elapsed_min;TimeLimit;nCPUs;Mem_MB;State;Weird"]
    begin = datetime(2024, 1, 1)
    for k in range(50):
        at = [begin + timedelta(minutes=k), begin + timedelta(minutes=k + 1), begin + timedelta(minutes=2 * k + 2)]
        dates = ";".join(f"{one:%Y-%m-%d %H:%M:%S}" for one in at)
        rows.append(f"{k};{dates};{k + 1};{(k + 9) * 60};{k % 7 + 1};4000;{('COMPLETED', 'ODD')[k % 2]};{k}")
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    text = first_map(tmp_path / "t.csv")
    assert 'run = { column = "elapsed_min", unit = "min" }\n' in text
    assert 'walltime = { column = "TimeLimit", unit = "s" }\n' in text
    assert 'submit = "Submit Time"  # ? no zone' in text
    assert "# ? not listed: ODD" in text
    assert "#   Weird: '0'" in text
    assert parse_map(text, "m").columns["cores"][0].column == "nCPUs"
    (tmp_path / "m.toml").write_text(text)
    found = read_workload(tmp_path / "m.toml")
    assert (len(found), found.run_ns[0], found.estimate_ns[0]) == (50, 60 * NS, 540 * NS)


@pytest.mark.parametrize(("header", "row", "lines"), table_rows(__file__, "first"))
def test_first_maps_of_unlike_headers(tmp_path: Path, header: str, row: str, lines: str) -> None:
    (tmp_path / "t").write_text(f"{header}\n{row}\n")
    found = first_map(tmp_path / "t").splitlines()
    for line in lines.replace("'", '"').split("|"):
        assert line in found


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    case=cases(),
    names=st.dictionaries(st.integers(0, 9), st.text(max_size=9)),
    ending=st.sampled_from((".csv", ".jsonl")),
)
def test_any_table_has_a_first_map(
    tmp_path: Path, case: tuple[dict[str, Any], dict[str, list[str]]], names: dict[int, str], ending: str
) -> None:
    found = {names.get(place, name) or name: column for place, (name, column) in enumerate(case[1].items())}
    path = written(tmp_path / f"t{ending}", {name: found[name] for name in found})
    text = ""
    with contextlib.suppress(InputError):
        text = first_map(path)
    if not text:
        return
    columns = tomllib.loads(text)["columns"]
    assert all(spec["column"] if isinstance(spec, dict) else spec for spec in columns.values())


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_the_first_map_of_a_known_log_is_its_own(name: str) -> None:
    if "format" not in KNOWN[name]:
        assert first_map(LOGS / KNOWN[name]["file"]).startswith(f"# The map {name} of the project")


def test_wide_and_damaged_tables(tmp_path: Path) -> None:
    wide = {f"c{k}": [1] for k in range(10_001)}
    pq.write_table(pa.table(wide), tmp_path / "wide.parquet")
    with pytest.raises(InputError, match=r"wide.parquet: 10,001 columns; allowed: up to 10,000"):
        read_table(tmp_path / "wide.parquet")
    (tmp_path / "wide.csv").write_text(",".join(f"c{k}" for k in range(10**5)) + "\n")
    (tmp_path / "wide.jsonl").write_text(json.dumps({f"c{k}": 1 for k in range(10**5)}) + "\n")
    for name in ("wide.csv", "wide.jsonl"):
        with pytest.raises(InputError, match=rf"{name}: 100,000 columns; allowed: up to 10,000"):
            read_workload(tmp_path / name)
    whole = pm100(tmp_path).read_bytes()
    for n in (4, 100, len(whole) // 2, len(whole) - 1):
        (tmp_path / "cut.parquet").write_bytes(whole[:n])
        with pytest.raises(InputError, match="not usable Parquet, perhaps truncated"):
            read_table(tmp_path / "cut.parquet", columns="pm100")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"s,r,c\n" + b"1,2,3\n" * 9999)[:40])
    with pytest.raises(InputError, match="the gzip file is truncated"):
        read_table(tmp_path / "t.csv.gz", columns="pm100")
    nested = {"submit_time": pa.array([{"a": 1}]), "cores": [1]}
    pq.write_table(pa.table(nested), tmp_path / "nested.parquet")
    (tmp_path / "m.toml").write_text("[columns]\nsubmit = 'submit_time'\nrun = 'cores'\ncores = 'cores'\n")
    words = r"nested.parquet: column submit_time is of type struct<a: int64>; allowed: its fields, as submit_time.NAME$"
    with pytest.raises(InputError, match=words):
        read_table(tmp_path / "nested.parquet", columns=str(tmp_path / "m.toml"))
    (tmp_path / "m.toml").write_text("[columns]\nsubmit = 'submit_time.a'\nrun = 'cores'\ncores = 'cores'\n")
    assert len(read_table(tmp_path / "nested.parquet", columns=str(tmp_path / "m.toml"))) == 1


def _bad_table(name: str, text: str, columns: str) -> None:
    Path(name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    if not columns:
        read_table(name)
    given_map = tomllib.loads(columns)
    lines = [
        f"{key} = {toml_value}"
        for key, toml_value in (("submit", "'submit'"), ("cores", "'cores'"))
        if key not in given_map
    ]
    Path("m.toml").write_text("\n".join(["[columns]", *lines, columns]))
    read_table(name, columns="m.toml")


def _bad_first(name: str, text: str) -> None:
    Path(name).write_text(text)
    first_map(name)


test_bad_input_is_refused = refusals(
    __file__,
    {"map": (lambda text: parse_map(text, "m"), "m: "), "table": _bad_table, "without_map": _bad_first},
)


def test_the_page_has_the_tables_of_the_declarations() -> None:
    assert table_keys.PAGE.read_text(encoding="utf-8") == table_keys.with_tables()  # python -m tools.table_keys


def test_blocks_do_not_keep_texts_that_identify_jobs(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,at\na,1\nb,2\nc,3\n")
    (tmp_path / "m.toml").write_text("[columns]\njob_id = 'id'\nsubmit = 'at'\nrun = 'at'\ncores = 1\n")
    how: dict[str, Any] = {"columns": str(tmp_path / "m.toml")}
    whole, (block,) = read_table(tmp_path / "t.csv", **how), table_blocks(tmp_path / "t.csv", **how)
    assert (dict(whole.ids), dict(block.ids)) == ({1: "a", 2: "b", 3: "c"}, {})
    assert block.job_id.tolist() == whole.job_id.tolist()
    assert "texts that identify jobs are not kept: jobs are numbered in their order" in block.remarks
