"""Texts of others: what is shown of them cannot steer a terminal."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from als.core_speeds.trace import Trace
from als.schedulers import scheduler
from bridge.cli.app import _fault, _Warnings
from bridge.standard_error import lined_up, text_table
from bridge.workers.credentials import read_token
from traces.base.errors import InputError, PluginError, one_of
from traces.base.printable import escaped, printable, unescaped

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
    assert f"'{path}'" in str(caught.value)


def test_names_of_a_file_are_listed_within_bounds() -> None:
    said = str(one_of("group", "c", ["cc", "b" * 61, "x\x1b"]))
    assert said.startswith("unknown group 'c'; known: cc, ")
    assert f"'{'b' * 58}…" in said
    assert r"'x\x1b'" in said
    assert str(one_of("group", "c", [])).endswith("known: none")
    many = str(one_of("group", "c", [f"g{place}" for place in range(1_300)]))
    assert many.endswith(", … and 1,050 more")
    assert many.count("g") - "unknown group".count("g") == 250
