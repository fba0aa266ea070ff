"""Texts that people and systems write: ranges, times, names, and what is shown of them."""

import builtins
import io
import logging
import os
import pickle
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import table_rows

from als.core_speeds.kinds import Trace, chosen_cores
from als.schedulers import scheduler
from bridge.cli.app import _fault, _Warnings
from bridge.cli.workload_files import numbers
from bridge.standard_error import lined_up, text_table
from bridge.studies.study import seeds_of
from bridge.workers.credentials import read_token
from traces.base.errors import InputError, PluginError, escaped, one_of, printable, unescaped
from traces.base.process import processor_model
from traces.base.time import MAX_NS, duration_ns, format_ns, parse_duration_ns, parse_instant_ns, time_in
from traces.intervals import OPEN, intervals_text, parse_intervals, parse_texts


@pytest.mark.parametrize(
    ("text", "found", "again"),
    [
        ("", [], ""),
        ("3", [(3, 4)], "3"),
        ("0-63 128", [(0, 64), (128, 129)], "0-63 128"),
        ("32-", [(32, OPEN)], "32-"),
        ("-63", [(0, 64)], "0-63"),
        ("7 40-, 32-50", [(7, 8), (32, OPEN)], "7 32-"),
        ("-0", [(0, 1)], "0"),
        ("-5 3-", [(0, OPEN)], "0-"),
    ],
)
def test_ranges_with_and_without_ends(text: str, found: list[tuple[int, int]], again: str) -> None:
    assert parse_intervals(text, "x") == found
    assert intervals_text(found) == again
    assert parse_intervals(again, "x") == found


@pytest.mark.parametrize("part", ["-", "x", "5-3", "--3", "3--", "1-2-3", "-1", "1.5", "+3", "\u0663", "9" * 19])
def test_texts_that_are_not_ranges_are_refused(part: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_intervals(f"0 {part}", "cores")
    assert str(caught.value) == f"cores: {part!r} is not a number or a range; allowed: e.g. 0-63 128 256-"


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 10**17), st.integers(1, 300)), max_size=4).map(
            lambda some: intervals_text((lo, lo + width) for lo, width in some)
        )
        | st.text("0123456789- ,\n", max_size=9)
    )
)
def test_many_texts_are_parsed_as_each(texts: list[str]) -> None:
    expected: list[list[tuple[int, int]]] = []
    refused = ""
    for text in texts:
        try:
            expected.append(parse_intervals(text, "x"))
        except InputError as error:
            refused = str(error)
            break
    if refused:
        with pytest.raises(InputError, match=re.escape(refused)):
            parse_texts(texts, "x")
        return
    first, lo, hi = parse_texts(texts, "x")
    assert first.tolist() == [0, *np.cumsum([len(one) for one in expected])]
    assert list(zip(lo.tolist(), hi.tolist(), strict=True)) == [pair for one in expected for pair in one]


def test_a_range_ends_where_the_machine_does() -> None:
    assert parse_intervals("3-", "x", 5) == [(3, 5)]
    assert parse_intervals("7-", "x", 5) == [(7, 8)]  # so that the limit is said
    assert chosen_cores("1 3-", 5, "x").tolist() == [1, 3, 4]
    with pytest.raises(InputError, match="core 7; allowed: 0 to 4"):
        chosen_cores("7-", 5, "x")


def test_users_and_seeds() -> None:
    assert numbers("7-", np.array([-1, 3, 7, 9]), "--users") == [7, 9]
    assert numbers("-7", np.array([-1, 3, 7, 9]), "--users") == [3, 7]
    assert seeds_of("-2 5", "seeds") == (0, 1, 2, 5)
    with pytest.raises(InputError, match=r"^seeds: .5-. has no end; allowed: e\.g\. 0-4 9$"):
        seeds_of("5-", "seeds")


S = 10**9


@pytest.mark.parametrize(("work", "speed", "expected"), table_rows(__file__, "durations"))
def test_durations(work: float, speed: float, expected: int) -> None:
    assert duration_ns(work, speed) == expected


@settings(max_examples=300)
@given(seconds=st.integers(1, 2 * 10**6), speed=st.floats(1e-3, 1e6))
def test_the_work_of_a_recorded_run_time_takes_that_time_again(seconds: int, speed: float) -> None:
    assert duration_ns(speed * (seconds * 10**9 / 1e9), speed) == seconds * 10**9


def test_durations_that_people_write() -> None:
    written = {"24h": 86_400 * S, "90m": 5400 * S, "90min": 5400 * S, " 1.5 D ": 129_600 * S, "3600": 3600 * S}
    written |= {"1w": 604_800 * S, "0.000000001s": 1, "50ms": 50_000_000, "2.5 us": 2500, "7ns": 7}
    assert {text: parse_duration_ns(text, "--select") for text in written} == written
    assert parse_duration_ns("7625w", "--select") < parse_duration_ns(f"{2**62}ns", "--select")


@pytest.mark.parametrize("text", ["", "0", "-1h", "1y", "h", "1e3", "1h30m", "nan", "٣h", "0.0 ms", "000us"])
def test_texts_that_are_not_durations_are_refused(text: str) -> None:
    words = r"--select: .* is no time; allowed: a positive number and ns, us, ms, s, m, h, d or w"
    with pytest.raises(InputError, match=words):
        parse_duration_ns(text, "--select")


@pytest.mark.parametrize("text", ["99999999w", "7626w", f"{2**62 + 1}ns"])
def test_a_duration_that_is_too_long(text: str) -> None:
    with pytest.raises(InputError, match=f"--select: '{text}' is too long; allowed: up to 7625w"):
        parse_duration_ns(text, "--select")


def test_words_for_people() -> None:
    words = {0: "0 s", 1_500_000: "0.0015 s", 93 * S: "93 s", 100_500_000_000: "100 s", 7_500 * S: "2 h 05 min"}
    words |= {100 * 3600 * S: "4 d 04 h", 3_599_400_000_000: "59 min 59 s", 3_599_600_000_000: "60 min 00 s"}
    words |= {7_199_600_000_000: "2 h 00 min"}
    assert {ns: format_ns(ns) for ns in words} == words


@pytest.mark.parametrize(("unit", "whole", "text", "expected"), table_rows(__file__, "times_with_a_unit_and_without"))
def test_times_with_a_unit_and_without(unit: str, whole: bool, text: str, expected: float) -> None:
    found = time_in(unit, text, "--x", whole=whole)
    assert (found, type(found)) == (expected, type(expected))
    assert [parse_instant_ns(zero, "--x") for zero in ("0", "0s", "0.0 ms", "0ns", "000us", "0d")] == [0] * 6


@pytest.mark.parametrize(
    ("text", "whole"), [("", False), ("ms", False), ("1y", False), ("0.5ns", True), ("1e3", True), ("-1s", True)]
)
def test_texts_that_are_not_times_are_refused(text: str, whole: bool) -> None:
    with pytest.raises(InputError) as caught:
        time_in("ns", text, "--x", whole=whole)
    said = str(caught.value)
    assert said.startswith(f"--x: {text!r} is no time; allowed: a number and ns, us, ms, s, m, h, d or w, as 1ms, ")
    assert said.endswith(f"or a {'whole ' * whole}number of ns")


@settings(max_examples=500)
@given(work=st.floats(1e-12, 1e9), speed=st.floats(1e-3, 1e6))
def test_a_duration_is_the_exact_one_within_a_rounding(work: float, speed: float) -> None:
    exact = Fraction(work) / Fraction(speed) * 10**9
    got = duration_ns(work, speed)
    if got < MAX_NS:
        assert abs(got - exact) <= Fraction(1, 2) + exact / 2**51 or (got == 1 and exact < 1)
    else:
        assert exact > MAX_NS * Fraction(2**51 - 1, 2**51)


CASES = {
    "plain, as it is: Υ 3 µs": "plain, as it is: Υ 3 µs",
    "two\nlines\tand\r\nmore": "two lines and  more",
    "\x1b[2Jgone\x07": r"\x1b[2Jgone\x07",
    "\x9b31mred": r"\x9b31mred",
    "back\u202ewards": r"back\u202ewards",
    "half\udc9b": r"half\udc9b",
    "no\xa0break": "no break",
    "beyond\U000e0001": r"beyond\U000e0001",
}


@pytest.mark.parametrize("text", CASES)
def test_a_line_that_a_terminal_can_show(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    expected = CASES[text]
    assert printable(text) == expected
    assert printable(expected) == expected
    # Wherever it comes from: an error, a fault of the system, a warning, a table.
    assert str(InputError(text)) == str(pickle.loads(pickle.dumps(PluginError(text)))) == expected
    assert lined_up([(text, text)]) == text_table([[text, text]]) == f"{expected}  {expected}"
    _fault(text, 1)
    _Warnings().emit(logging.makeLogRecord({"msg": text}))
    once = f"twolevel: {' '.join(expected.split())}\n"
    assert capsys.readouterr().err == 2 * once


@pytest.mark.parametrize("apart", ["", " =", "\"'"])
@given(text=st.text(st.characters(exclude_categories=("Cs",))) | st.text("% 4é=\n"))
def test_a_text_is_had_back_from_its_line(apart: str, text: str) -> None:
    found = escaped(text, apart=apart)
    assert found.isprintable()
    assert found == found.strip()
    assert not set(found) & set(apart)
    assert unescaped(found) == text
    assert escaped("half\udc9b") == "half?"


@pytest.mark.parametrize(
    "name", [lambda path: scheduler(f"{path}:f"), read_token, lambda path: Trace(path).component(1, "--speeds")]
)
def test_a_file_is_named_by_its_whole_path(name: Callable[[str], object], tmp_path: Path) -> None:
    path = tmp_path / ("folder" * 20) / "file.py"
    with pytest.raises(InputError) as caught:
        name(str(path))
    assert str(path) in str(caught.value)


def test_names_of_a_file_are_listed_within_bounds() -> None:
    said = str(one_of("group", "c", ["cc", "b" * 61, "x\x1b"]))
    assert said.startswith("unknown group 'c'; known: cc, ")
    assert f"'{'b' * 58}…" in said
    assert r"'x\x1b'" in said
    assert str(one_of("group", "c", [])).endswith("known: none")
    many = str(one_of("group", "c", [f"g{place}" for place in range(1_300)]))
    assert many.endswith(", … and 1,050 more")
    assert many.count("g") - "unknown group".count("g") == 250


@pytest.mark.parametrize(("text", "name"), table_rows(__file__, "the_first_model_name_or_the_kind_of_machine"))
def test_the_first_model_name_or_the_kind_of_machine(monkeypatch: Any, text: str | None, name: str | None) -> None:
    def read(path: str, **_: Any) -> io.StringIO:
        if path != "/proc/cpuinfo" or text is None:
            raise FileNotFoundError(path)
        return io.StringIO(text)

    monkeypatch.setattr(builtins, "open", read)
    assert processor_model() == (name or os.uname().machine)
