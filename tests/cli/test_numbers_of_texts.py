"""Numbers that a user writes are read in one place: no underscore, no digit of another script, no space, no other base."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import twolevel
from tables import table_rows

from traces.base.ranges import parse_real, parse_whole

ROOT = Path(__file__).parents[2]

#: Texts that Python's ``int`` or ``float`` takes, and that are no numbers here.
ODD = ("1_0", "\uff11", "\u0661", " 1", "1 ", "1\n", "1_0.5", "0_0")


@pytest.mark.parametrize("text", [*ODD, "", "+", "0x1F", "1e3_0", "1e", "²", "--1"])
def test_texts_that_are_no_numbers(text: str) -> None:
    for parse in (parse_whole, parse_real):
        with pytest.raises(ValueError, match="number"):
            parse(text)


def test_texts_that_are_numbers() -> None:
    assert [parse_whole(text) for text in ("0", "-7", "+7", "007", "9" * 40)] == [0, -7, 7, 7, int("9" * 40)]
    assert [parse_real(text) for text in ("0", "-.5", "5.", "1e3", "2.5E-3", "inf")] == [
        0,
        -0.5,
        5,
        1e3,
        2.5e-3,
        float("inf"),
    ]


@pytest.mark.parametrize("words", [words for (words,) in table_rows(__file__, "refused")])
def test_odd_numbers_within_words(here: Path, words: str) -> None:
    ran = twolevel(*words.split())
    assert (ran.code, ran.out) == (2, ""), ran
    assert ran.err.count("\n") == 1
