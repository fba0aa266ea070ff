"""Inputs that are refused, each with one line: one test for everything in a file of tests that reads what users give."""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tables import table_rows

from traces.base.errors import InputError, TwolevelError

#: A function of the values of a row, and optionally the words with which all of its errors begin.
Reader = Callable[..., object] | tuple[Callable[..., object], str]


def _rows(test: str, name: str, more: Sequence[Sequence[Any]]) -> Iterator[Any]:
    rows = [*more]
    with contextlib.suppress(KeyError, FileNotFoundError):
        rows += table_rows(test, name)
    assert rows, f"no row of {name}"
    for place, (*values, words) in enumerate(rows):
        yield pytest.param(name, values, words, id=f"{name}-{place}")


def refusals(
    test: str,
    readers: Mapping[str, Reader],
    rows: Mapping[str, Sequence[Sequence[Any]]] | None = None,
    error: type[TwolevelError] = InputError,
) -> Callable[..., None]:
    """Make a test that every row of a reader, values and the words of the error, is refused with one line.

    A reader has the rows of the table of its name next to the test, and those of ``rows``. It is called in an empty folder. The
    line begins with the words, or they are a pattern that is found in it.
    """
    of_all = [row for name in readers for row in _rows(test, name, (rows or {}).get(name, ()))]

    @pytest.mark.parametrize(("name", "values", "words"), of_all)
    def test_bad_input_is_refused(
        name: str, values: list[Any], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        reader = readers[name]
        read, begins = reader if isinstance(reader, tuple) else (reader, "")
        with pytest.raises(error) as caught:
            read(*values)
        line = str(caught.value)
        assert line.isprintable()
        assert line.startswith(begins), line
        assert line.startswith(begins + words) or re.search(words, line), line

    return test_bad_input_is_refused
