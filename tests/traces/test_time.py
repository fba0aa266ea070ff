"""Time: one rounding where work meets speed, exact reading of seconds, words for people."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traces.base.errors import InputError
from traces.base.time import MAX_NS, duration_ns, format_ns, parse_duration_ns, parse_instant_ns, time_in


@pytest.mark.parametrize(
    ("work", "speed", "expected"),
    [
        (1.0, 1.0, 10**9),
        (46.875, 46.875, 10**9),
        (0.5e-9, 1.0, 1),  # never nothing, though half rounds to even
        (1e-300, 1e300, 1),
        (1.5e-9, 1.0, 2),
        (2.5e-9, 1.0, 2),
        (3.5e-9, 1.0, 4),
        (4.0, 2.0**-30, 4 * 2**30 * 10**9),
        (4.7, 1e-9, MAX_NS),
        (1e300, 1e-300, MAX_NS),
    ],
)
def test_durations(work: float, speed: float, expected: int) -> None:
    assert duration_ns(work, speed) == expected


@settings(max_examples=500)
@given(work=st.floats(1e-12, 1e9), speed=st.floats(1e-3, 1e6))
def test_a_duration_is_the_exact_one_within_a_rounding(work: float, speed: float) -> None:
    exact = Fraction(work) / Fraction(speed) * 10**9
    got = duration_ns(work, speed)
    if got < MAX_NS:
        assert abs(got - exact) <= Fraction(1, 2) + exact / 2**51 or (got == 1 and exact < 1)
    else:
        assert exact > MAX_NS * Fraction(2**51 - 1, 2**51)


@settings(max_examples=300)
@given(seconds=st.integers(1, 2 * 10**6), speed=st.floats(1e-3, 1e6))
def test_the_work_of_a_recorded_run_time_takes_that_time_again(seconds: int, speed: float) -> None:
    assert duration_ns(speed * (seconds * 10**9 / 1e9), speed) == seconds * 10**9


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("24h", 86_400 * 10**9),
        ("90m", 5400 * 10**9),
        ("90min", 5400 * 10**9),
        (" 1.5 D ", 129_600 * 10**9),
        ("3600", 3600 * 10**9),
        ("1w", 604_800 * 10**9),
        ("0.000000001s", 1),
        ("50ms", 50_000_000),
        ("2.5 us", 2500),
        ("7ns", 7),
    ],
)
def test_durations_that_people_write(text: str, ns: int) -> None:
    assert parse_duration_ns(text, "--select") == ns


@pytest.mark.parametrize("text", ["", "0", "-1h", "1y", "h", "1e3", "1h30m", "nan", "٣h"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(
        InputError, match=r"--select: .* is not a duration; allowed: a positive number and ns, us, ms, s, m, h, d or w"
    ):
        parse_duration_ns(text, "--select")


@pytest.mark.parametrize("text", ["99999999w", "7626w", f"{2**62 + 1}ns"])
def test_a_duration_that_is_too_long(text: str) -> None:
    with pytest.raises(InputError, match=f"--select: '{text}' is too long; allowed: up to 7625w"):
        parse_duration_ns(text, "--select")
    assert parse_duration_ns("7625w", "--select") < parse_duration_ns(f"{2**62}ns", "--select")


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 s"),
        (1_500_000, "0.0015 s"),
        (93_000_000_000, "93 s"),
        (100_500_000_000, "100 s"),
        (7_500 * 10**9, "2 h 05 min"),
        (100 * 3600 * 10**9, "4 d 04 h"),
        (3_599_400_000_000, "59 min 59 s"),
        (3_599_600_000_000, "60 min 00 s"),
        (7_199_600_000_000, "2 h 00 min"),
    ],
)
def test_words_for_people(ns: int, text: str) -> None:
    assert format_ns(ns) == text


@pytest.mark.parametrize("text", ["0", "0s", "0.0 ms", "0ns", "000us", "0d"])
def test_an_instant_may_be_0_in_every_unit(text: str) -> None:
    assert parse_instant_ns(text, "--x") == 0
    with pytest.raises(InputError, match="is not a duration; allowed: a positive number and ns, us, ms, s"):
        parse_duration_ns(text, "--x")


@pytest.mark.parametrize(
    ("unit", "whole", "text", "expected"),
    [
        ("ns", True, "12", 12),
        ("ns", True, "1ms", 10**6),
        ("ns", True, "1.5 us", 1500),
        ("ns", True, "0us", 0),
        ("ns", True, "9007199254740993ns", 2**53 + 1),  # beyond the whole numbers of float64
        ("ns", False, "0.5ns", 0.5),
        ("s", False, "12", 12.0),
        ("s", False, "1e-6", 1e-6),
        ("s", False, "1us", 1e-6),
        ("s", False, "2MIN", 120.0),
        ("s", True, "2h", 7200),
    ],
)
def test_times_with_a_unit_and_without(unit: str, whole: bool, text: str, expected: float) -> None:
    found = time_in(unit, text, "--x", whole=whole)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("text", "whole"), [("", False), ("ms", False), ("1y", False), ("0.5ns", True), ("1e3", True), ("-1s", True)]
)
def test_what_is_no_time(text: str, whole: bool) -> None:
    with pytest.raises(InputError) as caught:
        time_in("ns", text, "--x", whole=whole)
    said = str(caught.value)
    assert said.startswith(f"--x: {text!r} is no time; allowed: a number and ns, us, ms, s, m, h, d or w, as 1ms, ")
    assert said.endswith(f"or a {'whole ' * whole}number of ns")
