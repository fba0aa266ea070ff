"""The reader of the Grid Workload Format: the same rules as SWF's, with names for users, queues and sites."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bls.workloads.readers.gwf import read_gwf
from bls.workloads.readers.swf import parse_swf
from bls.workloads.workload import Workload

NS = 10**9
Read = Callable[..., Workload]
FIELDS = "1 100 5 60 4 -1 -1 8 120 -1 1 ann g1 app q1 p1 s1 s2 UNITARY -1 -1 -1 -1 -1 -1 -1 -1 vo1 pr1".split()  # noqa: SIM905


def line(mark: str = "\t", **changes: str) -> str:
    """A job's line; keys ``f1`` to ``f29`` replace its fields."""
    fields = list(FIELDS)
    for key, value in changes.items():
        fields[int(key[1:]) - 1] = value
    return mark.join(fields)


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "w"


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def of(*lines: str, cancelled: bool = False) -> Workload:
        (tmp_path / "w.gwf").write_text("\n".join(lines))
        return read_gwf(tmp_path / "w.gwf", cancelled=cancelled)

    return of


def rejects(workload: Workload) -> dict[str, int]:
    return {reason: count for reason, count in workload.rejects.items() if count}


def test_a_log_drawn_by_hand(read: Read) -> None:
    found = read(
        "# Version: 1",
        "JobID SubmitTime WaitTime",
        line(),
        line(" ", f1="2", f2="50.5", f8="-1", f9="-1", f7="200.5", f10="-1", f12="bob", f15="q2", f17="-1", f11="0"),
        line(f1="3", f2="200", f12="", f10="30", f7="40", f29="pr2") + "\t",
    )
    expected = {
        "job_id": [2, 1, 3],
        "submit_ns": [50_500_000_000, 100 * NS, 200 * NS],
        "cores": [4, 8, 8],
        "estimate_ns": [60 * NS, 120 * NS, 120 * NS],
        "wait_ns": [5 * NS] * 3,
        "memory_kb": [201, -1, 30],
        "status": [0, 1, 1],
        "user": [2, 1, -1],
        "queue": [2, 1, 1],
        "group": [1] * 3,
        "application": [1] * 3,
        "partition": [1] * 3,
        "line": [4, 3, 5],
    }
    assert {name: getattr(found, name).tolist() for name in expected} == expected
    extras = {"orig_site": [-1, 1, 1], "run_site": [1, 1, 1], "vo": [1, 1, 1], "project": [1, 1, 2]}
    assert {name: column.tolist() for name, column in found.extras.items()} == extras
    assert (found.header, found.n_lines) == (("; Version: 1",), 3)


def test_seconds_since_1970_are_told_by_the_earliest_submit(read: Read) -> None:
    found = read(line(f2="1075803421.5"), line(f1="2", f2="1075803400.25", f4="0"), line(f1="3", f2="1075803500"))
    assert found.header == ("; UnixStartTime: 1075803400",)
    assert found.submit_ns.tolist() == [21_500_000_000, 100 * NS]
    early = read(line(f2="1075803421"), line(f1="2", f2="0"))
    assert early.header == ()
    assert early.submit_ns.tolist() == [0, 1075803421 * NS]


def test_a_cancelled_job_waited(read: Read) -> None:
    found = read(line(f2="0"), line(f1="2", f4="-1", f11="5", f3="7"), cancelled=True)
    assert (found.run_unknown.tolist(), found.cancel_ns.tolist()) == ([False, True], [-1, 107 * NS])


NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?")
WORDS = st.sampled_from(["1", "0", "-1", "5", "2.0", "0.5", "1e3", "4611686019", "9" * 30, "x", "", "nan", "+7", "-.5"])


@settings(max_examples=200)
@given(st.lists(st.dictionaries(st.integers(1, 18), WORDS, max_size=5), max_size=8), st.booleans())
def test_what_swf_has_too_is_read_as_swf_s(fuzzed: Path, changes: list[dict[int, str]], cancelled: bool) -> None:
    gwf, swf = [], []
    for k, some in enumerate([{}, *changes]):
        fields = dict(enumerate(FIELDS, 1)) | {1: str(k), 2: str(k)} | some
        gwf.append("\t".join(fields[place] for place in range(1, 30)))
        # Fields from 12 on are names here; of 6 neither does use anything. An empty word is none in SWF.
        numbers = [fields[place] if place != 6 else "-1" for place in range(1, 12)]
        extras = [x if NUMBER.fullmatch(x) else "-1" for x in (numbers[2], numbers[6], *numbers[9:])]
        numbers[2], numbers[6], numbers[9], numbers[10] = extras
        swf.append(" ".join([*(number or "empty" for number in numbers), *["-1"] * 7]))
    fuzzed.write_text("\n".join(gwf))
    found, other = read_gwf(fuzzed, cancelled=cancelled), parse_swf("\n".join(swf).encode(), "w", cancelled=cancelled)
    columns = "job_id submit_ns run_ns cores estimate_ns wait_ns memory_kb status cancel_ns line"
    for name in columns.split():
        assert getattr(found, name).tolist() == getattr(other, name).tolist()
    assert dict(found.rejects) == dict(other.rejects)
    assert found.n_lines == other.n_lines
