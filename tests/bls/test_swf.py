"""The SWF reader against a slow, obvious one; what is written is read back; and a finished run is a workload again."""

import gzip
import io
import os
import pickle
import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pages import ROOT, blocks
from refusing import refusals
from tables import table_rows

from bls.workloads import READERS, read_workload
from bls.workloads.columns import OPTIONAL
from bls.workloads.readers.lines import BLOCK_BYTES
from bls.workloads.readers.swf import parse_swf, read_swf, swf_blocks
from bls.workloads.workload import REASONS, Workload
from bls.workloads.writers.swf import result_as_workload, unwritten, write_swf
from bridge.runs.directory import check_target
from traces.base.errors import InputError, PluginError
from traces.base.given_file import GivenFile
from traces.base.time import MAX_NS, NS_PER_S

LINE = b"1 0 -1 60 4 -1 -1 8 120 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
COLUMNS = ("job_id", "submit_ns", "run_ns", "cores", "estimate_ns", "line")


def line(**changes: str) -> str:
    """A job's line; keys ``f1`` to ``f18`` replace its fields."""
    fields = LINE.decode().split()
    for key, value in changes.items():
        fields[int(key[1:]) - 1] = value
    return " ".join(fields)


def parse(*lines: str, cancelled: bool = False) -> Workload:
    return parse_swf("\n".join(lines).encode(), "w.swf", cancelled=cancelled)


def rejects(workload: Workload) -> dict[str, int]:
    return {reason: count for reason, count in workload.rejects.items() if count}


NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
LIST = re.compile(rb"[0-9]{1,18}([,;:/|&][0-9]{1,18})+")
SINCE_1970 = 315_532_800  # s: no log whose submits are all later counts from its own beginning


def known_fields(words: list[bytes]) -> list[bytes] | None:
    """The first 18 fields, of a list of preceding jobs the first; None if one is no number."""
    first = [
        re.split(rb"[,;:/|&]", word)[0] if k == 16 and LIST.fullmatch(word) else word
        for k, word in enumerate(words[:18])
    ]
    return first if all(NUMBER.fullmatch(word) for word in first) else None


def further(words: list[bytes]) -> tuple[int, ...]:
    """The fields 19 to 21, -1 where there is none or it is no whole number in ±2**62."""
    values = [Fraction(word.decode()) if NUMBER.fullmatch(word) else Fraction(1, 2) for word in words[18:]]
    known = [int(x) if x.denominator == 1 and abs(x) <= MAX_NS else -1 for x in values]
    return tuple([*known, -1, -1, -1][:3])


def reference(data: bytes) -> tuple[list[tuple[int, ...]], dict[str, int], list[str], int]:
    """Rows sorted by (submit, line), rejects, header and the number of lines."""
    rows, header, n_lines, seen = [], [], 0, set()
    counts = dict.fromkeys(REASONS, 0)
    for number, text in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        words = text.split()
        if not words:
            continue
        if words[0].startswith(b";"):
            header.append(text.decode("utf-8", "replace").strip())
            continue
        n_lines += 1
        first = known_fields(words) if 18 <= len(words) <= 21 else None
        if first is None:
            counts["malformed"] += 1
            continue
        value = [Fraction(0)] + [Fraction(word.decode()) for word in first]
        whole = [value[k] for k in (1, 5, 8)]
        times = [value[k] * 10**9 for k in (2, 4, 9)]
        if any(x.denominator != 1 for x in whole) or any(abs(x) > MAX_NS for x in whole + times):
            counts["malformed"] += 1
            continue
        job_id, allocated, requested = map(int, whole)
        submit, run, estimate = map(round, times)
        if job_id < 0 or submit < 0:
            counts["malformed"] += 1
        elif run <= 0:
            counts["no run time"] += 1
        elif requested <= 0 and allocated <= 0:
            counts["no processors"] += 1
        elif job_id in seen:
            counts["duplicate job number"] += 1
        else:
            seen.add(job_id)
            cores = requested if requested > 0 else allocated
            rows.append((job_id, submit, run, cores, estimate if estimate > 0 else run, number, *further(words)))
    earliest_s = min((row[1] for row in rows), default=0) // 10**9
    if earliest_s >= SINCE_1970:
        header.append(f"; UnixStartTime: {earliest_s}")
        rows = [(row[0], row[1] - earliest_s * 10**9, *row[2:]) for row in rows]
    return sorted(rows, key=lambda row: (row[1], row[5])), counts, header, n_lines


def assert_agrees(data: bytes, block_bytes: int = BLOCK_BYTES) -> None:
    rows, counts, header, n_lines = reference(data)
    assert len(rows) + sum(counts.values()) == n_lines
    if not rows:
        with pytest.raises(InputError, match=r"^x: (the file is empty|no valid job)"):
            parse_swf(data, "x", block_bytes=block_bytes)
        return
    found = parse_swf(data, "x", block_bytes=block_bytes)
    unknown = np.full(len(found), -1)
    columns = [getattr(found, name) for name in COLUMNS]
    columns += [found.extras.get(f"field{field}", unknown) for field in (19, 20, 21)]
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == rows
    assert dict(found.rejects) == counts
    assert [comment.strip() for comment in found.header] == header
    assert found.n_lines == n_lines
    in_line_order = sorted(rows, key=lambda row: row[5])
    late = [any(other[1] > row[1] for other in in_line_order[:k]) for k, row in enumerate(in_line_order)]
    assert found.reordered == sum(late)


DIGITS = st.text("0123456789", min_size=1, max_size=12)
WORDS = st.one_of(
    st.integers(-2, 9).map(str),
    st.integers(-(10**20), 10**20).map(str),
    st.tuples(st.sampled_from(["", "-", "+"]), DIGITS, DIGITS).map(lambda t: f"{t[0]}{t[1]}.{t[2]}"),
    st.sampled_from(table_rows(__file__, "odd_words")),
)
REAL = st.tuples(*[st.integers(-1, 6).map(str)] * 18).map(list)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    fields = draw(REAL)
    for _ in range(draw(st.integers(0, 2))):
        fields[draw(st.integers(0, 17))] = draw(WORDS)
    del fields[: draw(st.sampled_from([0, 0, 0, 0, 1]))]
    fields += draw(st.lists(st.sampled_from(["1", "-7", "2.0", "0.5", "x", "9" * 30]), max_size=4))
    return draw(st.sampled_from([" ", "\t", "  ", "\v\f"])).join(fields)


LINES = st.one_of(mutated(), mutated(), st.sampled_from(["", " \t", "; Note: é", "  ; x", "\r"]))


@settings(max_examples=300)
@given(
    st.lists(LINES, max_size=12),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([3, 40, 101, BLOCK_BYTES]),
)
def test_agrees_with_the_slow_reader_on_mutated_lines(
    lines: list[str], end: str, mark: bool, last: bool, block_bytes: int
) -> None:
    text = "\ufeff" * mark + end.join(lines) + end * last
    assert_agrees(text.encode(), block_bytes)


@pytest.mark.parametrize("edge", table_rows(__file__, "edges"))
def test_agrees_with_the_slow_reader_on_edges(edge: str) -> None:
    changes = dict(re.findall(r"(f\d+)=(.*?)(?= f\d+=|$)", edge))
    for before in (f"; MaxProcs: 8\n\n{line(f1='7', f2='8')}", f"{line(f1='7')}\n ;late "):
        assert_agrees(f"{before}\n{line(**changes)}\n{line(f1='2')}".encode())


def test_further_fields_are_named_by_the_header_and_go_with_their_jobs() -> None:
    found = parse(
        *("; Field 19: GPUs asked for", ";column  21 :  gpus ", "; Field 21: later", line(f1="1", f2="5") + " 2 x 7"),
        *(line(f1="2", f2="0"), line(f1="3", f2="9") + " -4 2.5"),
    )
    assert [(name, column.tolist()) for name, column in found.extras.items()] == [
        ("GPUs asked for", [-1, 2, -4]), ("field20", [-1, -1, -1]), ("gpus", [-1, 7, -1]),
    ]  # fmt: skip
    assert found.take(np.array([1])).extras["gpus"].tolist() == [7]
    # Only fields that a job has are columns.
    assert dict(parse("; Field 19: gpus", line()).extras) == {}
    assert list(parse("; Field 20: gpus", line() + " 1", line(f4="0") + " 1 2 3").extras) == ["field19"]


@pytest.mark.parametrize(
    "header",
    ["; Field 19: field20", "; Field 20: gpus\n; Field 19: gpus", "; Field 19: a\x00b", "; Field 19: " + "n" * 101],
)
def test_a_name_that_cannot_be_used_is_the_field_s_number(header: str) -> None:
    assert list(parse(header, line() + " 1 2").extras) in (["field19", "field20"], ["gpus", "field20"])


def test_a_file_that_is_one_endless_line_is_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bls.workloads.readers.lines.LINE_BYTES", 64)
    with pytest.raises(InputError, match="x: a line is longer than 64 bytes; this is no text"):
        parse_swf(b"1" * 65, "x", block_bytes=4)
    assert len(parse_swf(LINE + b"1 " * 20, "x", block_bytes=4)) == 1


@pytest.mark.parametrize("name", READERS)
def test_every_reader_describes_faulty_files(name: str, tmp_path: Path) -> None:
    packed = gzip.compress(LINE * 1000)
    (tmp_path / "cut").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "torn").write_bytes(packed[:-6] + b"\0" * 6)
    (tmp_path / "empty").write_bytes(gzip.compress(b""))
    for file, message in (
        ("none", "no such file"),
        (".", "is a directory"),
        ("cut", "the gzip file is truncated"),
        ("torn", "the gzip file is damaged"),
        ("empty", "the file is empty"),
        ("a\0b", "cannot be read"),
    ):
        with pytest.raises(InputError, match=message):
            read_workload(tmp_path / file, format=name)


def test_a_read_error_in_the_middle_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.swf").write_bytes(LINE)

    def fail(*_: object) -> object:
        raise OSError(5, "Input/output error")

    with GivenFile(tmp_path / "a.swf", "workload file") as file:
        monkeypatch.setattr(file, "_text", SimpleNamespace(readinto=fail))
        with pytest.raises(InputError, match=r"a\.swf': cannot be read: Input/output error"):
            file.readinto(memoryview(bytearray(4)))


def test_the_ending_determines_the_format(tmp_path: Path) -> None:
    (tmp_path / "a.swf").write_bytes(b"# JobID|NCPUS|Submit|ElapsedRaw\n" + LINE)
    assert len(read_workload(tmp_path / "a.swf")) == 1
    for name in ("a", "a.log", "a.txt.gz"):
        (tmp_path / name).write_bytes(b"; JobID|x\n\n" + LINE)
        assert len(read_workload(tmp_path / name)) == 1


def test_the_examples_on_the_inputs_page(tmp_path: Path) -> None:
    found = {}
    for text in blocks(ROOT / "docs/reference/inputs.md", "text")[:4]:
        (tmp_path / "a.txt").write_text(text)
        workload = read_workload(tmp_path / "a.txt")
        jobs = zip(workload.job_id.tolist(), workload.cores.tolist(), (workload.run_ns / 10**9).tolist(), strict=True)
        found[text.split()[0]] = (list(jobs), rejects(workload), list(workload.extras))
    assert found == {
        ";": ([(1, 8, 3600), (2, 1, 30.5)], {}, ["gpus"]),
        "JobID|User|Account|Partition|NCPUS|NNodes|Submit|Start|End|ElapsedRaw|Timelimit|State": (
            [(101, 72, 3600), (1020000000001, 1, 61)],
            {"job step": 1},
            ["nodes"],
        ),
        '{"nb_res":': ([(1, 4, 20.25), (2, 8, 40.5)], {"run time not known": 1}, []),
        "#": ([(1, 8, 60)], {}, ["orig_site", "run_site", "vo", "project"]),
    }


def test_an_outside_reader_is_found_by_file_and_blamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(
        "from bls.workloads.workload import Workload\n"
        "def one(path):\n    return Workload.from_jobs([(1, 0, 5, 2, 9)])\n"
        "def nothing(path):\n    return None\n"
        "def broken(path):\n    return 1 / 0\n"
    )
    named = f"{tmp_path / 'mine.py'}:"
    assert read_workload("any", format=named + "one").cores.tolist() == [2]
    with pytest.raises(PluginError, match="nothing returned NoneType"):
        read_workload("any", format=named + "nothing")
    with pytest.raises(PluginError, match="broken failed: ZeroDivisionError"):
        read_workload("any", format=named + "broken")
    monkeypatch.setitem(READERS, "one", lambda path: Workload.from_jobs([(1, 0, 5, 3, 9)]))
    assert read_workload("a.one.gz").cores.tolist() == [3]


@settings(max_examples=200)
@given(
    runs=st.lists(st.integers(-1, 3), min_size=1, max_size=30).filter(lambda runs: max(runs) > 0),
    block_bytes=st.integers(3, 400),
)
def test_blocks_are_the_whole(runs: list[int], block_bytes: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    # Lines that are no jobs, and comments, stand anywhere, at the end, too.
    path = tmp_path_factory.mktemp("log") / "log.swf"
    lines = [f"{k + 1} {k // 3} 0 {run} 1 -1 -1 1 9 -1 1 {k % 4} 1 -1 1 1 -1 -1" for k, run in enumerate(runs)]
    path.write_text("; a comment\n" + "\n;\n".join(lines) + "\nno job\n", encoding="utf-8")
    whole, parts = read_swf(path), list(swf_blocks(path, block_bytes=block_bytes))
    parsed = parse_swf(path.read_bytes(), "x", block_bytes=block_bytes)
    for name in (*COLUMNS, *OPTIONAL):
        wanted = getattr(whole, name).tolist()
        assert np.concatenate([getattr(part, name) for part in parts]).tolist() == wanted, name
        assert getattr(parsed, name).tolist() == wanted, name
    assert sum(part.n_lines for part in parts) == whole.n_lines
    for reason, count in whole.rejects.items():
        assert sum(part.rejects[reason] for part in parts) == count


@pytest.mark.parametrize("block_bytes", [4, 1000])
@pytest.mark.parametrize(
    ("comment", "second", "words"), table_rows(__file__, "blocks_of_a_log_that_is_not_in_order_are_refused")
)
def test_blocks_of_a_log_that_is_not_in_order_are_refused(
    tmp_path: Path, comment: str, second: str, words: str, block_bytes: int
) -> None:
    rest = "0 1 1 -1 -1 1 9 -1 1 1 1 -1 1 1 -1 -1"
    (tmp_path / "log.swf").write_text(f"1 7 {rest}\n;{comment}\n{second} {rest}\n", encoding="utf-8")
    with pytest.raises(InputError, match=words):
        list(swf_blocks(tmp_path / "log.swf", block_bytes=block_bytes))


@pytest.mark.parametrize(
    ("word", "preceding", "others"),
    [("3,4", 3, (4,)), ("3;4;7", 3, (4, 7)), ("3:4", 3, (4,)), ("4/3|3&9", 4, (3, 9)), ("3,3", 3, ())],
)
def test_lists_of_preceding_jobs(word: str, preceding: int, others: tuple[int, ...]) -> None:
    found = parse(line(f1="9"), line(f1="10", f17=word, f18="5"))
    assert int(found.preceding[1]) == preceding
    assert dict(found.also_preceding) == ({10: others} if others else {})
    assert int(found.think_ns[1]) == 5 * 10**9
    assert pickle.loads(pickle.dumps(found)).also_preceding == found.also_preceding


@pytest.mark.parametrize(("comment", "name"), table_rows(__file__, "comments_that_name_jobs"))
def test_comments_that_name_jobs(tmp_path: Path, comment: str, name: str | None) -> None:
    lines = ["; Version: 2.2", comment, line(f1="7"), line(f1="9")]
    found = parse(*lines)
    assert dict(found.ids) == ({} if name is None else {7: name})
    assert found.header == ("; Version: 2.2", *([comment.rstrip()] if name is None else []))
    assert found.job_name(0) == name
    (tmp_path / "log.swf").write_text("\n".join(lines), encoding="utf-8")
    for block in swf_blocks(tmp_path / "log.swf"):
        assert [block.job_name(row) for row in range(len(block))] == [name, None]


@pytest.mark.parametrize("header", [None, 0, 1_000_000_000])
def test_submits_since_1970(header: int | None) -> None:
    comments = [] if header is None else [f"; UnixStartTime: {header}"]
    lines = [*comments, line(f2="1000000005"), line(f1="2", f2="1000000007.5", f4="0", f11="5", f3="9")]
    found = parse(*lines)
    begin = 1_000_000_000 if header == 1_000_000_000 else 1_000_000_005
    assert found.header == (f"; UnixStartTime: {begin}",)
    assert int(found.submit_ns[0]) == (1_000_000_005 - begin) * 10**9
    assert len(found.remarks) == 1
    assert "submits are seconds since 1970" in found.remarks[0]
    withdrawn = parse(*lines, cancelled=True)
    assert int(withdrawn.cancel_ns[1]) == int((1_000_000_016.5 - begin) * 10**9)


@pytest.mark.parametrize(("text", "place"), table_rows(__file__, "errors_of_rejected_lines"))
def test_errors_of_rejected_lines(text: str, place: str) -> None:
    found = parse(line(f1="7"), text, *[text] * 20)
    assert found.rejected[0].place == place
    assert len(found.rejected) == 10
    assert [one.line for one in found.rejected] == list(range(2, 12))
    assert sum(rejects(found).values()) == 21


# Few different values, so that jobs are submitted together and numbers clash; and some that are anything.
_INSTANTS = st.sampled_from([0, 1, NS_PER_S, 60 * NS_PER_S + 500_000_000]) | st.integers(0, MAX_NS // 4)
_LENGTHS = st.sampled_from([1, NS_PER_S, 3600 * NS_PER_S]) | st.integers(1, MAX_NS // 4)
_NUMBERS = st.sampled_from([-1, 0, 1, 7]) | st.integers(-1, MAX_NS)
_NAMES = st.sampled_from(["w0!3", "gpu job", "50%", "%41", " a\n", "ä\x00"]) | st.text(
    st.characters(exclude_categories=("Cs",)), min_size=1, max_size=8
)
_WORDS = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=8)


@st.composite
def swf_workloads(draw: st.DrawFn) -> Workload:
    """A workload of one to eight jobs that SWF can express, some cancelled before their start."""
    n = draw(st.integers(1, 8))

    def column(values: st.SearchStrategy[int]) -> np.ndarray[Any, Any]:
        return np.array(draw(st.lists(values, min_size=n, max_size=n)), np.int64)

    numbers = draw(st.lists(st.integers(0, 9) | st.integers(0, MAX_NS), min_size=n, max_size=n, unique=True))
    submit, run, wait, status = np.sort(column(_INSTANTS)), column(_LENGTHS), column(_NUMBERS), column(_NUMBERS)
    gone = column(st.integers(0, 5)) == 5  # withdrawn before the start
    wait = np.where(gone, np.abs(wait) % (MAX_NS // 4), wait)
    status = np.where(gone, np.where(status % 2 == 0, 0, 5), status)
    memory = column(_NUMBERS)
    hold = column(_INSTANTS) if draw(st.booleans()) else np.zeros(n, np.int64)
    begin = np.where(hold > 0, submit + hold, -1)
    most_extras = 2 if hold.any() else 3  # begin_ns is the third
    names = draw(st.lists(_WORDS, max_size=most_extras, unique=True))
    comments = draw(st.lists(_WORDS, max_size=3))
    return Workload(
        job_id=np.array(numbers, np.int64),
        submit_ns=submit,
        run_ns=np.where(gone, 1, run),
        cores=column(st.integers(1, 9) | st.integers(1, MAX_NS)),
        estimate_ns=column(_LENGTHS),
        line=np.arange(1, n + 1),
        header=tuple(f"; {text}" for text in comments),
        rejects={},
        reordered=0,
        clamped=0,
        source="drawn.swf",
        n_lines=n,
        memory_kb=np.where(memory == 0, -1, memory),  # none is unknown to the format
        preceding=column(st.sampled_from([-1, *numbers]) | _NUMBERS),
        think_ns=column(st.just(0) | _LENGTHS),
        cancel_ns=np.where(gone, submit + wait, -1),
        wait_ns=wait,
        status=status,
        **{name: column(_NUMBERS) for name in ("user", "group", "queue", "partition", "application")},
        begin_ns=begin,
        ids=draw(st.dictionaries(st.sampled_from(numbers), _NAMES)),
        extras={name: column(st.integers(-MAX_NS, MAX_NS)) for name in names},
    )


S = 10**9


def written(workload: Workload, header: Sequence[str] = ()) -> bytes:
    file = io.BytesIO()
    write_swf(workload, file, header=header)
    return file.getvalue()


def fields_of(data: bytes) -> list[list[str]]:
    return [line.split() for line in data.decode().splitlines() if not line.startswith(";")]


def same_jobs(one: Workload, other: Workload) -> None:
    for name in ("job_id", "submit_ns", "run_ns", "cores", "estimate_ns", *OPTIONAL):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)
    assert list(one.extras) == list(other.extras)
    for name, column in one.extras.items():
        np.testing.assert_array_equal(column, other.extras[name], name)


@given(swf_workloads())
def test_written_workloads_are_read_back(workload: Workload) -> None:
    assume(not any(name.startswith("field") for name in workload.extras))
    assume(int(workload.submit_ns[0]) < 315_532_800 * S)  # later ones are read as seconds since 1970
    assert unwritten(workload) == ()
    data = written(workload)
    read = parse_swf(data, "again", cancelled=True)
    same_jobs(read, workload)
    assert sum(read.rejects.values()) == 0
    assert read.header[: len(workload.header)] == workload.header
    assert read.ids == workload.ids
    assert written(read) == data, "a second time, nothing changes"


def with_extras(*names: str, header: tuple[str, ...] = ()) -> Workload:
    extras = {name: np.array([number]) for number, name in enumerate(names, 1)}
    return replace(Workload.from_jobs([(1, 0, 1, 1, 1)]), extras=extras, header=header)


def test_extra_columns_keep_their_names_and_places() -> None:
    header = ("; Field 19: old", "; Column 20: cards", "; Field 21: none")
    data = written(with_extras("gpus", "cards", header=header))
    assert data.decode().splitlines()[:2] == ["; Column 20: cards", "; Field 19: gpus"]
    # In a log whose field 20 alone has a name, a filter or a merge may have put the names in another order.
    for again, expected in (
        (data, {"gpus": [1], "cards": [2]}),
        (written(with_extras("cards", "field19")), {"field19": [2], "cards": [1]}),
        (written(with_extras("a", "b", "c", "d")), {"a": [1], "b": [2], "c": [3]}),
    ):
        assert {name: column.tolist() for name, column in parse_swf(again, "x").extras.items()} == expected
    assert write_swf(with_extras("a", "b", "c", "d"), io.BytesIO()) == ("d",)


def test_unwritable_input_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"comment .* has more than one line"):
        written(with_extras(), ["one\n1 2 3"])
    lines = written(with_extras(), ["half \ud800", "\udcff.swf", "ä"]).splitlines()
    assert lines[:3] == [b"; half ?", b"; ?.swf", "; ä".encode()]
    jobs = [{"job_id": 1, "submit_s": 0, "run_s": 5, "cores": 1, "qos": 2, "cancel_s": 3, "preset": 1}]
    assert write_swf(Workload.from_jobs(jobs), io.BytesIO()) == ("qos", "preset", "cancel_ns")
    assert fields_of(written(Workload.from_jobs(jobs)))[0][3] == "5"
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"x\.swf: cannot be written: "):
        write_swf(with_extras(), tmp_path / "file" / "x.swf")


@pytest.mark.parametrize("name", ["log.swf", "log.swf.gz"])
def test_files_plain_and_gzipped(tmp_path: Path, name: str) -> None:
    workload = Workload.from_jobs([(k, k, 1 + k / 3, 1 + k % 7, 100) for k in range(1, 50)])
    path = tmp_path / name
    for _ in range(2):  # what is there is replaced
        write_swf(workload, path)
    data = path.read_bytes()
    assert (gzip.decompress(data) if name.endswith(".gz") else data) == written(workload)
    same_jobs(read_workload(path), workload)
    write_swf(workload, tmp_path / f"other-{name}")
    assert (tmp_path / f"other-{name}").read_bytes() == data, "neither a name nor a time in it"


def run_of(**columns: list[Any]) -> dict[str, np.ndarray[Any, Any]]:
    names = {"submit": "submit_ns", "start": "start_ns", "end": "end_ns", "estimate": "estimate_ns"}
    return {
        names.get(name, name): np.array(values if name not in names else [S * v if v >= 0 else -1 for v in values])
        for name, values in columns.items()
    }


LOG = replace(
    Workload.from_jobs(
        [
            {"job_id": 4, "submit_s": 100, "run_s": 50, "cores": 2, "estimate_s": 60, "user": 5, "wait_s": 9},
            {"job_id": 5, "submit_s": 130, "run_s": 50, "cores": 8, "estimate_s": 60, "user": 6, "queue": 1},
            {"job_id": 6, "submit_s": 150, "run_s": None, "cores": 1, "estimate_s": 60, "cancel_s": 170},
            {"job_id": 7, "submit_s": 160, "run_s": 50, "cores": 1, "estimate_s": 60},
            {"job_id": 8, "submit_s": 160, "run_s": 50, "cores": 1, "estimate_s": 60},
        ]
    ),
    header=("; UnixStartTime: 1000", "; MaxJobs: 5", "; EndTime: some day"),
)


def test_a_run_is_a_workload_again() -> None:
    # Simulated was the window from 100 s on. Job 5 was clamped to 4 cores, cut by an outage at 60 s and run again; job 6
    # was withdrawn; job 7 was killed; job 8 was cut as it began.
    jobs = run_of(
        job_id=[4, 5, 6, 7, 8, 5],
        submit=[0, 30, 50, 60, 60, 30],
        start=[0, 40, -1, 60, 70, 70],
        end=[45, 60, -1, 120, 70, 90],
        cores=[2, 4, 1, 1, 1, 4],
        estimate=[60, 60, 60, 60, 60, 60],
        state=["completed", "requeued", "cancelled", "killed", "failed", "completed"],
    )
    made = result_as_workload(jobs, LOG)
    assert made.job_id.tolist() == [4, 5, 6, 7]
    assert (made.submit_ns // S).tolist() == [0, 30, 50, 60]
    assert (made.wait_ns // S).tolist() == [0, 40, 20, 0]
    assert made.run_ns.tolist() == [45 * S, 20 * S, 1, 60 * S]
    assert made.run_unknown.tolist() == [False, False, True, False]
    assert made.cores.tolist() == [2, 4, 1, 1]
    assert made.status.tolist() == [1, 1, 5, 0]
    assert (made.user.tolist(), made.queue.tolist()) == ([5, 6, -1, -1], [-1, 1, -1, -1])
    assert made.rejects["no run time"] == 1
    assert made.header == (
        "; UnixStartTime: 1100",
        "; MaxJobs: 4",
        "; Note: waits and run times are those of a simulation",
    )
    same_jobs(parse_swf(written(made), "x", cancelled=True), made)
    places = {"completed": 0, "killed": 1, "cancelled": 2, "failed": 3, "requeued": 4}  # as the ledger has them
    same_jobs(result_as_workload(jobs | {"state": np.array([places[s] for s in jobs["state"]], np.int8)}, LOG), made)


@pytest.mark.parametrize("further", [{}, {"field19": np.array([7, 8, 9])}])
def test_lists_of_preceding_jobs_are_written(further: dict[str, np.ndarray]) -> None:
    log = Workload.from_jobs([(1, 0, 1, 1, 1), (2, 0, 1, 1, 1), (33, 0, 1, 1, 1)], "a")
    lists = {2: (9, 33), 33: (1,), 5: (4,), 1: (7,)}
    log = replace(
        log, preceding=np.array([-1, 1, 2]), think_ns=np.array([0, 5 * S, 0]), also_preceding=lists, extras=further
    )
    again = parse_swf(written(log), "x")
    assert again.preceding.tolist() == [-1, 1, 2]
    assert again.also_preceding == {2: (9, 33), 33: (1,)}
    assert again.think_ns.tolist() == [0, 5 * S, 0]
    assert {name: column.tolist() for name, column in again.extras.items()} == {
        k: c.tolist() for k, c in further.items()
    }
    assert unwritten(log) == ()


@pytest.mark.parametrize(("name", "line"), table_rows(__file__, "ids_of_jobs_are_comments"))
def test_ids_of_jobs_are_comments(name: str, line: str) -> None:
    log = replace(Workload.from_jobs([(7, 0, 1, 1, 1), (8, 0, 1, 1, 1)]), ids={7: name, 9: "no job"})
    stale = ("; Job: 8 of another log", "; Job: 9 nobody")
    lines = written(replace(log, header=stale)).decode().split("\n")
    assert lines[:-3] == [stale[1], line]
    assert len(lines) == 5
    assert parse_swf("\n".join(lines).encode(), "again").ids == {7: name}
    assert unwritten(log) == ()


def test_columns_are_not_shared_with_the_caller() -> None:
    column = np.arange(1, 4)
    locked = column.view()
    locked.flags.writeable = False  # the numbers can still be changed through the other
    made = Workload.from_lines([locked] * 6, header=(), rejects={}, source="w", n_lines=3, extra={"user": locked})
    column[:] = 9
    assert made.user.tolist() == made.job_id.tolist() == [1, 2, 3]


def test_memory_is_the_request_or_else_the_memory_used_rounded_up() -> None:
    known = [("100", "200"), ("100", "-1"), ("0", "0.25"), ("-1", "-1")]
    found = parse(*(line(f1=str(k), f7=used, f10=asked) for k, (used, asked) in enumerate(known)))
    assert found.memory_kb.tolist() == [200, 100, 1, -1]


@pytest.mark.parametrize("field", ["f3", "f7", "f10", "f11", "f12", "f13", "f14", "f15", "f16", "f17", "f18"])
@pytest.mark.parametrize("value", ["-7", "-0.5", "9" * 40, "-" + "9" * 40, "1.01"])
def test_an_extra_field_that_cannot_be_used_is_unknown_and_never_a_reject(field: str, value: str) -> None:
    if (field, value) in [(whole, "1.01") for whole in ("f3", "f7", "f10", "f18")]:
        return  # these may have fractions
    found = parse(line(**{field: value}, **({} if field == "f11" else {"f11": "-1"})))
    assert sum(found.rejects.values()) == 0
    assert {name: int(getattr(found, name)[0]) for name in OPTIONAL} == dict(OPTIONAL)


CANCELLED = line(f1="5", f2="100", f3="20", f4="-1", f5="-1", f11="5")


def test_readers_that_know_no_cancelled_jobs(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"{tmp_path}/a.swf"
    with open(path, "w") as file:
        file.write(CANCELLED)
    assert len(read_workload(path, cancelled=True)) == 1
    monkeypatch.setitem(READERS, "plain", lambda path: Workload.from_jobs([(1, 0, 5, 3, 9)]))
    assert len(read_workload(path, format="plain")) == 1
    with pytest.raises(InputError, match="reader plain cannot read jobs that were cancelled"):
        read_workload(path, format="plain", cancelled=True)


@settings(max_examples=200)
@given(st.lists(st.tuples(*[st.integers(-1, 6)] * 18), min_size=1, max_size=8))
def test_cancelled_jobs_only_add_jobs(rows: list[tuple[int, ...]]) -> None:
    lines = [" ".join(map(str, (k, *row[1:]))) for k, row in enumerate(rows)]
    with_one = [line(f1="99"), *lines]
    plain, more = parse(*with_one), parse(*with_one, cancelled=True)
    known = more.take(~more.run_unknown)
    assert known.job_id.tolist() == plain.job_id.tolist()
    for name in OPTIONAL:
        assert getattr(known, name).tolist() == getattr(plain, name).tolist()
    extra = [
        k for k, row in enumerate(rows)
        if row[1] >= 0 and row[3] <= 0 and row[10] in (0, 5) and row[2] >= 0 and row[8] > 0 and (row[7] > 0 or row[4] > 0)
    ]  # fmt: skip
    assert sorted(more.job_id[more.run_unknown].tolist()) == extra


def test_from_jobs_takes_mappings() -> None:
    made = Workload.from_jobs(
        [
            {"job_id": 1, "submit_s": 0.5, "run_s": 3, "cores": 2, "user": 7, "think_s": 1.5, "preceding": 2},
            (2, 0, 5, 2, 9),
            {"job_id": 3, "submit_s": 1, "run_s": None, "estimate_s": 9, "cores": 2, "cancel_s": 4, "wait_s": 3},
            {"job_id": 4, "submit_s": 1, "run_s": 2, "cores": 2, "cancel_s": 4, "application": 6, "status": 5},
            {"job_id": 5, "submit_s": 2, "run_s": 1e-9, "cores": 2, "cancel_s": 4, "status": 1},
        ]
    )
    assert (made.estimate_ns / S).tolist() == [9, 3, 9, 2, 1e-9]
    names = ("job_id", "user", "application", "preceding", "think_ns", "cancel_ns", "run_unknown")
    assert {name: getattr(made, name).tolist() for name in names} == {
        "job_id": [2, 1, 3, 4, 5],
        "user": [-1, 7, -1, -1, -1],
        "application": [-1, -1, -1, 6, -1],
        "preceding": [-1, 2, -1, -1, -1],
        "think_ns": [0, 1_500_000_000, 0, 0, 0],
        "cancel_ns": [-1, -1, 4 * S, 4 * S, 4 * S],
        "run_unknown": [False, False, True, False, False],  # a job with a run time is known however it ends
    }


JOB = {"job_id": 1, "submit_s": 2, "run_s": 5, "cores": 1, "estimate_s": 5}


def written_as(name: str, data: bytes) -> Path:
    Path(name).write_bytes(data)
    return Path(name)


def of_another_log(changes: dict[str, list[int]]) -> object:
    ran = {"job_id": [4, 5], "submit": [0, 30], "start": [5, 30], "end": [6, 60], "cores": [2, 8], "estimate": [60] * 2}
    return result_as_workload(run_of(**(ran | changes), state=["completed"] * 2), LOG)


TWO = Workload.from_jobs([(1, 0, 5, 2, 9), (2, 1, 5, 2, 9)])
ONE_TO_3 = np.arange(1, 4)
NO_TEXT = os.fsdecode(b"b\xff.swf")

test_bad_input_is_refused = refusals(
    __file__,
    {
        "bad files": (lambda data: read_workload(written_as("log", data)), "log: "),
        "a name that is no text": lambda use: use(),
        "from_jobs_refuses_what_a_reader_would_reject": lambda job: Workload.from_jobs([(9, 0, 5, 1, 1), tuple(job)]),
        "columns": lambda rows, columns: TWO.take(np.array(rows, np.int64), **columns),
        "no jobs": Workload.from_jobs,
        "a_run_of_another_log_is_refused": of_another_log,
        "further columns": (
            lambda extras: Workload.from_lines(
                [ONE_TO_3] * 6, header=(), rejects={}, source="w", n_lines=3, extras=extras
            ),
            "w: ",
        ),
        "mappings_are_checked": lambda changes: Workload.from_jobs([JOB | changes]),
        "missing": lambda name: Workload.from_jobs([{key: value for key, value in JOB.items() if key != name}]),
    },
    {
        "bad files": [
            (b"\x1f\x8bnoise that is no gzip", "the gzip file is damaged"),
            (bytes(range(256)) * 9, "no valid job in 10 lines: malformed 10 (line 1: field 1, "),
            (b"; x\n\n", "no valid job in 0 lines: no rejects"),
            (line(f4="0").encode(), "no valid job in 1 line: no run time 1"),
        ],
        "a name that is no text": [
            (lambda: read_workload(written_as(NO_TEXT, LINE)), "the name of a workload file must be text in UTF-8"),
            (lambda: check_target(Path(NO_TEXT), force=False), "folder: .* is not text in UTF-8"),
        ],
        "from_jobs_refuses_what_a_reader_would_reject": [
            ((1, 0, float("nan"), 1, 9), "run_s: nan is not"),
            ((1, 0, 10**400, 1, 9), "run_s: 1000"),
        ],
        "columns": [
            ([1, 0], {}, "not sorted"),
            ([], {}, "at least one job"),
            ([0, 1], {"run_ns": np.array([5, 0])}, "run_ns 0 is out of range"),
            ([0, 1], {"cores": np.array([5])}, r"cores has shape \(1,\)"),
            ([0, 1], {"job_id": np.array([5, 5])}, "same number"),
        ],
        "no jobs": [([], "at least one job")],
        "further columns": [
            ({"gpus": np.array([1, 2])}, "column gpus has shape (2,); allowed: (3,)"),
            ({"gpus": np.array([1.0, 2.0, 3.0])}, "column gpus is of type float64; allowed: int64"),
            ({"gpus": np.array([1, 2, 3], np.uint64)}, "column gpus is of type uint64"),
            ({"": np.array(1)}, "a further column is called ''"),
            ({"a\nb": np.array(1)}, "a further column is called 'a\\nb'; allowed: 1 to 100 printable"),
            ({5: np.array(1)}, "a further column is called 5"),
        ],
        "mappings_are_checked": [
            ({"run_s": None}, "run_s: None needs cancel_s"),
            ({"run_s": None, "cancel_s": 3, "estimate_s": None}, "run_s: None needs estimate_s"),
            ({"run_s": None, "cancel_s": 3, "status": 1}, "status: 1 with run_s None; allowed: 0 or 5"),
        ],
        "missing": [("cores", r"jobs\[0\]: cores: missing")],
    },
)
